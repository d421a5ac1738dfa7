//! The memory quota K of DFDeques and of the depth-first scheduler: how it is spelled. How it is used up is told in
//! [`crate::machine::meter`].

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// How many bytes a processor may allocate, net, from one steal to the next (`dfdeques:K`), or a thread from one
/// scheduling to the next (`depth-first:K`). Narlikar, "Scheduling threads for low space requirement and good
/// locality", §3.3.
///
/// ```
/// use bombyx::Quota;
/// assert_eq!("50000".parse(), Ok(Quota::bytes(50_000).unwrap()));
/// assert_eq!("inf".parse(), Ok(Quota::Infinite));
/// assert_eq!("auto".parse(), Ok(Quota::Auto));
/// assert!("0".parse::<Quota>().unwrap_err().to_string().contains("bytes"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quota {
    /// So many bytes.
    Bytes(NonZeroU64),
    /// Found while the program runs; for DFDeques only.
    Auto,
    /// No limit.
    Infinite,
}

impl Quota {
    /// So many bytes, unless that is none.
    pub fn bytes(bytes: u64) -> Option<Quota> {
        NonZeroU64::new(bytes).map(Quota::Bytes)
    }

    /// In bytes, as far as it is known beforehand; `i64::MAX` if there is no limit.
    pub(super) fn limit(self) -> i64 {
        match self {
            Quota::Bytes(bytes) => i64::try_from(bytes.get()).unwrap_or(i64::MAX),
            Quota::Auto | Quota::Infinite => i64::MAX,
        }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quota::Bytes(bytes) => bytes.fmt(f),
            Quota::Auto => f.write_str("auto"),
            Quota::Infinite => f.write_str("inf"),
        }
    }
}

/// Text that is no [`Quota`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaError {
    given: String,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = if self.given.is_empty() { "missing" } else { &self.given };
        write!(
            f,
            "K is {given}: it should be a number of bytes, at least 1, such as 50000 or 50k, or inf, or (for dfdeques) auto"
        )
    }
}

impl std::error::Error for QuotaError {}

impl QuotaError {
    /// For schedulers whose quota cannot be found while the program runs.
    pub(crate) fn no_auto() -> QuotaError {
        QuotaError { given: Quota::Auto.to_string() }
    }
}

impl FromStr for Quota {
    type Err = QuotaError;

    fn from_str(text: &str) -> Result<Quota, QuotaError> {
        let bad = || QuotaError { given: text.to_owned() };
        match text {
            "inf" => Ok(Quota::Infinite),
            "auto" => Ok(Quota::Auto),
            _ => number(text).and_then(Quota::bytes).ok_or_else(bad),
        }
    }
}

/// `50000`, `50k`, `3M`, `1G`: powers of 1000.
fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'k' => (&text[..text.len() - 1], 1_000),
        'M' => (&text[..text.len() - 1], 1_000_000),
        'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(factor)
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
