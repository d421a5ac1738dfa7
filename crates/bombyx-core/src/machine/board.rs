//! The board: the memory where processors keep their counters, so that `bombyx top` can look at a running program.
//! [`bombyx_base::live`] defines its layout.
//!
//! The counters exist anyway ([`super::stats`]), and each has one writer at a time. On the board they are in memory that other
//! processes may read ([`crate::system::board`]). So a look costs the program nothing: it needs no thread, no socket and no
//! message. Everything here is on slow paths.
//!
//! **Who writes.** Only the holder of a processor writes the processor's words, as with counters; only its lookout writes the
//! words of muggings. The other words of a pool are written under the pool's lock, or by atomic addition.
//! [`crate::protocol::notice`] says how an entry is posted and withdrawn. A reader sees each word whole, but different words may
//! be from different times.
//!
//! If there is no board (other systems, `BOMBYX_LIVE=0`), or no room on it, a pool keeps these words in its own memory.

use crate::machine::stats::Counters;
use crate::protocol::made::Made;
use crate::protocol::notice;
use crate::system::output;
use crate::system::primitive::{AtomicU64, Mutex, lock};
use bombyx_base::live::{self, head, pool, site, slot};
use bombyx_base::trace::State;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// What the board says of a processor.
#[derive(Default)]
#[repr(C, align(512))]
struct Slot {
    state: AtomicU64,
    waits: AtomicU64,
    closure: AtomicU64,
    code: AtomicU64,
    counters: Counters,
}

const _: () = assert!(size_of::<Slot>() == slot::WORDS * size_of::<u64>());
const _: () = assert!(std::mem::offset_of!(Slot, counters) == slot::COUNTERS * size_of::<u64>());
const _: () = assert!(std::mem::offset_of!(Slot, closure) == slot::CLOSURE * size_of::<u64>());
const _: () = assert!(std::mem::offset_of!(Slot, code) == slot::CODE * size_of::<u64>());
const _: () = assert!(live::slot_at(0) * size_of::<u64>() % align_of::<Slot>() == 0);

/// The slot of a processor. It dereferences to the counters, which are used most.
pub(crate) struct Shown(NonNull<Slot>);

// SAFETY: a slot consists of atomics.
unsafe impl Send for Shown {}
// SAFETY: as above.
unsafe impl Sync for Shown {}

impl Shown {
    fn slot(&self) -> &Slot {
        // SAFETY: the pool of the processor has the slots (`Notice`), and outlives the processor.
        unsafe { self.0.as_ref() }
    }

    /// Shows what the processor does from now on.
    #[inline]
    pub(crate) fn set_state(&self, state: State) {
        self.slot().state.store(state as u64, Relaxed);
    }

    /// Only the holder calls this: how many of its frames wait, and whether it blocks ([`live::BLOCKED`]).
    #[inline]
    pub(crate) fn set_waits(&self, waits: u64) {
        self.slot().waits.store(waits, Relaxed);
    }

    /// Only the holder calls this: what it runs ([`live::closure`]), and the address of its code.
    #[inline]
    pub(crate) fn set_closure(&self, closure: u64, code: u64) {
        self.slot().closure.store(closure, Relaxed);
        self.slot().code.store(code, Relaxed);
    }
}

impl Deref for Shown {
    type Target = Counters;

    #[inline]
    fn deref(&self) -> &Counters {
        &self.slot().counters
    }
}

/// What the board says of a pool, with the slots of its processors.
pub(crate) struct Notice {
    place: Place,
    words: &'static [AtomicU64],
    slots: NonNull<Slot>,
}

// SAFETY: slots consist of atomics.
unsafe impl Send for Notice {}
// SAFETY: as above.
unsafe impl Sync for Notice {}

/// Where the words are.
enum Place {
    /// At this entry of the board.
    Board(&'static Board, usize),
    /// In the pool's own memory. Everybody uses it through the fields of [`Notice`]. These pointers only free it.
    Own(*mut [AtomicU64], *mut [Slot]),
}

impl Notice {
    /// For a new pool. Readers do not see the pool before it is [posted](Notice::post).
    pub(crate) fn new(processors: usize) -> Notice {
        Board::current().and_then(|board| board.take(processors)).unwrap_or_else(|| Notice::own(processors))
    }

    fn own(processors: usize) -> Notice {
        let words = Box::into_raw((0..pool::WORDS).map(|_| AtomicU64::new(0)).collect::<Box<[_]>>());
        let slots = Box::into_raw((0..processors).map(|_| Slot::default()).collect::<Box<[_]>>());
        // SAFETY: the words were made above, and are freed with this value only, which hands out shorter references.
        let (shown, first) = unsafe { (&*words, NonNull::new_unchecked(slots.cast())) };
        Notice { place: Place::Own(words, slots), words: shown, slots: first }
    }

    /// The slot of a processor of this pool. It must not be used after this value has gone.
    pub(crate) fn slot(&self, index: usize) -> Shown {
        // SAFETY: there is a slot for each processor.
        Shown(unsafe { self.slots.add(index) })
    }

    /// Shows the pool to others.
    pub(crate) fn post(&self, fixed: bool, scheduler: &str) {
        let Place::Board(board, entry) = self.place else { return };
        self.words[pool::FIXED].store(fixed.into(), Relaxed);
        write_text(&self.words[pool::SCHEDULER_LENGTH], &self.words[pool::SCHEDULER..], scheduler);
        let number = board.posted.fetch_add(1, Relaxed) + 1;
        notice::post(&board.words[live::pool_at(entry) + pool::NUMBER], number);
    }

    /// Shows how many carriers the pool has.
    pub(crate) fn set_carriers(&self, carriers: usize) {
        self.words[pool::CARRIERS].store(carriers as u64, Relaxed);
    }

    /// Shows how many processors are in service.
    pub(crate) fn set_in_service(&self, processors: usize) {
        self.words[pool::IN_SERVICE].store(processors as u64, Relaxed);
    }

    /// Where to write how many entries wait in the queue of the pool, if anybody may want to know.
    pub(crate) fn queued(&self) -> Option<&'static AtomicU64> {
        match self.place {
            Place::Board(board, entry) => Some(&board.words[live::pool_at(entry) + pool::QUEUED]),
            Place::Own(..) => None,
        }
    }

    /// Counts a thread that begins to block, or one that no longer blocks if `blocks` is false.
    pub(crate) fn count_blocked(&self, blocks: bool) {
        self.words[pool::BLOCKED].fetch_add(if blocks { 1 } else { u64::MAX }, Relaxed);
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        match self.place {
            Place::Board(board, entry) => board.give_back(entry),
            Place::Own(words, slots) => {
                // SAFETY: `own` made both from boxes, and nobody uses them any more: the pool ends.
                unsafe {
                    drop(Box::from_raw(words));
                    drop(Box::from_raw(slots));
                }
            }
        }
    }
}

/// The board of this process.
struct Board {
    words: &'static [AtomicU64],
    /// For each entry of the board, the slots that its pool has: the first slot, and how many. An entry without a pool has none.
    taken: Mutex<[(usize, usize); live::POOLS]>,
    /// How many pools were posted.
    posted: AtomicU64,
    /// Held by whoever writes a fork site.
    sites: Mutex<()>,
}

/// The board of this process. Made when the first pool asks for it, also in a child of fork(2).
static BOARD: Made<Board> = Made::not_yet();

impl Board {
    fn current() -> Option<&'static Board> {
        let make = || Board::of(if is_wanted() { Board::memory() } else { None }.unwrap_or_default());
        // Without memory there is no board.
        Some(BOARD.get_or_make(make)).filter(|board| !board.words.is_empty())
    }

    fn of(words: &'static [AtomicU64]) -> Board {
        Board {
            words,
            taken: Mutex::new([(0, 0); live::POOLS]),
            posted: AtomicU64::new(0),
            sites: Mutex::new(()),
        }
    }

    fn memory() -> Option<&'static [AtomicU64]> {
        let name = std::ffi::CString::new(live::NAME).ok()?;
        let words = crate::system::board::memory(&name, live::WORDS)?;
        let text = &words[head::NAMES..head::WORDS];
        write_text(&words[head::NAMES_LENGTH], text, &Counters::NAMES.join(" "));
        words[head::PROCESS].store(std::process::id().into(), Relaxed);
        words[head::MAGIC].store(live::MAGIC, Release);
        Some(words)
    }

    /// Takes an entry and slots for a pool. `None` if there is no room.
    fn take(&'static self, processors: usize) -> Option<Notice> {
        let mut taken = lock(&self.taken);
        let free = taken.iter().position(|&(_, count)| count == 0);
        let Some((entry, first)) = free.zip(room_for(processors, &*taken)) else {
            self.words[head::LEFT_OUT].fetch_add(1, Relaxed);
            return None;
        };
        taken[entry] = (first, processors);
        let words = &self.words[live::pool_at(entry)..][..pool::WORDS];
        words[pool::FIRST].store(first as u64, Relaxed);
        words[pool::PROCESSORS].store(processors as u64, Relaxed);
        let slots = self.words[live::slot_at(first)..].as_ptr().cast_mut().cast();
        // SAFETY: the address of a reference is not null.
        let slots = unsafe { NonNull::new_unchecked(slots) };
        Some(Notice { place: Place::Board(self, entry), words, slots })
    }

    /// Where to write the site of this code. `None` if it is written already, or if there is no room.
    #[inline]
    fn room_for_site(&self, code: usize) -> Option<usize> {
        for at in live::sites_of(code as u64) {
            match self.words[at + site::CODE].load(Relaxed) {
                0 => return Some(at),
                known if known == code as u64 => return None,
                _ => {}
            }
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn write_site(&self, code: usize, place: &'static Location<'static>) {
        let _alone = lock(&self.sites);
        // Another thread may have written it meanwhile.
        let Some(at) = self.room_for_site(code) else { return };
        let file = place.file();
        self.words[at + site::FILE].store(live::closure(file.as_ptr().addr() as u64, file.len()), Relaxed);
        self.words[at + site::LINE].store(place.line().into(), Relaxed);
        notice::post(&self.words[at + site::CODE], code as u64);
    }

    /// Withdraws the pool at this entry, which has ended.
    fn give_back(&self, entry: usize) {
        let words = &self.words[live::pool_at(entry)..][..pool::WORDS];
        notice::withdraw(&words[pool::NUMBER]);
        let (first, count) = lock(&self.taken)[entry];
        let slots = &self.words[live::slot_at(first)..live::slot_at(first + count)];
        words.iter().chain(slots).for_each(|word| word.store(0, Relaxed));
        lock(&self.taken)[entry] = (0, 0);
    }
}

/// Shows that the closures that this code runs are forked, spawned or called at this place. Does nothing if that is known.
///
/// Whoever reads the code sees the words of the place, as with the number of a pool (`protocol/notice.rs`). An entry never
/// changes, so nobody need look at the code again.
pub(crate) fn note_site(code: usize, place: &'static Location<'static>) {
    let Some(board) = BOARD.get().filter(|board| !board.words.is_empty()) else { return };
    if board.room_for_site(code).is_some() {
        board.write_site(code, place);
    }
}

/// Finds so many slots in a row that no pool has. Returns the first of them.
fn room_for(processors: usize, taken: &[(usize, usize)]) -> Option<usize> {
    let ends = taken.iter().filter(|&&(_, count)| count > 0).map(|&(first, count)| first + count);
    let fits = |&begin: &usize| {
        let end = begin + processors;
        end <= live::SLOTS
            && taken.iter().all(|&(first, count)| count == 0 || first >= end || first + count <= begin)
    };
    std::iter::once(0).chain(ends).filter(fits).min()
}

/// Writes as many bytes of a text as fit, and their number.
fn write_text(length: &AtomicU64, words: &[AtomicU64], text: &str) {
    let bytes = &text.as_bytes()[..text.len().min(size_of_val(words))];
    for (word, bytes) in words.iter().zip(bytes.chunks(size_of::<u64>())) {
        let mut whole = [0; size_of::<u64>()];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_le_bytes(whole), Relaxed);
    }
    length.store(bytes.len() as u64, Relaxed);
}

/// Whether there should be a board. A program with more rights than its caller has none.
fn is_wanted() -> bool {
    match std::env::var("BOMBYX_LIVE").as_deref().map(str::trim) {
        Err(_) | Ok("" | "1") => !output::is_privileged(),
        Ok("0") => false,
        Ok(given) => {
            output::say(format_args!(
                "BOMBYX_LIVE is `{given}`, but must be 0 or 1; nobody can look at this program"
            ));
            false
        }
    }
}

/// Called in a child of fork(2): leaves the board to the parent.
pub(crate) fn leave_parent() {
    if let Some(board) = BOARD.forget().filter(|board| !board.words.is_empty()) {
        crate::system::board::leave_parent(board.words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_get_slots_that_do_not_overlap() {
        let taken = [(0, 4), (0, 0), (10, 2)];
        assert_eq!(room_for(6, &taken), Some(4));
        assert_eq!(room_for(7, &taken), Some(12));
        assert_eq!(room_for(live::SLOTS - 12, &taken), Some(12));
        assert_eq!(room_for(live::SLOTS - 11, &taken), None);
        assert_eq!(room_for(live::SLOTS, &[(0, 0)]), Some(0));
    }

    #[test]
    fn texts_are_cut_where_the_words_end() {
        let words = [const { AtomicU64::new(0) }; 3];
        write_text(&words[0], &words[1..], "a text that is too long");
        assert_eq!(words[0].load(Relaxed), 16);
        assert_eq!(words[1].load(Relaxed), u64::from_le_bytes(*b"a text t"));
    }

    /// The words of the site of this code, as a reader finds them.
    fn site_of(board: &Board, code: usize) -> Option<[u64; 2]> {
        let word = |at: usize| board.words[at].load(Relaxed);
        let at = live::sites_of(code as u64).find(|&at| word(at + site::CODE) == code as u64)?;
        Some([word(at + site::FILE), word(at + site::LINE)])
    }

    #[test]
    fn a_site_is_written_once_and_only_where_there_is_room() {
        let words: Vec<_> = (0..live::WORDS).map(|_| AtomicU64::new(0)).collect();
        let board = Board::of(words.leak());
        let (first, second) = (Location::caller(), std::panic::Location::caller());
        let mut written = 0;
        for code in (1..=4 * live::SITES).map(|number| 16 * number) {
            for place in [first, second] {
                if board.room_for_site(code).is_some() {
                    board.write_site(code, place);
                }
            }
            if let Some([file, line]) = site_of(&board, code) {
                assert_eq!(live::closure_at(file).map(|(_, length)| length), Some(file!().len()));
                assert_eq!(line, u64::from(first.line()));
                written += 1;
            }
        }
        assert!((live::SITES / 2..=live::SITES).contains(&written), "{written} sites");
    }

    #[test]
    fn a_pool_without_a_board_has_counters_too() {
        let notice = Notice::own(2);
        notice.slot(1).steals.add(3);
        assert_eq!((notice.slot(0).steals.get(), notice.slot(1).steals.get()), (0, 3));
        notice.count_blocked(true);
        notice.count_blocked(false);
        assert_eq!(notice.words[pool::BLOCKED].load(Relaxed), 0);
    }
}
