//! Runs a program to its end and reports what it took.

use std::io::Read;
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What a run of a program took.
#[derive(Debug)]
pub struct Run {
    /// How it ended. `None` if it was ended because its time was up.
    pub status: Option<ExitStatus>,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
    /// From its start to its end.
    pub wall: Duration,
    /// The time of all its threads, in the program and in the kernel.
    pub cpu: Duration,
    /// The most memory that was resident at a time, in KiB.
    pub peak: u64,
    /// The most threads that were seen at a time, if they were counted.
    pub threads: Option<usize>,
}

impl Run {
    /// Whether it ended by itself, with success.
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// How it ended, in words.
    pub fn ending(&self) -> String {
        match self.status {
            None => format!("was still running after {:.0} s", self.wall.as_secs_f64()),
            Some(status) => format!("ended with {status}"),
        }
    }
}

/// How often the threads are counted.
const LOOK: Duration = Duration::from_micros(300);

/// Runs `command`, for at most `limit`. With `count_threads`, it keeps looking how many threads the program has. That
/// costs time, so such a run is not for the clock.
///
/// # Errors
/// If the program cannot be started, or waited for.
pub fn run(command: &mut Command, limit: Duration, count_threads: bool) -> Result<Run, String> {
    let begin = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?} does not start: {error}"))?;
    let mut pipe = child.stdout.take().ok_or("no pipe")?;
    let pid = libc::pid_t::try_from(child.id()).map_err(|error| error.to_string())?;
    thread::scope(|scope| {
        let (over, ended) = channel::<()>();
        let watch = scope.spawn(move || watch(pid, &ended, begin, limit, count_threads));
        let mut output = Vec::new();
        pipe.read_to_end(&mut output).map_err(|error| error.to_string())?;
        wait_for_end(pid)?;
        let wall = begin.elapsed();
        // The process is reaped only after nobody watches it any more. Its number stays its own until then.
        drop(over);
        let (in_time, threads) = watch.join().map_err(|_| "the watch has panicked")?;
        let (status, usage) = reap(pid)?;
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.cast_unsigned())
                + Duration::from_micros(time.tv_usec.cast_unsigned())
        };
        Ok(Run {
            status: in_time.then_some(status),
            output,
            wall,
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            peak: usage.ru_maxrss.cast_unsigned(),
            threads: count_threads.then_some(threads),
        })
    })
}

/// Watches a process until `ended` says that it has ended, or ends it when the time is up. Returns whether it ended by
/// itself, and the most threads that were seen.
fn watch(
    pid: libc::pid_t,
    ended: &Receiver<()>,
    begin: Instant,
    limit: Duration,
    count_threads: bool,
) -> (bool, usize) {
    let mut most = 0;
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        match ended.recv_timeout(if count_threads { left.min(LOOK) } else { left }) {
            Err(RecvTimeoutError::Timeout) if begin.elapsed() >= limit => {
                // SAFETY: a plain call. The process is not reaped yet, so the number is its own.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                return (false, most);
            }
            Err(RecvTimeoutError::Timeout) => most = most.max(threads_of(pid)),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return (true, most),
        }
    }
}

/// How many threads a process has, or 0 if that is no longer known.
fn threads_of(pid: libc::pid_t) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

fn wait_for_end(pid: libc::pid_t) -> Result<(), String> {
    // SAFETY: zeros are a value of this plain struct.
    let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
    let id = pid.cast_unsigned();
    // SAFETY: `info` is there for the call. The process is a child of this one, and stays to be reaped.
    let done = unsafe { libc::waitid(libc::P_PID, id, &raw mut info, libc::WEXITED | libc::WNOWAIT) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

fn reap(pid: libc::pid_t) -> Result<(ExitStatus, libc::rusage), String> {
    let mut status = 0;
    // SAFETY: zeros are a value of this plain struct.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: both places are there for the call. The process is a child that nobody else waits for.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if reaped == pid {
        Ok((ExitStatus::from_raw(status), usage))
    } else {
        Err(std::io::Error::last_os_error().to_string())
    }
}

/// The median.
///
/// # Panics
/// If there are no values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
