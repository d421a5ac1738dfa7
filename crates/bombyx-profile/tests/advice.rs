//! Every rule speaks when it should, says what matters first, and is silent otherwise.

use bombyx_profile::{
    Cause, Comparison, Gap, Machine, Profile, Rule, Scaling, SiteProfile, Times, Usage, advise, read,
};

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

/// What is added if nothing was found in a program that ran once.
const ONE_RUN: &str = ", as far as one run shows: locks and shared memory show only beside a run on another number of processors";

/// The advice, without [`ONE_RUN`].
fn sentence(profile: &Profile) -> String {
    let advice = advise(profile, 4);
    assert_eq!(advice.len(), 1, "{advice:?}");
    let text = advice[0].to_string();
    text.strip_suffix(ONE_RUN).unwrap_or(&text).to_owned()
}

#[test]
fn a_fine_program() {
    assert_eq!(sentence(&fine()), "scales to 100 cores; nothing to mend");
    assert!(advise(&fine(), 4)[0].to_string().ends_with(ONE_RUN));
    let mut one = Profile { processors: 1, ..fine() };
    one.wall_ns = one.work_ns;
    let mut twice = fine();
    twice.wall_ns = twice.work_ns / 4;
    twice.companion = Some(Box::new(one));
    let advice = advise(&twice, 4).pop().unwrap();
    assert!(advice.rule == Rule::Fine && !advice.to_string().contains(ONE_RUN), "{advice}");
    let mut less = fine();
    less.span_ns *= 10;
    less.burdened_span_ns *= 10;
    less.sites[1].span_ns *= 10;
    assert_eq!(
        sentence(&less),
        "scales to 10 cores; nothing to mend up to there, and more than 100 cores will not help"
    );
    assert_eq!(rules(&less), [Rule::Fine]);
}

/// The sentence must not contradict the band.
#[test]
fn a_low_prediction_is_not_fine() {
    let mut mostly_serial = fine();
    mostly_serial.gaps = vec![Gap { ns: mostly_serial.work_ns / 20, before: None, after: None }];
    assert_eq!(
        sentence(&mostly_serial),
        "scales to 21 cores; nothing to mend up to there; the likely speedup on 100 cores is only 17.15: the code outside of \
         pools is serial"
    );
    // On a busy machine, the second processor gained nothing.
    let mut many = fine();
    let mut one = Profile { processors: 1, ..fine() };
    one.wall_ns = one.work_ns;
    many.processors = 2;
    many.wall_ns = many.work_ns;
    many.companion = Some(Box::new(one));
    let last = advise(&many, 4).pop().unwrap();
    assert!(
        last.text.contains("the likely speedup on 100 cores is only 1.00: strands take longer"),
        "{last:?}"
    );
}

#[test]
fn an_interrupted_program_gets_no_verdict() {
    let mut interrupted = Profile { interrupted: true, ..fine() };
    assert_eq!(rules(&interrupted), [Rule::Interrupted]);
    interrupted.runs = 0;
    interrupted.span_ns = interrupted.work_ns;
    assert_eq!(rules(&interrupted), [Rule::Interrupted], "its span is not known");
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
    let gain = first.gain.expect("there is a place to work on");
    assert!(gain.factor > 1.3 && gain.cores == 8, "{gain:?}");
    let mut serial = sort;
    serial.sites[1].span_ns = 1_000_000;
    let text = &advise(&serial, 8)[0].text;
    assert!(
        text.ends_with("82 % of the span is code that runs before, between or after all forks"),
        "{text}"
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
    grain.sites[1].strands = 7_600_000;
    assert_eq!(rules(&grain), [Rule::FineGrain]);
    assert!(sentence(&grain).starts_with("grain 91 ns: coarsen; stop forking in the join in src/sort.rs:41"));
}

#[test]
fn heavy_burden() {
    let mut burdened = fine();
    burdened.burdened_span_ns = 100_000_000;
    assert_eq!(rules(&burdened), [Rule::HeavyBurden]);
    let text = sentence(&burdened);
    assert!(text.contains("but 20.0 with the costs of stealing (820 ns each)"), "{text}");
    assert!(text.contains("; if they cost nothing: 1.3") && text.ends_with(" × at 8 cores"), "{text}");
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

/// The time that processors lose has a gain if a run on one processor shows what the program needs without it.
#[test]
fn lost_time_has_a_gain() {
    let one = Profile { processors: 1, wall_ns: fine().work_ns, ..fine() };
    let half = |lost: Times| {
        // All four processors lose half of their time.
        let wall_ns = one.wall_ns / 2;
        let times = Times { busy_ns: wall_ns / 2, ..lost };
        let per_processor = vec![times; 4];
        advise(&Profile { wall_ns, per_processor, companion: Some(Box::new(one.clone())), ..fine() }, 4)
    };
    let ns = one.wall_ns / 4;
    let cases = [
        (Rule::Idle, "if they had work", Times { idle_ns: ns, ..Times::default() }),
        (Rule::HandOvers, "without them", Times { hand_over_ns: ns, ..Times::default() }),
    ];
    for (rule, condition, lost) in cases {
        let advice = half(lost);
        assert_eq!(advice[0].rule, rule, "{advice:?}");
        let gain = advice[0].gain.expect("it was measured on one processor, too");
        assert_eq!(gain.condition, condition);
        assert!((3.2..=3.4).contains(&gain.factor), "{gain:?}");
    }
    let alone = Profile { processors: 4, ..one };
    assert!(advise(&alone, 4).iter().all(|advice| advice.gain.is_none()), "nothing to compare with");
}

/// Several findings at once: the one that costs most comes first.
#[test]
fn order() {
    let mut bad = fine();
    bad.gaps = vec![Gap { ns: 4 * bad.wall_ns, before: None, after: Some("src/main.rs:88:5".to_owned()) }];
    bad.blocked_ns = bad.work_ns / 4;
    assert_eq!(rules(&bad), [Rule::Outside, Rule::Blocked]);
    bad.machine = Some(Machine { cpus: 4, cache_bytes: 0 });
    bad.delayed_ns = bad.work_ns;
    assert_eq!(rules(&bad)[0], Rule::MachineBusy, "it casts doubt on the others");
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
    let text = sentence(&prefix);
    assert!(
        text.starts_with(
            "75 % of the time is serial, outside of any pool, from the start of the program to src/main.rs:88:5; if it \
             could use all cores: "
        ) && text.ends_with(" × at 8 cores"),
        "{text}"
    );
    prefix.gaps.push(gap(prefix.wall_ns, Some("src/main.rs:88:5"), Some("src/main.rs:97:5")));
    assert!(sentence(&prefix).starts_with(
        "80 % of the time is serial, outside of any pool; 75 % of that from the start of the program to src/main.rs:88:5"
    ));
    for (before, after, place) in [
        (Some("src/main.rs:40:9"), Some("src/main.rs:88:5"), "in src/main.rs:40–88"),
        (Some("src/main.rs:88:5"), Some("src/main.rs:88:5"), "from one src/main.rs:88:5 to the next"),
        (Some("src/main.rs:88:5"), Some("src/main.rs:40:9"), "between src/main.rs:88:5 and src/main.rs:40:9"),
        (Some("src/read.rs:40:9"), Some("src/main.rs:88:5"), "between src/read.rs:40:9 and src/main.rs:88:5"),
        (Some("tiles::read"), Some("tiles::render"), "between tiles::read and tiles::render"),
        (Some("src/main.rs:88:5"), None, "from src/main.rs:88:5 to the end of the program"),
        (None, None, "in many places"),
    ] {
        let between = Profile { gaps: vec![gap(3 * prefix.wall_ns, before, after)], ..fine() };
        let text = sentence(&between);
        assert!(text.contains(&format!("serial, outside of any pool, {place}; if it could")), "{text}");
    }
    prefix.gaps[0].ns = prefix.wall_ns / 100;
    prefix.gaps.truncate(1);
    assert_eq!(rules(&prefix), [Rule::Fine]);
}

#[test]
fn a_busy_machine() {
    let mut busy = fine();
    busy.machine = Some(Machine { cpus: 4, cache_bytes: 0 });
    busy.delayed_ns = busy.work_ns / 20;
    assert_eq!(rules(&busy), [Rule::Fine]);
    busy.delayed_ns = busy.work_ns;
    assert_eq!(rules(&busy), [Rule::MachineBusy, Rule::Fine]);
    assert!(advise(&busy, 4)[0].text.contains("waited for a CPU 50 % of the time"));
    assert!(Scaling::of(&busy).predict(4).band.width() > Scaling::of(&fine()).predict(4).band.width());
    let mut waiting = busy.clone();
    waiting.per_processor[0].hand_over_ns = 57_000_000;
    waiting.per_processor[1].idle_ns = 900_000_000;
    assert_eq!(
        rules(&waiting),
        [Rule::MachineBusy, Rule::Fine],
        "processors wait because the machine is busy"
    );
    busy.machine = Some(Machine { cpus: 2, cache_bytes: 0 });
    assert_eq!(rules(&busy), [Rule::Oversubscribed, Rule::Fine]);
    assert!(advise(&busy, 2)[0].text.starts_with("4 processors share 2 CPUs: "));
    let mut taken = fine();
    taken.machine = Some(Machine { cpus: 2, cache_bytes: 0 });
    taken.processors = 2;
    taken.usage = Some(Usage { stolen_ns: taken.wall_ns, ..Usage::default() });
    assert_eq!(rules(&taken), [Rule::MachineBusy, Rule::Fine]);
    assert!(advise(&taken, 2)[0].text.starts_with(
        "the machine is a virtual one, and its CPUs were taken away 50 % of the time; work and span are without that time"
    ));
    taken.usage = Some(Usage { stolen_ns: taken.wall_ns / 20, ..Usage::default() });
    assert_eq!(rules(&taken), [Rule::Fine], "a few per cent are not worth a word");
}

/// Threads that wait for one another's CPU do not make the machine busy. Something else must use the CPUs.
#[test]
fn who_keeps_the_cpus_busy() {
    let mut waiting = fine();
    waiting.machine = Some(Machine { cpus: 4, cache_bytes: 0 });
    waiting.delayed_ns = waiting.work_ns / 2;
    let active = |times: &Times| times.total_ns() - times.idle_ns;
    let active = waiting.per_processor.iter().map(active).sum::<u64>();
    let on_cpus = active.saturating_sub(waiting.delayed_ns);
    let mut with = |others_ns: Option<u64>, other_threads_ns: u64| {
        waiting.usage = Some(Usage { cpu_ns: on_cpus + other_threads_ns, others_ns, ..Usage::default() });
        rules(&waiting)
    };
    let (none, much) = (Some(0), fine().work_ns);
    assert_eq!(with(none, 0), [Rule::Fine]);
    assert_eq!(with(Some(much), 0), [Rule::MachineBusy, Rule::Fine], "other processes");
    assert_eq!(with(none, much), [Rule::MachineBusy, Rule::Fine], "threads of the program, outside of pools");
    assert_eq!(with(None, 0), [Rule::MachineBusy, Rule::Fine], "the system did not say");
}

/// What interrupts a strand, unseen by the system, makes the span longer. It hardly does so in both runs.
#[test]
fn the_shorter_span_counts() {
    let mut runs = grown(1.0, 0.0, 0);
    let quiet = Scaling::of(&runs);
    let interruption = 50_000_000;
    let alone = runs.companion.as_mut().unwrap();
    alone.span_ns += interruption;
    alone.burdened_span_ns += interruption;
    alone.sites[1].span_ns += interruption;
    alone.sites[1].longest_ns = interruption;
    assert_eq!(Scaling::of(&runs), quiet);
    assert_eq!(advise(&runs, 64)[0].rule, Rule::Fine, "the piece is not that long");
    let parallelism = Scaling::of(&runs.companion.unwrap()).parallelism();
    assert!(parallelism < 0.1 * quiet.parallelism(), "one run alone cannot know: {parallelism}");
}

#[test]
fn strands_that_sleep() {
    let mut asleep = fine();
    asleep.sites[1].asleep_ns = asleep.work_ns / 2;
    assert_eq!(rules(&asleep), [Rule::Waiting]);
    let text = sentence(&asleep);
    assert!(text.starts_with("50 % of the time strands sleep"), "{text}");
    // Eight processors then do what four do now.
    assert!(text.ends_with("; in `blocking`: 1.98 × at 8 cores"), "{text}");
}

/// The same program on one processor, and on two with this much work, of which so much asleep.
fn grown(work: f64, asleep: f64, memory: u64) -> Profile {
    let machine = Some(Machine { cpus: 2, cache_bytes: 32 << 20 });
    let usage = Some(Usage { peak_memory_bytes: memory, ..Usage::default() });
    let mut one = Profile { processors: 1, machine, usage, ..fine() };
    one.wall_ns = one.work_ns;
    one.sites[1].work_ns = one.work_ns;
    let of = |share: f64| (share * one.work_ns as f64) as u64;
    let mut many = Profile { processors: 2, work_ns: of(work), wall_ns: of(work / 2.0), ..one.clone() };
    many.sites[1].work_ns = of(work);
    many.sites[1].asleep_ns = of(asleep);
    many.companion = Some(Box::new(one));
    many
}

#[test]
fn why_strands_take_longer_beside_others() {
    const MANY: u64 = 256 << 20;
    let cases = [
        (grown(1.02, 0.0, MANY), 1.96, None),
        (grown(2.0, 0.98, MANY), 1.0, Some((Cause::Lock, Rule::Lock))),
        (grown(6.6, 0.0, MANY), 0.3, Some((Cause::Sharing, Rule::Sharing))),
        (grown(1.6, 0.0, 8 << 20), 1.25, Some((Cause::Sharing, Rule::Sharing))),
        (grown(2.6, 0.0, MANY), 0.77, Some((Cause::Memory, Rule::Memory))),
        (grown(3.2, 0.0, MANY), 0.63, Some((Cause::Memory, Rule::Memory))),
    ];
    for (profile, speedup, cause) in cases {
        let comparison = Comparison::of(&profile).unwrap();
        assert!((comparison.speedup() - speedup).abs() < 0.01, "{}", comparison.speedup());
        let found: Vec<Cause> = comparison.sites().iter().map(|growth| growth.cause).collect();
        assert_eq!(found, cause.iter().map(|cause| cause.0).collect::<Vec<_>>());
        assert_eq!(rules(&profile), [cause.map_or(Rule::Fine, |cause| cause.1)], "{profile}");
        assert!(Scaling::of(&profile).predict(2).band.contains(speedup));
    }
    let lock = advise(&locked(), 2).remove(0);
    assert!(
        lock.to_string().starts_with(
            "strands of the join in src/sort.rs:41 take 2.0 times as long on 2 processors as on one, 50 % of the time, \
             because they wait for one another, 60000 times: a lock, most likely"
        ),
        "{lock}"
    );
    assert!(lock.gain.unwrap().factor > 7.0, "without the lock it scales: {lock}");
}

/// A lock that is held for a moment: threads spin for it more than they sleep.
fn locked() -> Profile {
    let mut locked = grown(2.0, 0.2, 256 << 20);
    locked.sites[1].waits = 60_000;
    locked
}

#[test]
fn a_short_lock_is_told_by_its_waits() {
    let cause = |profile: &Profile| Comparison::of(profile).unwrap().sites()[0].cause;
    let mut profile = locked();
    assert_eq!(cause(&profile), Cause::Lock);
    profile.sites[1].waits = 100;
    assert_eq!(cause(&profile), Cause::Memory, "a few waits are no lock");
    profile.sites[1].waits = 60_000;
    profile.companion.as_mut().unwrap().sites[1].waits = 60_000;
    assert_eq!(cause(&profile), Cause::Memory, "alone, it waits as often: for files, say");
}

/// The system may wake a thread on the CPU of the thread that has just given up the lock, and still runs.
#[test]
fn a_lock_is_told_by_waits_for_the_cpu_of_its_last_holder() {
    let mut profile = grown(1.0, 0.0, 256 << 20);
    profile.sites[1].waits = 600;
    profile.sites[1].delayed_ns = profile.work_ns / 2;
    profile.delayed_ns = profile.work_ns / 2;
    profile.per_processor[0].busy_ns += profile.delayed_ns;
    let cause =
        |profile: &Profile| Comparison::of(profile).unwrap().sites().first().map(|growth| growth.cause);
    profile.usage = Some(Usage { others_ns: Some(0), ..Usage::default() });
    assert_eq!(cause(&profile), Some(Cause::Lock));
    profile.usage = Some(Usage { others_ns: Some(profile.work_ns), ..Usage::default() });
    assert_eq!(cause(&profile), None, "other programs had the CPUs");
}

/// With more processors than CPUs, all of them wait for a lock, but only those with a CPU disturb each other.
#[test]
fn processors_without_a_cpu_do_not_disturb() {
    for (work, asleep, factor) in [(3.0, 0.0, 31.0), (14.0, 12.5, 21.0), (1.0, 0.0, 1.0)] {
        let mut crowded = grown(work, asleep, 256 << 20);
        crowded.processors = 16;
        let growth = Scaling::of(&crowded).growth.unwrap();
        assert!((growth.factor - factor).abs() < 0.01, "{growth:?}");
        assert_eq!((growth.processors, growth.speedup), (16, None));
        assert!(Scaling::of(&crowded).explain(8)[1].contains("would take"));
    }
}

/// A gain is what the program can reach, before and after. If more cores make it no faster, it is compared with itself on
/// one, so Amdahl's law bounds the gain.
#[test]
fn gains_are_no_more_than_can_be_reached() {
    for (work, serial) in [(2.0, 0.5), (2.0, 0.7), (6.6, 0.3), (2.6, 0.9)] {
        let mut profile = grown(work, 0.0, 256 << 20);
        let one = profile.companion.as_mut().unwrap();
        let outside =
            Gap { ns: (serial / (1.0 - serial) * one.work_ns as f64) as u64, before: None, after: None };
        one.gaps = vec![outside.clone()];
        profile.gaps = vec![outside];
        let advice = advise(&profile, 8);
        let gain = |rule: Rule| advice.iter().find(|advice| advice.rule == rule)?.gain;
        let mended = gain(Rule::Outside).expect("serial code is named").factor;
        assert!(
            (0.99..=1.001 / (1.0 - serial)).contains(&mended),
            "{serial} serial, {work} times the work: {mended}"
        );
        let other = gain(Rule::Sharing).or(gain(Rule::Memory)).map_or(1.0, |gain| gain.factor);
        assert!((0.99..=1.001 / serial).contains(&other), "{serial} serial, {work} times the work: {other}");
    }
    // As a measured point among predicted ones, the run on two processors must not show as a gain.
    let measured_best = grown(1.02, 0.0, 8 << 20);
    assert!(advise(&measured_best, 2).iter().all(|advice| advice.gain.is_none()));
}

/// Two places that disturb each other share what would be gained.
#[test]
fn each_place_has_its_own_gain() {
    let mut profile = locked();
    let one = profile.companion.as_mut().unwrap();
    let half = one.work_ns / 2;
    for (site, work) in [(0, half), (1, half)] {
        one.sites[site].work_ns = work;
        one.sites[site].kind = "join".to_owned();
        profile.sites[site].kind = "join".to_owned();
        profile.sites[site].work_ns = 2 * work;
        profile.sites[site].waits = 60_000;
    }
    let advice = advise(&profile, 8);
    assert_eq!(advice.iter().map(|advice| advice.rule).collect::<Vec<_>>(), [Rule::Lock, Rule::Lock]);
    for lock in advice {
        let factor = lock.gain.unwrap().factor;
        assert!((1.05..4.0).contains(&factor), "the other one remains: {lock}");
    }
}

#[test]
fn too_few_iterations() {
    let mut few = fine();
    few.sites[1].kind = "for_each".to_owned();
    few.sites[1].forks = 2;
    few.sites[1].strands = 3;
    few.sites[1].work_ns = few.work_ns;
    few.span_ns = few.work_ns / 3;
    few.burdened_span_ns = few.span_ns;
    few.sites[1].span_ns = few.span_ns;
    assert_eq!(rules(&few), [Rule::FewPieces]);
    assert!(sentence(&few).contains("has only 3 iterations, of 667 ms"), "{}", sentence(&few));
}

#[test]
fn one_long_piece() {
    let mut uneven = fine();
    uneven.span_ns = 500_000_000;
    uneven.burdened_span_ns = 500_000_000;
    uneven.sites[1].span_ns = 499_000_000;
    uneven.sites[1].work_ns = 498_000_000;
    uneven.sites[1].forks = 99;
    uneven.sites[1].longest_ns = 300_000_000;
    let text = sentence(&uneven);
    assert!(
        text.starts_with(
            "one piece of the join in src/sort.rs:41 takes 300 ms, 60 % of the span, and the others 2.0 ms"
        ) && text.ends_with(" × at 8 cores"),
        "{text}"
    );
    uneven.sites[1].forks = 1;
    assert_eq!(rules(&uneven), [Rule::LowParallelism], "two pieces have no mean");
}

#[test]
fn what_cannot_be_seen_is_not_called_useless() {
    for processors in [1, 2, 4, 25, 70, 300] {
        let mut bridge = fine();
        bridge.span_ns = bridge.work_ns / processors;
        bridge.burdened_span_ns = bridge.span_ns;
        bridge.sites[1].span_ns = bridge.span_ns;
        bridge.sites[1].kind = "par_bridge".to_owned();
        let seen = if processors < 40 { Rule::Unseen } else { Rule::Fine };
        assert_eq!(rules(&bridge), [seen], "{processors} pieces");
        let text = sentence(&bridge);
        assert!(text.contains("at least") && !text.contains("will not help"), "{text}");
        let scaling = Scaling::of(&bridge);
        assert!(scaling.at_least && scaling.predict(512).band.contains(400.0), "{processors} pieces");
        // Another call is most of the span, but the bridge is a part of it.
        bridge.sites[0].span_ns = bridge.sites[1].span_ns / 5 * 4;
        bridge.sites[1].span_ns /= 5;
        bridge.sites[0].kind = "rayon".to_owned();
        assert!(advise(&bridge, 4).iter().all(|advice| !advice.text.contains("will not help")), "{bridge}");
    }
    let mut little = fine();
    little.sites.push(SiteProfile {
        kind: "par_bridge".to_owned(),
        span_ns: 100_000,
        ..little.sites[1].clone()
    });
    assert!(!Scaling::of(&little).at_least, "5 % of the span");
}
