//! [`Graph`]: which site forks which, and the way of the critical path through them.

use super::names::Names;
use bombyx_dag::{Computation, Sites, longest_path};
use std::collections::BTreeMap;

/// How many pieces of the critical path are shown.
const PIECES: usize = 400;

/// Entries are those of [`Names`].
pub(crate) struct Graph {
    /// From, to, how many forks, and how often the critical path goes from one to the other, in either direction.
    pub(crate) edges: Vec<[u64; 4]>,
    /// The critical path from its beginning to its end: entries and weights.
    pub(crate) strip: Vec<[u64; 2]>,
}

impl Graph {
    pub(crate) fn of(c: &Computation, sites: &Sites, names: &Names) -> Graph {
        let entry = |strand| names.entry(sites.site_of(strand).map_or(0, |site| site.index() + 1)) as u64;
        let mut edges: BTreeMap<[u64; 2], [u64; 2]> = BTreeMap::new();
        for thread in c.threads() {
            if let (Some(spawner), Some(_)) = (c.spawner(thread), c.site(thread)) {
                edges.entry([entry(spawner), entry(c.first_strand(thread))]).or_default()[0] += 1;
            }
        }
        let mut strip: Vec<[u64; 2]> = Vec::new();
        for strand in longest_path(c) {
            let (here, weight) = (entry(strand), c.weight(strand));
            match strip.last_mut() {
                Some(last) if last[0] == here => last[1] += weight,
                last => {
                    if let Some(&mut [before, _]) = last {
                        // A join leads back along the edge of the fork.
                        let back =
                            edges.contains_key(&[here, before]) && !edges.contains_key(&[before, here]);
                        let edge = if back { [here, before] } else { [before, here] };
                        edges.entry(edge).or_default()[1] += 1;
                    }
                    strip.push([here, weight]);
                }
            }
        }
        let edges = edges.into_iter().map(|([from, to], [forks, crossings])| [from, to, forks, crossings]);
        Graph { edges: edges.collect(), strip: shortened(strip) }
    }
}

/// The strip with at most [`PIECES`] pieces of equal length, each of the site that has most of it, if it has more.
fn shortened(strip: Vec<[u64; 2]>) -> Vec<[u64; 2]> {
    if strip.len() <= PIECES {
        return strip;
    }
    let whole: u64 = strip.iter().map(|piece| piece[1]).sum();
    let (mut at, mut rest) = (0, strip[0][1]);
    let mut short: Vec<[u64; 2]> = Vec::new();
    let mut begin = 0;
    for nth in 1..=PIECES as u64 {
        let end = (u128::from(whole) * u128::from(nth) / PIECES as u128) as u64;
        let (length, mut left) = (end - begin, end - begin);
        begin = end;
        let mut parts: BTreeMap<u64, u64> = BTreeMap::new();
        while left > 0 {
            let taken = left.min(rest);
            *parts.entry(strip[at][0]).or_default() += taken;
            left -= taken;
            rest -= taken;
            if rest == 0 && at + 1 < strip.len() {
                at += 1;
                rest = strip[at][1];
            }
        }
        let Some((&entry, _)) = parts.iter().max_by_key(|(_, part)| **part) else { continue };
        match short.last_mut() {
            Some(last) if last[0] == entry => last[1] += length,
            _ => short.push([entry, length]),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::Builder;

    #[test]
    fn the_critical_path_goes_along_forks_and_back() {
        let mut b = Builder::new(0);
        let (slow, fast) = (b.site("slow"), b.site("fast"));
        b.strand(5);
        b.spawn_at(slow, 0);
        b.strand(50);
        let first = b.end();
        b.strand(1);
        b.spawn_at(fast, 0);
        b.strand(10);
        let second = b.end();
        b.strand(1);
        b.strand(7);
        b.wait_for(first);
        b.wait_for(second);
        let c = b.build().unwrap();
        let sites = Sites::of(&c);
        let names = Names::of(&c, &sites.measures(&c));
        let graph = Graph::of(&c, &sites, &names);
        let (slow, fast) = (names.entry(1) as u64, names.entry(2) as u64);
        assert_eq!(graph.strip, [[0, 5], [slow, 50], [0, 7]]);
        assert!(
            graph.edges.contains(&[0, slow, 1, 2]) && graph.edges.contains(&[0, fast, 1, 0]),
            "{:?}",
            graph.edges
        );
    }

    #[test]
    fn a_long_strip_keeps_its_length() {
        let long: Vec<[u64; 2]> = (0..5000).map(|nth| [nth % 3, 1 + nth % 7]).collect();
        let whole: u64 = long.iter().map(|piece| piece[1]).sum();
        let short = shortened(long);
        assert!(short.len() <= PIECES && short.len() > 1);
        assert_eq!(short.iter().map(|piece| piece[1]).sum::<u64>(), whole);
    }
}
