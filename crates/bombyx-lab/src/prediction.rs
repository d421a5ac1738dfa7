//! How good the predictions are.
//!
//! Each workload is profiled on one processor and on two, as `bombyx profile` does, and recorded on one. Then one and two
//! processors take turns. The speedup on two, by the medians, is compared with the band that the profile gives, and with
//! the simulated time of the recording.

use crate::Result;
use crate::contender::Contender;
use crate::launch::{Launch, Scratch};
use crate::progress::Progress;
use crate::statistics::median;
use crate::table::{Cell, Style, Table, Tone};
use crate::text::{ratio, time};
use bombyx::Pool;
use bombyx_dag::{Measures, format};
use bombyx_profile::{Band, Profile, Scaling};
use bombyx_sim::Simulation;
use bombyx_workloads::{Grain, Size, Workload};
use std::ffi::OsString;
use std::fmt;
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
    /// Whether to simulate, too.
    pub simulate: bool,
}

/// The number of processors that is predicted.
const TWO: u32 = 2;
/// Seeds of the simulator, whose mean counts.
const SEEDS: u64 = 5;
/// How near the simulator should come.
const NEAR: f64 = 0.1;
/// The share of the programs that must lie in their bands.
const MOST_INSIDE: f64 = 0.9;
/// The mean width that a band may have, as a share of its middle: a wider one helps nobody.
const NARROW: f64 = 0.3;

/// One program: times in seconds.
struct Compared {
    name: String,
    /// On one processor and on two, the medians.
    one: f64,
    two: f64,
    parallelism: f64,
    band: Band,
    simulated: Option<f64>,
}

impl Compared {
    fn speedup(&self) -> f64 {
        self.one / self.two
    }

    fn error(&self) -> Option<f64> {
        self.simulated.map(|simulated| simulated / self.two - 1.0)
    }

    fn inside(&self) -> bool {
        self.band.contains(self.speedup())
    }
}

/// Compares program by program and shows the results line by line. Returns whether the bands are good: enough programs lie
/// in them, and they are narrow.
///
/// # Errors
/// If a result is wrong, or a program cannot be recorded.
pub fn run(plan: &Plan, style: Style, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<bool> {
    let table = Table::new(style)
        .words("program", 24)
        .numbers("T1", 9)
        .numbers("T1/T∞", 9)
        .numbers("T2", 9)
        .numbers("speedup", 8)
        .numbers("likely", 8)
        .numbers("from", 8)
        .numbers("to", 8)
        .words("band", 7)
        .numbers("simulated", 9)
        .numbers("error", 8);
    say(&table.head())?;
    let progress = Progress::new(plan.workloads.len());
    let mut all: Vec<Compared> = Vec::new();
    let near = |error: f64| error.abs() <= NEAR;
    let mut add = |compared: Compared| -> Result<()> {
        let tone = |good: bool| if good { Tone::Good } else { Tone::Bad };
        let (simulated, error) = (compared.simulated, compared.error());
        say(&table.line([
            Cell::from(compared.name.clone()),
            Cell::from(time(compared.one)),
            Cell::from(format!("{:.1}", compared.parallelism)),
            Cell::from(time(compared.two)),
            Cell::new(ratio(compared.speedup()), Tone::Strong),
            Cell::from(ratio(compared.band.likely)),
            Cell::from(ratio(compared.band.from)),
            Cell::from(ratio(compared.band.to)),
            Cell::new(if compared.inside() { "inside" } else { "outside" }, tone(compared.inside())),
            Cell::from(simulated.map_or(String::new(), time)),
            error.map_or(Cell::from(""), |error| {
                Cell::new(format!("{:+.1} %", 100.0 * error), tone(near(error)))
            }),
        ]))?;
        all.push(compared);
        Ok(())
    };
    for workload in &plan.workloads {
        progress.doing(workload.name());
        add(compare(*workload, plan)?)?;
        progress.step();
    }
    drop(progress);
    let bands: Vec<(Band, f64)> = all.iter().map(|compared| (compared.band, compared.speedup())).collect();
    let verdict = Verdict::of(&bands);
    let errors: Vec<f64> = all.iter().filter_map(Compared::error).collect();
    say(&format!(
        "\n{verdict}\n{} of {} simulated within {:.0} %\n",
        errors.iter().filter(|&&error| near(error)).count(),
        errors.len(),
        100.0 * NEAR
    ))?;
    Ok(verdict.is_good())
}

/// How good the bands of some programs are.
struct Verdict {
    programs: usize,
    inside: usize,
    /// The mean width of the bands, as a share of their middle.
    width: f64,
}

impl Verdict {
    /// From bands and measured speedups.
    fn of(bands: &[(Band, f64)]) -> Self {
        Self {
            programs: bands.len(),
            inside: bands.iter().filter(|(band, speedup)| band.contains(*speedup)).count(),
            width: bands.iter().map(|(band, _)| band.width()).sum::<f64>() / bands.len().max(1) as f64,
        }
    }

    fn share(&self) -> f64 {
        self.inside as f64 / self.programs.max(1) as f64
    }

    fn is_good(&self) -> bool {
        self.share() >= MOST_INSIDE && self.width <= NARROW
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} of {} in their band ({:.0} %; at least {:.0} % must be), whose mean width is {:.0} % of its middle (at \
             most {:.0} %)",
            if self.is_good() { "good" } else { "NOT GOOD" },
            self.inside,
            self.programs,
            100.0 * self.share(),
            100.0 * MOST_INSIDE,
            100.0 * self.width,
            100.0 * NARROW
        )
    }
}

/// The median.
fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    median(&times)
}

fn compare(workload: &dyn Workload, plan: &Plan) -> Result<Compared> {
    let mut prepared = workload.prepare(plan.size, plan.grain, plan.seed);
    // The first run finds new memory and cold caches. If it were one of the two profiled ones, they could not be compared.
    prepared.run(Contender::bombyx(1, None)?.runtime());
    let mut profile_on = |processors: u32| -> Result<Profile> {
        let pool = Pool::builder().processors(processors as usize).profile(true).build()?;
        let contender = Contender::of(pool);
        prepared.run(contender.runtime());
        let profile = contender.profile().ok_or("the pool was built to be profiled")?;
        // What is outside of the pool is this program's, not the workload's.
        Ok(Profile { gaps: Vec::new(), ..profile })
    };
    let (many, one) = (profile_on(TWO)?, profile_on(1)?);
    let profile = Profile { companion: Some(Box::new(one)), ..many };
    let contenders = [Contender::bombyx(1, None)?, Contender::bombyx(TWO as usize, None)?];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..plan.repeat {
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for nth in order {
            let run = prepared.run(contenders[nth].runtime());
            if round + 1 == plan.repeat {
                prepared.check().map_err(|wrong| format!("{} is wrong: {wrong}", workload.name()))?;
            }
            times[nth].push(run.time.as_secs_f64());
        }
    }
    let [one, two] = times.map(middle);
    let simulated = if plan.simulate { Some(one * simulated(workload, plan)?) } else { None };
    Ok(Compared { simulated, ..Compared::new(workload.name(), &profile, one, two) })
}

impl Compared {
    fn new(name: &str, profile: &Profile, one: f64, two: f64) -> Self {
        let scaling = Scaling::of(profile);
        let band = scaling.predict(TWO).band;
        Self { name: name.to_owned(), one, two, parallelism: scaling.parallelism(), band, simulated: None }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_must_be_right_and_narrow() {
        let band = |from: f64, to: f64| Band { likely: from, from, to };
        let verdict = |band: Band, outside: usize| {
            let speedups = (0..20).map(|nth| if nth < outside { 9.0 } else { 1.9 });
            Verdict::of(&speedups.map(|speedup| (band, speedup)).collect::<Vec<_>>())
        };
        assert!(verdict(band(1.7, 2.0), 2).is_good());
        assert!(!verdict(band(1.7, 2.0), 3).is_good(), "too many outside");
        assert!(!verdict(band(1.0, 2.0), 0).is_good(), "too wide");
        assert!(!Verdict::of(&[]).is_good(), "nothing was compared");
        assert_eq!(
            verdict(band(1.7, 2.0), 3).to_string(),
            "NOT GOOD: 17 of 20 in their band (85 %; at least 90 % must be), whose mean width is 16 % of its middle (at \
             most 30 %)"
        );
    }
}
