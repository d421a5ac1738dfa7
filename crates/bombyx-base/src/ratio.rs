//! [`Ratio`]: an exact fraction, for speeds, times and β. Virtual time uses no floating point numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A fraction of at least 0 in lowest terms. Written `2`, `1.5` or `4/3`.
///
/// ```
/// use bombyx_base::Ratio;
/// let half_again: Ratio = "1.5".parse().unwrap();
/// assert_eq!(half_again, Ratio::new(3, 2).unwrap());
/// assert_eq!(half_again.to_string(), "1.5");
/// assert_eq!("4/3".parse::<Ratio>().unwrap().to_string(), "4/3");
/// assert!("1/0".parse::<Ratio>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// The ratio 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The ratio 0.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// `numerator / denominator`, or `None` if the denominator is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let g = gcd(numerator, denominator);
        Some(Self { numerator: numerator / g, denominator: denominator / g })
    }

    /// The numerator in lowest terms.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator in lowest terms.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest floating point number, for plots and tables.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Whether `a > self · b`, exactly.
    pub fn exceeded_by(self, a: u64, b: u64) -> bool {
        u128::from(a) * u128::from(self.denominator) > u128::from(b) * u128::from(self.numerator)
    }
}

/// The greatest common divisor.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        left.cmp(&(u128::from(other.numerator) * u128::from(self.denominator)))
    }
}

impl From<u64> for Ratio {
    fn from(whole: u64) -> Self {
        Self { numerator: whole, denominator: 1 }
    }
}

/// Decimal places that are read and displayed.
const PLACES: usize = 9;

/// A decimal number if it is exact with at most nine places, else a fraction.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) =
            (self.numerator / self.denominator, u128::from(self.numerator % self.denominator));
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let denominator = u128::from(self.denominator);
        for places in 1..=PLACES {
            let scaled = rest * 10u128.pow(places as u32);
            if scaled % denominator == 0 {
                return write!(f, "{whole}.{:0places$}", scaled / denominator);
            }
        }
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// The text is not a fraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatioError(String);

impl fmt::Display for RatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a number; write 2, 1.5 or 4/3 (at most {PLACES} decimals, below 2^64)", self.0)
    }
}

impl std::error::Error for RatioError {}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        parse(text).ok_or_else(|| RatioError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Ratio> {
    let number = |digits: &str| {
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten()
    };
    if let Some((numerator, denominator)) = text.split_once('/') {
        return Ratio::new(number(numerator)?, number(denominator)?);
    }
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    if places.len() > PLACES {
        return None;
    }
    let scale = 10u64.pow(places.len() as u32);
    Ratio::new(number(whole)?.checked_mul(scale)?.checked_add(number(places)?)?, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_is_read_back() {
        for text in ["0", "1", "2", "1.5", "0.25", "4/3", "22/7", "0.000001", "1.1234567", "4294967296"] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), text);
        }
        assert_eq!("6/4".parse::<Ratio>().unwrap().to_string(), "1.5");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "-1", "1/0", "1.", "x", "1e3", "1.0000000001", ".5", "+1/2", "99999999999999999999"]
        {
            assert!(text.parse::<Ratio>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn comparison_is_exact() {
        let (a, b) = (Ratio::new(1, 3).unwrap(), Ratio::new(333_333, 1_000_000).unwrap());
        assert!(a > b);
        assert!(Ratio::new(3, 2).unwrap().exceeded_by(301, 200));
        assert!(!Ratio::new(3, 2).unwrap().exceeded_by(300, 200));
    }
}
