//! The rings of all threads. A thread gets a ring with its first event, and leaves it to another thread when it ends. So
//! there are at most as many rings as threads at a time, and no more than the memory allows. A thread that gets no ring only
//! counts its events.
//!
//! Rings come from the system's allocator. So they do not count as memory of the program, and are never freed.

use crate::protocol::ring::{Copied, Ring, WORDS};
use crate::system::affinity;
use crate::system::primitive::{lock, try_lock};
use bombyx_base::trace::{Event, NONE, State};
use std::alloc::{GlobalAlloc as _, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How many events a ring holds: 2 MiB. The system gives the memory when it is first used.
const EVENTS: usize = 1 << 16;
/// The memory of a ring in bytes.
pub(super) const SIZE: usize = EVENTS * WORDS * size_of::<u64>();

type TraceRing = Ring<&'static [[AtomicU64; WORDS]]>;

/// What the file says of a thread.
#[derive(Clone)]
pub(super) struct Thread {
    /// The number that the system gave it.
    pub(super) number: u64,
    pub(super) name: String,
    /// Its ring, and the first event there that is its own.
    pub(super) ring: usize,
    pub(super) first: u64,
}

struct Registry {
    rings: Vec<&'static TraceRing>,
    /// Rings that ended threads have left.
    free: Vec<usize>,
    /// How many rings there may be.
    most: usize,
    threads: Vec<Thread>,
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { rings: Vec::new(), free: Vec::new(), most: 0, threads: Vec::new() });

/// Events of threads that got no ring.
static UNTOLD: AtomicU64 = AtomicU64::new(0);

/// How many threads the file can tell apart. The events of further ones are counted as untold.
const THREADS: usize = 1 << 16;

/// What a thread writes to.
#[derive(Clone, Copy)]
enum Mine {
    /// Nothing yet.
    Unknown,
    Ring(&'static TraceRing, usize),
    /// Nothing: there is no room, or the thread is ending.
    Nothing,
}

thread_local! {
    static MINE: Cell<Mine> = const { Cell::new(Mine::Unknown) };
    static LEAVING: Leaving = const { Leaving };
    /// The state that the thread told last, with its processor and pool.
    static STATE: Cell<(u16, u16, u8)> = const { Cell::new(NOT_TOLD) };
}

const NOT_TOLD: (u16, u16, u8) = (NONE, NONE, u8::MAX);

/// Dropped when the thread ends. Then leaves the ring to another thread.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        // If the lock is taken, the ring stays with this thread's events. In a child of fork(2), the lock may be taken for
        // ever.
        let Mine::Ring(_, ring) = MINE.replace(Mine::Nothing) else { return };
        if let Some(mut registry) = try_lock(&REGISTRY) {
            registry.free.push(ring);
        }
    }
}

/// Allows this many bytes for rings.
pub(super) fn allow(bytes: usize) {
    lock(&REGISTRY).most = bytes / SIZE;
}

/// Whether the calling thread tells something new about the processor.
#[inline]
pub(super) fn changes(pool: u16, processor: u16, state: State) -> bool {
    let now = (pool, processor, state as u8);
    STATE.replace(now) != now
}

/// Whatever state comes next is new.
pub(super) fn forget_state() {
    STATE.set(NOT_TOLD);
}

/// Writes an event of the calling thread.
#[inline]
pub(super) fn push(event: Event) {
    match MINE.get() {
        Mine::Ring(ring, _) => ring.push(event.to_words()),
        Mine::Unknown => first(event),
        Mine::Nothing => untold(),
    }
}

#[cold]
fn untold() {
    UNTOLD.fetch_add(1, Relaxed);
}

#[cold]
fn first(event: Event) {
    // If the thread is ending already, nobody would leave its ring to others.
    let claimed = LEAVING.try_with(|_| claim()).ok().flatten();
    MINE.set(claimed.map_or(Mine::Nothing, |(ring, number)| Mine::Ring(ring, number)));
    push(event);
}

/// A ring for the calling thread, and the ring's number.
fn claim() -> Option<(&'static TraceRing, usize)> {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let mut registry = lock(&REGISTRY);
    if registry.threads.len() == THREADS {
        return None;
    }
    let ring = match registry.free.pop() {
        Some(ring) => ring,
        None if registry.rings.len() < registry.most => {
            registry.rings.push(Box::leak(Box::new(Ring::new(slots()?))));
            registry.rings.len() - 1
        }
        None => return None,
    };
    let number = u64::from(affinity::Thread::current().number());
    // The thread that had the ring before has left it under the lock, so its events are known here.
    let first = registry.rings[ring].written();
    registry.threads.push(Thread { number, name, ring, first });
    Some((registry.rings[ring], ring))
}

/// Slots for a new ring. The system gives memory that is all zeros when it is first touched.
fn slots() -> Option<&'static [[AtomicU64; WORDS]]> {
    let layout = Layout::array::<[AtomicU64; WORDS]>(EVENTS).ok()?;
    // SAFETY: the layout is not empty.
    let memory = unsafe { System.alloc_zeroed(layout) };
    // SAFETY: the memory is as large and as aligned as the layout says, is never freed, and zeros are atomics.
    (!memory.is_null()).then(|| unsafe { std::slice::from_raw_parts(memory.cast(), EVENTS) })
}

/// How many events there have been.
pub(super) fn written() -> u64 {
    lock(&REGISTRY).rings.iter().map(|ring| ring.written()).sum::<u64>() + UNTOLD.load(Relaxed)
}

/// What a look at all rings has seen.
pub(super) struct Seen {
    pub(super) rings: Vec<Copied>,
    pub(super) threads: Vec<Thread>,
    pub(super) untold: u64,
}

/// Copies all rings. Threads may write meanwhile.
pub(super) fn look() -> Seen {
    // First the rings, so that every thread that they name is known.
    let rings: Vec<_> = lock(&REGISTRY).rings.clone();
    let rings = rings.iter().map(|ring| ring.copy()).collect();
    Seen { rings, threads: lock(&REGISTRY).threads.clone(), untold: UNTOLD.load(Relaxed) }
}
