//! The profiler and the recorder: work, span and their split by fork sites, of whatever runs in a pool.
//!
//! **Not here:** predictions, comparisons and advice. The crate `bombyx-profile` makes them from the file that is
//! written here.
//!
//! While a pool is profiled, its deques' limits stay poisoned, so every fork attends (`processor.rs`) and calls a hook
//! here. Its job is *kept* (`job.rs`), so its join ends on the slow path and calls another hook. If no pool is
//! profiled, none of this is on the fork path.
//!
//! | file | has |
//! |---|---|
//! | `algebra.rs` | what follows for pieces in series and in parallel |
//! | `shadow.rs` | each carrier's shadow stack: the hooks of forks; `chain.rs`: those of closures; `held.rs`: how hooks find it |
//! | `scope.rs` | what a scope knows of its closures; `origin.rs`: where they began |
//! | `ledger.rs` | what a profiler adds up: runs, sites, processors |
//! | `account.rs` | what a processor spends its time on; `usage.rs`: what the system says about that; `gaps.rs`: the time between runs |
//! | `presence.rs` | how long a carrier had no CPU, which is no work |
//! | `costs.rs` | what is subtracted |
//! | `sites.rs` | fork sites; `caller.rs`: which line a fork inside a library stands for |
//! | `files.rs` | the files that the environment asks for |
//! | `record.rs`, `dag.rs` | recorded runs and their file; `heap.rs`: what strands allocate |
//!
//! # What is measured
//!
//! A *strand* belongs to the site of the innermost fork whose closure it runs in. So the shares of the sites in the
//! span add up to the whole span. Runs that follow one another count in series; runs that overlap in time count in
//! parallel. Time inside [`crate::blocking`], or waiting for another pool, is part of the span and is reported
//! separately. It is not work.

mod account;
mod algebra;
mod caller;
mod chain;
mod costs;
mod dag;
mod files;
mod gaps;
mod heap;
mod held;
mod ledger;
mod origin;
mod presence;
mod record;
mod scope;
mod shadow;
mod sites;
#[cfg(test)]
mod tests;
mod usage;

pub(crate) use algebra::Burden;
pub use bombyx_base::profile::{Clock, Costs, Gap, Machine, Profile, SiteProfile, Times, Usage};
pub(crate) use costs::Costs as CostsInTicks;
pub use files::write_profile;
use heap::Heap;
pub(crate) use heap::note_block;
pub(crate) use ledger::{Profiler, Totals};
pub(crate) use record::Recorder;
pub(crate) use scope::{Closures, Spawned};
pub(crate) use sites::{Kind, Site, SiteId};

use crate::machine::current;
use crate::machine::observer::{Account, Observer, State};
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::protocol::job::Job;
use crate::system::process::Generation;
use algebra::Path;
use costs::Measure;
use heap::Uncharged;
use shadow::{Second, Shadow};
use std::any::Any;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// The profiler of all pools of this process that have no profiler themselves, if the environment asks for one.
fn of_process(measure: Measure) -> Option<&'static Arc<Profiler>> {
    static PROFILER: OnceLock<Option<Arc<Profiler>>> = OnceLock::new();
    if !Generation::current().is_first() {
        // The files belong to the parent, and so does the profiler. Its locks may be held for ever.
        return None;
    }
    if !cfg!(feature = "profile") {
        files::say_what_is_missing();
        return None;
    }
    PROFILER.get_or_init(|| files::profiler(measure)).as_ref()
}

/// Which profiler a pool should have.
#[derive(Default)]
pub(crate) enum Choice {
    /// The profiler of the process.
    #[default]
    Process,
    /// A new profiler, only for this pool.
    Own,
    /// This profiler.
    Given(Arc<Profiler>),
    /// No profiler, whatever the environment says.
    Off,
}

impl Choice {
    /// `measure` measures what the profiler costs, if that is not known yet.
    pub(crate) fn profiler(self, measure: Measure) -> Option<Arc<Profiler>> {
        match self {
            // Then nobody has a profiler, and the linker leaves out what only a profiler calls.
            _ if !cfg!(feature = "profile") => of_process(measure).cloned(),
            Choice::Process => of_process(measure).cloned(),
            Choice::Own => Some(Arc::new(Profiler::measured(measure))),
            Choice::Given(profiler) => Some(profiler),
            Choice::Off => None,
        }
    }
}

/// The profiler of the pool whose processor the calling thread holds.
#[inline(always)]
fn here() -> Option<&'static Arc<Profiler>> {
    current::processor().and_then(|processor| of(processor.pool()))
}

#[inline(always)]
fn of(pool: &PoolCore) -> Option<&Arc<Profiler>> {
    if !cfg!(feature = "profile") {
        return None;
    }
    let observer = pool.observer()?.as_any();
    observer.downcast_ref::<Observing>().map(|observing| &observing.0)
}

/// The profiler as the observer of a pool.
pub(crate) struct Observing(pub(crate) Arc<Profiler>);

impl Observer for Observing {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn add_pool(&self, pool: &Arc<PoolCore>) {
        self.0.add_pool(pool);
    }

    fn remove_pool(&self, pool: &PoolCore) {
        self.0.remove_pool(pool);
    }

    fn enter(&self, account: &Account, state: State) {
        account::enter(account, &self.0, state);
    }

    fn set_busy(&self, account: &Account, busy: bool) {
        let helping = held::with(|shadow| shadow.helping > 0).unwrap_or(false);
        let state = match (busy, helping) {
            (false, _) => State::Search,
            (true, false) => State::Busy,
            (true, true) => State::Help,
        };
        self.enter(account, state);
    }

    fn wait(&self) {
        held::with(Shadow::wait);
    }

    fn go_on(&self) {
        held::with(Shadow::go_on);
    }

    fn step_aside(&self) -> bool {
        held::with(Shadow::step_aside) == Some(true)
    }

    fn help(&self, more: isize) {
        held::with(|shadow| shadow.helping = shadow.helping.saturating_add_signed(more));
    }
}

/// What the profiler of a pool has measured, if it has one.
pub(crate) fn measured(pool: &PoolCore) -> Option<Profile> {
    of(pool).map(|profiler| profiler.profile())
}

// ---- Joins --------------------------------------------------------------------------------------------------

/// A fork in a profiled pool. Its second half runs the function at the address `code`. The job has been pushed. Returns
/// whether the first half is expected to be long. Some libraries split their loops further when work was stolen
/// ([`crate::Context::migrated`]). They are told so for long halves, so that they split as far as it matters, on any
/// number of processors.
#[inline(always)]
pub(crate) fn fork(processor: &Processor, site: Site, code: usize) -> bool {
    let pool = processor.pool();
    let Some(profiler) = of(pool) else { return false };
    let mut long = false;
    if let Some(mut shadow) = held::hold() {
        shadow.fork(profiler, site, code);
        long = !pool.config.deterministic && shadow.is_long(profiler);
    }
    // Without `membarrier`, forks expose their jobs, unless nobody else can reach them.
    if processor.relies() || processor.deque.is_private() {
        processor.deque.keep_youngest();
    }
    long
}

/// Whether the second half of a fork, which begins now, should split further if it can: the pool is profiled, and the
/// half is expected to be long. See [`fork`].
pub(crate) fn second_is_long() -> bool {
    let Some(processor) = current::processor() else { return false };
    of(processor.pool()).is_some_and(|profiler| {
        !processor.pool().config.deterministic && held::hold().is_some_and(|shadow| shadow.is_long(profiler))
    })
}

/// The join of a profiled fork, from the end of its first half to the end of its second, even by a panic.
#[derive(Clone, Copy)]
#[must_use]
pub(crate) enum Joining {
    /// The pool is not profiled.
    Off,
    /// The second half is here, or it is not yet known where it is.
    Here,
    /// The second half has ended elsewhere.
    Elsewhere,
}

impl Joining {
    /// The first half has ended.
    #[inline(always)]
    pub(crate) fn begin() -> Joining {
        if here().is_none() { Joining::Off } else { Joining::begin_kept() }
    }

    /// Like [`Joining::begin`], if the job is kept: then the pool is profiled.
    #[inline(always)]
    pub(crate) fn begin_kept() -> Joining {
        if let Some(mut shadow) = held::hold() {
            shadow.middle();
        }
        Joining::Here
    }

    /// The second half has ended elsewhere.
    #[inline(always)]
    pub(crate) fn second_elsewhere(&mut self) {
        if let Joining::Here = self {
            *self = Joining::Elsewhere;
        }
    }

    /// The second half, that of `job`, has ended.
    #[inline(always)]
    pub(crate) fn end(self, job: &Job) {
        match self {
            Joining::Off => {}
            Joining::Here => {
                if let Some(mut shadow) = held::hold() {
                    shadow.join_here();
                }
            }
            Joining::Elsewhere => join_elsewhere(job),
        }
    }
}

#[cold]
#[inline(never)]
fn join_elsewhere(job: &Job) {
    let _uncharged = Uncharged::begin();
    // There is no report only if the taker's thread was ending and could not count.
    let report = here().and_then(|profiler| profiler.report_of(job)).unwrap_or_default();
    held::with(|shadow| shadow.join_elsewhere(Second::Taken(report)));
}

/// A stolen half begins on the calling carrier.
pub(crate) fn begin_taken() {
    if let Some(profiler) = here() {
        held::with(|shadow| shadow.begin_chain(profiler, None, None));
    }
}

/// The stolen half has ended, but its latch is not set yet. Only the address of the job matters, as the name of the
/// report.
pub(crate) fn end_taken(job: *const Job) {
    let Some(profiler) = here() else { return };
    let _uncharged = Uncharged::begin();
    if let Some(report) = held::with(Shadow::end_chain) {
        profiler.deposit(job, report);
    }
}

// ---- Loops --------------------------------------------------------------------------------------------------

/// A loop in a profiled pool. It is split in halves until a piece is short. The clock decides that, not what thieves
/// want, so the span is that of the iterations on any number of processors.
pub(crate) struct Loop {
    /// How many ticks an iteration took, on average, in the piece that ended last.
    each: AtomicI64,
    /// How many ticks a piece must be expected to take before it is split further.
    short: i64,
}

impl Loop {
    /// `None` if the pool of the calling thread's processor is not profiled. If pieces carry values, such as a map each, a
    /// loop in an unprofiled pool makes few of them, and this one should not make too many.
    pub(crate) fn begin(carries: bool) -> Option<Loop> {
        here().map(|profiler| Loop {
            each: AtomicI64::new(i64::MAX),
            short: if carries { profiler.short_carrying } else { profiler.short },
        })
    }

    /// Whether a piece of this many iterations should be split.
    pub(crate) fn is_long(&self, count: usize) -> bool {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        count > 1 && self.each.load(Relaxed).saturating_mul(count) >= self.short
    }

    /// Runs a piece of this many iterations.
    pub(crate) fn piece<R>(&self, count: usize, run: impl FnOnce() -> R) -> R {
        let since = held::with(|shadow| shadow.position());
        let result = run();
        let each = since.and_then(|since| held::with(|shadow| shadow.iterations(self.short, count, since)));
        self.each.store(each.unwrap_or(i64::MAX), Relaxed);
        result
    }
}

// ---- Runs and blocking --------------------------------------------------------------------------------------

/// A closure that enters a pool, from its beginning to its end, even by a panic. Does nothing in pools that are not
/// profiled.
pub(crate) struct Run(Option<(Arc<Profiler>, Path)>);

impl Run {
    /// On the calling thread, now.
    pub(crate) fn begin(pool: &PoolCore, site: Site) -> Run {
        Run(of(pool).map(|profiler| {
            let _uncharged = Uncharged::begin();
            let before = profiler.begin_run(sites::intern(site, 0, SiteId::TAKEN));
            held::with(|shadow| shadow.begin_chain(profiler, Some(site), None));
            (Arc::clone(profiler), before)
        }))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let Some((profiler, before)) = self.0.take() else { return };
        let _uncharged = Uncharged::begin();
        if let Some(report) = held::with(Shadow::end_chain) {
            profiler.end_run(before, report);
        }
    }
}

/// The place where a thread outside all pools calls a library that forks there and runs this code. `None` if nothing is
/// profiled, or if it is not a library.
pub(crate) fn caller(site: Site, code: usize, measure: Measure) -> Option<SiteId> {
    of_process(measure)?;
    let _uncharged = Uncharged::begin();
    caller::is_library(site.location.file())
        .then(|| sites::intern(Site { kind: Kind::Run, ..site }, code, SiteId::TAKEN))
}

/// The run that has just begun on the calling thread was called from `caller`.
pub(crate) fn called_from(caller: Option<SiteId>) {
    if let (Some(caller), Some(profiler)) = (caller, here()) {
        held::with(|shadow| shadow.called_from(caller));
        profiler.called_from(caller);
    }
}

/// The calling strand blocks until this is dropped.
pub(crate) struct Blocked(Option<u64>);

impl Blocked {
    pub(crate) fn begin() -> Blocked {
        Blocked(held::with(Shadow::block).flatten())
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(since) = self.0 {
            held::with(|shadow| shadow.unblock(since));
        }
    }
}
