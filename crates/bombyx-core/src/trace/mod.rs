//! The trace: what every processor and every thread of the pools does, event by event, for `bombyx trace`.
//!
//! **Not here:** code that reads a trace. The crate `bombyx-trace` does that, from the file that is written here. There is
//! also nothing about forks. A fork leaves no event, and tracing never makes a fork attend, unlike the profiler
//! ([`crate::profile`]).
//!
//! Each thread writes into its own ring ([`rings`]), without waiting and without a lock. An event costs a reading of the
//! clock and some plain stores. The expensive part (the names of places and closures) waits until the file is written.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the tracer of a pool, and marks of the program |
//! | `rings.rs` | the rings of all threads |
//! | `names.rs` | names of code, and texts of the program |
//! | `file.rs` | the file that the environment asks for |
//! | `stall.rs` | writes the trace if nothing happens any more |
//! | `post_mortem.rs` | says then which thread waits for what |
//! | `flight.rs` | writes the last seconds when something goes wrong |

mod file;
mod flight;
mod names;
mod post_mortem;
mod rings;
mod stall;

pub use file::write_trace;

use crate::machine::current;
use crate::machine::tracer::{Event, Tracer};
use crate::protocol::job::{Entry, Kind as EntryKind};
use crate::system::clock::Clock;
use crate::system::primitive::lock;
use crate::system::process::Generation;
use bombyx_base::trace::{Event as Written, Kind, NONE};
use std::sync::{Mutex, OnceLock};

/// Whether the environment asks for a trace. In a child of fork(2) it does not: the file belongs to the parent, and locks
/// may be held there for ever.
fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    if !cfg!(feature = "trace") {
        file::say_what_is_missing();
        return false;
    }
    Generation::current().is_first() && *ON.get_or_init(file::begin)
}

/// The clock of the trace.
fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(Clock::best)
}

/// What the file says of a pool.
#[derive(Clone)]
struct Pool {
    number: u16,
    processors: usize,
    fixed: bool,
    scheduler: String,
}

static POOLS: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

/// How many pools a trace tells apart. Further pools are not traced.
const POOLS_KEPT: u16 = 1 << 12;

/// The tracer of one pool.
struct Tracing {
    clock: Clock,
    pool: u16,
}

/// A tracer for a new pool, if the environment asks for a trace.
pub(crate) fn tracer() -> Option<Box<dyn Tracer>> {
    static NUMBERS: Mutex<u16> = Mutex::new(0);
    if !is_on() {
        return None;
    }
    let mut next = lock(&NUMBERS);
    let pool = *next;
    if pool == POOLS_KEPT {
        return None;
    }
    *next += 1;
    Some(Box::new(Tracing { clock: clock(), pool }))
}

impl Tracer for Tracing {
    fn add_pool(&self, processors: usize, fixed: bool, scheduler: &str) {
        lock(&POOLS).push(Pool { number: self.pool, processors, fixed, scheduler: scheduler.to_owned() });
    }

    fn note(&self, processor: Option<usize>, event: Event) {
        // In a child of fork(2), the frames of its parent may end.
        if !Generation::current().is_first() {
            return;
        }
        let processor = processor.map_or(NONE, |index| index as u16);
        if matches!(event, Event::Enters(state) if !rings::changes(self.pool, processor, state)) {
            return;
        }
        if let Event::TakesHold = event {
            rings::forget_state();
        }
        rings::push(written(event, self.clock.now(), self.pool, processor));
    }

    fn name(&self, code: usize, name: fn() -> &'static str) {
        if Generation::current().is_first() {
            names::note_code(code, name);
        }
    }
}

/// The event as it is written down.
fn written(event: Event, time: u64, pool: u16, processor: u16) -> Written {
    let (kind, other, a, b) = match event {
        Event::TakesHold => (Kind::TakesHold, NONE, 0, 0),
        Event::LetsGo => (Kind::LetsGo, NONE, 0, 0),
        Event::Enters(state) => (Kind::State, state as u16, 0, 0),
        Event::Begins(job, code) => (Kind::Begins, NONE, job as u64, code as u64),
        Event::Ends(job) => (Kind::Ends, NONE, job as u64, 0),
        Event::Steals(entry, from) => {
            (Kind::Steals, from.map_or(NONE, |index| index as u16), address(entry), 0)
        }
        Event::Waits(root) => (Kind::Waits, NONE, root as u64, 0),
        Event::GoesOn => (Kind::GoesOn, NONE, 0, 0),
        Event::Blocks => (Kind::Blocks, NONE, 0, 0),
        Event::Unblocks => (Kind::Unblocks, NONE, 0, 0),
        Event::Wakes => (Kind::Wakes, NONE, 0, 0),
        Event::Queues(entry) => (Kind::Queues, NONE, address(entry), 0),
        Event::Mugs(victim) => (Kind::Mugs, victim as u16, 0, 0),
        Event::Region(region, place) => {
            (Kind::Enters, region as u16, std::ptr::from_ref(place).expose_provenance() as u64, 0)
        }
        Event::Leaves => (Kind::Leaves, NONE, 0, 0),
        Event::Mark(text) => (Kind::Mark, NONE, u64::from(text.0), 0),
        Event::Opens(text) => (Kind::Opens, NONE, u64::from(text.0), 0),
        Event::Closes(text) => (Kind::Closes, NONE, u64::from(text.0), 0),
        Event::Strand(place, began) => {
            let place = place.map_or(0, |place| std::ptr::from_ref(place).expose_provenance());
            (Kind::Strand, NONE, place as u64, began)
        }
    };
    Written { time, kind, pool, processor, other, a, b }
}

/// The address of what an entry stands for.
fn address(entry: Entry) -> u64 {
    match entry.kind() {
        EntryKind::Stack(job) | EntryKind::Heap(job) => job as u64,
        EntryKind::Carrier(carrier) => carrier.as_ptr() as u64,
    }
}

/// The number of a text of the program, if the process is traced.
pub(crate) fn text(text: &str) -> Option<crate::machine::tracer::Text> {
    is_on().then(|| names::number(text))
}

/// Notes an event of the program on the calling thread.
pub(crate) fn note(event: Event) {
    match current::processor() {
        Some(processor) => processor.trace(event),
        None if is_on() => rings::push(written(event, clock().now(), NONE, NONE)),
        None => {}
    }
}
