//! The slices of a track as few bytes, and bytes as text.

use bombyx_trace::{Category, Slice};

/// Slices as small numbers: start after the previous start, length, name, category, depth.
pub(crate) fn packed(slices: &[Slice]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(slices.len() * 8);
    let mut put = |mut number: u64| {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    };
    let mut last = 0;
    for slice in slices {
        let category = Category::ALL.iter().position(|one| *one == slice.category).expect("all are there");
        put(slice.start - last);
        put(slice.end - slice.start);
        put(u64::from(slice.name));
        put(category as u64);
        put(u64::from(slice.depth));
        last = slice.start;
    }
    bytes
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for letter in 0..4 {
            let index = word >> (18 - 6 * letter) & 63;
            text.push(if letter > three.len() { '=' } else { char::from(LETTERS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spelled_as_rfc_4648_says() {
        let spelled = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(spelled, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn slices_are_small_numbers() {
        let slice = |start, end| Slice { start, end, name: 3, category: Category::Search, depth: 1 };
        assert_eq!(packed(&[slice(5, 7), slice(305, 306)]), [5, 2, 3, 6, 1, 0xac, 2, 1, 3, 6, 1]);
    }
}
