//! Measures short parallel regions that a thread outside of any pool enters again and again. Compares with the serial
//! program, rayon, and two plain threads that split the work in halves and spin. The contenders of a row take turns, and
//! the median of each counts.
//!
//! ```text
//! cargo run --profile bench-lto -p bombyx --example regions
//! ```
//!
//! The first table has trees of 16 leaves, with pauses between the regions. The second has loops. Needs two cores that
//! nobody else uses. For other numbers of threads, set `BOMBYX_PROCESSORS` and `RAYON_NUM_THREADS`.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many leaves a region has.
const LEAVES: usize = 16;

fn main() {
    let per_step = time_of_a_step();
    let plain = Plain::start();
    println!("16 leaves, entered from outside after a pause: times relative to the serial program");
    println!("leaf us  pause us   serial us    bombyx    inside     rayon  two threads");
    for leaf in [0.2, 1.0, 5.0, 20.0] {
        for pause in [0, 10, 50, 200, 1000] {
            let steps = (leaf * 1e-6 / per_step) as u64;
            let [serial, bombyx, inside, rayon, two] = tree_row(steps, Duration::from_micros(pause), &plain);
            let [bombyx, inside, rayon, two] = [bombyx, inside, rayon, two].map(|time| time / serial);
            println!(
                "{leaf:>7}  {pause:>8}  {:>10.2}  {bombyx:>8.2}  {inside:>8.2}  {rayon:>8.2}  {two:>11.2}",
                serial * 1e6
            );
        }
    }
    plain.stop();
    println!();
    println!("loops, entered from outside: times relative to the serial loop");
    println!("body        items    serial ns    bombyx     rayon");
    for items in [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        loop_row::<1>("vector", items);
        loop_row::<8>("short", items);
        if items <= 1_000_000 {
            loop_row::<120>("long", items);
        }
    }
}

/// Steps that depend on each other.
#[inline(always)]
fn leaf(steps: u64) -> u64 {
    let mut x = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

/// Seconds.
fn time_of_a_step() -> f64 {
    let times = (0..20).map(|_| seconds(|| leaf(100_000)) / 1e5);
    times.fold(f64::MAX, f64::min)
}

fn seconds<R>(run: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn serial(leaves: usize, steps: u64) {
    for _ in 0..leaves {
        leaf(steps);
    }
}

fn bombyx_tree(leaves: usize, steps: u64) {
    if leaves == 1 {
        leaf(steps);
    } else {
        let half = leaves / 2;
        bombyx::join(|| bombyx_tree(half, steps), || bombyx_tree(leaves - half, steps));
    }
}

fn rayon_tree(leaves: usize, steps: u64) {
    if leaves == 1 {
        leaf(steps);
    } else {
        let half = leaves / 2;
        rayon::join(|| rayon_tree(half, steps), || rayon_tree(leaves - half, steps));
    }
}

/// Medians of: serial, Bombyx from outside, Bombyx inside of its pool, rayon from outside, two plain threads.
fn tree_row(steps: u64, pause: Duration, plain: &Plain) -> [f64; 5] {
    let calls = if pause >= Duration::from_micros(200) { 60 } else { 200 };
    let series = |region: &dyn Fn()| {
        let call = |_| {
            wait(pause);
            seconds(region)
        };
        // The first calls find the others asleep.
        (0..calls).map(call).collect::<Vec<_>>().split_off(5)
    };
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..7 {
        times[0].extend(series(&|| serial(LEAVES, steps)));
        times[1].extend(series(&|| bombyx_tree(LEAVES, steps)));
        times[2].extend(bombyx::scope(|_| series(&|| bombyx_tree(LEAVES, steps))));
        times[3].extend(series(&|| rayon_tree(LEAVES, steps)));
        times[4].extend(plain.while_awake(|| series(&|| plain.run(LEAVES, steps))));
        // All that spins goes to sleep.
        wait(Duration::from_micros(300));
    }
    times.map(median)
}

fn wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

/// Two threads that split a region in halves: what is possible.
struct Plain {
    state: Arc<State>,
    other: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// What the other thread does.
    mode: AtomicUsize,
    steps: AtomicUsize,
    begun: AtomicUsize,
    ended: AtomicUsize,
}

/// The modes of the other thread.
const ASLEEP: usize = 0;
const SPINS: usize = 1;
const ENDS: usize = 2;

impl Plain {
    fn start() -> Plain {
        let state = Arc::new(State::default());
        let other = Arc::clone(&state);
        let other = std::thread::spawn(move || {
            let mut seen = 0;
            loop {
                match other.mode.load(Acquire) {
                    ASLEEP => std::thread::park(),
                    ENDS => return,
                    _ => {}
                }
                let begun = other.begun.load(Acquire);
                if begun != seen {
                    seen = begun;
                    serial(LEAVES / 2, other.steps.load(Relaxed) as u64);
                    other.ended.store(begun, Release);
                }
                spin_loop();
            }
        });
        Plain { state, other }
    }

    /// The other thread spins while `f` runs.
    fn while_awake<R>(&self, f: impl FnOnce() -> R) -> R {
        self.state.mode.store(SPINS, Release);
        self.other.thread().unpark();
        wait(Duration::from_millis(2));
        let result = f();
        self.state.mode.store(ASLEEP, Release);
        result
    }

    fn stop(self) {
        self.state.mode.store(ENDS, Release);
        self.other.thread().unpark();
        self.other.join().expect("the other thread does not panic");
    }

    fn run(&self, leaves: usize, steps: u64) {
        self.state.steps.store(steps as usize, Relaxed);
        let begun = self.state.begun.fetch_add(1, Release) + 1;
        serial(leaves / 2, steps);
        while self.state.ended.load(Acquire) != begun {
            spin_loop();
        }
    }
}

/// An item's work.
#[inline(always)]
fn body<const STEPS: usize>(mut x: u64) -> u64 {
    for _ in 0..STEPS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn loop_row<const STEPS: usize>(name: &str, items: usize) {
    use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
    let add = u64::wrapping_add;
    let map = |i: usize| body::<STEPS>(i as u64);
    let contenders: [&dyn Fn(usize) -> u64; 3] =
        [&|n| (0..n).map(map).fold(0, add), &|n| bombyx::map_reduce(0..n, map, || 0, add), &|n| {
            (0..n).into_par_iter().map(map).reduce(|| 0, add)
        }];
    let repeat = |run: &dyn Fn(usize) -> u64, times: usize| {
        seconds(|| {
            for _ in 0..times {
                black_box(run(black_box(items)));
            }
        })
    };
    // As often as it takes for a millisecond.
    let times = contenders.map(|run| (0..).map(|i| 1 << i).find(|&times| repeat(run, times) > 1e-3).unwrap());
    let mut measured: [Vec<f64>; 3] = Default::default();
    for _ in 0..15 {
        for (who, run) in contenders.iter().enumerate() {
            measured[who].push(repeat(*run, times[who]) / times[who] as f64);
        }
    }
    let [serial, bombyx, rayon] = measured.map(median);
    println!(
        "{name:<6}  {items:>9}  {:>11.0}  {:>8.2}  {:>8.2}",
        serial * 1e9,
        bombyx / serial,
        rayon / serial
    );
}
