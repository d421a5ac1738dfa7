//! The side that computes. A line in asks, a line out answers:
//!
//! | in | out |
//! |---|---|
//! | (nothing; at the start) | the core and the number of threads |
//! | `run` | the nanoseconds of [`AT_ONCE`] computations in a row |
//! | `check` | the digest of the last result, after it was checked |
//! | `memory` | the peak of resident memory since the input was there, above what it was then, in KiB |

use crate::{CORE, Program};
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

/// Computations for one `run`. The first one finds a pool that has gone to sleep, as after any pause. The others do
/// not.
pub(crate) const AT_ONCE: usize = 3;

pub(crate) fn serve(program: &Program) -> Result<(), String> {
    let mut subject = (program.prepare)();
    let before = resident()?;
    answer(&format!("{CORE} {}", rayon_core::current_num_threads()))?;
    for line in stdin().lock().lines() {
        match line.map_err(|error| error.to_string())?.as_str() {
            "run" => {
                let times: Vec<String> = (0..AT_ONCE)
                    .map(|_| {
                        subject.reset();
                        let start = Instant::now();
                        subject.compute();
                        start.elapsed().as_nanos().to_string()
                    })
                    .collect();
                answer(&times.join(" "))?;
            }
            "check" => {
                subject.check()?;
                answer(&subject.digest())?;
            }
            "memory" => answer(&peak()?.saturating_sub(before).to_string())?,
            other => return Err(format!("`{other}` was asked, which means nothing")),
        }
    }
    Ok(())
}

fn answer(text: &str) -> Result<(), String> {
    let mut out = stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| format!("nobody listens: {error}"))
}

/// Resident memory now, in KiB. The peak is counted from here on.
fn resident() -> Result<u64, String> {
    // Clears the peak. If that is not allowed, both sides include the peak of making the input.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

fn peak() -> Result<u64, String> {
    status("VmHWM:")
}

fn status(field: &str) -> Result<u64, String> {
    let text = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("/proc/self/status does not tell {field}"))
}
