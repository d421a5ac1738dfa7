//! The work/span algebra: what is known of a piece of a computation, and what follows from it for pieces in series and
//! in parallel.
//!
//! | | series | fork |
//! |---|---|---|
//! | work | w₁ + w₂ | wₐ + w_b |
//! | span | s₁ + s₂ | max(sₐ, s_b) |
//! | burdened span | β₁ + β₂ | max(βₐ, steal + β_b + hand-over) |
//! | split of the span by site | sum | split of the longer branch |
//!
//! Work is a plain sum and needs no type. The rest is a [`Path`]. The burden is that of He, Leiserson and Leiserson,
//! "The Cilkview scalability analyzer" (SPAA 2010), §4: edges along which work may migrate cost as much as a migration.
//! Here the second half of a fork pays for a steal when it begins and for a hand-over when it ends.
//!
//! Branches of a fork nest on the stack of the carrier that runs them, so their paths live in one array
//! ([`Lanes`]) and a fork allocates next to nothing.

use super::sites::SiteId;
use std::ops::Range;

/// Lengths of the longest chain through some piece of a computation, in ticks. Signed, because an empty strand is as
/// likely to measure a little less than nothing as a little more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) span: i64,
    /// What the burdened span adds to the span. Strands, which are by far the most frequent, add nothing to it.
    burden: i64,
}

impl Length {
    pub(crate) const ZERO: Length = Length { span: 0, burden: 0 };

    /// One strand.
    #[inline(always)]
    pub(crate) fn strand(ticks: i64) -> Length {
        Length { span: ticks, burden: 0 }
    }

    /// The burdened span.
    pub(crate) fn burdened(self) -> i64 {
        self.span + self.burden
    }

    /// `self`, then `next`.
    #[inline(always)]
    pub(crate) fn then(self, next: Length) -> Length {
        Length { span: self.span + next.span, burden: self.burden + next.burden }
    }

    /// What follows `start` in `self`. `self` begins with `start`.
    #[inline(always)]
    pub(crate) fn since(self, start: Length) -> Length {
        Length { span: self.span - start.span, burden: self.burden - start.burden }
    }

    /// `self` in parallel with `other`. Both begin together.
    #[inline(always)]
    pub(crate) fn beside(self, other: Length) -> Length {
        let span = self.span.max(other.span);
        Length { span, burden: self.burdened().max(other.burdened()) - span }
    }

    /// `self`, followed by this much burden.
    #[inline(always)]
    pub(crate) fn burdened_by(self, ticks: i64) -> Length {
        Length { burden: self.burden + ticks, ..self }
    }
}

/// What a migration costs, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Burden {
    pub(crate) steal: i64,
    pub(crate) hand_over: i64,
}

/// How much of a span each site has.
pub(crate) type Split = Vec<(SiteId, i64)>;

/// Adds `ticks` to the part of `site`.
pub(crate) fn add_to(split: &mut Split, site: SiteId, ticks: i64) {
    match split.iter_mut().find(|part| part.0 == site) {
        Some(part) => part.1 += ticks,
        None => split.push((site, ticks)),
    }
}

/// A length with the span's split by site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) length: Length,
    pub(crate) split: Split,
}

impl Path {
    /// Appends `next`.
    pub(crate) fn extend(&mut self, next: &Path) {
        self.append(next, SiteId::TAKEN);
    }

    /// Appends `next`, a chain whose foot belongs to the site `foot`.
    pub(crate) fn append(&mut self, next: &Path, foot: SiteId) {
        self.length = self.length.then(next.length);
        for &(site, ticks) in &next.split {
            add_to(&mut self.split, if site == SiteId::TAKEN { foot } else { site }, ticks);
        }
    }

    /// What follows `start` in `self`. `self` begins with `start`.
    pub(crate) fn since(mut self, start: &Path) -> Path {
        self.length = self.length.since(start.length);
        for &(site, ticks) in &start.split {
            add_to(&mut self.split, site, -ticks);
        }
        self.split.retain(|part| part.1 != 0);
        self
    }

    /// Becomes the longer of two paths that begin together.
    pub(crate) fn beside(&mut self, other: Path) {
        if other.length.span > self.length.span {
            self.split = other.split;
        }
        self.length = self.length.beside(other.length);
    }
}

/// The splits of all branches on one stack, each in a separate range, the youngest on top. A branch belongs to a site.
/// The parts that other sites have of its span are written here, and the rest belongs to its own site. So strands, and
/// forks inside forks at the same site, write nothing.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    parts: Split,
    /// Where the youngest range begins.
    top: usize,
}

/// Where a range begins.
pub(crate) type Lane = usize;

/// A branch, or its beginning up to some place.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) parts: Range<Lane>,
    /// The branch's own site.
    pub(crate) site: SiteId,
    pub(crate) span: i64,
}

/// Two branches that begin together in another branch, and end.
pub(crate) struct Halves {
    /// The range of the branch around them ends where that of the first half begins, and that one ends where the second
    /// half's begins.
    pub(crate) below: Lane,
    pub(crate) first: Lane,
    pub(crate) second: Lane,
    /// The site of the halves.
    pub(crate) site: SiteId,
    /// The site of the branch around them.
    pub(crate) outer: SiteId,
    pub(crate) second_wins: bool,
    /// The span of the longer half.
    pub(crate) span: i64,
}

impl Lanes {
    pub(crate) const fn new() -> Lanes {
        Lanes { parts: Vec::new(), top: 0 }
    }

    /// Adds to the youngest range. `site` is not the range's own site.
    pub(crate) fn add(&mut self, site: SiteId, ticks: i64) {
        match self.parts[self.top..].iter_mut().find(|part| part.0 == site) {
            Some(part) => part.1 += ticks,
            None => self.parts.push((site, ticks)),
        }
    }

    /// Begins an empty range, and returns where the one below begins.
    #[inline(always)]
    pub(crate) fn open(&mut self) -> Lane {
        let below = self.top;
        self.top = self.parts.len();
        below
    }

    /// Where the youngest range begins.
    #[inline(always)]
    pub(crate) fn top(&self) -> Lane {
        self.top
    }

    /// Ends a fork whose halves are the two youngest ranges. Both are empty, and the fork is at the site of the range
    /// below, so the whole fork belongs to that site.
    #[inline(always)]
    pub(crate) fn join_own(&mut self, below: Lane) {
        self.top = below;
    }

    /// Ends a fork whose halves are the two youngest ranges. Adds the split of the longer half to the range below, and
    /// forgets the other.
    pub(crate) fn join(&mut self, halves: &Halves) {
        let &Halves { below, first, second, site, outer, second_wins, span } = halves;
        self.top = below;
        let parts = if second_wins { second..self.parts.len() } else { first..second };
        let own = self.own(&Branch { parts: parts.clone(), site, span });
        let mut end = first;
        for at in parts {
            let part = self.parts[at];
            match self.parts[below..end].iter_mut().find(|known| known.0 == part.0) {
                Some(known) => known.1 += part.1,
                None if part.0 == outer => {}
                None => {
                    // `end` does not pass `at`: it began at or before `at`, and moves at most once for each.
                    self.parts[end] = part;
                    end += 1;
                }
            }
        }
        self.parts.truncate(end);
        if site != outer {
            self.add(site, own);
        }
    }

    /// The part of a branch that belongs to its own site.
    fn own(&self, branch: &Branch) -> i64 {
        branch.span - self.parts[branch.parts.clone()].iter().map(|part| part.1).sum::<i64>()
    }

    /// Adds the whole split of a branch.
    pub(crate) fn add_to(&self, split: &mut Split, branch: &Branch) {
        add_to(split, branch.site, self.own(branch));
        for &(site, ticks) in &self.parts[branch.parts.clone()] {
            add_to(split, site, ticks);
        }
    }

    /// Ends the youngest range, which belongs to a branch of this span at `site`, and returns its whole split. The
    /// range from `below` is then the youngest.
    pub(crate) fn close(&mut self, below: Lane, site: SiteId, span: i64) -> Split {
        let mut split = Split::new();
        self.add_to(&mut split, &Branch { parts: self.top..self.parts.len(), site, span });
        self.parts.truncate(self.top);
        self.top = below;
        split
    }

    /// One past the youngest part.
    pub(crate) fn len(&self) -> Lane {
        self.parts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURDEN: Burden = Burden { steal: 10, hand_over: 5 };

    fn site(n: u32) -> SiteId {
        SiteId::from_index(n)
    }

    #[test]
    fn series_add_and_forks_take_the_longer_half() {
        let a = Length::strand(7).then(Length::strand(3));
        let b = Length::strand(4);
        assert_eq!(a.beside(b), Length::strand(10));
        let migrating = Length::default().burdened_by(BURDEN.steal).then(b).burdened_by(BURDEN.hand_over);
        let both = a.beside(migrating);
        assert_eq!((both.span, both.burdened()), (10, 19));
        assert_eq!(a.since(Length::strand(7)), Length::strand(3));
    }

    #[test]
    fn the_split_of_a_path_adds_up_to_its_span() {
        let mut path = Path { length: Length::strand(3), split: vec![(site(1), 3)] };
        let start = path.clone();
        path.extend(&Path { length: Length::strand(4), split: vec![(site(2), 1), (site(1), 3)] });
        assert_eq!(path.split, [(site(1), 6), (site(2), 1)]);
        path.beside(Path { length: Length::strand(2).burdened_by(48), split: vec![(site(3), 2)] });
        assert_eq!((path.length.span, path.length.burdened()), (7, 50));
        assert_eq!(path.split.iter().map(|part| part.1).sum::<i64>(), path.length.span);
        assert_eq!(path.since(&start).split, [(site(1), 3), (site(2), 1)]);
    }

    #[test]
    fn lanes_nest_as_forks_do() {
        let mut lanes = Lanes::new();
        // A run of 1. Its fork at site 1 has a first half of 6, plus what the fork inside it adds.
        let below = lanes.open();
        let first = lanes.top();
        let inner_below = lanes.open();
        let inner_first = lanes.top();
        lanes.open();
        let inner_second = lanes.top();
        // The second half wins the inner fork, at site 2: 4 of its own, and 3 and 1 that were stolen from it.
        lanes.add(site(3), 3);
        lanes.add(site(1), 1);
        lanes.join(&Halves {
            below: inner_below,
            first: inner_first,
            second: inner_second,
            site: site(2),
            outer: site(1),
            second_wins: true,
            span: 8,
        });
        let first_half = Branch { parts: first..lanes.len(), site: site(1), span: 6 + 8 };
        let mut split = Split::new();
        lanes.add_to(&mut split, &first_half);
        assert_eq!(split, [(site(1), 7), (site(3), 3), (site(2), 4)]);
        lanes.open();
        let second = lanes.top();
        lanes.add(site(4), 9);
        lanes.join(&Halves {
            below,
            first,
            second,
            site: site(1),
            outer: site(0),
            second_wins: false,
            span: 14,
        });
        assert_eq!(lanes.close(0, site(0), 1 + 14), [(site(0), 1), (site(3), 3), (site(2), 4), (site(1), 7)]);
        assert_eq!((lanes.top(), lanes.len()), (0, 0));
    }

    #[test]
    fn forks_inside_of_forks_at_the_same_site_write_nothing() {
        let mut lanes = Lanes::new();
        let below = lanes.open();
        let first = lanes.top();
        lanes.open();
        let second = lanes.top();
        let halves =
            Halves { below, first, second, site: site(1), outer: site(1), second_wins: true, span: 5 };
        lanes.join(&halves);
        assert_eq!((lanes.len(), lanes.top()), (0, 0), "as if by `join_own`");
        assert_eq!(lanes.close(0, site(1), 7), [(site(1), 7)]);
    }
}
