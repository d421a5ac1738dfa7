//! Fork sites: the places in the source where closures are forked. Interned once per process, so that a site is a small
//! number.

use super::caller::{self, Caller};
use super::heap::Uncharged;
use crate::system::primitive::lock;
use bombyx_base::profile::SiteProfile;
use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{LazyLock, Mutex};

/// What is written at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Where a pool was entered. Its strands are what runs before the first fork and after the last join.
    Run,
    /// [`crate::join`] and [`crate::join_context`].
    Join,
    /// [`crate::scope`]. Its strands are those of the scope's body.
    Scope,
    /// [`crate::Scope::spawn`] and its relatives.
    Spawn,
    /// [`crate::for_each`].
    ForEach,
    /// [`crate::map_reduce`].
    MapReduce,
    /// A parallel iterator with a result, at the line of its last call.
    Iterator,
    /// A parallel sort.
    Sort,
    /// A broadcast.
    Broadcast,
    /// A call of rayon that forks inside: an iterator, a sort.
    Rayon,
    /// rayon's `par_bridge`, which makes one piece for each thread, however many items there are.
    ParBridge,
}

impl Kind {
    /// Whether the code there lets something run in parallel with what follows.
    pub(crate) fn is_fork(self) -> bool {
        !matches!(self, Kind::Run | Kind::Scope | Kind::Broadcast)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Run => "run",
            Kind::Join => "join",
            Kind::Scope => "scope",
            Kind::Spawn => "spawn",
            Kind::ForEach => "for_each",
            Kind::MapReduce => "map_reduce",
            Kind::Iterator => "iterator",
            Kind::Sort => "sort",
            Kind::Broadcast => "broadcast",
            Kind::Rayon => "rayon",
            Kind::ParBridge => "par_bridge",
        })
    }
}

/// A place in the source and what is written there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) location: &'static Location<'static>,
    pub(crate) kind: Kind,
}

impl Site {
    /// The place where the calling function was called, if the calling function is `track_caller`.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here(kind: Kind) -> Site {
        Site { location: Location::caller(), kind }
    }
}

/// The number of a site in this process, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SiteId(u32);

impl SiteId {
    /// Stands for the site of the closure at the foot of a chain that was taken from elsewhere. Its join knows the
    /// site, and fills it in.
    pub(crate) const TAKEN: SiteId = SiteId(0);

    #[cfg(test)]
    pub(crate) fn from_index(index: u32) -> SiteId {
        SiteId(index)
    }

    /// From 1; 0 for [`SiteId::TAKEN`].
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What distinguishes one site from another.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// Its text: the same place has several addresses when it is compiled into several crates.
    Text(&'static str, u32, u32, Kind),
    /// For a fork inside a library, the code of its second half.
    Code(usize),
}

#[derive(Default)]
struct Table {
    ids: HashMap<Key, SiteId>,
    entries: Vec<Entry>,
}

/// A site in the table.
struct Entry {
    site: Site,
    /// For a fork inside a library, how the program got there.
    called: Option<Called>,
}

struct Called {
    backtrace: Backtrace,
    /// The site at which the run was entered, in case the backtrace ends at the foot of a carrier's stack.
    run: SiteId,
}

/// A site as reports name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Named {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) kind: Kind,
}

impl Named {
    /// Nothing measured yet.
    pub(crate) fn profile(self) -> SiteProfile {
        let Named { file, line, column, kind } = self;
        SiteProfile { file, line, column, kind: kind.to_string(), ..SiteProfile::default() }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// The site of the run that was entered last.
static LAST_RUN: AtomicU32 = AtomicU32::new(0);

/// A run has been entered at this site.
pub(crate) fn note_run(run: SiteId) {
    LAST_RUN.store(run.0, Relaxed);
}

/// The number of a site whose forks run this code, in a run that was entered at the site `run`. A stolen half does not
/// know its run, so it gives the run that was entered last, which is most likely the right one.
pub(crate) fn intern(site: Site, code: usize, run: SiteId) -> SiteId {
    let in_library = code != 0 && caller::is_library(site.location.file());
    let key = if in_library {
        Key::Code(code)
    } else {
        Key::Text(site.location.file(), site.location.line(), site.location.column(), site.kind)
    };
    let mut table = lock(&TABLE);
    if let Some(&id) = table.ids.get(&key) {
        return id;
    }
    let id =
        u32::try_from(table.entries.len() + 1).map(SiteId).expect("a program has fewer than 2^32 fork sites");
    table.ids.insert(key, id);
    let called = in_library.then(|| {
        let run = if run == SiteId::TAKEN { SiteId(LAST_RUN.load(Relaxed)) } else { run };
        Called { backtrace: Backtrace::force_capture(), run }
    });
    table.entries.push(Entry { site, called });
    id
}

/// The place of a site. Unknown for the foot of a stolen chain, until its join.
pub(crate) fn place(id: SiteId) -> Option<&'static Location<'static>> {
    let index = id.index().checked_sub(1)?;
    lock(&TABLE).entries.get(index).map(|entry| entry.site.location)
}

/// The kinds of all sites so far, by their numbers, from the first.
pub(crate) fn kinds() -> Vec<Kind> {
    lock(&TABLE).entries.iter().map(|entry| entry.site.kind).collect()
}

/// The names of all sites so far, by their numbers, from the first. Looks up symbols.
pub(crate) fn all() -> Vec<Named> {
    #[cfg(test)]
    crate::system::clock::advance(1 << 20); // A stand-in for the time that it takes.
    let table = lock(&TABLE);
    let mut named: Vec<Named> = Vec::with_capacity(table.entries.len());
    // Which sites lie in a `par_bridge`.
    let mut bridges = Vec::with_capacity(table.entries.len());
    for Entry { site, called } in &table.entries {
        let location = site.location;
        let (mut caller, mut bridge) = (None, false);
        if let Some(called) = called {
            (caller, bridge) = caller::find(&called.backtrace);
            // The run has a number already.
            let run = called.run.index().checked_sub(1).filter(|&run| run < named.len());
            if let Some(run) = run.filter(|_| caller.is_none()) {
                let Named { file, line, column, .. } = named[run].clone();
                caller = Some(Caller { file, line, column });
                bridge |= bridges[run];
            }
        }
        bridges.push(bridge);
        let kind = match site.kind {
            Kind::Join if bridge => Kind::ParBridge,
            Kind::Join if called.is_some() => Kind::Rayon,
            kind => kind,
        };
        named.push(match caller {
            Some(Caller { file, line, column }) => Named { file, line, column, kind },
            None => Named {
                file: location.file().to_owned(),
                line: location.line(),
                column: location.column(),
                kind,
            },
        });
    }
    named
}

/// How many sites a [`Cache`] holds.
const CACHED: usize = 64;

/// One carrier's memory of the sites that it has seen last, by the addresses of their locations.
#[derive(Debug)]
pub(crate) struct Cache {
    last: Known,
    known: [Known; CACHED],
    missed: bool,
}

/// A site, the code of its forks, and its number.
#[derive(Clone, Copy, Debug)]
struct Known {
    key: u64,
    code: usize,
    id: SiteId,
}

impl Known {
    const NOTHING: Known = Known { key: 0, code: 0, id: SiteId(0) };

    /// A different number for every site, because no system gives out addresses of 62 bits.
    #[inline(always)]
    fn key(site: Site) -> u64 {
        (std::ptr::from_ref(site.location) as u64) << 3 | site.kind as u64
    }
}

impl Cache {
    pub(crate) const fn new() -> Cache {
        Cache { last: Known::NOTHING, known: [Known::NOTHING; CACHED], missed: false }
    }

    #[inline(always)]
    pub(crate) fn id(&mut self, site: Site, code: usize, run: SiteId) -> SiteId {
        let key = Known::key(site);
        if self.last.key != key || self.last.code != code {
            self.last = self.find(site, key, code, run);
        }
        self.last.id
    }

    /// Whether a number had to be looked up since the last question. Looking up takes time.
    #[inline(always)]
    pub(crate) fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }

    #[inline(never)]
    fn find(&mut self, site: Site, key: u64, code: usize, run: SiteId) -> Known {
        let address = std::ptr::from_ref(site.location) as usize / align_of::<Location<'_>>();
        let known = &mut self.known[(address ^ (code >> 4)) % CACHED];
        if known.key != key || known.code != code {
            let _uncharged = Uncharged::begin();
            *known = Known { key, code, id: intern(site, code, run) };
            self.missed = true;
        }
        *known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_one_number() {
        let here = Site::here(Kind::Join);
        let (mut one, mut other) = (Cache::new(), Cache::new());
        let run = SiteId::TAKEN;
        let id = one.id(here, 8, run);
        assert_eq!((one.id(here, 8, run), other.id(here, 8, run)), (id, id));
        assert_eq!(one.id(here, 16, run), id, "code tells sites apart in libraries only");
        let elsewhere = Site::here(Kind::Join);
        assert_ne!(one.id(elsewhere, 8, run), id);
        assert_ne!(one.id(Site { kind: Kind::Scope, ..here }, 8, run), id);
        assert_eq!(all()[id.index() - 1].line, here.location.line());
    }
}
