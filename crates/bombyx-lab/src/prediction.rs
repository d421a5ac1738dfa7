//! How good the predictions are.
//!
//! Each workload is profiled and recorded on one processor. Then one and two processors take turns. The median on two
//! processors is compared with the bounds that the profile gives, and with the simulated time of the recording.
//!
//! Bounds are multiples of T1, and how well T1 is known is measured too. Disturbances only make a run longer, so the
//! program itself takes at most as long as its best run, while runs like those on two processors take the median. The
//! lower bound uses the best run and the upper bound the median, and there is no other tolerance.

use crate::contender::Contender;
use crate::launch::{Launch, Scratch};
use crate::progress::Progress;
use crate::statistics::median;
use crate::table::{Cell, Style, Table, Tone};
use crate::text::time;
use crate::{Result, contention};
use bombyx::Pool;
use bombyx_dag::{Measures, format};
use bombyx_profile::Scaling;
use bombyx_sim::Simulation;
use bombyx_workloads::{Grain, Size, Workload};
use std::ffi::OsString;
use std::fs::File;

/// What is compared.
pub struct Plan {
    /// The workloads.
    pub workloads: Vec<&'static dyn Workload>,
    /// How much work.
    pub size: Size,
    /// How small the serial pieces are.
    pub grain: Grain,
    /// Seed of the inputs.
    pub seed: u64,
    /// Runs on each number of processors.
    pub repeat: u16,
}

/// The number of processors that is predicted.
const TWO: u32 = 2;
/// Seeds of the simulator, whose mean counts.
const SEEDS: u64 = 5;
/// How near the simulator should come.
const NEAR: f64 = 0.1;

/// One workload: times in seconds.
struct Compared {
    /// On one processor, the best run and the median.
    best: f64,
    one: f64,
    /// On two, the median.
    two: f64,
    parallelism: f64,
    /// The shortest and longest time on two processors that the profile allows.
    bounds: (f64, f64),
    /// The same if cores keep their data apart and gain nothing from their own caches.
    narrow: (f64, f64),
    simulated: f64,
}

impl Compared {
    fn inside(&self) -> bool {
        self.bounds.0 <= self.two && self.two <= self.bounds.1
    }

    /// Where the time lies, and briefly why.
    fn within(&self) -> Within {
        match self.two {
            _ if !self.inside() => Within::Outside,
            two if two > self.narrow.1 => Within::Shares,
            two if two < self.narrow.0 => Within::Caches,
            _ => Within::Inside,
        }
    }

    fn error(&self) -> f64 {
        self.simulated / self.two - 1.0
    }
}

/// Where a time lies between its bounds.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Inside,
    /// Inside only because cores may share data.
    Shares,
    /// Inside only because of caches.
    Caches,
    Outside,
}

impl Within {
    fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Shares => "shares",
            Self::Caches => "caches",
            Self::Outside => "outside",
        }
    }
}

/// Compares workload by workload and shows the results line by line.
///
/// # Errors
/// If a result is wrong, or a program cannot be recorded.
pub fn run(plan: &Plan, style: Style, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let all = &plan.workloads;
    let table = Table::new(style)
        .words("workload", 24)
        .numbers("best T1", 9)
        .numbers("T1", 9)
        .numbers("T1/T∞", 9)
        .numbers("T2", 9)
        .numbers("at least", 9)
        .numbers("at most", 9)
        .words("bounds", 7)
        .numbers("simulated", 9)
        .numbers("error", 8);
    say(&table.head())?;
    let progress = Progress::new(all.len());
    let (mut verdicts, mut near) = (Vec::new(), 0);
    for workload in all {
        progress.doing(workload.name());
        let compared = compare(*workload, plan)?;
        let within = compared.within();
        verdicts.push(within);
        near += usize::from(compared.error().abs() <= NEAR);
        let tone = |good: bool| if good { Tone::Good } else { Tone::Bad };
        say(&table.line([
            Cell::from(workload.name()),
            Cell::from(time(compared.best)),
            Cell::from(time(compared.one)),
            Cell::from(format!("{:.1}", compared.parallelism)),
            Cell::new(time(compared.two), Tone::Strong),
            Cell::from(time(compared.bounds.0)),
            Cell::from(time(compared.bounds.1)),
            Cell::new(within.name(), tone(within != Within::Outside)),
            Cell::from(time(compared.simulated)),
            Cell::new(format!("{:+.1} %", 100.0 * compared.error()), tone(compared.error().abs() <= NEAR)),
        ]))?;
        progress.step();
    }
    drop(progress);
    let of = verdicts.len();
    let count = |which: Within| verdicts.iter().filter(|&&within| within == which).count();
    say(&format!(
        "\n{} of {of} inside the bounds, {} of them because cores share data and {} because they have caches of their own; {near} \
         of {of} simulated within {:.0} %\n",
        of - count(Within::Outside),
        count(Within::Shares),
        count(Within::Caches),
        100.0 * NEAR
    ))?;
    Ok(())
}

fn compare(workload: &dyn Workload, plan: &Plan) -> Result<Compared> {
    let mut prepared = workload.prepare(plan.size, plan.grain, plan.seed);
    let profiled = Contender::of(Pool::builder().processors(1).profile(true).build()?);
    prepared.run(profiled.runtime());
    let profile = profiled.profile().ok_or("the pool was built to be profiled")?;
    drop(profiled);
    let contenders = [Contender::bombyx(1, None)?, Contender::bombyx(TWO as usize, None)?];
    let mut rounds: Vec<[f64; 2]> = Vec::new();
    for round in 0..plan.repeat {
        let mut times = [0.0; 2];
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for nth in order {
            let run = prepared.run(contenders[nth].runtime());
            if round + 1 == plan.repeat {
                prepared.check().map_err(|wrong| format!("{} is wrong: {wrong}", workload.name()))?;
            }
            times[nth] = run.time.as_secs_f64();
        }
        rounds.push(times);
    }
    let [one, two] = [0, 1].map(|nth| {
        let mut times: Vec<f64> = rounds.iter().map(|round| round[nth]).collect();
        times.sort_by(f64::total_cmp);
        times
    });
    let (best, one, two) = (one[0], median(&one), median(&two));
    let scaling = contention::measured().into_iter().fold(Scaling::of(&profile), Scaling::on);
    let prediction = scaling.predict(TWO);
    Ok(Compared {
        best,
        one,
        two,
        parallelism: scaling.parallelism(),
        bounds: (best / prediction.upper_caches, one / prediction.lower_sharing),
        narrow: (best / prediction.upper, one / prediction.lower),
        simulated: one * simulated(workload, plan)?,
    })
}

/// The simulated time on two processors as a share of that on one, from a recording on one.
fn simulated(workload: &dyn Workload, plan: &Plan) -> Result<f64> {
    let scratch = Scratch::new()?;
    let path = scratch.file("run.dag");
    let mut words = vec![std::env::current_exe()?.into_os_string(), "run".into(), workload.name().into()];
    let Plan { size, grain, seed, .. } = plan;
    let options = format!("--repeat 1 --size {size} --grain {grain} --seed {seed}");
    words.extend(options.split(' ').map(OsString::from));
    let ended = Launch::new(&words).with("BOMBYX_RECORD", &path).processors(Some(1)).quiet().run()?;
    if let Some(complaint) = ended.complaint() {
        return Err(format!("recording {} {complaint}: {}", workload.name(), ended.errors).into());
    }
    let computation = format::read(File::open(&path)?)?;
    let work = Measures::of(&computation).work as f64;
    let noted = computation.notes().iter().find(|(key, _)| key == "steal_ns");
    let steal = noted.and_then(|(_, ns)| ns.parse::<f64>().ok()).map_or(1, |ns| ns.round().max(1.0) as u64);
    let mut sum = 0.0;
    for seed in 1..=SEEDS {
        let simulation = Simulation::new(&computation, bombyx_sim::Scheduler::WorkStealing);
        let outcome = simulation.processors(TWO as usize).seed(seed).steal_cost(steal).run();
        sum += outcome.map_err(|error| error.to_string())?.time();
    }
    Ok(sum / SEEDS as f64 / work)
}
