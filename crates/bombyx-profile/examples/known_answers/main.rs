//! Small programs whose parallelism and fault are known. Compares what the profiler says and predicts with the truth.
//!
//! ```text
//! known_answers [names] [--rayon FILE] [--say]      what it says, on 1, 2 and 16 processors
//! known_answers [names] --bands ROUNDS              what it predicts for two processors, and the median of ROUNDS runs
//! ```
//!
//! Each program is profiled as `bombyx profile -p` does: on P processors, and once more on one, or on all CPUs if P is one.
//! A profile is right if two things hold. Its parallelism is in the known range, with both runs and with the first run
//! alone (unless processors disturb each other there). And its first sentence about the program, after sentences about the
//! machine, names the fault. `scripts/known-answers` also builds the programs on rayon's interface. There, a third thing must
//! hold: all forks have lines of the program, although they are inside rayon.
//!
//! A hypervisor can stop all CPUs for some milliseconds, and the system does not count that. In a profile it looks like work.
//! So a profile with too little parallelism is taken once more. The table marks it with "again".
//!
//! A program counts its work in steps of a fixed computation, not in time. So it does the same on a busy machine.

mod faults;
mod shapes;

use bombyx_profile::{Profile, Rule, Scaling, advise, read};
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hint::black_box;
use std::ops::RangeInclusive;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// A program with known answers.
struct Known {
    name: &'static str,
    /// Its parallelism. The upper end is what its structure says. The lower end is below that where a single interruption
    /// of the longest strand shows.
    parallelism: RangeInclusive<f64>,
    /// What is wrong with it.
    fault: Rule,
    run: fn(),
}

/// Computes for about this many microseconds on a present-day core.
fn grind(microseconds: u64) {
    let mut random = black_box(0x2545_F491_4F6C_DD1D_u64);
    for _ in 0..microseconds * 500 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
    }
    black_box(random);
}

/// Programs of `examples/rayon/known`: their names, parallelism and faults.
const RAYON: [(&str, RangeInclusive<f64>, Rule); 10] = [
    ("par_iter", 800.0..=4100.0, Rule::Fine),
    ("with_max_len", 800.0..=4100.0, Rule::Fine),
    ("par_chunks_mut", 150.0..=260.0, Rule::Fine),
    ("map_sum", 400.0..=1030.0, Rule::Fine),
    ("par_bridge", 1.0..=1100.0, Rule::Unseen),
    ("join", 400.0..=1030.0, Rule::Fine),
    ("scope", 80.0..=260.0, Rule::Fine),
    ("one_long", 1.5..=1.8, Rule::LongPiece),
    ("numbers", 4.0..=1e9, Rule::Outside),
    ("lock", 100.0..=1e9, Rule::Lock),
];

/// What one of the first sentences must say of some programs.
const SAYS: [(&str, &str); 4] = [
    ("serial-prefix", "from the start of the program to"),
    ("serial-end", "to the end of the program"),
    ("serial-between", "from one "),
    ("rayon:numbers", "from the start of the program to"),
];

/// A program as it is started.
struct Program {
    name: String,
    words: Vec<OsString>,
    parallelism: RangeInclusive<f64>,
    fault: Rule,
}

impl Program {
    /// Whether processors disturb each other there, so that a run on several shows other strands than one on one.
    fn disturbs(&self) -> bool {
        use Rule::{Blocked, Lock, Memory, Sharing, Unseen};
        matches!(self.fault, Lock | Sharing | Memory | Blocked | Unseen)
    }

    /// The parallelisms that must be right: that of the first run alone, unless processors disturb each other, and the reported
    /// one.
    fn parallelisms(&self, profile: &Profile) -> Vec<f64> {
        let reported = Scaling::of(profile).parallelism();
        if self.disturbs() { vec![reported] } else { vec![profile.parallelism(), reported] }
    }

    /// Whether all forks have lines of the program. Those of Bombyx's own interface always do.
    fn has_lines(&self, profile: &Profile) -> bool {
        let mut sites = profile.sites.iter().filter(|site| site.forks_here());
        !self.name.starts_with("rayon:")
            || sites.all(|site| site.line > 0 && site.file.ends_with("known/src/main.rs"))
    }

    fn command(&self, processors: u32) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
        command.env("BOMBYX_PROCESSORS", processors.to_string());
        command.env("RAYON_NUM_THREADS", processors.to_string());
        command
    }

    fn profiled(&self, processors: u32) -> Result<Profile, Box<dyn Error>> {
        let file = std::env::temp_dir().join(format!("known-answers-{}.json", std::process::id()));
        let status = self.command(processors).env("BOMBYX_PROFILE", &file).status()?;
        let profile = File::open(&file).map_err(Box::from).and_then(|file| Ok(read(file)?));
        let _ = fs::remove_file(&file);
        if status.success() { profile } else { Err(format!("{} ended with {status}", self.name).into()) }
    }

    /// As `bombyx profile -p` does.
    fn profiled_twice(&self, processors: u32) -> Result<Profile, Box<dyn Error>> {
        let profile = self.profiled(processors)?;
        let other = if processors == 1 { cpus() } else { 1 };
        if other == processors {
            return Ok(profile);
        }
        Ok(Profile { companion: Some(Box::new(self.profiled(other)?)), ..profile })
    }

    /// The median of so many runs without a profile, in seconds, on one processor and on two in turns.
    fn times(&self, rounds: usize) -> Result<[f64; 2], Box<dyn Error>> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (processors, times) in [1, 2].into_iter().zip(&mut times) {
                let start = Instant::now();
                let status = self.command(processors).status()?;
                times.push(start.elapsed().as_secs_f64());
                if !status.success() {
                    return Err(format!("{} ended with {status}", self.name).into());
                }
            }
        }
        Ok(times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        }))
    }
}

fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |number| number.get() as u32)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let all = || shapes::ALL.iter().chain(faults::ALL);
    let (mut names, mut rayon, mut say, mut rounds) = (Vec::new(), None, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--run" => {
                let name = arguments.next().unwrap_or_default();
                let known = all().find(|known| known.name == name).ok_or("there is no such program")?;
                (known.run)();
                return Ok(ExitCode::SUCCESS);
            }
            "--rayon" => rayon = arguments.next(),
            "--say" => say = true,
            "--bands" => rounds = Some(arguments.next().unwrap_or_default().parse()?),
            option if option.starts_with('-') => return Err(format!("no such option: {option}").into()),
            name => names.push(name.to_owned()),
        }
    }
    let this = std::env::current_exe()?.into_os_string();
    let mut programs: Vec<Program> = all()
        .map(|known| Program {
            name: known.name.to_owned(),
            words: vec![this.clone(), "--run".into(), known.name.into()],
            parallelism: known.parallelism.clone(),
            fault: known.fault,
        })
        .collect();
    if let Some(program) = rayon {
        programs.extend(RAYON.map(|(name, parallelism, fault)| Program {
            name: format!("rayon:{name}"),
            words: vec![program.clone().into(), name.into()],
            parallelism,
            fault,
        }));
    }
    if !names.is_empty() {
        programs.retain(|program| names.contains(&program.name));
    }
    let right = match rounds {
        Some(rounds) => bands(&programs, rounds)?,
        None => answers(&programs, say)?,
    };
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the profiler says. Returns whether all of it is right.
fn answers(programs: &[Program], say: bool) -> Result<bool, Box<dyn Error>> {
    println!("program              P           true   this run   reported  fault            said");
    let (mut right, mut all, mut twice) = (0, 0, 0);
    for program in programs {
        for processors in [1, 2, 16] {
            let mut profile = program.profiled_twice(processors)?;
            let again = program.parallelisms(&profile).iter().any(|it| it < program.parallelism.start());
            if again {
                twice += 1;
                profile = program.profiled_twice(processors)?;
            }
            let advice = advise(&profile, cpus());
            let rules: Vec<Rule> = advice.iter().take(3).map(|advice| advice.rule).collect();
            let (own, reported) = (profile.parallelism(), Scaling::of(&profile).parallelism());
            let inside = program.parallelisms(&profile).iter().all(|it| program.parallelism.contains(it));
            let about_machine = program.fault.is_about_machine();
            let first = advice.iter().find(|advice| about_machine || !advice.rule.is_about_machine());
            let says = SAYS.iter().find(|(name, _)| *name == program.name).map_or("", |(_, says)| says);
            let is_right = inside
                && program.has_lines(&profile)
                && first.is_some_and(|first| first.rule == program.fault)
                && advice.iter().take(3).any(|advice| advice.text.contains(says));
            right += usize::from(is_right);
            all += 1;
            let (low, high) = (program.parallelism.start(), program.parallelism.end());
            let range = if *high >= 1e9 { format!("≥ {low}") } else { format!("{low} – {high}") };
            println!(
                "{:<18} {processors:>3}  {range:>13}  {own:>9.1}  {reported:>9.1}  {:<15}  {}{}  {}",
                program.name,
                format!("{:?}", program.fault),
                if again { "again, " } else { "" },
                if is_right { "right:" } else { "WRONG:" },
                rules.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>().join(", ")
            );
            if say {
                advice.iter().take(3).for_each(|advice| println!("      {advice}"));
            }
        }
    }
    println!("\n{} programs, {right} of {all} profiles right, {twice} of them taken again", programs.len());
    Ok(right == all)
}

/// What the profiler predicts for two processors. Returns whether nine of ten points are in their bands, and the bands
/// narrow enough to help.
fn bands(programs: &[Program], rounds: usize) -> Result<bool, Box<dyn Error>> {
    println!("program                   T1         T2   speedup    likely      from        to");
    let (mut inside, mut width) = (0, 0.0);
    // This one disturbs itself at random.
    let programs: Vec<_> = programs.iter().filter(|program| program.fault != Rule::MachineBusy).collect();
    for program in &programs {
        let band = Scaling::of(&program.profiled_twice(2)?).predict(2).band;
        let [one, two] = program.times(rounds)?;
        inside += usize::from(band.contains(one / two));
        width += band.width();
        println!(
            "{:<18} {:>7.1} ms {:>7.1} ms  {:>8.2}  {:>8.2}  {:>8.2}  {:>8.2}  {}",
            program.name,
            one * 1e3,
            two * 1e3,
            one / two,
            band.likely,
            band.from,
            band.to,
            if band.contains(one / two) { "inside" } else { "OUTSIDE" }
        );
    }
    let all = programs.len().max(1) as f64;
    let (share, width) = (inside as f64 / all, width / all);
    println!(
        "\n{inside} of {} inside ({:.0} %), mean width {:.0} % of the middle",
        programs.len(),
        100.0 * share,
        100.0 * width
    );
    Ok(share >= 0.9 && width <= 0.3)
}
