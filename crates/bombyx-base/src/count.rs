//! [`count`]: how a number is written on a command line.

/// Reads `50000`, `50_000`, `50k`, `3M` or `1G`. The letters stand for powers of 1000.
///
/// ```
/// use bombyx_base::count;
/// assert_eq!(count("50k"), Some(50_000));
/// assert_eq!(count("1_000"), Some(1_000));
/// for text in ["", "k", "-1", "+1", "1.5", "_1", "1K", "99999999999999999999"] {
///     assert_eq!(count(text), None, "{text}");
/// }
/// ```
pub fn count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k') => (&text[..at], 1_000),
        (at, 'M') => (&text[..at], 1_000_000),
        (at, 'G') => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(factor)
}
