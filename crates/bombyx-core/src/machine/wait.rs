//! What a carrier does with its stack: the loop at the foot of the stack, and the wait in the middle.
//!
//! The loop ([`work`]) runs entries until the carrier gives its processor away. The wait ([`wait_for`], [`wait`]) is where
//! "processors move, stacks stay" happens. A frame whose other half was taken stays where it is. Meanwhile its processor
//! helps, or moves to another carrier ([`crate::machine::hand_over`]). The scheduler chooses between the two
//! ([`crate::machine::strategy`]).

use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, go_on, hand_over, take_hold};
use crate::machine::live;
use crate::machine::observer::Helping;
use crate::machine::patience::{Patience, Wait, Waited};
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::telling::{Meanwhile, if_stolen_tell};
use crate::machine::tracer::Event;
use crate::protocol::carrier::{Carrier, Enabled};
use crate::protocol::job::{Entry, Job, Kind, Place};
use crate::protocol::latch::Latch;
use crate::protocol::lineage;
use crate::system::guard::{guarded, tripwire};
use crate::system::topology::Topology;
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

/// The life of a carrier that the pool started: spare, working, spare, …, stopped.
pub(crate) fn main(pool: &PoolCore, carrier: &Carrier) {
    guarded(|| {
        current::set_carrier(Some(NonNull::from(carrier)));
        while let Some(processor) = pool.receive(carrier) {
            take_hold(processor);
            work(pool);
            Topology::learn();
        }
        current::set_carrier(None);
    });
}

/// Runs entries until the processor is given away. Then the carrier is a spare.
pub(crate) fn work(pool: &PoolCore) {
    tripwire("work");
    // The giver of the processor has counted this carrier as a searcher.
    let mut next = search(pool);
    while let Some(entry) = next {
        current::held().begun.add(1);
        current::held().set_foot(lineage::root_of(entry));
        let enabled = match entry.kind() {
            Kind::Stack(_) => {
                run_entry(entry).and_then(|enabled| pool.config.strategy.enabled(current::held(), enabled))
            }
            Kind::Heap(_) => {
                let root = lineage::root_of(entry);
                run_series(entry, |processor| pool.config.strategy.take_next_of_scope(processor, root))
                    .and_then(|enabled| pool.config.strategy.enabled(current::held(), enabled))
            }
            Kind::Carrier(ready) => Some(ready),
        };
        if let Some(enabled) = enabled {
            // The side that finishes last gives its processor at once to the carrier that waited.
            // SAFETY: only this caller got the carrier, from the latch or the entry. Nobody else gives it a processor.
            return unsafe { hand_over(Heir::Ready(enabled), Next::IsSpare) }.stay_without();
        }
        // A processor that has entries itself does not search, and leaves the shared count of searchers alone.
        next = take_in_turn(current::held())
            .or_else(|| pool.config.strategy.take_next(current::held()))
            .or_else(|| {
                current::held().beat.region_ends(&pool.rhythm);
                pool.start_search(current::held());
                search(pool)
            });
    }
    // SAFETY: there is no heir, so there is nothing to promise.
    unsafe { hand_over(Heir::Nobody, Next::IsSpare) }.stay_without();
}

/// The next entry for a processor that is counted as a searcher, or `None` if it should rest. Out of service, it takes only
/// what it still has itself ([`PoolCore::serve_with`]).
fn search(pool: &PoolCore) -> Option<Entry> {
    let processor = current::held();
    if pool.is_surplus(processor) && !processor.has_own() {
        return None;
    }
    pool.config.strategy.search(processor)
}

/// How many entries a processor runs before it looks into the queue.
pub(crate) const TURNS: u32 = 64;
/// How many such turns pass before it takes the oldest entry of its own deque. This is rare, because programs expect
/// the youngest closure to run first.
pub(crate) const OWN_TURNS: u32 = 64;

/// The entry whose turn it is, if the processor has run many others since the last such turn.
fn take_in_turn(processor: &Processor) -> Option<Entry> {
    if !begin_turn(processor) {
        return None;
    }
    let own = || {
        processor.own_turns.set(0);
        processor.strategy().take_oldest_own(processor)
    };
    // Own entries do not wait until the queue is empty: it may never be.
    let own = if own_is_due(processor) { own() } else { None };
    // A surplus processor takes nothing from others. The queue has those in service.
    own.or_else(|| if processor.pool().is_surplus(processor) { None } else { processor.pool().take_queued() })
}

/// Whether the processor has run so many entries that it is somebody else's turn. If so, starts to count again.
fn begin_turn(processor: &Processor) -> bool {
    let due = processor.turns.get() >= TURNS;
    if due {
        processor.turns.set(0);
        processor.own_turns.set(processor.own_turns.get().saturating_add(1));
    }
    due
}

/// Whether it is the turn of the oldest entry in the processor's own deque.
fn own_is_due(processor: &Processor) -> bool {
    processor.own_turns.get() >= OWN_TURNS
}

/// Whether a carrier that waits and helps must let something else go first: an entry of the queue, or a closure in its
/// deque that belongs to no scope. Another carrier has to run those.
fn is_others_turn(processor: &Processor) -> bool {
    if !begin_turn(processor) {
        return false;
    }
    // Everything else in the deque belongs to a frame on this stack that waits: the caller's, or one below it.
    let detached = |entry: Entry| matches!(entry.kind(), Kind::Heap(_)) && lineage::root_of(entry) == 0;
    let due = own_is_due(processor) && processor.deque.oldest_is(detached) || processor.pool().has_queued();
    if due {
        // So that the next holder of the processor takes that entry in the first turn. If there is no other carrier, that is
        // this one.
        processor.turns.set(TURNS);
    }
    due
}

/// Runs an entry, which is not a carrier. The caller holds a processor, and has taken the entry out, so nobody else has
/// it. The entry's forks descend from it.
pub(crate) fn run_entry(entry: Entry) -> Enabled {
    run_series(entry, |_| None)
}

/// Runs an entry and then those that `next` finds: entries with the same root, which `next` has taken out. Stops when a
/// carrier was enabled, when the caller holds another processor, or when it is somebody else's turn ([`TURNS`]).
#[inline]
fn run_series(first: Entry, next: impl Fn(&Processor) -> Option<Entry>) -> Enabled {
    let carrier = current::carrier();
    let root = lineage::root_of(first);
    let outer_root = carrier.set_root(root);
    let processor = current::held();
    processor.deque.set_root(root);
    let outer_origin = processor.set_origin(lineage::origin_of(first));
    // Set the watch list aside. The joins on it belong to older frames, and are watched again when these frames run.
    let outer_list = processor.watching.take();
    if let Some(resolution) = first.resolution() {
        processor.watching.push(resolution);
        processor.note_watch_list();
    }
    let mut entry = first;
    let outer = live::Running::now();
    let enabled = loop {
        let (Kind::Stack(job) | Kind::Heap(job)) = entry.kind() else {
            unreachable!("a carrier has its own stack")
        };
        // SAFETY: the caller, or `next`, has taken the job out, so the job is alive and nobody else runs it.
        let enabled = if_stolen_tell(entry, || unsafe { run_traced(job) });
        // The carrier may hold another processor now, and somebody else may hold the first one.
        let here = current::held();
        here.turns.set(here.turns.get().saturating_add(1));
        if enabled.is_some() || !ptr::eq(here, processor) || here.turns.get() >= TURNS {
            break enabled;
        }
        match next(processor) {
            Some(following) => entry = following,
            None => break None,
        }
    };
    outer.again();
    let enabled = return_credits(enabled);
    carrier.set_root(outer_root);
    // The carrier may hold another processor now. From now on, either nothing in its deque descends from `root`, or the
    // root of its deque is unknown.
    let processor = current::held();
    processor.deque.set_root(outer_root);
    processor.set_origin(outer_origin);
    processor.watching.append(outer_list);
    enabled
}

/// Runs the job, and tells the tracer, if there is one.
///
/// # Safety
/// As for [`Job::run`].
#[inline]
unsafe fn run_traced(job: *const Job) -> Enabled {
    let pool = current::held().pool();
    if pool.tracer().is_none() {
        // SAFETY: as the caller promises.
        return unsafe { Job::run(job) };
    }
    // SAFETY: the job is alive until it has run.
    let code = unsafe { Job::code(job) };
    let _running = Meanwhile::begin(pool, Event::Begins(job, code), Event::Ends(job));
    // SAFETY: as the caller promises.
    unsafe { Job::run(job) }
}

/// Gives back the credits of the scope whose closures ran, if any. If two carriers can go on now, this
/// [admits](Processor::admit) one of them, and the caller must give its processor to the other.
#[inline(always)]
fn return_credits(enabled: Enabled) -> Enabled {
    let enabled = if current::held().stock.is_empty() { enabled } else { return_stock(enabled) };
    if enabled.is_some() { rouse(enabled) } else { None }
}

/// With fixed threads, a carrier that goes on has a processor and only needs to be woken.
#[inline(never)]
fn rouse(enabled: Enabled) -> Enabled {
    let pool = current::held().pool();
    if !pool.has_fixed_threads() {
        return enabled;
    }
    if let Some(carrier) = enabled {
        pool.rouse(carrier);
    }
    None
}

#[inline(never)]
fn return_stock(enabled: Enabled) -> Enabled {
    let processor = current::held();
    match (enabled, processor.return_credits()) {
        (None, other) => other,
        (enabled, None) => enabled,
        (enabled, Some(other)) => {
            processor.admit(other);
            enabled
        }
    }
}

/// How long a frame waits for its taken half before it looks for something to help with. Two halves of equal length end
/// about this far apart. Helping would take longer, and disturb the processor that is about to finish.
const ABOUT_TO_END: Duration = Duration::from_nanos(300);

/// How long a waiting carrier sleeps at a time, in a pool without spares, when there is nothing to do.
const NAP: Duration = Duration::from_micros(200);

/// Gets back a join's job, which is not untouched, or waits until it has ended.
#[inline(never)]
pub(crate) fn wait_for(job: &Job) -> Waited {
    if take_back(job) {
        current::held().stats.joins_local.add(1);
        return Waited::TakenBack;
    }
    // SAFETY: the job is not untouched, and its place says whether it is a branch.
    unsafe {
        match job.place() {
            Place::Branch => {
                observe_wait();
                let address = ptr::from_ref(job) as usize;
                let _waiting = Meanwhile::begin(current::held().pool(), Event::Waits(address), Event::GoesOn);
                let _seen = live::Waiting::begin();
                current::held().strategy().wait_for_branch(job, job.resolution())
            }
            _ => wait(job.latch(), ptr::from_ref(job) as usize, Some(job)),
        }
    }
}

/// Tells the join of a job that the job has ended. The caller must give a processor to the carrier that is returned.
///
/// # Safety
/// The caller has taken the job and run it, and no longer touches it.
pub(crate) unsafe fn end(job: *const Job) -> Enabled {
    // SAFETY: the job is alive until its join knows that it has ended.
    unsafe {
        match (*job).place() {
            Place::Branch => current::held().strategy().end_branch((*job).resolution().as_ref()),
            _ => Latch::set((*job).latch()),
        }
    }
}

/// Tells the observer, if there is one, that the calling frame waits.
fn observe_wait() {
    if let Some(observer) = current::held().pool().observer() {
        observer.wait();
    }
}

/// Tells the observer, if there is one, that the calling frame got its job back.
pub(crate) fn observe_go_on() {
    if let Some(observer) = current::held().pool().observer() {
        observer.go_on();
    }
}

/// Waits until `latch` is set, on a carrier that holds a processor. Afterwards the carrier also holds a processor,
/// perhaps another.
///
/// Meanwhile the processor helps with descendants of `root`. If it sees other work for a while, it moves to another
/// carrier. If there is nothing to do at all, it goes back to the pool. `job`, if given, is the job that sets the
/// latch. This function takes that job back if nobody has picked it up.
pub(crate) fn wait(latch: &Latch, root: usize, job: Option<&Job>) -> Waited {
    tripwire("wait");
    let carrier = current::carrier();
    let this = NonNull::from(carrier);
    let mut patience = Patience::new();
    observe_wait();
    let _waiting = Meanwhile::begin(current::held().pool(), Event::Waits(root), Event::GoesOn);
    let _seen = live::Waiting::begin();
    if let Some(enabled) = return_credits(None) {
        current::held().submit(Entry::carrier(enabled));
    }
    about_to_end(latch);
    current::held().strategy().cease(current::held());
    if current::held().pool().has_fixed_threads() {
        return current::held().strategy().wait_fixed(latch, root, job);
    }
    loop {
        if latch.is_done() {
            current::held().set_busy(true);
            current::held().strategy().waited(current::held());
            return Waited::Done;
        }
        if job.is_some_and(take_back) {
            current::held().set_busy(true);
            observe_go_on();
            return Waited::TakenBack;
        }
        let processor = current::held();
        let pool = processor.pool();
        // Otherwise a scope whose closures spawn others without end would keep the queue and older closures waiting.
        let step = match is_others_turn(processor) {
            true => Wait::OtherWork,
            false => processor.strategy().wait(&mut patience, processor, root, &|| latch.is_done()),
        };
        match step {
            Wait::Again => {}
            Wait::Help(entry) => nested(carrier, entry, latch),
            Wait::Carrier(ready) => {
                if !latch.park(this) {
                    // The latch is set, so our own frame goes on.
                    processor.submit(Entry::carrier(ready));
                    continue;
                }
                // SAFETY: only this caller got the carrier, from the entry. Nobody else gives it a processor.
                unsafe { hand_over(Heir::Ready(ready), Next::Waits) }.resume_or_help(latch);
            }
            Wait::OtherWork => match pool.spare() {
                Some(spare) => {
                    if !latch.park(this) {
                        pool.add_spare(spare);
                        continue;
                    }
                    // SAFETY: the spare came out of the pool's list, so nobody else gives it a processor.
                    unsafe { hand_over(Heir::Spare(spare), Next::Waits) }.resume_or_help(latch);
                }
                // No thread can be started, so run what there is on this stack rather than wait in vain. Our own
                // half comes first, because it needs no more stack than the serial program.
                None if job.is_some_and(|job| take_back_when(job, false)) => {
                    current::held().set_busy(true);
                    observe_go_on();
                    return Waited::TakenBack;
                }
                // A new carrier is starting. Until it is there, its start handler may need the processor.
                None if pool.is_starting() => {
                    if !latch.park(this) {
                        continue;
                    }
                    // SAFETY: there is no heir, so there is nothing to promise.
                    unsafe { hand_over(Heir::Nobody, Next::Waits) }.resume_or_help(latch);
                }
                None => {
                    match take_in_turn(processor).or_else(|| processor.strategy().take_anything(processor)) {
                        Some(entry) => {
                            processor.stats.in_place.add(1);
                            nested(carrier, entry, latch);
                        }
                        None => {
                            exchange_processor(processor);
                        }
                    }
                }
            },
            // Keep the processor: if work came for it later, there would be no thread to hold it.
            Wait::Nothing if !pool.has_reserve() => nap(processor),
            Wait::Nothing => {
                if !latch.park(this) {
                    continue;
                }
                // SAFETY: there is no heir, so there is nothing to promise.
                unsafe { hand_over(Heir::Nobody, Next::Waits) }.resume_or_help(latch);
            }
        }
    }
}

/// Gives what sets `latch` a moment to end, unless it may need this core.
fn about_to_end(latch: &Latch) {
    if current::held().pool().crowded() {
        return;
    }
    let start = Instant::now();
    while !latch.is_done() && start.elapsed() < ABOUT_TO_END {
        std::hint::spin_loop();
    }
}

/// Lets time pass for a carrier that waits in a pool without spares and has nothing to do on its processor.
pub(crate) fn nap(processor: &'static Processor) {
    if !exchange_processor(processor) {
        std::thread::sleep(NAP);
    }
}

/// Exchanges the processor of a carrier that waits and has nothing to do. The carrier gets a processor that rests and
/// has entries that only its holder may take. Returns false if there is none. Without spares, nobody else would come to
/// hold that processor: all other carriers block, or wait like the caller, perhaps for those very entries.
pub(crate) fn exchange_processor(processor: &'static Processor) -> bool {
    let pool = processor.pool();
    let Some(starved) = pool.starved_of_its_own() else { return false };
    // The joins on this stack may resume on another processor, so they must not pop blindly.
    processor.deque.expose_all();
    // SAFETY: there is no heir, so there is nothing to promise.
    unsafe { hand_over(Heir::Nobody, Next::Leaves) }.stay_without();
    go_on(starved);
    true
}

/// Runs an entry, which is not a carrier, on top of a frame that waits for `latch`. Then runs other closures that were
/// spawned in the same scope.
pub(crate) fn run_helping(entry: Entry, latch: &Latch) -> Enabled {
    let _helping = Helping::begin(current::held().pool());
    current::held().set_busy(true);
    let scope = matches!(entry.kind(), Kind::Heap(_)).then(|| lineage::root_of(entry));
    run_series(entry, |processor| {
        processor.answer();
        scope.filter(|_| !latch.is_done()).and_then(|root| processor.strategy().take_sibling(processor, root))
    })
}

/// Like [`run_helping`], for any entry. If the entry is a ready carrier, that carrier gets the processor, provided our
/// own frame still waits.
fn nested(carrier: &Carrier, entry: Entry, latch: &Latch) {
    let enabled = match entry.kind() {
        Kind::Stack(_) | Kind::Heap(_) => {
            let enabled = run_helping(entry, latch);
            current::held().strategy().cease(current::held());
            enabled
        }
        Kind::Carrier(ready) => Some(ready),
    };
    let Some(enabled) = enabled else { return };
    let processor = current::held();
    if latch.park(NonNull::from(carrier)) {
        // Our frame waits anyway, so the enabled carrier has better use for the processor.
        // SAFETY: only this caller got the carrier, from the latch or the entry. Nobody else gives it a processor.
        unsafe { hand_over(Heir::Ready(enabled), Next::Waits) }.resume_or_help(latch);
    } else {
        // Our own frame goes on. The enabled one waits at the bottom of our deque (Blumofe and Leiserson, §4, rule 4).
        processor.submit(Entry::carrier(enabled));
    }
}

/// Runs an entry, which is not a carrier, on top of a frame that holds a processor and does not wait.
pub(crate) fn run_on_top(entry: Entry) {
    let enabled = run_entry(entry);
    current::held().set_busy(true);
    if let Some(enabled) = enabled {
        current::held().submit(Entry::carrier(enabled));
    }
}

/// Tries to get back a job that is not untouched from its place: a deque, a mailbox, an offer, the queue or, if its
/// turn has come, the pool's list.
pub(crate) fn take_back(job: &Job) -> bool {
    take_back_when(job, true)
}

/// Like [`take_back`]. If `in_turn` is false, takes the job even if its turn has not come.
fn take_back_when(job: &Job, in_turn: bool) -> bool {
    let entry = Entry::stack(NonNull::from(job));
    loop {
        // SAFETY: callers have seen that the job is not untouched.
        match unsafe { job.place() } {
            Place::Nowhere | Place::Branch => return false,
            Place::Kept(deque) => {
                // SAFETY: the pool is alive. The job is kept, so the calling carrier, which forked it, owns the deque,
                // and the job is its youngest entry.
                if unsafe { (*deque).pop_kept() } {
                    return true;
                }
                // Somebody took the job meanwhile, and changed the place before releasing the deque's lock.
            }
            // SAFETY: mailboxes live as long as the processors of the pool, which outlive its jobs.
            Place::Mailbox(mailbox) => return unsafe { (*mailbox).take_back(entry) },
            Place::Listed(node) => return current::held().strategy().take_back(entry, node, in_turn),
            Place::Deque(deque) => {
                let owner = current::processor().filter(|processor| ptr::eq(&processor.deque, deque));
                // SAFETY: as for mailboxes.
                if unsafe { (*deque).take_back(entry, owner.is_some()) } {
                    return true;
                }
                // Somebody took the job meanwhile, and changed the place before releasing the deque's lock.
            }
            Place::Queue(pool) => {
                // If the entry is gone, its taker changed the place before releasing the lock.
                // SAFETY: a pool outlives its jobs.
                if unsafe { (*pool.cast::<PoolCore>()).take_back(entry) } {
                    return true;
                }
            }
        }
    }
}
