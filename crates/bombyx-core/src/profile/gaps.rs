//! The time in which no run was under way: what the program does outside all pools, and between which of its runs.

use super::sites::SiteId;
use std::collections::HashMap;

/// See the module text. Times are in ticks.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Keyed by the sites of the run before and the run after. [`SiteId::TAKEN`] stands for the beginning of the
    /// program.
    gaps: HashMap<(SiteId, SiteId), u64>,
    /// The gap that ended when the present run began.
    last: Option<(SiteId, u64)>,
    /// The site of the run that began last.
    run: SiteId,
}

impl Gaps {
    /// A run begins at `site`, after this many ticks without a run.
    pub(crate) fn begin(&mut self, site: SiteId, ticks: u64) {
        self.close();
        self.last = Some((self.run, ticks));
        self.run = site;
    }

    /// The site of the run that began last has become known more exactly.
    pub(crate) fn rename(&mut self, site: SiteId) {
        self.run = site;
    }

    fn close(&mut self) {
        if let Some((before, ticks)) = self.last.take() {
            *self.gaps.entry((before, self.run)).or_default() += ticks;
        }
    }

    /// All gaps so far, longest first: the sites before and after, and the ticks. If there is no site after, the gap
    /// lasts until the end of the program, `since_last` ticks after the last run.
    pub(crate) fn all(&mut self, since_last: u64) -> Vec<(SiteId, Option<SiteId>, u64)> {
        self.close();
        let mut all: Vec<_> =
            self.gaps.iter().map(|(&(before, after), &ticks)| (before, Some(after), ticks)).collect();
        all.push((self.run, None, since_last));
        all.sort_by_key(|&(before, after, ticks)| (std::cmp::Reverse(ticks), before, after));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_runs() {
        let site = SiteId::from_index;
        let mut gaps = Gaps::default();
        gaps.begin(site(1), 50);
        gaps.begin(site(2), 7);
        gaps.rename(site(3));
        gaps.begin(site(1), 20);
        gaps.begin(site(3), 30);
        let expected = [
            (SiteId::TAKEN, Some(site(1)), 50),
            (site(1), Some(site(3)), 37),
            (site(3), Some(site(1)), 20),
            (site(3), None, 5),
        ];
        assert_eq!(gaps.all(5), expected);
    }
}
