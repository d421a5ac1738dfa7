//! [`Speeds`]: how fast each processor is, and how that changes over time (HET §1.5, §3.1).

use crate::{ProcessorId, Ratio};
use std::fmt;
use std::str::FromStr;

/// The speeds of the processors. A processor of speed 2 executes two unit instructions, or makes two steal attempts,
/// per unit of time.
///
/// Written as a list, `4,1,1` or shorter `4,2x1`, with changes after semicolons: from time 100 on, the first
/// processor has speed ½.
///
/// ```
/// use bombyx_sim::{ProcessorId, Ratio, Speeds};
/// let speeds: Speeds = "4,2x1;100:p1=0.5".parse()?;
/// assert_eq!(speeds.processors(), Some(3));
/// assert_eq!(speeds.changes(), [(100, ProcessorId(0), Ratio::new(1, 2).unwrap())]);
/// assert_eq!(speeds.to_string(), "4,2x1;100:p1=0.5");
/// # Ok::<(), bombyx_sim::SpeedsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speeds {
    list: Option<Vec<Ratio>>,
    changes: Vec<(u64, ProcessorId, Ratio)>,
}

impl Speeds {
    /// Every processor has speed 1.
    pub fn equal() -> Self {
        Self::default()
    }

    /// One speed for each processor.
    pub fn from_list(list: impl IntoIterator<Item = Ratio>) -> Self {
        Self { list: Some(list.into_iter().collect()), changes: Vec::new() }
    }

    /// From time `at` on, `processor` has speed `speed`.
    #[must_use]
    pub fn change(mut self, at: u64, processor: ProcessorId, speed: Ratio) -> Self {
        self.changes.push((at, processor, speed));
        self
    }

    /// The speeds at the beginning, if they were listed one by one.
    pub fn list(&self) -> Option<&[Ratio]> {
        self.list.as_deref()
    }

    /// All changes: when, of which processor, to which speed.
    pub fn changes(&self) -> &[(u64, ProcessorId, Ratio)] {
        &self.changes
    }

    /// How many processors were given speeds, if any were.
    pub fn processors(&self) -> Option<usize> {
        self.list.as_ref().map(Vec::len)
    }
}

impl fmt::Display for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.list.as_deref().unwrap_or_default();
        for (i, run) in list.chunk_by(|a, b| a == b).enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            match run.len() {
                1 => write!(f, "{}", run[0])?,
                count => write!(f, "{count}x{}", run[0])?,
            }
        }
        self.changes.iter().try_for_each(|(at, processor, speed)| write!(f, ";{at}:{processor}={speed}"))
    }
}

/// Text that lists no speeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedsError(String);

impl fmt::Display for SpeedsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a speed or a change of speed; list speeds like 4,2x1 and changes like ;100:p1=0.5",
            self.0
        )
    }
}

impl std::error::Error for SpeedsError {}

/// More processors than this are a typing error.
const MOST: usize = 1 << 20;

impl FromStr for Speeds {
    type Err = SpeedsError;

    fn from_str(text: &str) -> Result<Self, SpeedsError> {
        let mut parts = text.split(';');
        let mut speeds = Self::equal();
        let listed = parts.next().unwrap_or_default();
        if !listed.is_empty() {
            let mut list = Vec::new();
            for item in listed.split(',') {
                let (count, speed) = item.split_once('x').unwrap_or(("1", item));
                let parsed = count
                    .parse::<usize>()
                    .ok()
                    .filter(|&n| n > 0 && n <= MOST)
                    .zip(speed.parse::<Ratio>().ok());
                let (count, speed) = parsed.ok_or_else(|| SpeedsError(item.to_owned()))?;
                list.extend(std::iter::repeat_n(speed, count));
            }
            speeds.list = Some(list);
        }
        for change in parts {
            let parsed = parse_change(change).ok_or_else(|| SpeedsError(change.to_owned()))?;
            speeds.changes.push(parsed);
        }
        Ok(speeds)
    }
}

/// `100:p1=0.5`; processors are named as they are displayed, from `p1` on.
fn parse_change(text: &str) -> Option<(u64, ProcessorId, Ratio)> {
    let (at, change) = text.split_once(':')?;
    let (processor, speed) = change.split_once('=')?;
    let number: u32 = processor.strip_prefix('p')?.parse().ok()?;
    Some((at.parse().ok()?, ProcessorId(number.checked_sub(1)?), speed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_is_read_back() {
        for text in ["1", "4,2x1", "3x2,1.5,4/3", "2;10:p1=0.5;11:p1=3", ";7:p2=2", ""] {
            assert_eq!(text.parse::<Speeds>().unwrap().to_string(), text);
        }
        assert_eq!("1,1,2".parse::<Speeds>().unwrap().to_string(), "2x1,2");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["0", "1,,2", "x", "0x1", "2x", "1;", "1;5", "1;5:p0=1", "1;5:1=1", "1;5:p1=0", "9999999x1"]
        {
            let error = text.parse::<Speeds>().unwrap_err().to_string();
            assert!(error.contains("list speeds like"), "{text}: {error}");
        }
    }
}
