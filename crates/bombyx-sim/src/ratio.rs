//! [`Ratio`]: an exact positive fraction, for speeds and for β. Virtual time knows no floating point numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A positive fraction in lowest terms. Written `2`, `1.5` or `4/3`.
///
/// ```
/// use bombyx_sim::Ratio;
/// let half_again: Ratio = "1.5".parse().unwrap();
/// assert_eq!(half_again, Ratio::new(3, 2).unwrap());
/// assert_eq!(half_again.to_string(), "1.5");
/// assert_eq!("4/3".parse::<Ratio>().unwrap().to_string(), "4/3");
/// assert!("0".parse::<Ratio>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u32,
    denominator: u32,
}

impl Ratio {
    /// The ratio 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `numerator / denominator`, or nothing if either is 0.
    pub fn new(numerator: u32, denominator: u32) -> Option<Self> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let g = gcd(numerator.into(), denominator.into()) as u32;
        Some(Self { numerator: numerator / g, denominator: denominator / g })
    }

    /// The numerator in lowest terms.
    pub fn numerator(self) -> u32 {
        self.numerator
    }

    /// The denominator in lowest terms.
    pub fn denominator(self) -> u32 {
        self.denominator
    }

    /// The nearest floating point number, for plots and tables.
    pub fn to_f64(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Whether `a > self · b`, exactly.
    pub(crate) fn exceeded_by(self, a: u64, b: u64) -> bool {
        u128::from(a) * u128::from(self.denominator) > u128::from(b) * u128::from(self.numerator)
    }
}

pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
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
        let left = u64::from(self.numerator) * u64::from(other.denominator);
        left.cmp(&(u64::from(other.numerator) * u64::from(self.denominator)))
    }
}

/// A decimal where that is exact with at most six places, else a fraction.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.numerator / self.denominator, u64::from(self.numerator % self.denominator));
        if rest == 0 {
            return write!(f, "{whole}");
        }
        for places in 1..=6u32 {
            let scale = 10u64.pow(places);
            if (rest * scale).is_multiple_of(self.denominator.into()) {
                return write!(
                    f,
                    "{whole}.{:0places$}",
                    rest * scale / u64::from(self.denominator),
                    places = places as usize
                );
            }
        }
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Text that is not a positive fraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatioError(String);

impl fmt::Display for RatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a positive number; write 2, 1.5 or 4/3 (at most six decimals)", self.0)
    }
}

impl std::error::Error for RatioError {}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let error = || RatioError(text.to_owned());
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let parsed = if let Some((numerator, denominator)) = text.split_once('/') {
            let both = digits(numerator) && digits(denominator);
            let parse = |s: &str| s.parse::<u64>().ok().filter(|_| both);
            parse(numerator).zip(parse(denominator))
        } else {
            let (whole, places) = text.split_once('.').unwrap_or((text, ""));
            let well_formed = digits(whole)
                && digits(places)
                && places.len() <= 6
                && !whole.is_empty()
                && !text.ends_with('.');
            let scale = 10u64.pow(places.len().min(6) as u32);
            let parse = |s: &str| if s.is_empty() { Some(0) } else { s.parse::<u64>().ok() };
            parse(whole)
                .zip(parse(places))
                .filter(|_| well_formed)
                .and_then(|(w, p)| Some((w.checked_mul(scale)?.checked_add(p)?, scale)))
        };
        let (numerator, denominator) = parsed.ok_or_else(error)?;
        let g = gcd(numerator, denominator).max(1);
        let reduced = (u32::try_from(numerator / g).ok(), u32::try_from(denominator / g).ok());
        reduced.0.zip(reduced.1).and_then(|(n, d)| Self::new(n, d)).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_is_read_back() {
        for text in ["1", "2", "1.5", "0.25", "4/3", "22/7", "0.000001", "1000000"] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), text);
        }
        assert_eq!("6/4".parse::<Ratio>().unwrap().to_string(), "1.5");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0", "-1", "1/0", "0/3", "1.", "x", "1e3", "1.0000001", ".5", "+1/2", "99999999999"]
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
