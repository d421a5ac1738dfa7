//! An entry of a notice board that readers look at without a lock: a number, and words that belong to what has this
//! number.
//!
//! **A reader that finds the same number before and after has read words of what has this number**, and of nothing that
//! had the entry before or after. To post an entry, the writer writes the words first, and then the number with
//! release. A reader that acquires the number sees those words. To withdraw it, the writer clears the number, issues a
//! release fence, and then changes the words. A reader that has read a changed word issues an acquire fence, and so
//! reads the cleared number, or a later one. No two entries have the same number, so it notices.
//!
//! Other threads change the words for the next number. They come after the fence, by a lock or by their start. For a reader
//! that has read such a word, the language promises nothing more. The processors do: who sees a store also sees the stores
//! that come before it in this order (x86 and POWER, and all with multi-copy atomicity, such as AArch64 and RISC-V).
//!
//! Words that change while the entry stands, such as counters, are read as they were at some moment, each for itself.
//!
//! The readers are in other processes (`bombyx_lab::live`). The function `look`, which tests use, does the same.

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicU64, fence};
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Shows the words, which are there already.
pub(crate) fn post(number: &AtomicU64, value: u64) {
    number.store(value, if planted(Fault::PostWithoutOrder) { Relaxed } else { Release });
}

/// Hides the words. From now on the caller may change them.
pub(crate) fn withdraw(number: &AtomicU64) {
    number.store(0, Relaxed);
    if !planted(Fault::ReuseWithoutFence) {
        fence(Release);
    }
}

/// Reads words. `None` if nothing is posted, or if it changed meanwhile.
#[cfg(test)]
pub(crate) fn look<R>(number: &AtomicU64, read: impl FnOnce() -> R) -> Option<(u64, R)> {
    use std::sync::atomic::Ordering::Acquire;
    let before = number.load(Acquire);
    let words = read();
    if !planted(Fault::LookWithoutFence) {
        fence(Acquire);
    }
    (before != 0 && number.load(Relaxed) == before).then_some((before, words))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Acquire;

    /// A writer uses an entry again and again, while a reader looks. All words of a use are its number.
    #[test]
    fn a_look_beside_a_writer_sees_one_use() {
        const USES: u64 = if cfg!(miri) { 1_000 } else { 200_000 };
        let entry = [const { AtomicU64::new(0) }; 9];
        let done = AtomicBool::new(false);
        let seen = std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                let (mut seen, mut last) = (0, 0);
                loop {
                    let ended = done.load(Acquire);
                    let words = || entry[1..].iter().rev().map(|word| word.load(Relaxed)).collect::<Vec<_>>();
                    if let Some((number, words)) = look(&entry[0], words) {
                        assert_eq!(words, [number; 8]);
                        assert!(number >= last, "numbers go up");
                        last = number;
                        seen += 1;
                    }
                    if ended {
                        return seen;
                    }
                }
            });
            for number in 1..=USES {
                withdraw(&entry[0]);
                entry[1..].iter().for_each(|word| word.store(number, Relaxed));
                post(&entry[0], number);
            }
            done.store(true, Release);
            reader.join().unwrap()
        });
        assert!(seen > 0);
    }
}
