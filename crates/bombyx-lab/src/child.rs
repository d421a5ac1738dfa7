//! Single measurements that need a separate process, because they look at the memory, the processor time or the
//! instructions of the whole process. The program's hidden command `child` makes them.

use crate::Result;
use crate::contender::Contender;
use crate::programs;
use crate::resources::{Watch, cpu_seconds};
use crate::sample::Sample;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// fib(n) on one processor, for counting instructions. Returns the number of forks. `runtime` may be `plain` or
/// `by-hand`, for the recursion without the trait that the others use. `wide` has closures of four words and results of
/// three.
///
/// # Errors
/// If there is no such runtime, or the result is wrong.
pub fn fib(runtime: &str, n: u32, wide: bool) -> Result<u64> {
    let result = match runtime {
        _ if wide => programs::wide_fib(Contender::named(runtime, 1)?.runtime(), n)
            .ok_or("the leaves of the recursion were counted wrong")?,
        "plain" => programs::plain_fib(black_box(n)),
        "by-hand" => {
            let pool = bombyx::Pool::builder().processors(1).build()?;
            pool.run(|| programs::bombyx_fib(black_box(n)))
        }
        _ => programs::fib(Contender::named(runtime, 1)?.runtime(), n),
    };
    if result != programs::fib_value(n) {
        return Err(format!("fib({n}) is {}, not {result}", programs::fib_value(n)).into());
    }
    Ok(programs::fib_forks(n))
}

/// Time and memory growth of a task that spawns `count` empty ones.
///
/// # Errors
/// If there is no such runtime.
pub fn spawns(runtime: &str, processors: usize, count: u64) -> Result<Sample> {
    let contender = Contender::named(runtime, processors)?;
    programs::fib(contender.runtime(), 20);
    let watch = Watch::start();
    let start = Instant::now();
    programs::spawns(contender.runtime(), count);
    let seconds = start.elapsed().as_secs_f64();
    Ok(Sample { memory: Some(watch.memory()), ..Sample::seconds(seconds) })
}

/// Processor time that an idle pool uses after a burst.
///
/// # Errors
/// If there is no such runtime, or if the system does not say.
pub fn idle(runtime: &str, processors: usize, seconds: f64) -> Result<Sample> {
    const SILENT: &str = "this system does not report the processor time of a process";
    let contender = Contender::named(runtime, processors)?;
    programs::fib(contender.runtime(), 30);
    let before = cpu_seconds().ok_or(SILENT)?;
    thread::sleep(Duration::from_secs_f64(seconds));
    Ok(Sample::seconds(cpu_seconds().ok_or(SILENT)? - before))
}

/// A measurement under way in another process.
pub struct Child {
    process: std::process::Child,
    what: String,
}

impl Child {
    /// Starts this program again with the words of a measurement.
    pub fn start(words: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?;
        let what = words.join(" ");
        let process = Command::new(program)
            .arg("child")
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start a process to measure {what}: {error}"))?;
        Ok(Self { process, what })
    }

    /// Waits for the result.
    pub fn sample(self) -> Result<Sample> {
        let output = self.process.wait_with_output()?;
        if !output.status.success() {
            return Err(
                format!("the process that measured {} ended with {}", self.what, output.status).into()
            );
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
