//! Feeds the figures of pools to the crate `metrics`, and with it to Prometheus, StatsD and others.

use bombyx_core::Metrics;
use metrics::{counter, gauge};

/// Publishes the figures of the pool that you call `pool`. Call this as often as you want new figures.
///
/// | name | kind |
/// |---|---|
/// | `bombyx_processors`, `bombyx_finishing`, `bombyx_busy`, `bombyx_resting` | gauge |
/// | `bombyx_queued`, `bombyx_oldest_wait_seconds`, `bombyx_ready`, `bombyx_detached` | gauge |
/// | `bombyx_carriers`, `bombyx_spares` | gauge |
/// | `bombyx_steals`, `bombyx_helps`, `bombyx_hand_overs`, `bombyx_sleeps`, `bombyx_wakes` | counter |
///
/// Each has a label `pool`. [`Metrics`] says what they mean.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(2).build()?;
/// bombyx::publish("render", &pool.metrics());
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn publish(pool: &str, figures: &Metrics) {
    let set = |name: &'static str, value: f64| gauge!(name, "pool" => pool.to_owned()).set(value);
    set("bombyx_processors", figures.processors as f64);
    set("bombyx_finishing", figures.finishing as f64);
    set("bombyx_busy", figures.busy as f64);
    set("bombyx_resting", figures.resting as f64);
    set("bombyx_queued", figures.queued as f64);
    set("bombyx_oldest_wait_seconds", figures.oldest_wait.map_or(0.0, |wait| wait.as_secs_f64()));
    set("bombyx_ready", figures.ready as f64);
    set("bombyx_detached", figures.detached as f64);
    set("bombyx_carriers", figures.carriers as f64);
    set("bombyx_spares", figures.spares as f64);
    let count = |name: &'static str, value: u64| counter!(name, "pool" => pool.to_owned()).absolute(value);
    count("bombyx_steals", figures.stats.steals);
    count("bombyx_helps", figures.stats.helps);
    count("bombyx_hand_overs", figures.stats.hand_overs);
    count("bombyx_sleeps", figures.stats.sleeps);
    count("bombyx_wakes", figures.stats.wakes);
}
