//! [`Sites`]: what the fork sites of a program contribute to its work and span, and what would happen if one of them
//! were faster.
//!
//! A strand belongs to the site of the nearest enclosing fork: the site of its thread, or of the nearest ancestor that
//! has one. Recorders make sure of that. If a `join(a, b)` is inside a closure from another site, both halves are
//! separate threads. If not, `b` goes on in the thread that forks, which has the same site.
//!
//! Virtual speedup is exact here, up to the rounding of weights: on a dag, anything can be shortened. Tools for running
//! programs must slow down everything else instead (Curtsinger and Berger, *Coz: Finding Code that Counts with Causal
//! Profiling*, SOSP 2015).

use crate::computation::NONE;
use crate::measures::{path_lengths, successors};
use crate::{BuildError, Computation, SiteId, StrandId, distances_to_end};

/// The fork site that each strand of a computation belongs to.
///
/// ```
/// use bombyx_dag::{Builder, Sites};
///
/// let mut b = Builder::new(0);
/// let merge = b.site("src/sort.rs:41:9");
/// b.strand(10);
/// b.spawn_at(merge, 0);
/// b.strand(300); //               one closure of the join …
/// let first = b.end();
/// b.strand(1);
/// b.spawn_at(merge, 0);
/// b.strand(200); //               … and the other
/// let second = b.end();
/// b.strand(4);
/// b.strand(15);
/// b.wait_for(first);
/// b.wait_for(second);
/// let computation = b.build()?;
///
/// let [outside, sort] = &Sites::of(&computation).measures(&computation)[..] else { panic!("two rows") };
/// assert_eq!((outside.site, outside.work, outside.span), (None, 30, 25));
/// assert_eq!((sort.site, sort.work, sort.span), (Some(merge), 500, 300));
/// # Ok::<(), bombyx_dag::BuildError>(())
/// ```
pub struct Sites {
    /// Index of the site of each strand, or `NONE` outside all forks with a known site.
    owners: Vec<u32>,
}

/// What one site contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteMeasures {
    /// The site, or `None` for what is outside all forks.
    pub site: Option<SiteId>,
    /// How often it forks.
    pub forks: u64,
    /// Strands that belong to it.
    pub strands: u64,
    /// Their weight: its part of T1.
    pub work: u64,
    /// The weight of those on one longest path: its part of T∞.
    pub span: u64,
}

impl Sites {
    /// Finds the site of every strand.
    pub fn of(c: &Computation) -> Self {
        let mut of_threads: Vec<u32> = Vec::with_capacity(c.thread_count());
        for thread in c.threads() {
            // Parents come before their children.
            let inherited = c.parent(thread).map_or(NONE, |parent| of_threads[parent.index()]);
            of_threads.push(c.site(thread).map_or(inherited, |site| site.0));
        }
        Self { owners: c.strands().map(|strand| of_threads[c.thread_of(strand).index()]).collect() }
    }

    /// The site that a strand belongs to.
    pub fn site_of(&self, strand: StrandId) -> Option<SiteId> {
        let owner = self.owners[strand.index()];
        (owner != NONE).then_some(SiteId(owner))
    }

    /// What each site contributes to `c`, the computation of this table. First comes what is outside all forks, then
    /// the sites in the order of their ids.
    pub fn measures(&self, c: &Computation) -> Vec<SiteMeasures> {
        let outside = SiteMeasures { site: None, forks: 0, strands: 0, work: 0, span: 0 };
        let sites =
            (0..c.site_names().len()).map(|nth| SiteMeasures { site: Some(SiteId::new(nth)), ..outside });
        let mut rows: Vec<SiteMeasures> = std::iter::once(outside).chain(sites).collect();
        let row = |site: Option<SiteId>| site.map_or(0, |site| site.index() + 1);
        for strand in c.strands() {
            let row = &mut rows[row(self.site_of(strand))];
            row.strands += 1;
            row.work += c.weight(strand);
        }
        for thread in c.threads() {
            if let Some(site) = c.site(thread) {
                rows[row(Some(site))].forks += 1;
            }
        }
        for strand in longest_path(c) {
            rows[row(self.site_of(strand))].span += c.weight(strand);
        }
        rows
    }

    /// What each site contributes to a longest path of `c`, the computation of this table, if the strands of each site
    /// took `scale` times as long: their weights as they are, without that factor. First comes what is outside all forks,
    /// then the sites in the order of their ids, and `scale` has the same order.
    ///
    /// So with factors y near `scale`, the span is the sum of the results, each times its y, and with any factors the span
    /// is at least that.
    ///
    /// # Panics
    /// If `scale` has another length, or a factor is not a positive number.
    pub fn longest_path_if(&self, c: &Computation, scale: &[f64]) -> Vec<u64> {
        assert_eq!(scale.len(), c.site_names().len() + 1, "a factor for each site, and one for the rest");
        assert!(
            scale.iter().all(|factor| factor.is_finite() && *factor > 0.0),
            "factors are positive numbers"
        );
        let row = |strand: StrandId| self.site_of(strand).map_or(0, |site| site.index() + 1);
        let mut distance = vec![0.0_f64; c.strand_count()];
        let mut then = vec![NONE; c.strand_count()];
        for strand in c.strands().rev() {
            let mut beyond = 0.0;
            for to in successors(c, strand) {
                if then[strand.index()] == NONE || distance[to.index()] > beyond {
                    (beyond, then[strand.index()]) = (distance[to.index()], to.0);
                }
            }
            distance[strand.index()] = beyond + c.weight(strand) as f64 * scale[row(strand)];
        }
        let mut parts = vec![0; scale.len()];
        let mut strand = StrandId(0);
        loop {
            parts[row(strand)] += c.weight(strand);
            match then[strand.index()] {
                NONE => return parts,
                next => strand = StrandId(next),
            }
        }
    }

    /// The computation that `c`, the computation of this table, would be if the strands of some sites were faster by
    /// the given factors. A factor below 1 makes them slower.
    ///
    /// Weights stay whole numbers of at least 1. What rounding takes from one strand, it gives to the next of its site.
    /// So the sum over any run of strands is right to the nearest unit, as long as no weight would fall below 1.
    ///
    /// # Errors
    /// If the work no longer fits in 64 bits.
    ///
    /// # Panics
    /// If a factor is not a positive number.
    pub fn faster(&self, c: &Computation, factors: &[(SiteId, f64)]) -> Result<Computation, BuildError> {
        let mut plan = vec![(1.0, 0.0); c.site_names().len()];
        for &(site, factor) in factors {
            assert!(factor.is_finite() && factor > 0.0, "{factor} is not a factor");
            plan[site.index()].0 *= factor;
        }
        let mut faster = c.clone();
        let mut work = 0_u64;
        for (strand, &owner) in faster.strands.iter_mut().zip(&self.owners) {
            if let Some((factor, carry)) = plan.get_mut(owner as usize).filter(|(factor, _)| *factor != 1.0) {
                let exact = strand.weight as f64 / *factor + *carry;
                // `as` saturates, and the sum below notices.
                strand.weight = (exact.round() as u64).max(1);
                *carry = (exact - strand.weight as f64).clamp(-0.5, 0.5);
            }
            work = work.checked_add(strand.weight).ok_or(BuildError::Overflow)?;
        }
        faster.span = path_lengths(&faster).into_iter().max().unwrap_or(0);
        Ok(faster)
    }
}

/// The strands of one longest path, first to last.
///
/// ```
/// use bombyx_dag::{StrandId, generate::figure1, longest_path};
/// let c = figure1(1);
/// let path: Vec<StrandId> = longest_path(&c).collect();
/// assert_eq!(path.iter().map(|&strand| c.weight(strand)).sum::<u64>(), c.span());
/// ```
pub fn longest_path(c: &Computation) -> impl Iterator<Item = StrandId> + use<'_> {
    let distances = distances_to_end(c);
    // Every path begins with the first strand, because all others depend on it.
    std::iter::successors(Some(StrandId(0)), move |&strand| {
        let rest = distances[strand.index()] - c.weight(strand);
        successors(c, strand).find(|to| distances[to.index()] == rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Measures};

    /// A sort as a recorder sees it: halves forked at one site, and in the second half a scope at another.
    fn sort() -> Computation {
        let mut b = Builder::new(0);
        let halves = b.site("src/sort.rs:10:5");
        let scope = b.site("src/sort.rs:20:9");
        b.strand(1); //                         v1, before
        b.spawn_at(halves, 0);
        b.strand(100); //                           v2, first half
        let first = b.end();
        b.strand(1); //                         v3
        b.spawn_at(halves, 0);
        b.strand(10); //                            v4, second half, which opens a scope
        b.spawn_at(scope, 0);
        b.strand(40); //                                v5
        let one = b.end();
        b.strand(7); //                             v6, the scope's body
        b.spawn_at(scope, 0);
        b.strand(30); //                                v7
        b.spawn(0);
        b.strand(20); //                                    v8, at no known site
        let nested = b.end();
        b.strand(1); //                                 v9
        b.strand(1); //                                 v10
        b.wait_for(nested);
        let two = b.end();
        b.strand(1); //                             v11, end of the body
        b.strand(3); //                             v12
        b.wait_for(one);
        b.wait_for(two);
        let second = b.end();
        b.strand(1); //                         v13
        b.strand(2); //                         v14, after
        b.wait_for(first);
        b.wait_for(second);
        b.build().unwrap()
    }

    #[test]
    fn strands_belong_to_the_nearest_fork() {
        let c = sort();
        let sites = Sites::of(&c);
        let owners: Vec<Option<u32>> = c.strands().map(|s| sites.site_of(s).map(|site| site.0)).collect();
        let (h, s) = (Some(0), Some(1));
        assert_eq!(owners, [None, h, None, h, s, h, s, s, s, s, h, h, None, None]);
    }

    #[test]
    fn the_parts_are_the_whole() {
        let c = sort();
        let measures = Measures::of(&c);
        let rows = Sites::of(&c).measures(&c);
        assert_eq!(rows.iter().map(|row| row.work).sum::<u64>(), measures.work);
        assert_eq!(rows.iter().map(|row| row.span).sum::<u64>(), measures.span);
        assert_eq!(rows.iter().map(|row| row.strands).sum::<u64>(), c.strand_count() as u64);
        assert_eq!(rows.iter().map(|row| row.forks).collect::<Vec<_>>(), [0, 2, 2]);
        assert_eq!(
            rows.iter().map(|row| (row.work, row.span)).collect::<Vec<_>>(),
            [(5, 3), (121, 100), (92, 0)]
        );
    }

    #[test]
    fn faster_moves_the_critical_path() {
        let c = sort();
        let sites = Sites::of(&c);
        let both = |factors: &[(SiteId, f64)]| {
            let measures = Measures::of(&sites.faster(&c, factors).unwrap());
            (measures.work, measures.span)
        };
        let (halves, scope) = (SiteId(0), SiteId(1));
        assert_eq!(both(&[]), (218, 103));
        assert_eq!(both(&[(scope, 2.0)]), (173, 103), "the scope is not on the critical path");
        assert_eq!(both(&[(halves, 1e6)]), (102, 2 + 1 + 1 + 51 + 1 + 2), "now it is");
        assert_eq!(both(&[(halves, 2.0), (halves, 2.0)]), both(&[(halves, 4.0)]));
        assert_eq!(both(&[(scope, 0.5)]), (310, 2 + 10 + 7 + 102 + 3 + 2));
    }

    #[test]
    fn the_longest_path_moves_with_the_factors() {
        let c = sort();
        let sites = Sites::of(&c);
        assert_eq!(sites.longest_path_if(&c, &[1.0; 3]), [3, 100, 0]);
        assert_eq!(sites.longest_path_if(&c, &[1.0, 1e-6, 1.0])[2], 30 + 20 + 1, "the longest of the scope");
        for scale in [[1.0, 0.25, 1.0], [1.0, 0.5, 2.0], [1.0, 4.0, 8.0], [1.0, 1.0, 3.0]] {
            let parts = sites.longest_path_if(&c, &scale);
            let span: f64 = parts.iter().zip(scale).map(|(part, factor)| *part as f64 * factor).sum();
            let slower =
                sites.faster(&c, &[(SiteId(0), 1.0 / scale[1]), (SiteId(1), 1.0 / scale[2])]).unwrap();
            // Weights are whole numbers of at least 1 there.
            assert!((span - slower.span() as f64).abs() <= 5.0, "{scale:?}: {span}, {}", slower.span());
        }
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut b = Builder::new(0);
        let site = b.site("here");
        b.strand(1);
        b.spawn_at(site, 0);
        for _ in 0..1000 {
            b.strand(5);
        }
        let end = b.end();
        b.strand(1);
        b.strand(1);
        b.wait_for(end);
        let c = b.build().unwrap();
        let faster = Sites::of(&c).faster(&c, &[(site, 2.0)]).unwrap();
        assert_eq!(Measures::of(&faster).work, 2503);
        assert_eq!(Sites::of(&c).faster(&c, &[(site, 1.0)]).unwrap(), c);
    }

    #[test]
    fn slower_than_64_bits_is_an_error() {
        let c = sort();
        let slower = Sites::of(&c).faster(&c, &[(SiteId(0), 1e-300)]);
        assert_eq!(slower.err(), Some(BuildError::Overflow));
    }
}
