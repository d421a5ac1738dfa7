//! The parameter of `heterogeneous:BETA`: an exact ratio, so that a scheduler can be compared, copied and printed as
//! it was spelled. The simulator reads the same spellings.

use std::fmt;
use std::str::FromStr;

/// The factor β by which a processor must be faster than another before it may mug it (Bender and Rabin,
/// "Online scheduling of parallel programs on heterogeneous systems", §3). At least 1.
///
/// ```
/// use bombyx::Beta;
/// let beta: Beta = "1.25".parse().unwrap();
/// assert_eq!(beta, "5/4".parse().unwrap());
/// assert_eq!(beta.to_string(), "1.25");
/// assert!(beta.exceeded_by(126, 100) && !beta.exceeded_by(125, 100));
/// assert!("0.9".parse::<Beta>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Beta {
    /// In lowest terms.
    numerator: u64,
    denominator: u64,
}

impl Beta {
    /// The factor `numerator / denominator`, unless it is below 1 (faster processors would lose their work to slower
    /// ones), above a thousand million, or no number.
    pub fn new(numerator: u64, denominator: u64) -> Option<Beta> {
        let divisor = greatest_common_divisor(numerator, denominator);
        let most = u128::from(denominator) * MOST;
        (denominator > 0 && numerator >= denominator && u128::from(numerator) <= most)
            .then(|| Beta { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// Whether a speed is more than β times another.
    pub fn exceeded_by(self, fast: u64, slow: u64) -> bool {
        u128::from(fast) * u128::from(self.denominator) > u128::from(slow) * u128::from(self.numerator)
    }
}

/// The largest factor.
const MOST: u128 = 1_000_000_000;

/// Decimal places that are read and displayed.
const PLACES: u32 = 9;

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl fmt::Display for Beta {
    /// As a decimal number if that is exact, else as a fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Beta { numerator, denominator } = *self;
        let scaled = (0..=PLACES).find(|&digits| 10u64.pow(digits).is_multiple_of(denominator));
        match scaled {
            Some(0) => write!(f, "{numerator}"),
            Some(digits) => {
                let scale = 10u64.pow(digits);
                let fraction = numerator % denominator * (scale / denominator);
                write!(f, "{}.{fraction:0width$}", numerator / denominator, width = digits as usize)
            }
            None => write!(f, "{numerator}/{denominator}"),
        }
    }
}

impl FromStr for Beta {
    type Err = BetaError;

    fn from_str(text: &str) -> Result<Beta, BetaError> {
        parse(text).ok_or_else(|| BetaError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Beta> {
    let number = |digits: &str| {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten()
    };
    if let Some((numerator, denominator)) = text.split_once('/') {
        return Beta::new(number(numerator)?, number(denominator)?);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let places = u32::try_from(fraction.len()).ok().filter(|&places| places <= PLACES)?;
    let scale = 10u64.pow(places);
    Beta::new(number(whole)?.checked_mul(scale)?.checked_add(number(fraction)?)?, scale)
}

/// Text that is no [`Beta`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetaError(String);

impl fmt::Display for BetaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not usable: BETA is a number of at least 1 and at most {MOST}, such as 2, 1.25 or 4/3 (at most \
             {PLACES} decimals)",
            self.0
        )
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
            let error = text.parse::<Beta>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("at least 1"), "{error}");
        }
    }
}
