//! [`Names`]: which fork sites the page names.

use crate::model::SITES;
use bombyx_dag::{Computation, SiteMeasures};
use std::cmp::Reverse;

/// The most fork sites that the page names one by one.
pub(crate) const MOST: usize = 60;

/// The entries of the page: what is outside all forks, the sites that matter most, and if there are more, one entry for
/// all others.
pub(crate) struct Names {
    pub(crate) texts: Vec<String>,
    /// The rows of the sites that have sliders, in the order of their part of the span. Row 0 is outside all forks.
    pub(crate) sliders: Vec<usize>,
    /// The entry of each row.
    entries: Vec<usize>,
}

impl Names {
    /// Chooses from the rows of [`Sites::measures`](bombyx_dag::Sites::measures).
    pub(crate) fn of(c: &Computation, rows: &[SiteMeasures]) -> Names {
        let mut order: Vec<usize> = (1..rows.len()).filter(|&row| rows[row].strands > 0).collect();
        order.sort_by_key(|&row| (Reverse((rows[row].span, rows[row].work)), row));
        let sliders = order.iter().copied().take(SITES).collect();
        // The first half by their part of the span, the others by their work.
        let mut rest = order.split_off(order.len().min(MOST / 2));
        rest.sort_by_key(|&row| (Reverse(rows[row].work), row));
        let others = rest.split_off(rest.len().min(MOST - order.len()));
        let mut texts = vec!["outside of all forks".to_owned()];
        let mut entries = vec![0; rows.len()];
        for row in order.into_iter().chain(rest) {
            entries[row] = texts.len();
            texts.push(rows[row].site.map_or("", |site| c.site_name(site)).to_owned());
        }
        if !others.is_empty() {
            others.iter().for_each(|&row| entries[row] = texts.len());
            texts.push(format!("{} other sites", others.len()));
        }
        Names { texts, sliders, entries }
    }

    /// The entry of a row.
    pub(crate) fn entry(&self, row: usize) -> usize {
        self.entries[row]
    }

    /// What the page calls the site of a row.
    pub(crate) fn text_of(&self, row: usize) -> &str {
        &self.texts[self.entries[row]]
    }

    /// What each entry contributes.
    pub(crate) fn totals(&self, rows: &[SiteMeasures]) -> Vec<SiteMeasures> {
        let none = SiteMeasures { site: None, forks: 0, strands: 0, work: 0, span: 0 };
        let mut totals = vec![none; self.texts.len()];
        for (row, &entry) in rows.iter().zip(&self.entries) {
            let total = &mut totals[entry];
            total.forks += row.forks;
            total.strands += row.strands;
            total.work += row.work;
            total.span += row.span;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::{Builder, Sites};

    #[test]
    fn many_sites_become_one_entry() {
        let mut b = Builder::new(0);
        b.strand(1);
        let mut ends = vec![];
        for nth in 0..100 {
            let site = b.site(format!("site {nth}"));
            b.spawn_at(site, 0);
            b.strand(1 + nth);
            ends.push(b.end());
            b.strand(1);
        }
        b.strand(1);
        ends.into_iter().for_each(|end| b.wait_for(end));
        let c = b.build().unwrap();
        let rows = Sites::of(&c).measures(&c);
        let names = Names::of(&c, &rows);
        assert_eq!(names.texts.len(), 1 + MOST + 1);
        assert_eq!(names.texts.last().unwrap(), "40 other sites");
        assert_eq!(names.text_of(100), "site 99", "the longest closure matters");
        let totals = names.totals(&rows);
        assert_eq!(
            totals.iter().map(|row| row.work).sum::<u64>(),
            rows.iter().map(|row| row.work).sum::<u64>()
        );
        assert_eq!(totals.iter().map(|row| row.span).sum::<u64>(), c.span());
    }
}
