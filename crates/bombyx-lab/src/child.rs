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

const SILENT: &str = "this system does not report the processor time of a process";

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
    let contender = Contender::named(runtime, processors)?;
    programs::fib(contender.runtime(), 30);
    let before = cpu_seconds().ok_or(SILENT)?;
    thread::sleep(Duration::from_secs_f64(seconds));
    Ok(Sample::seconds(cpu_seconds().ok_or(SILENT)? - before))
}

/// Processor time of so many ticks, one each 2 ms, of 8 leaves of 20 µs.
///
/// # Errors
/// If there is no such runtime, or if the system does not say.
pub fn ticks(runtime: &str, processors: usize, count: u32) -> Result<Sample> {
    const EACH: Duration = Duration::from_millis(2);
    let contender = Contender::named(runtime, processors)?;
    programs::fib(contender.runtime(), 20);
    let before = cpu_seconds().ok_or(SILENT)?;
    let mut next = Instant::now();
    for _ in 0..count {
        programs::tree(contender.runtime(), 1, 3, Duration::from_micros(20));
        next += EACH;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(Sample::seconds(cpu_seconds().ok_or(SILENT)? - before))
}

/// Processor time that a pool uses beyond that of a serial leaf, while the leaf runs.
///
/// # Errors
/// If there is no such runtime, or if the system does not say.
pub fn beside(runtime: &str, processors: usize, seconds: f64) -> Result<Sample> {
    let contender = Contender::named(runtime, processors)?;
    programs::fib(contender.runtime(), 20);
    // A tree without forks.
    let before = cpu_seconds().ok_or(SILENT)?;
    let start = Instant::now();
    programs::tree(contender.runtime(), 1, 0, Duration::from_secs_f64(seconds));
    let leaf = start.elapsed().as_secs_f64();
    Ok(Sample::seconds((cpu_seconds().ok_or(SILENT)? - before - leaf).max(0.0)))
}

/// Processor time that a pool uses in the seconds after regions so short that forks wake nobody.
///
/// # Errors
/// If there is no such runtime, or if the system does not say.
pub fn quiet(runtime: &str, processors: usize, seconds: f64) -> Result<Sample> {
    let contender = Contender::named(runtime, processors)?;
    for _ in 0..200 {
        programs::tree(contender.runtime(), 1, 4, Duration::from_nanos(200));
        programs::busy(Duration::from_micros(200));
    }
    programs::tree(contender.runtime(), 1, 4, Duration::from_nanos(200));
    let before = cpu_seconds().ok_or(SILENT)?;
    thread::sleep(Duration::from_secs_f64(seconds));
    Ok(Sample::seconds(cpu_seconds().ok_or(SILENT)? - before))
}

/// The first join of this process, which has one other thread.
///
/// # Errors
/// If there is no such runtime.
pub fn first(runtime: &str, processors: usize) -> Result<Sample> {
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let other = thread::spawn(move || wait.recv().is_err());
    let start = Instant::now();
    let contender = Contender::named(runtime, processors)?;
    programs::tree(contender.runtime(), 1, 1, Duration::ZERO);
    let seconds = start.elapsed().as_secs_f64();
    drop(stop);
    other.join().expect("the other thread only waits");
    Ok(Sample::seconds(seconds))
}

/// One region of 100 µs, for the time of the whole process.
///
/// # Errors
/// If there is no such runtime.
pub fn region(runtime: &str, processors: usize) -> Result<Sample> {
    let contender = Contender::named(runtime, processors)?;
    let start = Instant::now();
    programs::tree(contender.runtime(), 1, 3, Duration::from_nanos(12_500));
    Ok(Sample::seconds(start.elapsed().as_secs_f64()))
}

/// Keeps a CPU busy until somebody ends this process, or until the process that started it is gone.
///
/// # Errors
/// If the process may not run there.
pub fn spin(cpu: usize) -> Result<()> {
    pin(cpu)?;
    let begun_by = parent();
    while parent() == begun_by {
        programs::busy(Duration::from_millis(10));
    }
    Ok(())
}

#[cfg(unix)]
fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Nothing asks: [`pin`] refuses first.
#[cfg(not(unix))]
fn parent() -> u32 {
    0
}

#[cfg(target_os = "linux")]
fn pin(cpu: usize) -> Result<()> {
    // SAFETY: the set is plain data, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is there, and the macro checks the number.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is as large as said, and 0 names the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) } {
        0 => Ok(()),
        _ => Err(format!("cannot run on CPU {cpu}: {}", std::io::Error::last_os_error()).into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_cpu: usize) -> Result<()> {
    Err("processes can be pinned on Linux only".into())
}

/// A process that keeps a CPU busy until this is dropped.
pub struct Neighbour(std::process::Child);

impl Neighbour {
    /// Starts it.
    ///
    /// # Errors
    /// If the process cannot be started, or has ended at once.
    pub fn start(cpu: usize) -> Result<Self> {
        let mut process = Child::start(&["spin", &cpu.to_string()])?.process;
        thread::sleep(Duration::from_millis(50));
        match process.try_wait()? {
            Some(status) => Err(format!("the busy neighbour on CPU {cpu} ended with {status}").into()),
            None => Ok(Self(process)),
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
