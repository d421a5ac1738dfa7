//! Groups of options that several commands share, so that each is named and explained once.

use crate::numbers::Numbers;
use bombyx_workloads::{Grain, Size};
use clap::ValueHint;
use std::ffi::OsString;
use std::str::FromStr;

/// The input of a workload.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Input {
    /// How much work a run is: small, default (about a second) or large
    #[arg(long, default_value_t)]
    pub(crate) size: Size,

    /// How small the serial pieces of a workload are: medium or fine
    #[arg(long, default_value_t)]
    pub(crate) grain: Grain,

    /// Seed of the inputs, and of the choice of victims
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
}

/// A program of the user that a command runs.
#[derive(clap::Args, Clone)]
pub(crate) struct Program {
    /// The program and its arguments
    #[arg(
        id = "program",
        value_name = "PROGRAM",
        trailing_var_arg = true,
        value_hint = ValueHint::CommandWithArguments,
        required = true
    )]
    pub(crate) words: Vec<OsString>,
}

/// The same for a command that can instead show what an earlier run left in a file, with its own option `--read`.
#[derive(clap::Args, Clone)]
pub(crate) struct ProgramUnlessRead {
    /// The program and its arguments
    #[arg(
        id = "program",
        value_name = "PROGRAM",
        trailing_var_arg = true,
        value_hint = ValueHint::CommandWithArguments,
        required_unless_present = "read"
    )]
    pub(crate) words: Vec<OsString>,
}

/// A time that an option gives.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=1e6).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds from 0.01 to 1000000".to_owned())
}

/// The most processors that a pool can have.
const MOST: u64 = 4096;

/// Numbers of processors, given as a list of numbers and ranges. Each is within the limits of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Processors(Vec<usize>);

impl FromStr for Processors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Numbers(numbers) = text.parse()?;
        match numbers.iter().find(|&&number| number > MOST) {
            Some(number) => {
                Err(format!("the number of processors must be between 1 and {MOST}, not {number}"))
            }
            None => Ok(Self(numbers.into_iter().map(|number| number as usize).collect())),
        }
    }
}

/// The option `-p`, the same in all commands that use pools.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Pools {
    /// Numbers of processors: `2`, `1,2,4`, `1..8` (doubling), `1..10+3` (by 3), `1..1000*10` (times 10)
    #[arg(short, long, value_name = "LIST")]
    processors: Option<Processors>,
}

impl Pools {
    /// The numbers that were given, in their order.
    pub(crate) fn numbers(&self) -> Option<&[usize]> {
        self.processors.as_ref().map(|processors| &processors.0[..])
    }

    /// The only number that was given, for a command that makes one run.
    pub(crate) fn one(&self, command: &str) -> crate::Result<Option<usize>> {
        match self.numbers() {
            None => Ok(None),
            Some(&[one]) => Ok(Some(one)),
            Some(several) => {
                let text = format!(
                    "`bombyx {command}` makes one run, so `-p` takes one number, not {}; `bombyx scale` compares several",
                    several.len()
                );
                Err(crate::Usage(text).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_the_limits_of_the_runtime() {
        assert_eq!("1,2..8".parse(), Ok(Processors(vec![1, 2, 4, 8])));
        let ours = "5000".parse::<Processors>().unwrap_err();
        let theirs = bombyx::Pool::builder().processors(5000).build().expect_err("too many").to_string();
        assert_eq!(ours, theirs);
        assert!("0".parse::<Processors>().is_err());
    }
}
