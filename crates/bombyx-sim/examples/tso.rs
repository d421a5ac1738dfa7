//! Explores the read-write protocol (RW §4) on machines with store buffers: the published protocol on every tree of
//! three forks for two processors and of two forks for three, then every mutation, then random runs of larger machines.
//!
//! ```text
//! cargo run --release -p bombyx-sim --example tso                      everything
//! cargo run --release -p bombyx-sim --example tso -- protocol          the published protocol only
//! cargo run --release -p bombyx-sim --example tso -- mutations         every mutation with its counterexample
//! cargo run --release -p bombyx-sim --example tso -- walks             random runs
//! cargo run --release -p bombyx-sim --example tso -- large             three processors with up to four forks, four with up to three
//! cargo run --release -p bombyx-sim --example tso -- rules             which part of the proof notices which mutation first
//! cargo run --release -p bombyx-sim --example tso -- 3 "(. (. .))" 2   processors, tree, capacity [, mutation]
//! ```

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Instant;

use bombyx_sim::tso::{
    Config, Fate, Mutation, Outcome, Progress, Rule, RuleSet, Tree, Verdict, explore, notices, walk,
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        [] => protocol().and_then(|a| Ok(a & mutations()? & walks()?)),
        ["protocol"] => protocol(),
        ["mutations"] => mutations(),
        ["walks"] => walks(),
        ["large"] => large(),
        ["rules"] => rules(),
        [processors, tree, capacity] => one(processors, tree, capacity, None),
        [processors, tree, capacity, mutation] => one(processors, tree, capacity, Some(mutation)),
        _ => {
            Err("arguments: nothing, protocol, mutations, walks, large, rules, or PROCESSORS TREE CAPACITY [MUTATION]"
                .into())
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tso: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether everything came out as it should.
type Result = std::result::Result<bool, Box<dyn Error>>;

fn one(processors: &str, tree: &str, capacity: &str, mutation: Option<&str>) -> Result {
    let mutation = mutation.map(str::parse::<Mutation>).transpose()?;
    let config = Config::new(processors.parse()?, tree.parse()?)
        .with_capacity(capacity.parse()?)
        .with_mutation(mutation);
    let outcome = timed(&config)?;
    if let Some(found) = outcome.counterexample() {
        println!("{found}");
    }
    Ok(outcome.holds())
}

fn protocol() -> Result {
    println!("The published protocol, all interleavings:");
    let two = Tree::all(3).into_iter().map(|tree| Config::new(2, tree).with_capacity(16));
    let three = Tree::all(2).into_iter().map(|tree| Config::new(3, tree));
    let mut holds = true;
    for config in two.chain(three) {
        let outcome = timed(&config)?;
        if let Some(found) = outcome.counterexample() {
            println!("{found}");
        }
        holds &= outcome.holds();
    }
    Ok(holds)
}

fn mutations() -> Result {
    let mut as_known = true;
    for &mutation in Mutation::ALL {
        println!("\nMutation {mutation}:");
        match Fate::of(mutation) {
            Fate::Caught(config) => {
                let outcome = timed(&config)?;
                as_known &= outcome.counterexample().is_some();
                match outcome.counterexample() {
                    Some(found) => println!("{found}"),
                    None => println!("  NOT CAUGHT"),
                }
            }
            Fate::Harmless { argument, shown_on } => {
                let outcome = timed(&shown_on)?;
                as_known &= outcome.holds();
                println!("  harmless: {argument}");
            }
        }
    }
    Ok(as_known)
}

fn walks() -> Result {
    println!("\nRandom runs with fair flushes, seeds 1 to 500:");
    let tree: Tree = "(((. .) (. .)) ((. .) (. (. .))))".parse()?;
    let mut holds = true;
    for (processors, capacity) in [(3, 8), (4, 2), (4, 8), (6, 4), (8, 16)] {
        let config = Config::new(processors, tree.clone()).with_capacity(capacity);
        let outcome = walk(&config, 1, 500, 1_000_000)?;
        println!(
            "  {processors} processors, {tree}, buffers of {capacity}: {} runs, {} moves, {} steals, at most {} joins in \
             {} watch list entries",
            outcome.runs, outcome.moves, outcome.steals, outcome.watched_joins, outcome.watched_entries
        );
        if let Some((seed, found)) = outcome.broken {
            println!("seed {seed}:\n{found}");
            holds = false;
        }
    }
    Ok(holds)
}

/// Machines that are too large without reductions. Only safety.
fn large() -> Result {
    println!("The published protocol, reduced, names of processors exchanged freely, unbounded buffers:");
    let machine = |processors| move |tree| Config::new(processors, tree).with_capacity(16);
    let three = (2..=4).flat_map(Tree::all).map(machine(3));
    let four = (1..=3).flat_map(Tree::all).map(machine(4));
    let mut holds = true;
    for config in three.chain(four) {
        let outcome = timed(&Config { symmetry: true, reduce: true, ..config })?;
        if let Some(found) = outcome.counterexample() {
            println!("{found}");
        }
        holds &= outcome.holds();
    }
    Ok(holds)
}

/// Which parts of the proof each mutation breaks first: on two processors with one fork and with two.
fn rules() -> Result {
    for &mutation in Mutation::ALL {
        let names = |set: RuleSet| set.iter().map(Rule::name).collect::<Vec<_>>().join("+");
        for tree in ["(. .)", "((. .) .)", "(. (. .))"] {
            let config = Config::new(2, tree.parse()?).with_capacity(4).with_mutation(mutation);
            let found = notices(&Config { application: true, max_states: 200_000, ..config })?;
            let mut sets: Vec<String> = found.first.iter().map(|&set| names(set)).collect();
            sets.extend(found.unproved.then(|| "the theorem alone".to_owned()));
            sets.extend(found.incomplete.then(|| "…".to_owned()));
            println!("{mutation:<26} {tree:<10} {:>7} states: {}", found.states, sets.join(", "));
        }
    }
    Ok(true)
}

fn timed(config: &Config) -> std::result::Result<Outcome, Box<dyn Error>> {
    let start = Instant::now();
    let mut progress = Reporter { start, last: start };
    let outcome = explore(config, |p| progress.report(p))?;
    progress.clear();
    let stats = outcome.stats;
    let verdict = match outcome.verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "VIOLATED",
        Verdict::Incomplete => "INCOMPLETE",
    };
    println!(
        "  {} processors, {}, buffers of {}: {verdict}; {} states, {} transitions, depth {}, longest buffer {}, at most {} \
         joins in {} watch list entries, {} MiB of tables, {:.1} s",
        config.processors,
        config.tree,
        config.capacity,
        stats.states,
        stats.transitions,
        stats.depth,
        stats.longest_buffer,
        stats.watched_joins,
        stats.watched_entries,
        stats.bytes >> 20,
        start.elapsed().as_secs_f64()
    );
    Ok(outcome)
}

/// A line on the terminal that is rewritten as the exploration goes on.
struct Reporter {
    start: Instant,
    last: Instant,
}

impl Reporter {
    fn report(&mut self, progress: Progress) {
        if !std::io::stderr().is_terminal() || self.last.elapsed().as_millis() < 200 {
            return;
        }
        self.last = Instant::now();
        let seconds = self.start.elapsed().as_secs();
        let line = match progress {
            Progress::Exploring { states, waiting, depth } => {
                format!("{states} states, {waiting} waiting, depth {depth}, {seconds} s")
            }
            Progress::Liveness { states, pass, passes } => {
                format!("{states} states, endless runs: pass {pass} of {passes}, {seconds} s")
            }
        };
        eprint!("\r\x1b[K  {line}");
        let _ = std::io::stderr().flush();
    }

    fn clear(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}
