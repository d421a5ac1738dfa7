//! [`Run`]: one simulated run as a case, the families of computations that claims are tried on, and how runs get
//! smaller.

use crate::context::{Context, Subject};
use crate::mutant::Mutant;
use bombyx_dag::generate::Spec;
use bombyx_dag::{Builder, Class, Computation, Measures, StrandId, made_fully_strict, made_strict};
use bombyx_sim::{Contention, Outcome, Scheduler, Simulation, SimulationError, Speeds, Trace};
use std::fmt;
use std::sync::Arc;

/// A computation with its name and measures, shared by many runs. Its name is a spec, or `strict SPEC` or `fully-strict
/// SPEC` for the computation of the spec made so.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    spec: String,
    computation: Arc<Computation>,
    measures: Measures,
    /// Whether strands were cut into unit instructions.
    unit: bool,
}

impl Named {
    pub(crate) fn new(spec: &str) -> Self {
        Self::try_new(spec, false).unwrap_or_else(|| panic!("`{spec}` makes a computation"))
    }

    /// With every strand cut into unit instructions, as in BL §2.
    pub(crate) fn in_units(spec: &str) -> Self {
        Self::try_new(spec, true).unwrap_or_else(|| panic!("`{spec}` makes a computation"))
    }

    #[cfg(test)]
    pub(crate) fn computation(&self) -> &Computation {
        &self.computation
    }

    fn try_new(spec: &str, unit: bool) -> Option<Self> {
        let (make, plain): (fn(&Computation) -> Computation, &str) = match spec.split_once(' ') {
            Some(("strict", plain)) => (made_strict, plain),
            Some(("fully-strict", plain)) => (made_fully_strict, plain),
            _ => (Computation::clone, spec),
        };
        let computation = make(&plain.parse::<Spec>().ok()?.build().ok()?);
        let computation = if unit { in_units(&computation) } else { computation };
        let measures = Measures::of(&computation);
        Some(Self { spec: spec.to_owned(), computation: Arc::new(computation), measures, unit })
    }
}

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    named: Named,
    pub(crate) scheduler: Scheduler,
    pub(crate) processors: usize,
    pub(crate) seed: u64,
    pub(crate) contention: Contention,
    pub(crate) speeds: Option<Speeds>,
    /// Whether a thief that succeeds executes in the step of its attempt (DFD §4.1).
    same_step: bool,
    /// The wrong scheduler that runs in place of the right one.
    mutant: Option<Mutant>,
}

impl Run {
    /// A run of the present claim, with the context's mutant if there is one.
    pub(crate) fn new(cx: &Context<'_>, named: &Named, scheduler: Scheduler, processors: usize) -> Self {
        Self { mutant: cx.plan.mutant, ..Self::right(named, scheduler, processors) }
    }

    /// A run under the right scheduler, whatever the context says.
    pub(crate) fn right(named: &Named, scheduler: Scheduler, processors: usize) -> Self {
        let contention = Contention::default();
        let (speeds, mutant) = (None, None);
        Self {
            named: named.clone(),
            scheduler,
            processors,
            seed: 1,
            contention,
            speeds,
            same_step: false,
            mutant,
        }
    }

    /// On processors of these speeds.
    pub(crate) fn speeds(mut self, speeds: &str) -> Self {
        let speeds: Speeds = speeds.parse().unwrap_or_else(|e| panic!("{e}"));
        self.processors = speeds.processors().expect("speeds are listed one by one");
        self.speeds = Some(speeds);
        self
    }

    pub(crate) fn contention(mut self, contention: Contention) -> Self {
        self.contention = contention;
        self
    }

    /// In the cost model of DFD §4.1: of the thieves that meet at a deque, one succeeds and executes in the same step.
    pub(crate) fn in_cost_model(self) -> Self {
        Self { same_step: true, contention: Contention::Denied, ..self }
    }

    /// The same run under the right scheduler.
    pub(crate) fn mended(&self) -> Self {
        Self { mutant: None, ..self.clone() }
    }

    /// The same run under another scheduler.
    pub(crate) fn under(&self, scheduler: Scheduler) -> Self {
        Self { scheduler, ..self.clone() }
    }

    /// The same run at other speeds.
    pub(crate) fn at(&self, speeds: Speeds) -> Self {
        Self { speeds: Some(speeds), ..self.clone() }
    }

    pub(crate) fn computation(&self) -> &Computation {
        &self.named.computation
    }

    pub(crate) fn measures(&self) -> &Measures {
        &self.named.measures
    }

    pub(crate) fn simulation(&self) -> Simulation<'_> {
        let scheduler = match self.mutant {
            Some(Mutant::Instead(other)) => other,
            _ => self.scheduler,
        };
        let simulation = Simulation::new(&self.named.computation, scheduler)
            .processors(self.processors)
            .seed(self.seed)
            .contention(self.contention)
            .speeds(self.speeds.clone().unwrap_or_default());
        let simulation = if self.same_step { simulation.same_step() } else { simulation };
        match self.mutant {
            Some(Mutant::Scheduler(mutation)) => simulation.mutate(mutation),
            _ => simulation,
        }
    }

    pub(crate) fn outcome(&self) -> Result<Outcome, String> {
        self.simulation().run().map_err(|e| e.to_string())
    }

    /// Choices with which every thief asks only itself and never gets a thread, for as long as one processor takes for
    /// all the work.
    pub(crate) fn only_themselves(&self) -> Vec<Vec<Option<u32>>> {
        (0..self.processors as u32).map(|p| vec![Some(p); self.named.measures.work as usize]).collect()
    }

    fn with(&self, named: Named, processors: usize) -> Self {
        Self { named, processors, ..self.clone() }
    }
}

/// If there are more changes of speed than this, they are not listed.
const FEW_CHANGES: usize = 6;

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} under {}", self.named.spec, self.scheduler)?;
        match &self.speeds {
            Some(speeds) if speeds.changes().len() > FEW_CHANGES => {
                let text = speeds.to_string();
                let (list, changes) = text.split_once(';').unwrap_or((&text, ""));
                let first = changes.split(':').next().unwrap_or_default();
                write!(f, " at speeds {list} with {} changes from time {first} on", speeds.changes().len())?;
            }
            Some(speeds) => write!(f, " at speeds {speeds}")?,
            None => write!(f, ", P = {}", self.processors)?,
        }
        write!(f, ", seed {}", self.seed)
    }
}

impl Subject for Run {
    fn computation(&self) -> String {
        self.named.spec.clone()
    }

    fn processors(&self) -> usize {
        self.processors
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        if self.speeds.is_none() {
            let fewer = [2, self.processors / 2, self.processors - 1];
            let fewer = fewer.into_iter().filter(|&p| p >= 2 && p < self.processors);
            smaller.extend(fewer.map(|p| self.with(self.named.clone(), p)));
        }
        let specs = smaller_specs(&self.named.spec).into_iter();
        let named = specs.filter_map(|spec| Named::try_new(&spec, self.named.unit));
        smaller.extend(named.map(|named| self.with(named, self.processors)));
        smaller
    }

    fn replay(&self, seeds: u64) -> Option<String> {
        let (make, spec) = match self.named.spec.split_once(' ') {
            Some((class, spec)) => (format!(" --make {class}"), spec),
            None => (String::new(), self.named.spec.as_str()),
        };
        let mut command = format!("bombyx simulate {spec}{make} -s {}", self.scheduler);
        match &self.speeds {
            Some(speeds) => command += &format!(" --speeds '{speeds}'"),
            None => command += &format!(" -p {}", self.processors),
        }
        command += &format!(" --seed {} --contention {}", self.seed, self.contention);
        if self.same_step {
            command += " --same-step";
        }
        command += &if seeds > 1 { format!(" --seeds {seeds}") } else { " --check".to_owned() };
        Some(command)
    }
}

/// The spec with one parameter made smaller: to its least value, by half, or by one. Seeds and percentages stay.
fn smaller_specs(text: &str) -> Vec<String> {
    if let Some((class, spec)) = text.split_once(' ') {
        return smaller_specs(spec).into_iter().map(|spec| format!("{class} {spec}")).collect();
    }
    let Ok(spec) = text.parse::<Spec>() else { return Vec::new() };
    let parameters = spec.generator().parameters;
    let value = |name: &str| spec.value(name).expect("the spec has its generator's parameters");
    let fixed =
        ["seed", "class", "percent", "spawn", "join", "shrink", "grain-shrink", "last", "jitter", "branch"];
    let mut specs: Vec<(u64, String)> = Vec::new();
    for shrunk in parameters.iter().filter(|p| !fixed.contains(&p.name)) {
        let now = value(shrunk.name);
        let mut less = vec![shrunk.min, now / 2, now.saturating_sub(1)];
        less.dedup();
        for less in less.into_iter().filter(|&v| v >= shrunk.min && v < now) {
            let setting = |p: &bombyx_dag::generate::Parameter| {
                let v = if p.name == shrunk.name { less } else { value(p.name) };
                format!("{}={v}", p.name)
            };
            let settings: Vec<String> = parameters.iter().map(setting).collect();
            let full = format!("{}:{}", spec.generator().name, settings.join(","));
            if let Ok(spec) = full.parse::<Spec>() {
                specs.push((spec.estimated_size(), spec.to_string()));
            }
        }
    }
    specs.sort();
    specs.into_iter().map(|(_, spec)| spec).collect()
}

/// The same computation with every strand cut into unit instructions. The first instruction allocates a strand's
/// memory, and the last frees it.
fn in_units(c: &Computation) -> Computation {
    let mut b = Builder::new(c.frame(c.root()));
    let mut last = vec![StrandId(0); c.strand_count()];
    let mut waits: Vec<Vec<StrandId>> = vec![Vec::new(); c.strand_count()];
    for strand in c.strands() {
        for nth in 0..c.weight(strand) {
            last[strand.index()] = b.strand(1);
            if nth == 0 {
                waits[strand.index()].drain(..).for_each(|from| b.wait_for(from));
                if c.allocated(strand) > 0 {
                    b.allocate(c.allocated(strand));
                }
            }
        }
        if c.freed(strand) > 0 {
            b.free(c.freed(strand));
        }
        for &to in c.joins_from(strand) {
            waits[to.index()].push(last[strand.index()]);
        }
        match c.child(strand) {
            Some(child) => drop(b.spawn(c.frame(child))),
            None => {
                // The next strand in serial order belongs to this thread, or to the ancestor whose turn it is.
                let mut thread = c.thread_of(strand);
                let next = StrandId(strand.0 + 1);
                while next.index() < c.strand_count() && c.thread_of(next) != thread {
                    b.end();
                    thread = c.parent(thread).expect("the serial order returns to an ancestor");
                }
            }
        }
    }
    b.build().expect("cutting strands keeps a computation legal")
}

/// Computations of at most this class, small enough to look at every state.
pub(crate) fn small(cx: &Context<'_>, class: Class) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    let random = cx.by_effort(1, 6, 40);
    for nth in 0..random {
        let seed = cx.seed(nth);
        specs.push(format!("geometric:depth=3,memory=0,grain=4,seed={seed}"));
        specs.push(format!("loop:n=12,work=4,jitter=1,repeat=2,seed={seed}"));
        specs.push(format!("bushy:threads=16,class=0,work=2,seed={seed}"));
        if class >= Class::FullyStrict {
            specs.push(format!("random:threads=20,work=2,seed={seed}"));
            specs.push(format!("random:threads=25,join=60,work=1,spawn=50,seed={seed}"));
            specs.push(format!("bushy:threads=20,class=1,work=2,seed={seed}"));
        }
        if class >= Class::Strict {
            specs.push(format!("bushy:threads=20,class=2,work=2,seed={seed}"));
            specs.push(format!("strict bushy:threads=16,class=3,work=2,seed={seed}"));
        }
        if class >= Class::General {
            specs.push(format!("bushy:threads=20,class=3,work=2,seed={seed}"));
        }
    }
    specs.extend(["fib:6", "chain:length=9,work=3", "fan:children=9,work=4"].map(str::to_owned));
    if cx.plan.effort > crate::Effort::Quick {
        specs.extend(["dnc:depth=4,work=3", "skewed:leaves=14,work=2", "fib:8"].map(str::to_owned));
    }
    if class >= Class::FullyStrict {
        specs.extend(["figure1", "wavefront:rows=4,columns=5,work=2,reach=1"].map(str::to_owned));
    }
    if class >= Class::Strict {
        specs.extend(
            ["wavefront:rows=5,columns=6,work=2", "wavefront:rows=8,columns=4,work=1,reach=5"]
                .map(str::to_owned),
        );
    }
    specs
}

/// Computations of at most this class, large enough for bounds to be tested.
pub(crate) fn large(cx: &Context<'_>, class: Class) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    let random = cx.by_effort(1, 3, 12);
    for nth in 0..random {
        let seed = cx.seed(nth);
        specs.push(format!("geometric:depth=6,memory=0,grain=10,seed={seed}"));
        specs.push(format!("loop:n=100,work=8,jitter=1,repeat=3,seed={seed}"));
        specs.push(format!("bushy:threads=300,class=0,seed={seed}"));
        if class >= Class::FullyStrict {
            specs.push(format!("random:threads=150,seed={seed}"));
            specs.push(format!("bushy:threads=300,class=1,seed={seed}"));
        }
        if class >= Class::Strict {
            specs.push(format!("bushy:threads=300,class=2,seed={seed}"));
            specs.push(format!("strict bushy:threads=200,class=3,seed={seed}"));
        }
        if class >= Class::General {
            specs.push(format!("bushy:threads=300,class=3,seed={seed}"));
        }
    }
    let fib = cx.by_effort("fib:13", "fib:15", "fib:18");
    let others = [
        "chain:length=60,work=5",
        "fan:children=150,work=10",
        "dnc:depth=7,work=20",
        "skewed:leaves=60,work=10",
    ];
    specs.push(fib.to_owned());
    specs.extend(others.map(str::to_owned));
    if class >= Class::FullyStrict {
        specs.push("wavefront:rows=10,columns=20,work=3,reach=1".to_owned());
    }
    if class >= Class::Strict {
        specs.push("wavefront:rows=10,columns=20,work=3".to_owned());
    }
    specs
}

/// Every computation under every scheduler on every number of processors, with this many seeds each.
pub(crate) fn grid(
    cx: &Context<'_>,
    computations: &[Named],
    schedulers: &[Scheduler],
    processors: &[usize],
    seeds: u64,
) -> Vec<Run> {
    let mut runs = Vec::new();
    for named in computations {
        for &scheduler in schedulers {
            for &p in processors {
                runs.extend((0..seeds).map(|nth| Run::new(cx, named, scheduler, p).with_seed(cx.seed(nth))));
            }
        }
    }
    runs
}

/// Numbers of processors, by effort.
pub(crate) fn processors(cx: &Context<'_>) -> &'static [usize] {
    cx.by_effort(&[2, 4], &[1, 2, 3, 5, 8, 16], &[1, 2, 3, 4, 6, 8, 12, 16, 32, 64])
}

pub(crate) fn named(specs: Vec<String>) -> Vec<Named> {
    specs.iter().map(|spec| Named::new(spec)).collect()
}

pub(crate) fn named_in_units(specs: Vec<String>) -> Vec<Named> {
    specs.iter().map(|spec| Named::in_units(spec)).collect()
}

pub(crate) fn text(error: SimulationError) -> String {
    error.to_string()
}

/// The trace of a run that recorded one.
pub(crate) fn trace(outcome: &Outcome) -> &Trace {
    outcome.trace.as_ref().expect("a trace was asked for")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_sim::Mode;

    #[test]
    fn cutting_into_units_changes_no_schedule() {
        for spec in
            ["random:threads=30,memory=9,seed=4", "fan:children=5", "loop:n=9,repeat=2", "wavefront:rows=4"]
        {
            let (whole, cut) = (Named::new(spec), Named::in_units(spec));
            assert_eq!(whole.measures.work as usize, cut.computation.strand_count(), "{spec}");
            assert_eq!(whole.measures, cut.measures, "{spec}");
            assert_eq!(whole.computation.class(), cut.computation.class(), "{spec}");
            for seed in 0..4 {
                let run = |named: &Named| {
                    let run = Run::right(named, Scheduler::WorkStealing, 3).with_seed(seed);
                    let outcome = run.simulation().mode(Mode::Step).run().unwrap();
                    (outcome.makespan, outcome.dollars, outcome.steals, outcome.peak)
                };
                assert_eq!(run(&whole), run(&cut), "{spec}, seed {seed}");
            }
        }
    }

    #[test]
    fn smaller_specs_are_smaller_and_end() {
        let mut text = "random:threads=30,seed=4".to_owned();
        let mut steps = 0;
        while let Some(next) = smaller_specs(&text).into_iter().next() {
            text = next;
            steps += 1;
        }
        assert!(steps > 0 && text.contains("seed=4"), "{text} after {steps}");
    }
}
