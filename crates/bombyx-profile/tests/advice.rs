//! Every rule speaks when it should, says what matters first, and is silent otherwise.

use bombyx_profile::{Gap, Profile, Rule, Usage, advise, read};

/// A program that is fine: parallelism 1000 on four processors.
fn fine() -> Profile {
    let mut profile = read(&include_bytes!("../corpus/sort.json")[..]).unwrap();
    profile.processors = 4;
    profile.work_ns = 2_000_000_000;
    profile.span_ns = 2_000_000;
    profile.burdened_span_ns = 2_500_000;
    profile.sites[0].span_ns = 300_000;
    profile.sites[1].span_ns = 1_600_000;
    profile
}

fn rules(profile: &Profile) -> Vec<Rule> {
    advise(profile, 4).iter().map(|advice| advice.rule).collect()
}

fn sentence(profile: &Profile) -> String {
    let advice = advise(profile, 4);
    assert_eq!(advice.len(), 1, "{advice:?}");
    advice[0].to_string()
}

#[test]
fn a_fine_program() {
    assert_eq!(sentence(&fine()), "parallelism 1000: enough for hundreds of cores");
    let mut less = fine();
    less.span_ns *= 10;
    less.burdened_span_ns *= 10;
    less.sites[1].span_ns *= 10;
    assert_eq!(
        sentence(&less),
        "parallelism 100: fine up to about 10 cores, and more than 100 cores will not help; the join in \
         src/sort.rs:41 is 80 % of the span"
    );
    assert_eq!(rules(&less), [Rule::Fine]);
}

#[test]
fn no_forks() {
    let mut serial = fine();
    serial.forks = 0;
    serial.sites.clear();
    assert_eq!(rules(&serial), [Rule::NoForks]);
}

#[test]
fn short_runs() {
    let mut short = fine();
    short.runs = 100_000;
    assert_eq!(rules(&short), [Rule::ShortRuns]);
    assert!(sentence(&short).contains("20 µs of work"), "{}", sentence(&short));
}

#[test]
fn low_parallelism_names_the_place() {
    let sort = read(&include_bytes!("../corpus/sort.json")[..]).unwrap();
    let first = advise(&sort, 8).remove(0);
    assert_eq!(first.rule, Rule::LowParallelism);
    assert!(advise(&sort, 4)[0].rule == Rule::Fine, "four cores can be kept busy");
    let mut serial = sort;
    serial.sites[1].span_ns = 1_000_000;
    assert!(
        advise(&serial, 8)[0]
            .text
            .ends_with("82 % of the span is code that runs before, between or after all forks")
    );
    serial.span_ns = serial.work_ns;
    serial.burdened_span_ns = serial.work_ns;
    assert!(advise(&serial, 2)[0].text.starts_with("parallelism 1.0: a second core will not help"));
}

#[test]
fn blocked_time() {
    let mut blocked = fine();
    blocked.blocked_ns = 500_000_000;
    assert_eq!(rules(&blocked), [Rule::Blocked]);
    assert!(sentence(&blocked).starts_with("20 % of the time passes in `blocking`"));
}

#[test]
fn fine_grain() {
    let mut grain = fine();
    grain.strands = 22_000_000;
    assert_eq!(rules(&grain), [Rule::FineGrain]);
    assert!(sentence(&grain).starts_with("grain 91 ns: coarsen; stop forking in the join in src/sort.rs:41"));
}

#[test]
fn heavy_burden() {
    let mut burdened = fine();
    burdened.burdened_span_ns = 100_000_000;
    assert_eq!(rules(&burdened), [Rule::HeavyBurden]);
    assert!(sentence(&burdened).contains("but 20.0 with the costs of stealing (820 ns each)"));
}

#[test]
fn hand_overs() {
    let mut profile = fine();
    profile.per_processor[0].hand_over_ns = 57_000_000;
    assert_eq!(rules(&profile), [Rule::HandOvers]);
    assert!(
        sentence(&profile).starts_with("2.9 % of the time goes into hand-overs (5 of them)"),
        "{}",
        sentence(&profile)
    );
}

#[test]
fn idle_processors() {
    let mut profile = fine();
    profile.per_processor[1].idle_ns = 900_000_000;
    assert_eq!(rules(&profile), [Rule::Idle]);
    assert!(sentence(&profile).contains("although parallelism is 1000"));
}

/// Several findings at once: the one that limits most comes first.
#[test]
fn order() {
    let mut bad = read(&include_bytes!("../corpus/sort.json")[..]).unwrap();
    bad.strands = 100_000_000;
    bad.blocked_ns = bad.work_ns;
    let rules: Vec<Rule> = advise(&bad, 64).iter().map(|advice| advice.rule).collect();
    assert_eq!(rules, [Rule::LowParallelism, Rule::Blocked, Rule::FineGrain]);
}

#[test]
fn serial_code_outside_of_pools() {
    let mut prefix = fine();
    let gap = |ns, before: Option<&str>, after: Option<&str>| Gap {
        ns,
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    prefix.gaps = vec![gap(3 * prefix.wall_ns, None, Some("src/main.rs:88:5"))];
    assert_eq!(sentence(&prefix), "75 % of the time is serial, outside of any pool, before src/main.rs:88:5");
    prefix.gaps.push(gap(prefix.wall_ns, Some("src/main.rs:88:5"), Some("src/main.rs:97:5")));
    assert_eq!(
        sentence(&prefix),
        "80 % of the time is serial, outside of any pool; 75 % of that before src/main.rs:88:5"
    );
    prefix.gaps[0].ns = prefix.wall_ns / 100;
    prefix.gaps.truncate(1);
    assert_eq!(rules(&prefix), [Rule::Fine]);
}

#[test]
fn a_busy_machine_and_threads_that_wait() {
    let mut waits = fine();
    let active: u64 = waits.per_processor.iter().map(|times| times.total_ns() - times.idle_ns).sum();
    waits.usage = Some(Usage { cpu_ns: active, voluntary_switches: 10_000, involuntary_switches: 10 });
    assert_eq!(rules(&waits), [Rule::Fine], "threads had their CPUs");
    waits.usage = Some(Usage { cpu_ns: active / 2, voluntary_switches: 10_000, involuntary_switches: 10 });
    assert_eq!(rules(&waits), [Rule::Waiting]);
    waits.usage = Some(Usage { cpu_ns: active / 2, voluntary_switches: 10, involuntary_switches: 10_000 });
    assert_eq!(rules(&waits), [Rule::MachineBusy]);
    waits.usage = Some(Usage { cpu_ns: active / 2, voluntary_switches: 3, involuntary_switches: 2 });
    assert_eq!(rules(&waits), [Rule::Fine], "too few switches to explain anything");
}

#[test]
fn one_long_piece() {
    let mut uneven = fine();
    uneven.span_ns = 500_000_000;
    uneven.burdened_span_ns = 500_000_000;
    uneven.sites[1].span_ns = 499_000_000;
    uneven.sites[1].work_ns = 498_000_000;
    uneven.sites[1].strands = 100;
    uneven.sites[1].longest_ns = 300_000_000;
    let text = sentence(&uneven);
    assert!(
        text.starts_with(
            "one piece of the join in src/sort.rs:41 takes 300 ms, 60 % of the span, and the others 2 ms"
        ),
        "{text}"
    );
    uneven.sites[1].strands = 2;
    assert_eq!(rules(&uneven), [Rule::Fine], "two pieces have no mean");
}

#[test]
fn what_cannot_be_seen_is_not_called_useless() {
    let mut bridge = fine();
    bridge.span_ns = bridge.work_ns;
    bridge.burdened_span_ns = bridge.work_ns;
    bridge.sites[1].span_ns = bridge.work_ns;
    bridge.sites[1].kind = "par_bridge".to_owned();
    assert_eq!(rules(&bridge), [Rule::Unseen]);
    assert!(!sentence(&bridge).contains("will not help"));
}
