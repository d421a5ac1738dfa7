//! The file that `BOMBYX_TRACE` asks for. It is written when the process ends, even by a signal that it does not handle.
//! `docs/trace-format.md` describes it.

use super::{POOLS, clock, flight, names, post_mortem, rings, stall};
use crate::system::clock::Scale;
use crate::system::output::{self, named, replace};
use crate::system::primitive::lock;
use crate::system::process::Generation;
use bombyx_base::Crc;
use bombyx_base::trace::{Event, Kind, MAGIC, section};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::Location;
use std::path::Path;
use std::sync::{Mutex, Once, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file, and when the trace began.
struct File {
    path: OsString,
    scale: Scale,
    began: u64,
    began_unix_ns: u128,
    /// In a flight recorder: how much of the past is written.
    flight: Option<Duration>,
}

static FILE: OnceLock<File> = OnceLock::new();

/// The memory of all rings in MiB, unless `BOMBYX_TRACE_MEMORY` says otherwise. Enough for 256 threads.
const MEMORY: usize = 512;

/// The program was built without traces. Says so if the environment asks for one.
pub(super) fn say_what_is_missing() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        if output::asked("BOMBYX_TRACE").is_some() {
            output::say(format_args!(
                "BOMBYX_TRACE is set, but this program was built without the feature `trace` of bombyx"
            ));
        }
    });
}

/// Begins the trace, if the environment asks for one. Called once.
pub(super) fn begin() -> bool {
    let Some(path) = output::asked("BOMBYX_TRACE") else { return false };
    rings::allow(output::mebibytes("BOMBYX_TRACE_MEMORY", MEMORY).max(rings::SIZE));
    let file = File {
        path,
        scale: Scale::new(clock()),
        began: clock().now(),
        began_unix_ns: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()),
        flight: flight::asked(),
    };
    if FILE.set(file).is_ok() {
        output::at_the_end(at_exit, interrupted);
        stall::begin(stalled);
        flight::begin(FILE.get().is_some_and(|file| file.flight.is_some()));
    }
    true
}

extern "C" fn at_exit() {
    // A flight recorder is for what goes wrong.
    if FILE.get().is_some_and(|file| file.flight.is_none()) {
        output::complain(|| write(false));
    }
}

fn interrupted() {
    output::complain(|| write(true));
}

/// Nothing has happened for this long.
fn stalled(patience: Duration) {
    let Some(file) = FILE.get() else { return };
    let what = format!("nothing has happened for {} s", patience.as_secs_f64());
    let who = post_mortem::tell(&rings::look(), clock().now(), file.scale.ns_per_tick());
    tell(file, &what, &format!(". When it stopped:{who}"));
}

/// Writes the file because of something that the user should know, and says so.
pub(super) fn write_because(why: &str) {
    if let Some(file) = FILE.get() {
        output::complain(|| {
            tell(file, why, "");
            Ok(())
        });
    }
}

fn tell(file: &File, why: &str, more: &str) {
    let path = Path::new(&file.path).display();
    match write(false) {
        Ok(()) => output::say(format_args!(
            "{why}; the trace up to now is in {path}, and `bombyx trace --read {path}` shows it{more}"
        )),
        Err(error) => output::say(format_args!("{why}; {error}{more}")),
    }
}

/// Writes the file that `BOMBYX_TRACE` asks for, with the newest events so far. This happens by itself when the process
/// ends, unless it aborts or is killed, or is only to be written if something goes wrong (`BOMBYX_TRACE_FLIGHT`). On Linux
/// it also happens when a signal ends the process that it does not handle (SIGINT, SIGTERM, SIGHUP).
///
/// ```
/// bombyx::write_trace()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be written.
pub fn write_trace() -> io::Result<()> {
    write(false)
}

fn write(interrupted: bool) -> io::Result<()> {
    static WRITING: Mutex<()> = Mutex::new(());
    let Some(file) = FILE.get().filter(|_| Generation::current().is_first()) else { return Ok(()) };
    let _one_at_a_time = lock(&WRITING);
    let whole = replace(Path::new(&file.path), |out| file.write_to(out, interrupted));
    named("BOMBYX_TRACE", &file.path, whole)
}

impl File {
    fn write_to(&self, out: &mut dyn Write, interrupted: bool) -> io::Result<()> {
        let mut seen = rings::look();
        if let Some(flight) = self.flight {
            seen.keep_last((flight.as_nanos() as f64 / self.scale.ns_per_tick()) as u64);
        }
        let ended = clock().now();
        let mut out = Sections { out, crc: Crc::new() };
        out.put(MAGIC)?;
        let notes = [
            ("program", program()),
            ("process", std::process::id().to_string()),
            ("cpus", crate::system::affinity::cpus().len().to_string()),
            ("clock", clock().named().name().to_owned()),
            ("ns_per_tick", format!("{:.12}", self.scale.ns_per_tick())),
            ("began", self.began.to_string()),
            ("began_unix_ns", self.began_unix_ns.to_string()),
            ("ended", ended.to_string()),
            ("untold", seen.untold.to_string()),
            ("interrupted", interrupted.to_string()),
        ];
        let mut bytes = Vec::new();
        for (name, value) in notes {
            text(&mut bytes, name);
            text(&mut bytes, &value);
        }
        out.section(section::NOTES, &bytes)?;
        for pool in lock(&POOLS).clone() {
            let mut bytes = pool.number.to_le_bytes().to_vec();
            bytes.extend((pool.processors as u32).to_le_bytes());
            bytes.push(u8::from(pool.fixed));
            text(&mut bytes, &pool.scheduler);
            out.section(section::POOL, &bytes)?;
        }
        for thread in &seen.threads {
            let mut bytes = (thread.ring as u32).to_le_bytes().to_vec();
            bytes.extend(thread.first.to_le_bytes());
            bytes.extend(thread.number.to_le_bytes());
            text(&mut bytes, &thread.name);
            out.section(section::THREAD, &bytes)?;
        }
        for (code, name) in names::codes() {
            let mut bytes = (code as u64).to_le_bytes().to_vec();
            text(&mut bytes, name);
            out.section(section::CODE, &bytes)?;
        }
        for (number, given) in names::texts().iter().enumerate() {
            let mut bytes = (number as u32).to_le_bytes().to_vec();
            text(&mut bytes, given);
            out.section(section::TEXT, &bytes)?;
        }
        let events = seen.rings.iter().flat_map(|ring| &ring.events);
        for (address, place) in places(events) {
            let mut bytes = address.to_le_bytes().to_vec();
            bytes.extend(place.line().to_le_bytes());
            bytes.extend(place.column().to_le_bytes());
            text(&mut bytes, place.file());
            out.section(section::PLACE, &bytes)?;
        }
        for (at, ring) in seen.rings.iter().enumerate() {
            let mut bytes = Vec::with_capacity(12 + ring.events.len() * size_of::<[u64; 4]>());
            bytes.extend((at as u32).to_le_bytes());
            bytes.extend(ring.lost.to_le_bytes());
            ring.events.iter().flatten().for_each(|word| bytes.extend(word.to_le_bytes()));
            out.section(section::EVENTS, &bytes)?;
        }
        let crc = out.crc.value();
        out.section(section::END, &crc.to_le_bytes())
    }
}

/// The places that these events name, by their addresses.
fn places<'a>(
    events: impl Iterator<Item = &'a [u64; 4]>,
) -> impl Iterator<Item = (u64, &'static Location<'static>)> {
    let named = |words: &[u64; 4]| {
        let event = Event::from_words(*words)?;
        (matches!(event.kind, Kind::Enters | Kind::Strand) && event.a != 0).then_some(event.a)
    };
    let addresses: BTreeSet<u64> = events.filter_map(named).collect();
    addresses.into_iter().map(|address| {
        let place = std::ptr::with_exposed_provenance::<Location<'static>>(address as usize);
        // SAFETY: a ring gives only whole events, as they were written into it. Only `written` makes such events, and it
        // puts the address of a place that lives for ever there.
        (address, unsafe { &*place })
    })
}

/// The program as the user called it.
fn program() -> String {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    std::env::args_os().next().map_or_else(String::new, |path| name(&path.to_string_lossy()))
}

/// A text with its length before it.
fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// Writes sections, and adds up the checksum.
struct Sections<'a> {
    out: &'a mut dyn Write,
    crc: Crc,
}

impl Sections<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.add(bytes);
        self.out.write_all(bytes)
    }

    fn section(&mut self, tag: u32, bytes: &[u8]) -> io::Result<()> {
        self.put(&tag.to_le_bytes())?;
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)
    }
}
