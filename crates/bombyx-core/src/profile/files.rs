//! The files that the environment asks for. They are written when the process ends, even by a signal (`interrupt.rs`).
//!
//! If a file cannot be written, the only effect on the program is a line on standard error. Files appear whole or not
//! at all.

use super::costs::Measure;
use super::ledger::Profiler;
use super::record::Recorder;
use crate::system::primitive::lock;
use crate::system::process::Generation;
use bombyx_base::profile::Profile;
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
    // Whoever starts the program may have fewer rights than the program, and must not choose what it writes.
    let file = |name| env::var_os(name).filter(|path| !path.is_empty() && !is_privileged());
    let (profile, record) = (file("BOMBYX_PROFILE"), file("BOMBYX_RECORD"));
    let profiler = match (&profile, &record) {
        (None, None) => return None,
        (_, None) => Profiler::of_process(None, measure),
        (_, Some(_)) => Profiler::of_process(Some(record_memory()), measure),
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

/// Whether the program has more rights than its caller: set-user-ID, set-group-ID, capabilities of its file. The C
/// library ignores such variables then, too (ld.so(8), AT_SECURE).
fn is_privileged() -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call has no preconditions.
        unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// The most memory that recorded runs may take, in bytes: `BOMBYX_RECORD_MEMORY` MiB.
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
    // No file is better than one that says that nothing was done.
    if FILES.get().is_some_and(|files| files.profiler.knows_runs()) {
        write_or_complain(true);
    }
}

fn write_or_complain(interrupted: bool) {
    if !Generation::current().is_first() {
        // In a child of fork(2), the parent writes what was measured.
        return;
    }
    // Unwinding from here would abort a program that has otherwise ended well.
    let _ = std::panic::catch_unwind(|| {
        if let Err(error) = write(interrupted) {
            eprintln!("bombyx: {error}");
        }
    });
}

/// Writes the files that `BOMBYX_PROFILE` and `BOMBYX_RECORD` ask for, with the runs that have ended so far. This
/// happens by itself when the process ends, unless it aborts or is killed. On Linux it also happens when a signal ends
/// the process that it does not handle (SIGINT, SIGTERM, SIGHUP): the files are then marked as interrupted, and the
/// profile has what is known of the runs that have not ended, too.
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
    let profile = files.profiler.profile_at(interrupted);
    let written = files.profile.as_ref().map_or(Ok(()), |path| {
        let json = profile.to_json();
        let whole = replace(Path::new(path), |out| out.write_all(json.as_bytes()));
        named("BOMBYX_PROFILE", path, whole)
    });
    let recorded = match (&files.record, files.profiler.recorder()) {
        // A recording has only runs that have ended, and none is better than an empty one.
        _ if interrupted && profile.runs == 0 => Ok(()),
        (Some(path), Some(recorder)) => named(
            "BOMBYX_RECORD",
            path,
            record(&profile, files.profiler.ns_per_tick(), recorder, Path::new(path)),
        ),
        _ => Ok(()),
    };
    written.and(recorded)
}

/// Writes a file that is there whole or not at all: first beside its place, then moved there. If the target is not a
/// regular file, such as a pipe or a terminal, or if its folder allows no new file, this writes to it directly.
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

/// A new file in the same folder. If something has its name already, perhaps a link that somebody else has put there,
/// it is left alone and another name is tried.
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

fn record(profile: &Profile, ns_per_tick: f64, recorder: &Recorder, path: &Path) -> io::Result<()> {
    let mut notes = vec![
        ("program", profile.program.clone()),
        ("arguments", profile.arguments.join(" ")),
        ("processors", profile.processors.to_string()),
        ("scheduler", profile.scheduler.clone()),
        ("clock", profile.clock.name().to_owned()),
        ("steal_ns", format!("{:.0}", profile.costs.steal_ns)),
        ("hand_over_ns", format!("{:.0}", profile.costs.hand_over_ns)),
    ];
    if profile.interrupted {
        let text = "by a signal; only the runs that had ended by then are here";
        notes.push(("interrupted", text.to_owned()));
    }
    if let Some(grain) = recorder.grain() {
        let text = match grain {
            i64::MAX => "everything that ended after memory was used up is one strand".to_owned(),
            _ => {
                let ns = grain as f64 * ns_per_tick;
                format!(
                    "forks with less work than {ns:.0} ns (at the end) are part of the strand around them"
                )
            }
        };
        eprintln!("bombyx: {} is coarsened: {text}; BOMBYX_RECORD_MEMORY=MiB allows more", path.display());
        notes.push(("coarsened", text));
    }
    replace(path, |mut out| super::dag::write(recorder, ns_per_tick, &notes, &mut out))
}
