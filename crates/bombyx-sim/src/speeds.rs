//! [`Speeds`]: how fast each processor is, and how that changes over time (HET §1.5, §3.1; BL §7).

use crate::{ProcessorId, Ratio};
use std::fmt;
use std::str::FromStr;

/// A processor's speed from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When. The change takes effect at this very time, even in the middle of an instruction.
    pub at: Ratio,
    /// Of which processor.
    pub processor: ProcessorId,
    /// The new speed, or 0 if the processor stops.
    pub speed: Ratio,
    /// Whether the processor crashes: it stops and loses what it has done of its strand. Another processor executes
    /// the strand again from its beginning (BL §7).
    pub crash: bool,
}

/// The speeds of the processors. A processor of speed 2 executes two unit instructions, or makes two steal attempts,
/// per unit of time. One of speed 0 stands still.
///
/// Written as a list, `4,1,1` or shorter `4,2x1`, with changes after semicolons. In the example, the first processor
/// has speed ½ from time 100 on. At time 7.5 the second one stops. At time 9 the third one crashes, and at time 20 it
/// is back.
///
/// ```
/// use bombyx_sim::{ProcessorId, Ratio, Speeds};
/// let speeds: Speeds = "4,2x1;100:p1=0.5;7.5:p2=0;9:p3=crash;20:p3=1".parse()?;
/// assert_eq!(speeds.processors(), Some(3));
/// assert_eq!(speeds.changes()[0].at, Ratio::from(100));
/// assert_eq!(speeds.changes()[1].speed, Ratio::ZERO);
/// assert!(speeds.changes()[2].crash);
/// assert_eq!(speeds.to_string(), "4,2x1;100:p1=0.5;7.5:p2=0;9:p3=crash;20:p3=1");
/// # Ok::<(), bombyx_sim::SpeedsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speeds {
    list: Option<Vec<Ratio>>,
    changes: Vec<Change>,
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

    /// From time `at` on, `processor` has speed `speed`. Speed 0 stops it.
    #[must_use]
    pub fn change(mut self, at: impl Into<Ratio>, processor: ProcessorId, speed: Ratio) -> Self {
        self.changes.push(Change { at: at.into(), processor, speed, crash: false });
        self
    }

    /// At time `at`, `processor` stops and loses what it has done of its strand. A later [`change`](Self::change) brings
    /// it back.
    #[must_use]
    pub fn crash(mut self, at: impl Into<Ratio>, processor: ProcessorId) -> Self {
        self.changes.push(Change { at: at.into(), processor, speed: Ratio::ZERO, crash: true });
        self
    }

    /// These changes besides those made so far.
    #[must_use]
    pub fn with_changes(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.changes.extend(changes);
        self
    }

    /// The speeds at the beginning, if they were listed one by one.
    pub fn list(&self) -> Option<&[Ratio]> {
        self.list.as_deref()
    }

    /// All changes. Of several changes of one processor at one time, the last counts.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// How many processors were given speeds, if any were.
    pub fn processors(&self) -> Option<usize> {
        self.list.as_ref().map(Vec::len)
    }

    /// How long `processors` processors take to execute `instructions` if none is ever idle; infinite if they never do.
    pub fn time_for(&self, processors: usize, instructions: f64) -> f64 {
        self.reach(processors, instructions, |speeds| speeds.iter().sum())
    }

    /// A time that no schedule of this work and span can beat. All processors together need at least this time for the
    /// work, and the fastest processor at each time needs it for the span.
    pub fn least_time(&self, processors: usize, work: u64, span: u64) -> f64 {
        let fastest = |speeds: &[f64]| speeds.iter().copied().fold(0.0, f64::max);
        self.time_for(processors, work as f64).max(self.reach(processors, span as f64, fastest))
    }

    /// When the integral over time of `rate` of the processors' speeds reaches `goal`.
    fn reach(&self, processors: usize, goal: f64, rate: impl Fn(&[f64]) -> f64) -> f64 {
        let mut speeds = match &self.list {
            Some(list) => list.iter().map(|speed| speed.to_f64()).collect(),
            None => vec![1.0; processors],
        };
        let mut changes = self.changes.clone();
        changes.sort_by_key(|change| change.at);
        let (mut now, mut done) = (0.0, 0.0);
        for change in &changes {
            let (at, rate) = (change.at.to_f64(), rate(&speeds));
            if done + (at - now) * rate >= goal {
                break;
            }
            (done, now) = (done + (at - now) * rate, at);
            if let Some(speed) = speeds.get_mut(change.processor.index()) {
                *speed = change.speed.to_f64();
            }
        }
        let left = goal - done;
        if left <= 0.0 { now } else { now + left / rate(&speeds) }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}=", self.at, self.processor)?;
        if self.crash { f.write_str("crash") } else { self.speed.fmt(f) }
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
        self.changes.iter().try_for_each(|change| write!(f, ";{change}"))
    }
}

/// The text lists no speeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedsError(String);

impl fmt::Display for SpeedsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a speed or a change of speed; list speeds like 4,2x1 and changes like ;100:p1=0.5 or \
             ;100:p1=crash",
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

/// `100:p1=0.5` or `100:p1=crash`; processors are named as they are displayed, from `p1` on.
fn parse_change(text: &str) -> Option<Change> {
    let (at, change) = text.split_once(':')?;
    let (processor, speed) = change.split_once('=')?;
    let number: u32 = processor.strip_prefix('p')?.parse().ok()?;
    let crash = speed == "crash";
    Some(Change {
        at: at.parse().ok()?,
        processor: ProcessorId(number.checked_sub(1)?),
        speed: if crash { Ratio::ZERO } else { speed.parse().ok()? },
        crash,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_is_read_back() {
        for text in [
            "1",
            "4,2x1",
            "3x2,1.5,4/3",
            "2;10:p1=0.5;11:p1=3",
            ";7:p2=2",
            "",
            "1,0",
            "1;1/3:p1=0;9:p1=crash",
        ] {
            assert_eq!(text.parse::<Speeds>().unwrap().to_string(), text);
        }
        assert_eq!("1,1,2".parse::<Speeds>().unwrap().to_string(), "2x1,2");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["1,,2", "x", "0x1", "2x", "1;", "1;5", "1;5:p0=1", "1;5:1=1", "1;5:p1=-1", "9999999x1"] {
            let error = text.parse::<Speeds>().unwrap_err().to_string();
            assert!(error.contains("list speeds like"), "{text}: {error}");
        }
    }

    #[test]
    fn least_times_are_integrals() {
        let speeds: Speeds = "1/1000;1:p1=100".parse().unwrap();
        assert!((speeds.least_time(1, 10, 10) - (1.0 + 9.999 / 100.0)).abs() < 1e-12);
        let speeds: Speeds = "2,1;3:p1=0;5:p2=4".parse().unwrap();
        // 3 units at 3, 2 at 1, then 4: the work 15 takes until 6, the span 9 (2, then 1, then 4) until 5.25.
        assert_eq!(speeds.time_for(2, 15.0), 6.0);
        assert_eq!(speeds.least_time(2, 15, 9), 6.0);
        assert_eq!(speeds.least_time(2, 9, 9), 5.25);
        assert_eq!("1;2:p1=0".parse::<Speeds>().unwrap().time_for(1, 3.0), f64::INFINITY);
    }
}
