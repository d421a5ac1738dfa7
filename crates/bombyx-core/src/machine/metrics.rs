//! What a pool is doing now: for dashboards, load balancers and health checks.

use crate::machine::pool::PoolCore;
use crate::machine::stats::Stats;
use crate::system::primitive::lock;
use std::time::Duration;

/// What a pool is doing now, and what it has done so far. From [`Pool::metrics`](crate::Pool::metrics).
///
/// The figures are read one after the other while the pool goes on, so they may differ by what happened meanwhile. New
/// versions may add fields.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(2).build()?;
/// let metrics = pool.metrics();
/// assert_eq!((metrics.processors, metrics.busy, metrics.queued), (2, 0, 0));
/// assert_eq!(metrics.oldest_wait, None);
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Processors in service.
    pub processors: usize,
    /// Processors that are no longer in service but have not finished what they had begun
    /// ([`Pool::set_processors`](crate::Pool::set_processors)).
    pub finishing: usize,
    /// Processors that run something.
    pub busy: usize,
    /// Processors that rest.
    pub resting: usize,
    /// Calls from outside, and closures that return from [`blocking`](crate::blocking), that wait for a processor.
    pub queued: usize,
    /// How long the oldest of these has waited.
    pub oldest_wait: Option<Duration>,
    /// Halves of joins and spawned closures that wait in the deques of the processors.
    pub ready: usize,
    /// Tasks and other closures without a scope that have not ended, and calls from outside that a carrier runs or will run.
    pub detached: usize,
    /// Carriers (OS threads).
    pub carriers: usize,
    /// Carriers without a processor and without anything to continue.
    pub spares: usize,
    /// What was counted since the pool began.
    pub stats: Stats,
}

impl PoolCore {
    pub(crate) fn metrics(&self) -> Metrics {
        let processors = self.processors();
        let mut metrics = Metrics {
            processors: self.in_service(),
            busy: processors.iter().filter(|processor| processor.is_busy()).count(),
            ready: processors.iter().map(|processor| self.config.strategy.pending(processor)).sum(),
            detached: self.detached_count(),
            stats: self.stats(),
            ..Metrics::default()
        };
        let shared = lock(&self.shared);
        let (queued, since) = shared.commons.queue.waiting();
        metrics.queued = queued;
        metrics.oldest_wait = since.map(|since| since.elapsed());
        metrics.resting = shared.commons.listed().count() - shared.commons.count_shut();
        let shut = shared.commons.count_shut();
        metrics.finishing = (processors.len() - shut).saturating_sub(metrics.processors);
        metrics.carriers = shared.carriers;
        metrics.spares = shared.commons.spares();
        metrics
    }
}
