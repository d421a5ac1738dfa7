//! Names for which events have only a number: of the code that jobs run, and texts of the program.

use crate::machine::tracer::Text;
use crate::system::primitive::lock;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

/// How many codes a thread remembers that it has told.
const REMEMBERED: usize = 64;

thread_local! {
    static TOLD: [Cell<usize>; REMEMBERED] = const { [const { Cell::new(0) }; REMEMBERED] };
}

static CODES: LazyLock<Mutex<HashMap<usize, &'static str>>> = LazyLock::new(Mutex::default);

/// Jobs with this code run a closure with this name.
pub(super) fn note_code(code: usize, name: fn() -> &'static str) {
    // Functions begin at multiples of 16, as a rule.
    let told = |told: &[Cell<usize>; REMEMBERED]| told[(code >> 4) % REMEMBERED].replace(code) == code;
    if !TOLD.try_with(told).unwrap_or(false) {
        lock(&CODES).insert(code, name());
    }
}

/// All codes with their names.
pub(super) fn codes() -> Vec<(usize, &'static str)> {
    let mut codes: Vec<_> = lock(&CODES).iter().map(|(&code, &name)| (code, name)).collect();
    codes.sort_unstable();
    codes
}

/// How many texts there may be, and how long each may be, in bytes.
const TEXTS: usize = 1 << 14;
const LONGEST: usize = 256;

#[derive(Default)]
struct Texts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

static ALL: LazyLock<Mutex<Texts>> = LazyLock::new(Mutex::default);

/// What stands for texts beyond [`TEXTS`].
const OTHERS: &str = "(one of too many texts)";

/// The number of a text. A long text is cut.
pub(super) fn number(text: &str) -> Text {
    let text = cut(text);
    let mut all = lock(&ALL);
    if let Some(&number) = all.numbers.get(text) {
        return Text(number);
    }
    let text = if all.texts.len() < TEXTS { text } else { OTHERS };
    let next = all.texts.len() as u32;
    let number = *all.numbers.entry(text.to_owned()).or_insert(next);
    if number == next {
        all.texts.push(text.to_owned());
    }
    Text(number)
}

/// All texts, by their numbers.
pub(super) fn texts() -> Vec<String> {
    lock(&ALL).texts.clone()
}

/// The beginning of a text that is too long. The cut does not fall into a character.
fn cut(text: &str) -> &str {
    let end = (0..=LONGEST.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_counted() {
        let long = "é".repeat(LONGEST);
        let Text(number) = number(&long);
        assert_eq!(texts()[number as usize], "é".repeat(LONGEST / 2));
        for n in 0..2 * TEXTS {
            super::number(&format!("text {n}"));
        }
        assert_eq!(texts().len(), TEXTS + 1);
        assert_eq!(super::number("yet another"), super::number(OTHERS));
    }
}
