//! [`Beta`]: the parameter of `heterogeneous:BETA`. It is an exact ratio, so a scheduler can be compared, copied and
//! printed as it was spelled.

use crate::Ratio;
use std::fmt;
use std::str::FromStr;

/// The factor β by which a processor must be faster than another before it may mug it (Bender and Rabin,
/// "Online scheduling of parallel programs on heterogeneous systems", §3). At least 1.
///
/// ```
/// use bombyx_base::Beta;
/// let beta: Beta = "1.25".parse().unwrap();
/// assert_eq!(beta, "5/4".parse().unwrap());
/// assert_eq!(beta.to_string(), "1.25");
/// assert!(beta.exceeded_by(126, 100) && !beta.exceeded_by(125, 100));
/// assert!("0.9".parse::<Beta>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Beta(Ratio);

impl Beta {
    /// With this factor, any faster processor may mug.
    pub const ONE: Self = Self(Ratio::ONE);

    /// The factor `numerator / denominator`. `None` if it is below 1 (faster processors would lose their work to slower
    /// ones), above a thousand million, or not a number.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let ratio = Ratio::new(numerator, denominator)?;
        (ratio >= Ratio::ONE && ratio <= Ratio::from(MOST)).then_some(Self(ratio))
    }

    /// The factor as an exact fraction.
    pub fn ratio(self) -> Ratio {
        self.0
    }

    /// Whether a speed is more than β times another.
    pub fn exceeded_by(self, fast: u64, slow: u64) -> bool {
        self.0.exceeded_by(fast, slow)
    }
}

/// The largest factor.
const MOST: u64 = 1_000_000_000;

/// The rule for the parameter BETA, on threads and in the simulator.
pub(crate) const RULE: &str =
    "BETA is a number of at least 1 and at most 1000000000, such as 2, 1.25 or 4/3 (at most 9 decimals)";

/// A decimal number if that is exact, else a fraction.
impl fmt::Display for Beta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Beta {
    type Err = BetaError;

    fn from_str(text: &str) -> Result<Self, BetaError> {
        let ratio = text.parse::<Ratio>().ok();
        ratio.and_then(|ratio| Self::new(ratio.numerator(), ratio.denominator())).ok_or(BetaError(()))
    }
}

/// The text is not a [`Beta`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetaError(());

impl fmt::Display for BetaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RULE)
    }
}

impl std::error::Error for BetaError {}

#[cfg(test)]
mod tests {
    use super::Beta;

    #[test]
    fn is_printed_as_it_is_spelled() {
        for text in ["1", "2", "1.25", "1.05", "1.001", "4/3", "10", "22/7", "1.1234567", "1000000000"] {
            assert_eq!(text.parse::<Beta>().unwrap().to_string(), text);
        }
        for (text, same) in [("1.0", "1"), ("1.50", "1.5"), ("6/4", "1.5"), ("8/6", "4/3")] {
            assert_eq!(text.parse::<Beta>().unwrap().to_string(), same);
        }
    }

    #[test]
    fn refuses_what_is_no_factor_of_at_least_one() {
        let texts = [
            "",
            "0",
            "0.99",
            "3/4",
            "1/0",
            "0/0",
            "-2",
            "+2",
            "1e3",
            "1.",
            ".5",
            "inf",
            "nan",
            "1.2.3",
            "1000000001",
            "4294967296",
            "1.0123456789",
        ];
        for text in texts {
            assert!(text.parse::<Beta>().is_err(), "{text}");
        }
    }
}
