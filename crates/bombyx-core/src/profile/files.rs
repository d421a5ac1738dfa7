//! The files that the environment asks for. They are written when the process ends, even by a signal (`system/interrupt.rs`).
//!
//! If a file cannot be written, the only effect on the program is a line on standard error. Files appear whole or not
//! at all.

use super::costs::Measure;
use super::ledger::Profiler;
use super::record::Recorder;
use crate::system::output::{self, named, replace};
use crate::system::primitive::lock;
use crate::system::process::Generation;
use bombyx_base::profile::Profile;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, OnceLock};

/// The files, and the profiler that knows what to write.
struct Files {
    profiler: Arc<Profiler>,
    profile: Option<OsString>,
    record: Option<OsString>,
}

static FILES: OnceLock<Files> = OnceLock::new();

/// The profiler of the process, if the environment asks for files.
pub(super) fn profiler(measure: Measure) -> Option<Arc<Profiler>> {
    let (profile, record) = (output::asked("BOMBYX_PROFILE"), output::asked("BOMBYX_RECORD"));
    let profiler = match (&profile, &record) {
        (None, None) => return None,
        (_, None) => Profiler::of_process(None, measure),
        (_, Some(_)) => Profiler::of_process(Some(record_memory()), measure),
    };
    let profiler = Arc::new(profiler);
    let files = Files { profiler: Arc::clone(&profiler), profile, record };
    if FILES.set(files).is_ok() {
        output::at_the_end(write_at_exit, write_interrupted);
    }
    Some(profiler)
}

/// Says that the environment asks for a file that this program cannot write.
pub(super) fn say_what_is_missing() {
    static SAID: Once = Once::new();
    let asked = |name: &&str| output::asked(name).is_some();
    if let Some(name) = ["BOMBYX_PROFILE", "BOMBYX_RECORD"].into_iter().find(asked) {
        SAID.call_once(|| {
            output::say(format_args!(
                "{name} is set, but this program was built without the feature `profile` of bombyx"
            ));
        });
    }
}

/// The most memory that recorded runs may take, in bytes: `BOMBYX_RECORD_MEMORY` MiB.
fn record_memory() -> usize {
    output::mebibytes("BOMBYX_RECORD_MEMORY", 256)
}

extern "C" fn write_at_exit() {
    write_or_complain(false);
}

/// A signal ends the process.
fn write_interrupted() {
    // No file is better than one that says that nothing was done.
    if FILES.get().is_some_and(|files| files.profiler.knows_runs()) {
        write_or_complain(true);
    }
}

fn write_or_complain(interrupted: bool) {
    output::complain(|| write(interrupted));
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
        output::say(format_args!(
            "{} is coarsened: {text}; BOMBYX_RECORD_MEMORY=MiB allows more",
            path.display()
        ));
        notes.push(("coarsened", text));
    }
    replace(path, |mut out| super::dag::write(recorder, ns_per_tick, &notes, &mut out))
}
