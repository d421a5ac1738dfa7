//! What the fork sites of a recorded program contribute, as a table.

use super::Result;
use super::input::Input;
use crate::table::{Cell, Style, Table};
use crate::text::grouped;
use bombyx_dag::{SiteMeasures, Sites};

/// The `top` sites by their part of the span. Empty for a computation without sites.
pub(super) fn table(input: &Input, top: usize, style: Style) -> Result<String> {
    let c = &input.computation;
    if c.site_names().is_empty() {
        return Ok(String::new());
    }
    let mut rows = Sites::of(c).measures(c);
    rows.retain(|row| row.strands > 0);
    rows.sort_by_key(|row| std::cmp::Reverse((row.span, row.work)));
    let name = |row: &SiteMeasures| match row.site {
        Some(site) => c.site_name(site).to_owned(),
        None => "outside of all forks".to_owned(),
    };
    let shown = &rows[..rows.len().min(top)];
    let width = shown.iter().map(|row| name(row).chars().count()).max().unwrap_or(0);
    let table = Table::new(style)
        .words("fork site", width)
        .numbers("forks", 10)
        .extra()
        .numbers("strands", 10)
        .extra()
        .numbers("work", 15)
        .extra()
        .numbers("of T1", 7)
        .numbers("span", 13)
        .extra()
        .numbers("of T∞", 7);
    let share = |part: u64, whole: u64| format!("{:.1} %", 100.0 * part as f64 / whole as f64);
    let mut out = String::from("\n") + &table.head();
    for row in shown {
        out.push_str(&table.line([
            Cell::from(name(row)),
            Cell::from(grouped(row.forks)),
            Cell::from(grouped(row.strands)),
            Cell::from(grouped(row.work)),
            Cell::from(share(row.work, input.measures.work)),
            Cell::from(grouped(row.span)),
            Cell::from(share(row.span, input.measures.span)),
        ]));
    }
    if shown.len() < rows.len() {
        out.push_str(&format!("and {} more (--sites lists all)\n", rows.len() - shown.len()));
    }
    Ok(out)
}
