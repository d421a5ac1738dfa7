//! The lists that the command line takes: numbers with ranges, and schedulers.

use bombyx_base::count;
use bombyx_sim::Scheduler;
use std::str::FromStr;

/// Numbers, in the order given: `8`, `1,2,4`, `1..64` (doubling), `1..10+3`, `1..1000*10`. Ranges include both ends.
/// `k`, `M` and `G` stand for powers of 1000.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers(pub(crate) Vec<u64>);

/// A range longer than this is a typing error.
const LONGEST: usize = 10_000;

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            expand(part, &mut numbers)?;
        }
        Ok(Self(numbers))
    }
}

fn number(text: &str) -> Result<u64, String> {
    count(text).filter(|&value| value > 0).ok_or_else(|| format!("`{text}` is not a positive whole number"))
}

fn expand(part: &str, into: &mut Vec<u64>) -> Result<(), String> {
    let Some((from, rest)) = part.split_once("..") else {
        into.push(number(part)?);
        return Ok(());
    };
    let at = rest.find(['+', '*']).unwrap_or(rest.len());
    let (to, step) = rest.split_at(at);
    let (from, to) = (number(from)?, number(to)?);
    if from > to {
        return Err(format!("the range `{part}` runs backwards"));
    }
    let step: Box<dyn Fn(u64) -> Option<u64>> = match step.split_at_checked(1) {
        None => Box::new(|n| n.checked_mul(2)),
        Some(("+", by)) => {
            let by = number(by)?;
            Box::new(move |n| n.checked_add(by))
        }
        Some((_, by)) => {
            let by = number(by)?;
            if by == 1 {
                return Err(format!("the range `{part}` never ends; multiply by 2 or more"));
            }
            Box::new(move |n| n.checked_mul(by))
        }
    };
    let begin = into.len();
    let mut next = Some(from);
    while let Some(n) = next.filter(|&n| n < to) {
        into.push(n);
        if into.len() - begin > LONGEST {
            return Err(format!("the range `{part}` has more than {LONGEST} numbers"));
        }
        next = step(n);
    }
    into.push(to);
    Ok(())
}

/// Schedulers, separated by commas; a whole-number parameter may be a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SchedulerList(pub(crate) Vec<Scheduler>);

impl FromStr for SchedulerList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut schedulers = Vec::new();
        for item in text.split(',') {
            let spellings = match item.split_once(':') {
                Some((name, parameter))
                    if parameter.contains("..") || parameter.ends_with(['k', 'M', 'G']) =>
                {
                    let Numbers(numbers) = parameter.parse()?;
                    numbers.into_iter().map(|n| format!("{name}:{n}")).collect()
                }
                _ => vec![item.to_owned()],
            };
            for spelling in spellings {
                schedulers.push(spelling.parse::<Scheduler>().map_err(|error| error.to_string())?);
            }
        }
        Ok(Self(schedulers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges() {
        for (text, expected) in [
            ("8", &[8][..]),
            ("1,2,4", &[1, 2, 4]),
            ("1..8", &[1, 2, 4, 8]),
            ("3..10", &[3, 6, 10]),
            ("1..10+4", &[1, 5, 9, 10]),
            ("1..1k*10", &[1, 10, 100, 1000]),
            ("5..5", &[5]),
            ("2,16..64", &[2, 16, 32, 64]),
        ] {
            assert_eq!(text.parse(), Ok(Numbers(expected.to_vec())), "{text}");
        }
        for text in
            ["", "0", "x", "1,", "8..1", "1..", "..4", "1..4*1", "1..4+0", "1..4-1", "1..100M+1", "-3", "+4"]
        {
            assert!(text.parse::<Numbers>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn schedulers_with_ranges() {
        let SchedulerList(list) = "work-stealing,dfdeques:1k..4k,heterogeneous:1.5".parse().unwrap();
        let names: Vec<String> = list.iter().map(Scheduler::to_string).collect();
        assert_eq!(
            names,
            ["work-stealing", "dfdeques:1000", "dfdeques:2000", "dfdeques:4000", "heterogeneous:1.5"]
        );
        let error = "work-staeling".parse::<SchedulerList>().unwrap_err();
        assert!(error.contains("work-stealing"), "{error}");
    }
}
