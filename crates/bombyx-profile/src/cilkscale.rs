//! [`cilkscale_csv`]: what Cilkscale's own scripts read.
//!
//! A Cilkscale program prints the first six columns; its script `runner.py` then appends a column of times for each
//! number of processors from 1 on, and `plotter.py` reads them by position. It needs the column of one processor, and
//! none may be left out; times that were not measured are `nan`, which it draws as a gap.

use crate::Scaling;
use std::fmt::Write;

/// A table with Cilkscale's column names. `times` are measured times: number of processors, seconds.
///
/// The time of one processor is the work if it was not measured.
///
/// ```
/// let scaling = bombyx_profile::Scaling::new(8.0, 0.5, 0.8);
/// let csv = bombyx_profile::cilkscale_csv("sort", &scaling, &[(1, 8.25), (3, 3.0)]);
/// assert_eq!(
///     csv,
///     "tag,work (seconds),span (seconds),parallelism,burdened_span (seconds),burdened_parallelism,\
///      1c time (seconds),2c time (seconds),3c time (seconds)\n\
///      sort,8,0.5,16,0.8,10,8.25,nan,3\n"
/// );
/// ```
pub fn cilkscale_csv(tag: &str, scaling: &Scaling, times: &[(u32, f64)]) -> String {
    let most = times.iter().map(|&(processors, _)| processors).max().unwrap_or(1).max(1);
    let mut head = String::from(
        "tag,work (seconds),span (seconds),parallelism,burdened_span (seconds),burdened_parallelism",
    );
    // Commas, quotes and line ends would move the columns, and the plotter only prints the tag.
    let tag: String = tag.chars().map(|c| if ",\"\r\n".contains(c) { ' ' } else { c }).collect();
    let mut row = format!(
        "{tag},{},{},{},{},{}",
        scaling.work,
        scaling.span,
        scaling.parallelism(),
        scaling.burdened_span,
        scaling.burdened_parallelism()
    );
    for column in 1..=most {
        let _ = write!(head, ",{column}c time (seconds)");
        let measured = times.iter().find(|&&(processors, _)| processors == column).map(|&(_, time)| time);
        let _ = match measured.or((column == 1).then_some(scaling.work)) {
            Some(time) => write!(row, ",{time}"),
            None => write!(row, ",nan"),
        };
    }
    format!("{head}\n{row}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_columns() {
        let csv = cilkscale_csv("a,\"b\"\nc", &Scaling::new(1.0, 1.0, 1.0), &[]);
        assert_eq!(csv.lines().count(), 2);
        let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(columns, [7, 7]);
        assert!(csv.ends_with(",1\n"), "one processor takes the work: {csv}");
    }
}
