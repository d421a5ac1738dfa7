//! The files that the environment asks for, written when the process ends, also by a signal (`interrupt.rs`).
//!
//! A file that cannot be written costs the program nothing but a line on standard error. Files appear whole or not at all.

use super::costs::Measure;
use super::ledger::Profiler;
use super::record::Recorder;
use super::report::Profile;
use crate::system::primitive::lock;
use crate::system::process::Generation;
use std::ffi::{OsStr, OsString, c_int};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::{env, fs};

/// The files, and the profiler that knows what to write.
struct Files {
    profiler: Arc<Profiler>,
    profile: Option<OsString>,
    record: Option<OsString>,
}

static FILES: OnceLock<Files> = OnceLock::new();

/// The profiler of the process, if the environment asks for files.
pub(super) fn profiler(measure: Measure) -> Option<Arc<Profiler>> {
    // Whoever starts the program may have less rights than it has, and must not choose what it writes.
    let file = |name| env::var_os(name).filter(|path| !path.is_empty() && !is_privileged());
    let (profile, record) = (file("BOMBYX_PROFILE"), file("BOMBYX_RECORD"));
    let profiler = match (&profile, &record) {
        (None, None) => return None,
        (_, None) => Profiler::measured(measure),
        (_, Some(_)) => Profiler::recording(record_memory(), measure),
    };
    let profiler = Arc::new(profiler);
    let files = Files { profiler: Arc::clone(&profiler), profile, record };
    if FILES.set(files).is_ok() {
        // SAFETY: a function of the C library, called as it is declared there.
        unsafe { atexit(write_at_exit) };
        #[cfg(all(target_os = "linux", not(loom)))]
        super::interrupt::before_the_end(write_interrupted);
    }
    Some(profiler)
}

/// Whether the program has more rights than whoever started it: set-user-ID, set-group-ID, capabilities of its file. Then the
/// C library leaves such variables alone, too (ld.so(8), AT_SECURE).
fn is_privileged() -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call has no preconditions.
        unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
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
    write_or_complain(false);
}

/// A signal ends the process.
#[cfg(all(target_os = "linux", not(loom)))]
fn write_interrupted() {
    // Better no file than one that says that nothing was done.
    if FILES.get().is_some_and(|files| files.profiler.has_ended_runs()) {
        write_or_complain(true);
    }
}

fn write_or_complain(interrupted: bool) {
    if !Generation::current().is_first() {
        // A child of fork(2): what was measured is its parent's to write.
        return;
    }
    // Unwinding out of here would abort a program that has otherwise ended well.
    let _ = std::panic::catch_unwind(|| {
        if let Err(error) = write(interrupted) {
            eprintln!("bombyx: {error}");
        }
    });
}

/// Writes the files that `BOMBYX_PROFILE` and `BOMBYX_RECORD` ask for, with what has ended so far. Happens by itself when the
/// process ends, unless it aborts or is killed; if a signal ends it that it does not handle (on Linux: SIGINT, SIGTERM, SIGHUP),
/// with the runs that have ended, and marked as interrupted, unless there are none.
///
/// ```
/// bombyx::write_profile()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If a file cannot be written.
pub fn write_profile() -> io::Result<()> {
    write(false)
}

fn write(interrupted: bool) -> io::Result<()> {
    static WRITING: Mutex<()> = Mutex::new(());
    let Some(files) = FILES.get().filter(|_| Generation::current().is_first()) else { return Ok(()) };
    let _one_at_a_time = lock(&WRITING);
    let mut arguments = env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let program = arguments.next().unwrap_or_default();
    let program =
        Path::new(&program).file_name().map_or(program.clone(), |name| name.to_string_lossy().into());
    let arguments: Vec<_> = arguments.collect();
    let profile = Profile { interrupted, ..files.profiler.profile() };
    let written = files.profile.as_ref().map_or(Ok(()), |path| {
        let json = profile.to_json(&program, &arguments);
        let whole = replace(Path::new(path), |out| out.write_all(json.as_bytes()));
        named("BOMBYX_PROFILE", path, whole)
    });
    let recorded = match (&files.record, files.profiler.recorder()) {
        (Some(path), Some(recorder)) => {
            named("BOMBYX_RECORD", path, record(&profile, recorder, Path::new(path), program, &arguments))
        }
        _ => Ok(()),
    };
    written.and(recorded)
}

/// Writes a file that is there whole or not at all: beside its place, and then moved there. What is no regular file, such as
/// a pipe or a terminal, is written to directly, as is a file in a folder that takes no other.
fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let write = |file| {
        let mut out = io::BufWriter::with_capacity(1 << 18, file);
        write(&mut out)?;
        out.flush()
    };
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|known| !known.is_file()) {
        return write(fs::File::create(&path)?);
    }
    match new_beside(&path) {
        Ok((part, file)) => {
            let moved = write(file).and_then(|()| fs::rename(&part, &path));
            moved.inspect_err(|_| drop(fs::remove_file(&part)))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => write(fs::File::create(&path)?),
    }
}

/// A new file in the same folder. Whatever has its name already, perhaps a link that somebody else has laid there, is left
/// alone, and another name is tried.
fn new_beside(path: &Path) -> io::Result<(PathBuf, fs::File)> {
    const NAMES: u32 = 100;
    let mut tried = 0;
    loop {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.{tried}.part", std::process::id()));
        let part = path.with_file_name(name);
        tried += 1;
        match fs::OpenOptions::new().write(true).create_new(true).open(&part) {
            Ok(file) => return Ok((part, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < NAMES => {}
            Err(error) => return Err(error),
        }
    }
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
    if profile.interrupted {
        let text = "by a signal: the runs that had ended by then";
        notes.push(("interrupted", text.to_owned()));
    }
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
    replace(path, |mut out| super::dag::write(recorder, profile.ns_per_tick, &notes, &mut out))
}
