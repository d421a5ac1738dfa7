//! `BOMBYX_CLUSTER_RECORD=file`: the calls of a run on `local` as a dag file, for `bombyx simulate --nodes`.
//!
//! Each call of [`call`](crate::Cluster::call), [`join`](crate::Cluster::join), [`map`](crate::Cluster::map) and
//! [`map_reduce`](crate::Cluster::map_reduce) is a thread. Its work is the time that its function took, and its frame
//! is the bytes of its argument and its result. A function that makes nested calls is cut into equal pieces between
//! them. Kept calls are not recorded. The root is the client, and its strands are the times between the calls.

use crate::current::with_running;
use crate::key::Key;
use crate::outcome::Tagged;
use bombyx_dag::{Builder, SiteId, StrandId, WeightUnit, format};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// The prefix of the sites of remote calls.
const REMOTE: &str = "remote ";

/// Calls that were made together.
pub(crate) struct Region(Option<Open>);

struct Open {
    parent: Option<Key>,
    function: String,
    calls: Mutex<Vec<Made>>,
    /// The caller's own time before it, in nanoseconds.
    before: u64,
}

struct Made {
    key: Key,
    nanoseconds: u64,
    bytes: u64,
}

struct Closed {
    function: String,
    calls: Vec<Made>,
    before: u64,
}

#[derive(Default)]
struct Recorder {
    regions: HashMap<Option<Key>, Vec<Closed>>,
    /// When the client last got the results of a region.
    last: Option<Instant>,
}

fn file() -> Option<&'static OsString> {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    FILE.get_or_init(|| std::env::var_os("BOMBYX_CLUSTER_RECORD").filter(|file| !file.is_empty())).as_ref()
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

fn with_recorder<R>(f: impl FnOnce(&mut Recorder) -> R) -> R {
    f(RECORDER.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl Region {
    /// Begins a region of calls of a function.
    pub(crate) fn begin(function: &str) -> Region {
        if file().is_none() {
            return Region(None);
        }
        let parent = with_running(|running| running.map(|running| running.key.clone()));
        let before = match parent {
            Some(_) => 0,
            None => {
                with_recorder(|recorder| recorder.last.map_or(0, |last| last.elapsed().as_nanos() as u64))
            }
        };
        Region(Some(Open { parent, function: function.to_owned(), calls: Mutex::default(), before }))
    }

    /// One of the region's calls ended.
    pub(crate) fn call(&self, key: &Key, argument: usize, result: &Tagged) {
        if let Some(open) = &self.0 {
            let nanoseconds = u64::try_from(result.time().as_nanos()).unwrap_or(u64::MAX);
            let made = Made { key: key.clone(), nanoseconds, bytes: (argument + result.len()) as u64 };
            open.calls.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        }
    }
}

/// The region ends with it: all its calls have ended, or nobody wants the others any more.
impl Drop for Region {
    fn drop(&mut self) {
        if let Some(Open { parent, function, calls, before }) = self.0.take() {
            let calls = calls.into_inner().unwrap_or_else(PoisonError::into_inner);
            with_recorder(|recorder| {
                if parent.is_none() {
                    recorder.last = Some(Instant::now());
                }
                recorder.regions.entry(parent).or_default().push(Closed { function, calls, before });
            });
        }
    }
}

/// Writes what was recorded, when the client's cluster ends.
pub(crate) fn finish() {
    let Some(path) = file() else { return };
    let Some(recorder) = RECORDER.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    if let Err(error) = write(recorder, path) {
        eprintln!("bombyx: BOMBYX_CLUSTER_RECORD={}: {error}", path.to_string_lossy());
    }
}

fn write(recorder: Recorder, path: &OsString) -> io::Result<()> {
    let mut teller = Teller { builder: Builder::new(0), regions: recorder.regions, sites: HashMap::new() };
    teller.builder.weight_unit(WeightUnit::Nanoseconds);
    let program = std::env::args_os().next().unwrap_or_default();
    teller.builder.note("program", program.to_string_lossy());
    teller.builder.note("recorded by", "BOMBYX_CLUSTER_RECORD");
    teller.thread(None, None);
    let computation = teller.builder.build().map_err(io::Error::other)?;
    std::fs::write(path, format::write(&computation, Vec::new())?)
}

/// Feeds the serial execution to a builder.
struct Teller {
    builder: Builder,
    regions: HashMap<Option<Key>, Vec<Closed>>,
    sites: HashMap<String, SiteId>,
}

impl Teller {
    /// The current thread: the client, or a call that took this long.
    fn thread(&mut self, key: Option<Key>, nanoseconds: Option<u64>) {
        let regions = self.regions.remove(&key).unwrap_or_default();
        // Nested calls cut a function into equal pieces.
        let piece = nanoseconds.map(|all| all / (regions.len() as u64 + 1));
        let mut waits: Vec<StrandId> = Vec::new();
        for region in regions {
            self.strand(piece.unwrap_or(region.before), &mut waits);
            let name = format!("{REMOTE}{}", region.function);
            let site = match self.sites.get(&name) {
                Some(&site) => site,
                None => {
                    let site = self.builder.site(name.clone());
                    self.sites.insert(name, site);
                    site
                }
            };
            for call in region.calls {
                self.builder.strand(1);
                self.builder.spawn_at(site, call.bytes);
                self.thread(Some(call.key), Some(call.nanoseconds));
                waits.push(self.builder.end());
            }
            self.builder.strand(1);
        }
        self.strand(piece.unwrap_or(1), &mut waits);
    }

    fn strand(&mut self, weight: u64, waits: &mut Vec<StrandId>) {
        self.builder.strand(weight.max(1));
        waits.drain(..).for_each(|from| self.builder.wait_for(from));
    }
}
