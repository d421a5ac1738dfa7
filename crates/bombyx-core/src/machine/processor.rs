//! Processors. A [`Processor`] is what the papers call a processor, minus the stack: a deque, a request word, a
//! mailbox, a random generator and counters. At most one carrier at a time holds it ([`crate::machine::current`]), or
//! it rests in the pool's idle list ([`crate::machine::pool`]).
//!
//! Only the carrier that holds the processor touches what is marked *holder*. Handing the processor over synchronises
//! (see [`crate::protocol::carrier`]).

use crate::machine::board::Shown;
use crate::machine::meter::Meter;
use crate::machine::observer::{Account, Aside, State};
use crate::machine::pool::config::Config;
use crate::machine::pool::{PoolCore, PoolRef};
use crate::machine::rhythm::Beat;
use crate::machine::stats::Counter;
use crate::machine::strategy::Strategy;
use crate::protocol::carrier::{Carrier, Enabled};
use crate::protocol::credits::{Stock, tell};
use crate::protocol::deque::Deque;
use crate::protocol::job::{Entry, Kind, Place};
use crate::protocol::mailbox::{Mailbox, Offer, Post, Requests};
use crate::protocol::private::Private;
use crate::protocol::query::Queries;
use crate::protocol::resolution::{FreeCells, WatchList};
use crate::protocol::tickets::Tickets;
use crate::system::affinity;
use crate::system::barrier;
use crate::system::guard::{guarded, tripwire};
use crate::system::primitive::{AtomicBool, AtomicUsize};
use crate::system::rng::Rng;
use std::cell::Cell;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// For how many forks a processor that was robbed exposes its entries. That costs a few microseconds, less than an
/// interruption does.
const EXPOSING: u32 = 64;
/// It goes on exposing if `EXPOSING` forks took longer than this. A processor that forks more often serves its thieves
/// soon enough.
const LEISURELY: Duration = Duration::from_micros(150);

/// How long a carrier usually takes, at most, from putting its processor into the idle list until it sleeps.
const LEAVING: Duration = Duration::from_micros(50);

/// See the module text.
#[repr(C)]
pub(crate) struct Processor {
    /// The first field, so that a fork addresses it without an offset.
    pub(crate) deque: Deque,
    pub(crate) requests: Requests,
    /// The round is open while the processor runs something, because then it pays to ask it for work.
    pub(crate) queries: Queries,
    /// 1 while the holder searches, or was given the processor in order to search. Used with private deques; otherwise
    /// the pool counts its searchers ([`crate::protocol::sleep`]).
    searching: AtomicUsize,
    pub(crate) post: Post,
    pub(crate) offer: Offer,
    /// Holder. Whether the next fork should offer its oldest entry, because a thief is likely to come.
    generous: Holder<Cell<bool>>,
    /// Set by a thief that did not wait to be served. See [`Processor::robbed`].
    robbed: AtomicBool,
    /// Set by a thief that took an entry because it was exposed.
    relieved: AtomicBool,
    /// Holder. How many more forks expose what is in the deque, and since when.
    exposing: Holder<Cell<u32>>,
    exposing_since: Holder<Cell<Option<Instant>>>,
    /// Holder. How many forks have attended because the processor could not rely on the heavy barrier.
    fenced: Holder<Cell<u32>>,
    /// Holder. Where and when the last holder left its CPU in order to sleep.
    left: Holder<Cell<Option<(usize, Instant)>>>,
    pub(crate) beat: Holder<Beat>,
    /// The CPU that a holder was last seen on.
    seen_on: AtomicUsize,
    /// Holder.
    pub(crate) rng: Holder<Rng>,
    /// The counters, where others can see them.
    pub(crate) stats: Shown,
    pub(crate) account: Account,
    pub(crate) index: usize,
    /// Detached closures that start in the order of their spawns. The deque has a ticket for each.
    pub(crate) tickets: Tickets,
    pub(crate) private: Private,
    /// Holder. The joins whose right branch the holder runs, with `read-write`.
    pub(crate) watching: Holder<WatchList>,
    /// Holder.
    pub(crate) free_cells: Holder<FreeCells>,
    /// Holder.
    pub(crate) stock: Holder<Stock>,
    /// Holder.
    pub(crate) meter: Holder<Meter>,
    /// Holder. How many entries it has run since it last served the queue ([`crate::machine::wait::TURNS`]).
    pub(crate) turns: Holder<Cell<u32>>,
    /// Holder. How often it has served the queue since it last took the oldest entry of its deque.
    pub(crate) own_turns: Holder<Cell<u32>>,
    /// Holder. The entry that it stole last, if it has run nothing since, or 0. Only if somebody wants to be told.
    pub(crate) stolen: Holder<Cell<usize>>,
    /// How many entries the holder has begun at the foot of its stack.
    pub(crate) begun: Counter,
    /// Holder. With fixed threads: how many waiting frames on the holder's stack are buried under work that they do not
    /// wait for.
    pub(crate) buried: Holder<Cell<usize>>,
    /// Holder. With fixed threads: the processor was given to its waiting carrier in order to search.
    pub(crate) called: Holder<Cell<bool>>,
    /// With fixed threads: what the holder waits for, or 0 if it does not wait.
    waits_for: AtomicUsize,
    /// The ancestor of everything on the holder's stack, or 0 if unknown.
    foot: AtomicUsize,
    /// The ancestor of the entry that the holder runs, or 0 if unknown.
    origin: AtomicUsize,
    pool: PoolRef,
}

/// A value that only the holder of a processor touches.
pub(crate) struct Holder<T>(T);

// SAFETY: one carrier at a time holds the processor, and handing it over synchronises.
unsafe impl<T: Send> Sync for Holder<T> {}

impl<T> Deref for Holder<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Processor {
    pub(crate) fn new(index: usize, config: &Config, pool: PoolRef, stats: Shown) -> Processor {
        Processor {
            deque: Deque::new(config.strategy.has_private_deques()),
            requests: Requests::new(),
            queries: Queries::new(),
            searching: AtomicUsize::new(0),
            post: Post::new(),
            offer: Offer::new(),
            generous: Holder(Cell::new(false)),
            robbed: AtomicBool::new(false),
            relieved: AtomicBool::new(false),
            exposing: Holder(Cell::new(0)),
            exposing_since: Holder(Cell::new(None)),
            fenced: Holder(Cell::new(0)),
            left: Holder(Cell::new(None)),
            beat: Holder(Beat::default()),
            seen_on: AtomicUsize::new(usize::MAX),
            rng: Holder(Rng::new(config.seed, index as u64)),
            stats,
            account: Account::default(),
            index,
            tickets: Tickets::new(0),
            private: Private::new(),
            watching: Holder(WatchList::default()),
            free_cells: Holder(FreeCells::default()),
            stock: Holder(Stock::new()),
            meter: Holder(Meter::new()),
            turns: Holder(Cell::new(0)),
            own_turns: Holder(Cell::new(0)),
            stolen: Holder(Cell::new(0)),
            begun: Counter::default(),
            buried: Holder(Cell::new(0)),
            called: Holder(Cell::new(false)),
            waits_for: AtomicUsize::new(0),
            foot: AtomicUsize::new(0),
            origin: AtomicUsize::new(0),
            pool,
        }
    }

    /// Holder. Notes that the holder leaves this CPU, if it does, before the processor is put into the idle list.
    pub(crate) fn leave(&self, cpu: Option<usize>) {
        self.left.set(cpu.map(|cpu| (cpu, Instant::now())));
    }

    /// Holder. Notes the CPU that the holder is on.
    pub(crate) fn note_cpu(&self) {
        self.seen_on.store(affinity::here().unwrap_or(usize::MAX), Relaxed);
    }

    /// The CPU that the holder was last seen on, if the processor is busy.
    pub(crate) fn busy_on(&self) -> Option<usize> {
        self.seen_on().filter(|_| self.is_busy())
    }

    /// Whether this processor's holder and the other's were last seen on the same CPU. Either may have moved since.
    pub(crate) fn shares_cpu(&self, other: &Processor) -> bool {
        self.seen_on().is_some_and(|cpu| other.seen_on() == Some(cpu))
    }

    /// The CPU on which the holder was last seen, if it was seen. The holder may have moved since.
    pub(crate) fn seen_on(&self) -> Option<usize> {
        Some(self.seen_on.load(Relaxed)).filter(|&cpu| cpu != usize::MAX)
    }

    /// Holder. The CPU that the last holder is about to leave, if it left its processor a moment ago. The kernel does not
    /// know that, and would take the CPU for busy. This is never the caller's CPU, which is in use, perhaps because the
    /// same carrier is back already.
    pub(crate) fn left_lately(&self) -> Option<usize> {
        let (cpu, when) = self.left.get()?;
        (when.elapsed() < LEAVING && affinity::here() != Some(cpu)).then_some(cpu)
    }

    /// Holder, which searches and is about to yield. If a busy processor was last seen on the same CPU, moves the holder to
    /// a CPU where none was seen. The kernel would leave the two together until its next tick, for up to four
    /// milliseconds, while another core is idle.
    pub(crate) fn make_room(&self) {
        if self.pool().config.pin {
            return;
        }
        self.note_cpu();
        let crowded =
            |other: &Processor| other.index != self.index && other.is_busy() && other.shares_cpu(self);
        if !self.pool().processors().iter().any(crowded) {
            return;
        }
        if let Some(cpu) = self.pool().free_cpu() {
            affinity::move_to(cpu);
            self.note_cpu();
        }
    }

    pub(crate) fn pool(&self) -> &PoolCore {
        self.pool.get()
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy_spell().is_some()
    }

    /// A number for the present spell of uninterrupted running, if the processor is busy.
    pub(crate) fn busy_spell(&self) -> Option<usize> {
        self.queries.open_round().map(|round| round.number() as usize)
    }

    /// Holder.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.queries.set_open(busy);
        if let Some(observer) = self.pool().observer() {
            observer.set_busy(&self.account, busy);
        }
        self.trace_state(if busy { State::Busy } else { State::Search });
    }

    /// Tells the observer and the tracer, if there are any, what the processor does from now on.
    pub(crate) fn enter(&self, state: State) {
        if let Some(observer) = self.pool().observer() {
            observer.enter(&self.account, state);
        }
        self.trace_state(state);
    }

    /// What the holder waits for, in a pool with fixed threads, or 0 if it does not wait.
    pub(crate) fn waits_for(&self) -> usize {
        self.waits_for.load(Relaxed)
    }

    /// Holder. From now on it waits for `root`. Returns what it waited for before, in an older frame.
    pub(crate) fn wait_for(&self, root: usize) -> usize {
        let outer = self.waits_for.load(Relaxed);
        self.waits_for.store(root, Relaxed);
        outer
    }

    /// The ancestor of everything on the holder's stack, or 0 if unknown.
    pub(crate) fn foot(&self) -> usize {
        self.foot.load(Relaxed)
    }

    /// Holder. From now on everything on its stack descends from `root`. Returns the previous ancestor.
    pub(crate) fn set_foot(&self, root: usize) -> usize {
        let before = self.foot.load(Relaxed);
        self.foot.store(root, Relaxed);
        before
    }

    /// The ancestor of the entry that the holder runs, or 0 if unknown.
    pub(crate) fn origin(&self) -> usize {
        self.origin.load(Relaxed)
    }

    /// Holder. The entry that it runs descends from `root`. Returns the previous ancestor.
    pub(crate) fn set_origin(&self, root: usize) -> usize {
        let before = self.origin.load(Relaxed);
        self.origin.store(root, Relaxed);
        before
    }

    /// Holder. A carrier has become ready. It gets a processor when its turn comes.
    pub(crate) fn admit(&self, carrier: NonNull<Carrier>) {
        if self.pool().has_fixed_threads() {
            self.pool().rouse(carrier);
        } else {
            self.submit(Entry::carrier(carrier));
        }
    }

    /// Whether the processor searches. With private deques.
    pub(crate) fn is_searching(&self) -> bool {
        self.searching.load(Relaxed) == 1
    }

    /// Called by the holder, or by whoever is about to give the processor to somebody that will search.
    pub(crate) fn set_searching(&self, searching: bool) {
        self.searching.store(usize::from(searching), Relaxed);
    }

    /// The scheduler of the pool.
    #[inline]
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        &*self.pool().config.strategy
    }

    /// Holder. Leaves the fast path: serves others, and gives way if the quota is used up. So the carrier may hold
    /// another processor afterwards.
    #[cold]
    #[inline(never)]
    pub(crate) fn attend(&self) {
        guarded(|| {
            self.serve();
            self.heed_quota();
        });
    }

    /// Holder. At a fork, a spawn or a checkpoint: gives way if the quota is used up. The carrier may hold another processor
    /// afterwards.
    #[inline]
    pub(crate) fn heed_quota(&self) {
        self.strategy().heed_quota(self);
    }

    /// Holder. Whether the processor may leave its slow path, because it relies on the heavy barrier
    /// ([`crate::system::barrier`]).
    #[inline]
    pub(crate) fn relies(&self) -> bool {
        self.deque.side.relies()
    }

    /// Holder, off the fast path. Starts to rely on the heavy barrier if it is offered, and stops if it was refused.
    /// Called after the limit was lifted, so that whoever poisons the limit after the barrier was refused is heard
    /// again.
    #[inline]
    pub(crate) fn choose_barrier(&self) {
        let relies = self.relies();
        if relies != barrier::offered() || !relies {
            self.change_barrier(relies);
        }
    }

    #[inline(never)]
    fn change_barrier(&self, relies: bool) {
        if relies {
            // From now on every fork attends, and exposes.
            return self.deque.side.cease();
        }
        if self.pool().config.fence {
            return;
        }
        if barrier::offered() {
            return self.deque.side.rely();
        }
        let fenced = self.fenced.get();
        self.fenced.set(fenced.saturating_add(1));
        if fenced == barrier::MANY {
            barrier::prepare_beside();
        }
    }

    /// Holder. Makes room, answers the thief that waits here, and wakes a sleeper.
    #[inline(always)]
    fn serve(&self) {
        tripwire("serve");
        self.strategy().attend(self);
    }

    /// Holder. The first step of attending where anyone may take from the deque: makes room and lifts the limit.
    /// Returns whether the pool is profiled, so that every fork attends.
    pub(crate) fn begin_service(&self) -> bool {
        let profiled = self.pool().observer().is_some();
        if profiled && self.relies() {
            self.deque.attend_always();
            return true;
        }
        self.deque.attend();
        if !profiled {
            self.choose_barrier();
        }
        false
    }

    /// Holder. The second step: exposes all entries and makes every further fork attend. Does so if the fast path may
    /// pop nothing, or if `wanted`.
    pub(crate) fn expose_if_needed(&self, wanted: bool) {
        if wanted || !self.relies() || self.pool().config.counts.is_some() {
            self.deque.expose_all();
            self.deque.poison();
        }
    }

    /// Holder. An optional step between these: after a join that missed, offers the oldest entry to the first thief
    /// that comes.
    pub(crate) fn offer_oldest(&self) {
        if !self.generous.take() || self.exposing.get() > 0 || self.offer.stands() {
            return;
        }
        // Not a spawned closure: its scope may have to run it itself, and looks for it in the deque.
        let offered = self.deque.take_top_if(
            |entry| matches!(entry.kind(), Kind::Stack(_)),
            |entry| entry.stolen(Place::Mailbox(self.offer.mailbox()), &self.deque),
        );
        if let Some(entry) = offered {
            self.offer.make(entry);
        }
    }

    /// Holder. The last step: answers the thief that waits here, and wakes a sleeper.
    pub(crate) fn end_service(&self) {
        self.answer();
        self.wake_sleeper();
    }

    /// Holder. The fork's half of the sleep protocol, for what was pushed and for what was offered. Either a sleeper's
    /// second look sees the entry, or this sees the sleeper.
    pub(crate) fn wake_sleeper(&self) {
        let pool = self.pool();
        self.deque.side.light_or_full();
        if !pool.sleepers.wants_wake() {
            return;
        }
        if pool.postpones() {
            self.stats.postponed.add(1);
            pool.sleepers.postpone();
            return self.beat.postpone();
        }
        let _aside = Aside::begin(pool);
        pool.rhythm.measured(|| pool.wake(|mailbox| self.take_oldest(mailbox)));
    }

    /// Holder. Attends if asked to, in code that does not fork.
    #[inline]
    pub(crate) fn poll(&self) {
        if self.deque.poisoned() {
            self.attend();
        }
    }

    /// Holder. Makes the next fork offer its oldest entry. Called after a join that missed: whoever had taken the other
    /// half has just finished it, and will be back for more within a fraction of a microsecond. By then this processor
    /// would be deep in its next leaf, and the thief could only rob it by interrupting it.
    pub(crate) fn be_generous(&self) {
        self.generous.set(true);
        self.deque.poison();
    }

    /// Anyone. Makes the holder expose its entries for its next forks ([`EXPOSING`]). Its leaves are so long that
    /// thieves do not wait for the next fork.
    pub(crate) fn robbed(&self) {
        self.robbed.store(true, Relaxed);
    }

    /// Anyone. Somebody took an entry that the holder had exposed, so exposing was useful.
    pub(crate) fn relieved(&self) {
        if !self.relieved.load(Relaxed) {
            self.relieved.store(true, Relaxed);
        }
    }

    /// Holder. Whether this fork is one that exposes.
    pub(crate) fn exposes(&self) -> bool {
        let left = self.exposing.get();
        let begins = match left {
            0 => self.robbed.load(Relaxed),
            1 => self.relieved.load(Relaxed) && self.forks_at_leisure(),
            _ => false,
        };
        if begins {
            self.robbed.store(false, Relaxed);
            self.relieved.store(false, Relaxed);
            self.exposing.set(EXPOSING);
            self.exposing_since.set(Some(Instant::now()));
        } else {
            self.exposing.set(left.saturating_sub(1));
        }
        begins || left > 0
    }

    /// Holder. Whether the forks since it began to expose came at long intervals.
    fn forks_at_leisure(&self) -> bool {
        self.exposing_since.get().is_some_and(|since| since.elapsed() > LEISURELY)
    }

    /// Whether there seems to be something to take here.
    pub(crate) fn has_something(&self) -> bool {
        self.offer.stands() || !self.deque.looks_empty()
    }

    /// Holder. Whether the processor has entries of its own, or an entry on its way to it.
    pub(crate) fn has_own(&self) -> bool {
        !self.deque.looks_empty() || !self.private.looks_empty() || self.post.mailbox.has_mail()
    }

    /// Holder. The entry that came with the processor as a gift, if any.
    pub(crate) fn take_gift(&self) -> Option<Entry> {
        self.post.mailbox.pick_up().entry().inspect(|&entry| self.stole(entry, None))
    }

    /// Holder. If a thief waits here, answers it, with the oldest entry if the thief wants that.
    #[inline]
    pub(crate) fn answer(&self) {
        if let Some(thief) = self.requests.claim() {
            self.answer_to(thief);
        }
    }

    #[cold]
    fn answer_to(&self, thief: *const Post) {
        let _aside = Aside::begin(self.pool());
        // SAFETY: posts live as long as the processors of the pool.
        let thief = unsafe { &*thief };
        let want = thief.want();
        let entry = if want == 0 {
            self.take_oldest(&thief.mailbox)
        } else if want == self.deque.root() {
            let entry = self.take_top_for(&thief.mailbox);
            entry.inspect(|_| self.strategy().served(self, &thief.mailbox))
        } else {
            None
        };
        thief.mailbox.deliver(entry);
    }

    /// Holder. Takes the oldest entry, for `mailbox`. An offered entry is older than those in the deque.
    fn take_oldest(&self, mailbox: &Mailbox) -> Option<Entry> {
        let offered = self.offer.take().inspect(|entry| entry.taken(Place::Mailbox(mailbox)));
        offered.or_else(|| self.take_top_for(mailbox)).inspect(|_| self.strategy().served(self, mailbox))
    }

    /// Holder. Takes the oldest entry of the deque, for `mailbox`.
    fn take_top_for(&self, mailbox: &Mailbox) -> Option<Entry> {
        self.deque.take_top(|entry| entry.stolen(Place::Mailbox(mailbox), &self.deque))
    }

    /// Holder. Notes the length of the watch list if it is the greatest so far.
    pub(crate) fn note_watch_list(&self) {
        self.stats.longest_watch_list.raise_to(self.watching.len() as u64);
    }

    /// Holder. Pushes an entry that is not the second half of a `join`. Returns whether this attended.
    #[inline]
    pub(crate) fn submit(&self, entry: Entry) -> bool {
        guarded(|| {
            let attends = self.deque.wants_attention(self.deque.push_over(entry));
            if attends {
                self.serve();
            }
            attends
        })
    }

    /// Holder. Pushes an entry that descends from one of `roots`. If what runs now descends from none of them, the
    /// entry is no part of it. Then whoever waits for what runs now must not help with what is in the deque from now
    /// on. Returns whether this attended.
    #[inline]
    pub(crate) fn submit_under(&self, entry: Entry, roots: &[usize]) -> bool {
        guarded(|| {
            if !roots.contains(&self.deque.root()) {
                self.deque.set_root(0);
            }
            self.submit(entry)
        })
    }

    /// Holder. Gives back the credits of the scope whose closures ran here. The caller must give a processor to the
    /// carrier that is returned.
    #[inline]
    pub(crate) fn return_credits(&self) -> Enabled {
        tell(self.stock.empty())
    }

    /// Holder. The processor has taken a thread from its own deque, or a join has taken its own half from a pool.
    #[inline]
    pub(crate) fn count_own(&self) {
        if self.pool().config.counts.is_some() {
            self.stats.own.add(1);
        }
    }

    /// Holder, from inside the allocator. Counts what was allocated or, if negative, freed.
    pub(crate) fn charge(&self, bytes: i64) {
        if self.meter.charge(bytes) {
            self.deque.poison();
        }
        if let Some(change) = self.meter.to_tell() {
            self.pool().gauges.heap.add(change);
        }
    }
}
