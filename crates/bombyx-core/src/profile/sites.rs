//! Fork sites: where in the source a closure is forked. Interned once per process, so that a site is a small number.

use crate::api::alloc::Uncharged;
use crate::system::primitive::lock;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{LazyLock, Mutex};

/// What is written at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
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
    /// A broadcast.
    Broadcast,
}

impl Kind {
    /// Whether what is written there lets something run in parallel with what follows.
    pub(crate) fn is_fork(self) -> bool {
        matches!(self, Kind::Join | Kind::Spawn | Kind::ForEach | Kind::MapReduce)
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
            Kind::Broadcast => "broadcast",
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
    /// The place where the calling function was called, if that is `track_caller`.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here(kind: Kind) -> Site {
        Site { location: Location::caller(), kind }
    }
}

/// The number of a site in this process, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SiteId(u32);

impl SiteId {
    /// Stands for the site of the closure at the foot of a chain that was taken from elsewhere: its join, which knows the
    /// site, puts it in.
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

/// A site by its text: the same place has several addresses when it is compiled into several crates.
type Text = (&'static str, u32, u32, Kind);

#[derive(Default)]
struct Table {
    ids: HashMap<Text, SiteId>,
    sites: Vec<Site>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// The number of a site.
pub(crate) fn intern(site: Site) -> SiteId {
    let text = (site.location.file(), site.location.line(), site.location.column(), site.kind);
    let mut table = lock(&TABLE);
    let next =
        u32::try_from(table.sites.len() + 1).map(SiteId).expect("a program has fewer than 2^32 fork sites");
    let id = *table.ids.entry(text).or_insert(next);
    if id == next {
        table.sites.push(site);
    }
    id
}

/// All sites so far, by their numbers, from the first.
pub(crate) fn all() -> Vec<Site> {
    lock(&TABLE).sites.clone()
}

/// How many sites a [`Cache`] holds.
const CACHED: usize = 64;

/// One carrier's memory of the sites it has seen last, by the addresses of their locations.
#[derive(Debug)]
pub(crate) struct Cache {
    last: Known,
    known: [Known; CACHED],
}

/// A site and its number.
#[derive(Clone, Copy, Debug)]
struct Known {
    key: u64,
    id: SiteId,
}

impl Known {
    const NOTHING: Known = Known { key: 0, id: SiteId(0) };

    /// Another number for every site: no system gives out addresses of 62 bits.
    #[inline(always)]
    fn key(site: Site) -> u64 {
        (std::ptr::from_ref(site.location) as u64) << 3 | site.kind as u64
    }
}

impl Cache {
    pub(crate) const fn new() -> Cache {
        Cache { last: Known::NOTHING, known: [Known::NOTHING; CACHED] }
    }

    #[inline(always)]
    pub(crate) fn id(&mut self, site: Site) -> SiteId {
        let key = Known::key(site);
        if self.last.key != key {
            self.last = self.find(site, key);
        }
        self.last.id
    }

    #[inline(never)]
    fn find(&mut self, site: Site, key: u64) -> Known {
        let address = std::ptr::from_ref(site.location) as usize;
        let known = &mut self.known[address / align_of::<Location<'_>>() % CACHED];
        if known.key != key {
            let _uncharged = Uncharged::begin();
            *known = Known { key, id: intern(site) };
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
        let id = one.id(here);
        assert_eq!((one.id(here), other.id(here)), (id, id));
        let elsewhere = Site::here(Kind::Join);
        assert_ne!(one.id(elsewhere), id);
        assert_ne!(one.id(Site { kind: Kind::Scope, ..here }), id);
        assert_eq!(all()[id.index() - 1].location.line(), here.location.line());
    }
}
