//! The files that the environment asks for, written when the process ends.
//!
//! A file that cannot be written costs the program nothing but a line on standard error.

use super::ledger::Profiler;
use super::record::Recorder;
use super::report::Profile;
use std::ffi::{OsStr, OsString, c_int};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::{env, fs};

/// The files, and the profiler that knows what to write.
struct Files {
    profiler: Arc<Profiler>,
    profile: Option<OsString>,
    record: Option<OsString>,
}

static FILES: OnceLock<Files> = OnceLock::new();

/// The profiler of the process, if the environment asks for files.
pub(super) fn profiler() -> Option<Arc<Profiler>> {
    let file = |name| env::var_os(name).filter(|path| !path.is_empty());
    let (profile, record) = (file("BOMBYX_PROFILE"), file("BOMBYX_RECORD"));
    let profiler = match (&profile, &record) {
        (None, None) => return None,
        (_, None) => Profiler::measured(),
        (_, Some(_)) => Profiler::recording(record_memory()),
    };
    let profiler = Arc::new(profiler);
    let files = Files { profiler: Arc::clone(&profiler), profile, record };
    if FILES.set(files).is_ok() {
        // SAFETY: a function of the C library, called as it is declared there.
        unsafe { atexit(write_at_exit) };
    }
    Some(profiler)
}

/// The most that recorded runs may take in memory, in bytes: `BOMBYX_RECORD_MEMORY` MiB.
fn record_memory() -> usize {
    const DEFAULT: usize = 256;
    let given = env::var("BOMBYX_RECORD_MEMORY").ok();
    let mib = given.as_deref().map_or(Ok(DEFAULT), |given| given.trim().parse()).unwrap_or_else(|_| {
        let given = given.as_deref().unwrap_or_default();
        eprintln!("bombyx: BOMBYX_RECORD_MEMORY is `{given}`, but must be a number of MiB; using {DEFAULT}");
        DEFAULT
    });
    mib.saturating_mul(1 << 20)
}

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> c_int;
}

extern "C" fn write_at_exit() {
    // Unwinding out of here would abort a program that has otherwise ended well.
    let _ = std::panic::catch_unwind(|| {
        if let Err(error) = write_profile() {
            eprintln!("bombyx: {error}");
        }
    });
}

/// Writes the files that `BOMBYX_PROFILE` and `BOMBYX_RECORD` ask for, with what has ended so far. Happens by itself when the
/// process ends, unless it is killed or aborts.
///
/// ```
/// bombyx::write_profile()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If a file cannot be written.
pub fn write_profile() -> io::Result<()> {
    let Some(files) = FILES.get() else { return Ok(()) };
    let mut arguments = env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let program = arguments.next().unwrap_or_default();
    let program =
        Path::new(&program).file_name().map_or(program.clone(), |name| name.to_string_lossy().into());
    let arguments: Vec<_> = arguments.collect();
    let profile = files.profiler.profile();
    let written = files.profile.as_ref().map_or(Ok(()), |path| {
        let json = profile.to_json(&program, &arguments);
        named("BOMBYX_PROFILE", path, fs::write(path, json))
    });
    let recorded = match (&files.record, files.profiler.recorder()) {
        (Some(path), Some(recorder)) => {
            named("BOMBYX_RECORD", path, record(&profile, recorder, Path::new(path), program, &arguments))
        }
        _ => Ok(()),
    };
    written.and(recorded)
}

/// Says in an error which file it is about.
fn named(variable: &str, path: &OsStr, result: io::Result<()>) -> io::Result<()> {
    result.map_err(|error| {
        let text = format!("cannot write {} ({variable}): {error}", Path::new(path).display());
        io::Error::new(error.kind(), text)
    })
}

fn record(
    profile: &Profile,
    recorder: &Recorder,
    path: &Path,
    program: String,
    arguments: &[String],
) -> io::Result<()> {
    let mut notes = vec![
        ("program", program),
        ("arguments", arguments.join(" ")),
        ("processors", profile.processors.to_string()),
        ("scheduler", profile.scheduler.clone()),
        ("clock", profile.clock.to_owned()),
        ("steal_ns", format!("{:.0}", profile.costs.steal_ns)),
        ("hand_over_ns", format!("{:.0}", profile.costs.hand_over_ns)),
    ];
    let mut out = io::BufWriter::with_capacity(1 << 18, fs::File::create(path)?);
    if let Some(grain) = recorder.grain() {
        let text = match grain {
            i64::MAX => "what ended when memory was used up is one strand".to_owned(),
            _ => {
                let ns = grain as f64 * profile.ns_per_tick;
                format!(
                    "forks with less work than, in the end, {ns:.0} ns are part of the strand around them"
                )
            }
        };
        eprintln!("bombyx: {} is coarsened: {text}; BOMBYX_RECORD_MEMORY=MiB allows more", path.display());
        notes.push(("coarsened", text));
    }
    super::dag::write(recorder, profile.ns_per_tick, &notes, &mut out)?;
    out.flush()
}
