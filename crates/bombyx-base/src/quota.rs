//! [`Quota`]: the parameter K of `dfdeques:K` and `depth-first:K`.

use crate::count;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// How many bytes a processor may allocate, net, from one steal to the next (`dfdeques:K`), or a thread from one
/// scheduling to the next (`depth-first:K`). Narlikar, "Scheduling threads for low space requirement and good
/// locality", §3.3.
///
/// ```
/// use bombyx_base::Quota;
/// assert_eq!("50k".parse(), Ok(Quota::bytes(50_000).unwrap()));
/// assert_eq!("inf".parse(), Ok(Quota::Infinite));
/// assert_eq!("auto".parse(), Ok(Quota::Auto));
/// assert!("0".parse::<Quota>().unwrap_err().to_string().contains("bytes"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quota {
    /// This many bytes.
    Bytes(NonZeroU64),
    /// Chosen while the program runs. Only for DFDeques on threads.
    Auto,
    /// No limit.
    Infinite,
}

impl Quota {
    /// This many bytes, or `None` if that is 0.
    pub const fn bytes(bytes: u64) -> Option<Self> {
        match NonZeroU64::new(bytes) {
            Some(bytes) => Some(Self::Bytes(bytes)),
            None => None,
        }
    }

    /// This many bytes, for constants.
    ///
    /// # Panics
    /// If `bytes` is 0.
    pub const fn of(bytes: u64) -> Self {
        Self::bytes(bytes).expect("a quota is at least one byte")
    }

    /// In bytes, as far as it is known beforehand. `i64::MAX` if there is no limit.
    ///
    /// ```
    /// use bombyx_base::Quota;
    /// assert_eq!((Quota::of(50).limit(), Quota::Infinite.limit()), (50, i64::MAX));
    /// ```
    pub fn limit(self) -> i64 {
        match self {
            Self::Bytes(bytes) => i64::try_from(bytes.get()).unwrap_or(i64::MAX),
            Self::Auto | Self::Infinite => i64::MAX,
        }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Auto => f.write_str("auto"),
            Self::Infinite => f.write_str("inf"),
        }
    }
}

/// The text is not a [`Quota`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaError(());

/// The rule for the parameter K, on threads and in the simulator.
pub(crate) const RULE: &str =
    "K is a number of bytes, at least 1, such as 50000 or 50k, or inf; for dfdeques on threads also auto";

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RULE)
    }
}

impl std::error::Error for QuotaError {}

impl FromStr for Quota {
    type Err = QuotaError;

    fn from_str(text: &str) -> Result<Self, QuotaError> {
        match text {
            "inf" => Ok(Self::Infinite),
            "auto" => Ok(Self::Auto),
            _ => count(text).and_then(Self::bytes).ok_or(QuotaError(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_read_back() {
        for text in ["1", "50000", "inf", "auto"] {
            assert_eq!(text.parse::<Quota>().unwrap().to_string(), text);
        }
        assert_eq!("50k".parse::<Quota>().unwrap().to_string(), "50000");
        for text in ["", "0", "k", "-1", "+1", "1.5", "99999999999999999999", "infinite"] {
            assert!(text.parse::<Quota>().is_err(), "{text}");
        }
    }
}
