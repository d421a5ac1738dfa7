//! [`Sample`]: what one run took.

use crate::contender::Contender;
use crate::resources::{Memory, Watch};
use bombyx::Stats;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What one run took.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sample {
    pub seconds: f64,
    /// How much memory it took, unless nobody looked.
    pub memory: Option<Memory>,
    /// What the pool counted, if it is one of Bombyx.
    pub counts: Option<Counts>,
}

/// [`Stats`], to be written to a file.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Counts {
    pub steals: u64,
    pub(crate) attempts: u64,
    pub(crate) escalations: u64,
    pub(crate) helps: u64,
    pub hand_overs: u64,
    pub(crate) sleeps: u64,
    pub(crate) wakes: u64,
    pub(crate) in_place: u64,
    pub muggings: u64,
    pub(crate) peak_carriers: u64,
    /// 0 if the pool does not count them.
    #[serde(default)]
    pub(crate) peak_threads: u64,
    /// For schedulers with private deques. Absent in earlier records.
    #[serde(default)]
    pub(crate) gifts: u64,
    #[serde(default)]
    pub(crate) queries: u64,
    #[serde(default)]
    pub(crate) served: u64,
    #[serde(default)]
    pub(crate) declined: u64,
    #[serde(default)]
    pub(crate) withdrawn: u64,
}

impl From<Stats> for Counts {
    fn from(stats: Stats) -> Self {
        Self {
            steals: stats.steals,
            attempts: stats.attempts,
            escalations: stats.escalations,
            helps: stats.helps,
            hand_overs: stats.hand_overs,
            sleeps: stats.sleeps,
            wakes: stats.wakes,
            in_place: stats.in_place,
            muggings: stats.heterogeneous.muggings,
            peak_carriers: stats.peak_carriers,
            peak_threads: stats.threads.peak_threads,
            gifts: stats.private_deques.gifts,
            queries: stats.private_deques.queries,
            served: stats.private_deques.served,
            declined: stats.private_deques.declined,
            withdrawn: stats.private_deques.withdrawn,
        }
    }
}

impl Sample {
    /// A sample that has only a time.
    pub fn seconds(seconds: f64) -> Self {
        Self { seconds, memory: None, counts: None }
    }

    /// Measures `work`, which returns how many of its seconds count.
    pub fn of(contender: &Contender, work: impl FnOnce() -> f64) -> Self {
        contender.forget_peaks();
        let (before, watch) = (contender.stats(), Watch::start());
        let seconds = work();
        let memory = Some(watch.memory());
        let counts = contender.stats().zip(before).map(|(after, before)| Counts::from(after - before));
        Self { seconds, memory, counts }
    }

    /// Measures all of `work`, in seconds per `repetitions`.
    pub fn per(contender: &Contender, repetitions: u32, work: impl FnOnce()) -> Self {
        Self::of(contender, || {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() / f64::from(repetitions)
        })
    }
}
