//! The board of a process: a piece of memory in which the runtime keeps its counters, so that others can look at a
//! running program. The runtime writes it (`bombyx-core`), and `bombyx top` reads it.
//!
//! A board is an array of words of 64 bits, each of which is read and written as a whole. It has a head, then
//! [`POOLS`] entries for pools, then [`SLOTS`] entries for processors, then [`SITES`] entries for fork sites.

/// The name of the memory, as the system shows it among the files of a process.
pub const NAME: &str = "bombyx-live";

/// The first word. Its last character counts the versions of the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"bombyxL2");

/// The words of the head.
pub mod head {
    /// [`super::MAGIC`]. Written last.
    pub const MAGIC: usize = 0;
    /// The number of the process that writes the board. A child of fork(2) inherits the board, and does not write it.
    pub const PROCESS: usize = 1;
    /// How many pools had no room.
    pub const LEFT_OUT: usize = 2;
    /// How many bytes [`NAMES`] has.
    pub const NAMES_LENGTH: usize = 3;
    /// The names of the counters of a processor, separated by spaces. Bytes, eight to a word.
    pub const NAMES: usize = 8;
    /// How many words the head has.
    pub const WORDS: usize = 512;
}

/// The words of a pool.
pub mod pool {
    /// The number of the pool in its process, from 1 on; 0 if the entry is free.
    pub const NUMBER: usize = 0;
    /// The slot of its first processor. Those of the others follow.
    pub const FIRST: usize = 1;
    /// How many processors it has.
    pub const PROCESSORS: usize = 2;
    /// 1 if its threads are fixed.
    pub const FIXED: usize = 3;
    /// What waits in its queue.
    pub const QUEUED: usize = 4;
    /// Its carriers.
    pub const CARRIERS: usize = 5;
    /// The threads that are in `blocking`.
    pub const BLOCKED: usize = 6;
    /// How many of its processors, the first ones, are in service.
    pub const IN_SERVICE: usize = 7;
    /// How many bytes [`SCHEDULER`] has.
    pub const SCHEDULER_LENGTH: usize = 8;
    /// The name of its scheduler. Bytes, eight to a word.
    pub const SCHEDULER: usize = 9;
    /// How many words a pool has.
    pub const WORDS: usize = 32;
}

/// The words of a processor.
pub mod slot {
    /// What it does: a number of [`State`](crate::trace::State).
    pub const STATE: usize = 0;
    /// How many frames wait on the stack of its holder; with [`BLOCKED`](super::BLOCKED), the holder blocks.
    pub const WAITS: usize = 1;
    /// The name of the closure that its holder runs: see [`closure`](super::closure).
    pub const CLOSURE: usize = 2;
    /// The address of the code that runs the closure, by which its fork site is found ([`sites_of`](super::sites_of)); 0 if it
    /// has none.
    pub const CODE: usize = 3;
    /// The counters, in the order of their names.
    pub const COUNTERS: usize = 4;
    /// How many words a processor has.
    pub const WORDS: usize = 64;
}

/// The words of a fork site. An entry is written once, and never changes.
pub mod site {
    /// The address of the code that runs what is forked there; 0 if the entry is free. Written last.
    pub const CODE: usize = 0;
    /// The name of the source file, as [`closure`](super::closure) has it.
    pub const FILE: usize = 1;
    /// The line.
    pub const LINE: usize = 2;
    /// How many words a fork site has.
    pub const WORDS: usize = 4;
}

/// In [`slot::WAITS`]: the holder blocks, and keeps its processor. This happens with fixed threads.
pub const BLOCKED: u64 = 1 << 32;

/// How many pools and how many processors there is room for.
pub const POOLS: usize = 128;
/// See [`POOLS`].
pub const SLOTS: usize = 8192;

/// How many fork sites there is room for. A power of two.
pub const SITES: usize = 2048;

/// How many words the board has.
pub const WORDS: usize = head::WORDS + POOLS * pool::WORDS + SLOTS * slot::WORDS + SITES * site::WORDS;

/// The word at which the entry of a pool begins.
pub const fn pool_at(entry: usize) -> usize {
    head::WORDS + entry * pool::WORDS
}

/// The word at which a slot begins.
pub const fn slot_at(slot: usize) -> usize {
    head::WORDS + POOLS * pool::WORDS + slot * slot::WORDS
}

/// The words at which the entry of this code may begin. It is at the first that was free when it was written.
pub fn sites_of(code: u64) -> impl Iterator<Item = usize> {
    /// So many entries are tried.
    const TRIES: usize = 16;
    let first = (code.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SITES.ilog2())) as usize;
    (first..first + TRIES).map(|entry| slot_at(SLOTS) + entry % SITES * site::WORDS)
}

/// How many bits of an address fit beside a length.
const ADDRESS: u32 = 48;

/// One word for a text in the memory of a program that never changes: where it is, and how long. 0 if it does not fit.
pub fn closure(address: u64, length: usize) -> u64 {
    match u16::try_from(length) {
        Ok(length) if address >> ADDRESS == 0 => address | u64::from(length) << ADDRESS,
        _ => 0,
    }
}

/// The address and the length in such a word.
pub fn closure_at(word: u64) -> Option<(u64, usize)> {
    let (address, length) = (word & ((1 << ADDRESS) - 1), (word >> ADDRESS) as usize);
    (address > 0 && length > 0).then_some((address, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_sites_are_on_the_board_and_begin_at_different_words() {
        for code in [0, 16, u64::MAX] {
            let at: Vec<_> = sites_of(code).collect();
            assert!(at.iter().all(|&at| at >= slot_at(SLOTS) && at + site::WORDS <= WORDS));
            assert_eq!(at.iter().collect::<std::collections::HashSet<_>>().len(), at.len());
        }
        let first = |code| sites_of(code).next();
        assert!((0..100).any(|code| first(16 * code) != first(0)));
    }

    #[test]
    fn texts_come_back_from_their_words() {
        assert_eq!(closure_at(closure(0x5555_1234_5678, 77)), Some((0x5555_1234_5678, 77)));
        assert_eq!(closure(1 << ADDRESS, 1), 0);
        assert_eq!(closure(4096, 1 << 16), 0);
        assert_eq!(closure_at(0), None);
    }
}
