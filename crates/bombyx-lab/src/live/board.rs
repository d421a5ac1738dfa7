//! The board of another process. Any process can make a file with the name of a board, so this module believes nothing in it:
//! it checks every number before it uses it.

use bombyx_base::live::{self, head, pool, site, slot};
use bombyx_base::trace::State;
use serde::Serialize;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, fence};

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// Runs closures.
    Busy,
    /// Runs a part of what its carrier waits for.
    Helping,
    /// Looks for closures to run.
    Searching,
    /// Its carrier waits, and finds nothing to help with.
    Waiting,
    /// Its carrier is in `blocking` and keeps it. Only with fixed threads.
    Blocked,
    /// Has nothing to do.
    Resting,
}

impl Doing {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 6] =
        [Self::Busy, Self::Helping, Self::Searching, Self::Waiting, Self::Blocked, Self::Resting];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Helping => "helping",
            Self::Searching => "searching",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Resting => "resting",
        }
    }

    /// What these two words of a slot say.
    fn from_words(state: u64, waits: u64) -> Self {
        if waits & live::BLOCKED != 0 {
            return Self::Blocked;
        }
        match (State::from_number(state), waits) {
            (Some(State::Busy), 0) => Self::Busy,
            (Some(State::Busy | State::Help), _) => Self::Helping,
            // A processor that changes hands goes to somebody that searches or goes on.
            (Some(State::Search | State::HandOver), 0) => Self::Searching,
            (Some(State::Idle) | None, 0) => Self::Resting,
            (_, _) => Self::Waiting,
        }
    }
}

/// A pool on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    /// Its number, which no other pool of the process has.
    pub(super) number: u64,
    pub(super) scheduler: String,
    pub(super) fixed: bool,
    pub(super) processors: usize,
    /// Its entry, and the slot of its first processor.
    entry: usize,
    first: usize,
}

/// What the holder of a processor runs. The name of the closure and the address of its code, each 0 if it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Running {
    pub(super) name: u64,
    pub(super) code: u64,
}

/// See the module text.
pub(super) struct Board {
    words: &'static [AtomicU64],
    counters: Vec<String>,
}

impl Board {
    /// Opens the board in this file, or says why that is none.
    pub(super) fn open(file: &File) -> Result<Self, &'static str> {
        const BYTES: usize = live::WORDS * size_of::<u64>();
        if file.metadata().map(|metadata| metadata.size()).ok() != Some(BYTES as u64) {
            return Err("it has another size");
        }
        // SAFETY: the call has no preconditions.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err("its size may change");
        }
        // SAFETY: a new mapping, at an address that the system chooses, of a file that is so large.
        let mapped = unsafe {
            libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if mapped == libc::MAP_FAILED {
            return Err("the system does not map it");
        }
        // SAFETY: the mapping is as large as that, begins at a page, and its file cannot shrink. It is given back only
        // when this value is dropped, which hands out shorter references. Others write whole words.
        let words: &'static [AtomicU64] = unsafe { std::slice::from_raw_parts(mapped.cast(), live::WORDS) };
        let mut board = Self { words, counters: Vec::new() };
        if words[head::MAGIC].load(Acquire) != live::MAGIC {
            return Err("it is not finished, or has another version");
        }
        let names = board.text(head::NAMES_LENGTH, head::NAMES, head::WORDS - head::NAMES);
        board.counters = names.split(' ').map(str::to_owned).collect();
        if slot::COUNTERS + board.counters.len() > slot::WORDS {
            return Err("it has too many counters");
        }
        Ok(board)
    }

    /// The number of the process that writes it.
    pub(super) fn process(&self) -> u32 {
        self.words[head::PROCESS].load(Relaxed) as u32
    }

    /// How many pools had no room.
    pub(super) fn left_out(&self) -> u64 {
        self.words[head::LEFT_OUT].load(Relaxed)
    }

    fn text(&self, length: usize, at: usize, words: usize) -> String {
        let bytes: Vec<u8> =
            self.words[at..at + words].iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        let length = (self.words[length].load(Relaxed) as usize).min(bytes.len());
        String::from_utf8_lossy(&bytes[..length]).replace(char::is_control, "?")
    }

    /// The pools that exist now, the oldest first.
    pub(super) fn pools(&self) -> Vec<Pool> {
        let mut pools: Vec<_> = (0..live::POOLS).filter_map(|entry| self.pool(entry)).collect();
        pools.sort_by_key(|pool| pool.number);
        pools
    }

    fn pool(&self, entry: usize) -> Option<Pool> {
        let at = live::pool_at(entry);
        let word = |word: usize| self.words[at + word].load(Relaxed);
        let number = self.words[at + pool::NUMBER].load(Acquire);
        let (first, processors) = (word(pool::FIRST), word(pool::PROCESSORS));
        let fits = first.checked_add(processors).is_some_and(|end| end <= live::SLOTS as u64);
        let scheduler =
            self.text(at + pool::SCHEDULER_LENGTH, at + pool::SCHEDULER, pool::WORDS - pool::SCHEDULER);
        let pool = (number > 0 && fits).then(|| Pool {
            number,
            scheduler,
            fixed: word(pool::FIXED) != 0,
            processors: processors as usize,
            entry,
            first: first as usize,
        });
        // Otherwise some of these words are another pool's.
        pool.filter(|pool| self.has(pool))
    }

    /// Whether the pool still exists. If so, everything that was read before is about this pool (`bombyx-core`,
    /// `protocol/notice.rs`).
    pub(super) fn has(&self, pool: &Pool) -> bool {
        fence(Acquire);
        self.words[live::pool_at(pool.entry) + pool::NUMBER].load(Relaxed) == pool.number
    }

    /// What waits in the queue, how many carriers there are, how many threads block, and how many processors are in
    /// service.
    pub(super) fn figures(&self, pool: &Pool) -> [u64; 4] {
        let at = live::pool_at(pool.entry);
        // A thread counts itself out before another has counted itself in, for a moment.
        [pool::QUEUED, pool::CARRIERS, pool::BLOCKED, pool::IN_SERVICE]
            .map(|word| self.words[at + word].load(Relaxed))
            .map(|figure| if figure > u64::from(u32::MAX) { 0 } else { figure })
    }

    /// What a processor does, and which closure it runs.
    pub(super) fn processor(&self, pool: &Pool, index: usize) -> (Doing, Running) {
        let at = live::slot_at(pool.first + index);
        let word = |word: usize| self.words[at + word].load(Relaxed);
        let doing = Doing::from_words(word(slot::STATE), word(slot::WAITS));
        let (code, name) = (word(slot::CODE), word(slot::CLOSURE));
        // Otherwise the two are of different closures: it has just begun another one.
        let running = if word(slot::CODE) == code { Running { name, code } } else { Running::default() };
        (doing, running)
    }

    /// Where the closures that this code runs are forked: the word that names the file, and the line. `None` if the program
    /// has not told.
    pub(super) fn site(&self, code: u64) -> Option<(u64, u64)> {
        let code_at = |&at: &usize| self.words[at + site::CODE].load(Acquire);
        // An entry never goes, so behind a free one there is nothing.
        let at = live::sites_of(code).take_while(|at| code_at(at) != 0).find(|at| code_at(at) == code)?;
        Some((self.words[at + site::FILE].load(Relaxed), self.words[at + site::LINE].load(Relaxed)))
    }

    /// A counter of a processor, if there is one of this name.
    pub(super) fn counter(&self, pool: &Pool, index: usize, name: &str) -> Option<u64> {
        let counter = self.counters.iter().position(|other| other == name)?;
        let at = live::slot_at(pool.first + index) + slot::COUNTERS + counter;
        Some(self.words[at].load(Relaxed))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: `open` made the mapping of this size, and nobody else has references into it.
        unsafe { libc::munmap(self.words.as_ptr().cast_mut().cast(), size_of_val(self.words)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek as _, Write as _};
    use std::os::fd::FromRawFd as _;

    /// A file as another process may have it.
    fn file(words: &[u64], bytes: usize, seal: bool) -> File {
        // SAFETY: the name is a text that ends with zero; the file that is made belongs to nobody else.
        let mut file = unsafe {
            File::from_raw_fd(libc::memfd_create(
                c"bombyx-live".as_ptr(),
                libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC,
            ))
        };
        words.iter().for_each(|word| file.write_all(&word.to_le_bytes()).unwrap());
        file.set_len(bytes as u64).unwrap();
        file.rewind().unwrap();
        if seal {
            // SAFETY: the call has no preconditions.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
        }
        file
    }

    const BYTES: usize = live::WORDS * size_of::<u64>();

    #[test]
    fn what_is_no_board_is_refused() {
        assert_eq!(Board::open(&file(&[live::MAGIC], BYTES - 8, true)).err(), Some("it has another size"));
        assert_eq!(Board::open(&file(&[live::MAGIC], BYTES, false)).err(), Some("its size may change"));
        let other = u64::from_le_bytes(*b"bombyxL9");
        let error = "it is not finished, or has another version";
        assert_eq!(Board::open(&file(&[other], BYTES, true)).err(), Some(error));
        let mut words = vec![live::MAGIC, 1, 0, 500];
        words.resize(head::WORDS, u64::from_le_bytes(*b"a b c d "));
        assert_eq!(Board::open(&file(&words, BYTES, true)).err(), Some("it has too many counters"));
    }

    /// Whatever the words are, a look neither panics nor leaves the board.
    #[test]
    fn nothing_in_a_board_is_believed() {
        for word in [0, 1, live::SLOTS as u64, u64::MAX, 1 << 63] {
            let mut words = vec![word; live::WORDS];
            words[..4].copy_from_slice(&[live::MAGIC, 7, 0, 6]);
            words[head::NAMES] = u64::from_le_bytes(*b"steals\x1b ");
            let board = Board::open(&file(&words, BYTES, true)).unwrap();
            assert_eq!(board.process(), 7);
            for pool in board.pools() {
                assert!(board.has(&pool));
                board.figures(&pool);
                for index in 0..pool.processors {
                    let (_, running) = board.processor(&pool, index);
                    board.site(running.code);
                    assert_eq!(board.counter(&pool, index, "steals"), Some(word));
                    assert_eq!(board.counter(&pool, index, "other"), None);
                }
            }
        }
    }

    #[test]
    fn what_a_processor_does_follows_from_two_words() {
        let does = |state: State, waits| Doing::from_words(state as u64, waits);
        assert_eq!(does(State::Busy, 0), Doing::Busy);
        assert_eq!(does(State::Busy, 2), Doing::Helping);
        assert_eq!(does(State::Search, 0), Doing::Searching);
        assert_eq!(does(State::Search, 1), Doing::Waiting);
        assert_eq!(
            does(State::Idle, 1),
            Doing::Waiting,
            "a fixed carrier that sleeps in the middle of a wait"
        );
        assert_eq!(does(State::Idle, 0), Doing::Resting);
        assert_eq!(does(State::Busy, live::BLOCKED | 1), Doing::Blocked);
        assert_eq!(Doing::from_words(99, 0), Doing::Resting);
    }
}
