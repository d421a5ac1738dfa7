//! Numbers as people read them: grouped digits, times and sizes in the unit that suits them, ratios.

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things, of which `one` is one: `1 steal`, `1,234 steals`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number with three significant digits, if it is below 1000.
pub fn three_digits(number: f64) -> String {
    match number {
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// A time in ns, µs, ms or s.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        ..999.5e-9 => (seconds * 1e9, "ns"),
        ..999.5e-6 => (seconds * 1e6, "µs"),
        ..999.5e-3 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A number of bytes in KiB, MiB or GiB.
pub fn bytes(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let bytes = bytes as f64;
    let (value, unit) = match bytes / KIB {
        ..999.5 => (bytes / KIB, "KiB"),
        kib if kib < 999.5 * KIB => (kib / KIB, "MiB"),
        kib => (kib / KIB / KIB, "GiB"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A ratio with two decimals.
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// Breaks text between words into lines of at most `width` letters. All lines but the first begin with `indent` spaces.
/// Spaces at the beginning stay.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let words = text.trim_start_matches(' ');
    let mut used = text.len() - words.len();
    let mut out = " ".repeat(used);
    for (nth, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if nth > 0 && used + 1 + length > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else if nth > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped() {
        assert_eq!(wrapped("Agrees:  one two three", 14, 2), "Agrees:  one\n  two three");
        assert_eq!(wrapped("averyverylongword a", 5, 0), "averyverylongword\na");
        assert_eq!(wrapped("", 5, 0), "");
        assert_eq!(wrapped("  on   two cores", 12, 4), "  on   two\n    cores");
    }

    #[test]
    fn digits_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn times_find_their_unit() {
        for (seconds, text) in [
            (2.1e-9, "2.10 ns"),
            (999.4e-9, "999 ns"),
            (999.9e-9, "1.00 µs"),
            (0.05321, "53.2 ms"),
            (1.2345, "1.23 s"),
            (123.4, "123 s"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn sizes_find_their_unit() {
        for (size, text) in
            [(0, "0.00 KiB"), (1 << 20, "1.00 MiB"), (33 << 20, "33.0 MiB"), (3 << 30, "3.00 GiB")]
        {
            assert_eq!(bytes(size), text);
        }
    }
}
