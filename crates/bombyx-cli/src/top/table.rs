//! The rows of the screen: figures of a pool, its processors, and its closures.

use super::screen::{Past, Sort};
use crate::text::{counted, grouped};
use bombyx_lab::live::{Doing, PoolReading, ProcessorReading};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

/// Which rows to show, and how.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) sort: Sort,
    pub(super) above: usize,
    pub(super) rows: usize,
    pub(super) coloured: bool,
}

/// The beginning of a text that is too long.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 { kept + "…" } else { kept }
}

/// The figures of the pool, in as few lines as the width allows.
pub(super) fn figures(pool: &PoolReading, width: usize) -> Vec<String> {
    let rate = |rate: f64| grouped(rate.round() as u64);
    let parts = [
        format!("{} steals/s", rate(pool.steals_per_second)),
        format!("{} hand-overs/s", rate(pool.hand_overs_per_second)),
        format!("{} rests/s", rate(pool.sleeps_per_second)),
        format!("queue {}", grouped(pool.queue)),
        counted(pool.carriers, "carrier"),
        format!("{} in blocking", grouped(pool.blocked_threads)),
    ];
    let mut lines = vec![String::new()];
    for part in parts {
        let last = lines.last_mut().expect("there is one");
        if last.is_empty() || last.chars().count() + part.chars().count() + 3 <= width {
            let gap = if last.is_empty() { " " } else { "  " };
            *last += gap;
            *last += &part;
        } else {
            lines.push(format!(" {part}"));
        }
    }
    lines
}

/// The processors with a line of titles.
pub(super) fn processors(pool: &PoolReading, past: &Past, order: Order, width: usize) -> Vec<Line<'static>> {
    let columns = Columns::for_width(width);
    let mut rows: Vec<_> = pool.processors.iter().enumerate().collect();
    // The sort is stable, so equal ones stay in the order of their numbers.
    match order.sort {
        Sort::Number => {}
        Sort::Busy => rows.sort_by(|a, b| b.1.runs().total_cmp(&a.1.runs())),
        Sort::Steals => rows.sort_by(|a, b| b.1.steals_per_second.total_cmp(&a.1.steals_per_second)),
    }
    let title = Line::from(cut(&columns.title(), width));
    let row = |(index, processor): (usize, &ProcessorReading)| {
        let past = past.get(&(pool.pool, index)).into_iter().flatten().copied();
        let past: Vec<f64> = past.collect();
        columns.row(index, processor, &past, order.coloured)
    };
    let shown = rows.into_iter().skip(order.above).take(order.rows);
    std::iter::once(title).chain(shown.map(row)).collect()
}

/// Which columns there is room for.
struct Columns {
    shares: bool,
    rates: bool,
    history: usize,
    closure: usize,
}

/// The widths of the number and the state, with the spaces around them.
const NUMBER: usize = 5;
const STATE: usize = 10;
/// The width of the four shares, and of the two rates.
const SHARES: usize = 4 * 7;
const RATES: usize = 9 + 13;

impl Columns {
    fn for_width(width: usize) -> Self {
        let mut left = width.saturating_sub(NUMBER + STATE);
        let mut take = |wanted: usize, beside: usize| {
            let fits = left >= wanted + beside;
            left -= if fits { wanted } else { 0 };
            fits
        };
        let shares = take(SHARES, 8);
        let rates = take(RATES, 10);
        let history = (left / 2).min(40);
        let history = if left < 16 { left.saturating_sub(1) } else { history };
        let closure = left.saturating_sub(history + 1);
        Self { shares, rates, history, closure }
    }

    fn title(&self) -> String {
        let mut title = format!("{:>4} {:<STATE$}", "P", "now");
        if self.shares {
            title += &format!("{:>7}{:>7}{:>7}{:>7}", "runs", "search", "wait", "rest");
        }
        if self.rates {
            title += &format!("{:>9}{:>13}", "steals/s", "hand-overs/s");
        }
        title += &format!(" {:<1$}", "history", self.history);
        if self.closure >= 8 {
            title += " closure";
        }
        title
    }

    fn row(&self, index: usize, processor: &ProcessorReading, past: &[f64], coloured: bool) -> Line<'static> {
        let colour = |colour: Color| if coloured { Style::default().fg(colour) } else { Style::default() };
        let mut spans = vec![
            Span::from(format!("{index:>4} ")),
            Span::styled(format!("{:<STATE$}", processor.now.name()), colour(colour_of(processor.now))),
        ];
        if self.shares {
            let waits = processor.share(Doing::Waiting) + processor.share(Doing::Blocked);
            let shares =
                [processor.runs(), processor.share(Doing::Searching), waits, processor.share(Doing::Resting)];
            spans.push(Span::from(shares.map(|share| format!("{:>5.0} %", 100.0 * share)).concat()));
        }
        if self.rates {
            let [steals, hand_overs] = [processor.steals_per_second, processor.hand_overs_per_second]
                .map(|rate| grouped(rate.round() as u64));
            spans.push(Span::from(format!("{steals:>9}{hand_overs:>13}")));
        }
        spans.push(Span::styled(format!(" {}", sparkline(past, self.history)), colour(Color::Green)));
        if self.closure >= 8 {
            let name = processor.closure.as_deref().unwrap_or_default();
            spans.push(Span::from(format!(" {}", cut(name, self.closure - 1))));
        }
        Line::from(spans)
    }
}

fn colour_of(doing: Doing) -> Color {
    match doing {
        Doing::Busy => Color::Green,
        Doing::Helping => Color::Cyan,
        Doing::Searching => Color::Yellow,
        Doing::Waiting | Doing::Blocked => Color::Red,
        Doing::Resting => Color::DarkGray,
    }
}

/// The newest shares at the right end, one letter for each.
fn sparkline(past: &[f64], width: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let newest = &past[past.len().saturating_sub(width)..];
    let bars = newest.iter().map(|share| BARS[(share.clamp(0.0, 1.0) * 8.0).round() as usize]);
    " ".repeat(width - newest.len()) + &bars.collect::<String>()
}

/// The closures that ran, with their fork sites, in at most so many lines.
pub(super) fn closures(pool: &PoolReading, lines: usize, width: usize) -> Vec<Line<'static>> {
    let title = " fork sites by busy time (what they fork belongs to them until it is stolen)";
    let rows = pool.closures.iter().map(|closure| {
        let name = match (&closure.site, &closure.name) {
            (Some(site), Some(name)) => format!("{site}  {name}"),
            (Some(site), None) => site.clone(),
            (None, Some(name)) => name.clone(),
            (None, None) => "unknown: it has no name that can be read".to_owned(),
        };
        format!(" {:>3.0} %  {name}", 100.0 * closure.share)
    });
    std::iter::once(title.to_owned())
        .chain(rows)
        .take(lines)
        .map(|line| Line::from(cut(&line, width)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_share_is_at_the_right() {
        assert_eq!(sparkline(&[0.0, 0.5, 1.0], 5), "   ▄█");
        assert_eq!(sparkline(&[0.0, 0.5, 1.0], 2), "▄█");
        assert_eq!(sparkline(&[], 2), "  ");
        assert_eq!(sparkline(&[9.0, f64::NAN, -1.0], 3), "█  ");
    }

    #[test]
    fn columns_fill_the_width_and_no_more() {
        for width in 20..200 {
            let columns = Columns::for_width(width);
            let used = NUMBER
                + STATE
                + columns.history
                + 1
                + columns.closure
                + if columns.shares { SHARES } else { 0 }
                + if columns.rates { RATES } else { 0 };
            assert_eq!(used, width);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(cut("sort::merge", 6), "sort:…");
        assert_eq!(cut("sort", 4), "sort");
        assert_eq!(cut("sort", 0), "");
    }
}
