//! The bounds of Blumofe and Leiserson on the real runtime: space (their Theorem 2: on P processors at most P times the
//! S1 of one), carriers, communication (a processor is handed over at most once per entry taken), and the CPU time of a
//! pool that has nothing to do.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, join, scope};
use common::{Rng, builder, pool, seed, wait_until, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// A tree of forks.
enum Tree {
    /// Spins for this many rounds, or yields if there are none.
    Leaf(usize),
    Fork(Box<[Tree; 2]>),
}

impl Tree {
    fn leaf(rng: &mut Rng) -> Tree {
        Tree::Leaf(if rng.one_in(8) { 0 } else { 1 + rng.below(1_000) })
    }

    fn fork(a: Tree, b: Tree) -> Tree {
        Tree::Fork(Box::new([a, b]))
    }

    /// Everything in the first half: the deque grows as deep as the tree.
    fn first_spine(rng: &mut Rng, depth: usize) -> Tree {
        (1..depth).fold(Tree::leaf(rng), |tree, _| Tree::fork(tree, Tree::leaf(rng)))
    }

    /// Everything in the second half: each level is taken separately, and every frame above waits.
    fn second_spine(rng: &mut Rng, depth: usize) -> Tree {
        (1..depth).fold(Tree::leaf(rng), |tree, _| Tree::fork(Tree::leaf(rng), tree))
    }

    fn balanced(rng: &mut Rng, depth: usize) -> Tree {
        if depth == 1 {
            return Tree::leaf(rng);
        }
        Tree::fork(Tree::balanced(rng, depth - 1), Tree::balanced(rng, depth - 1))
    }

    /// Spines on spines: a thief that takes a spine leaves a frame that waits long.
    fn comb(rng: &mut Rng, depth: usize) -> Tree {
        (2..depth).fold(Tree::leaf(rng), |tree, level| {
            let tooth = Tree::second_spine(rng, level.min(8));
            if rng.one_in(2) { Tree::fork(tree, tooth) } else { Tree::fork(tooth, tree) }
        })
    }

    fn ragged(rng: &mut Rng, nodes: usize) -> Tree {
        if nodes <= 1 {
            return Tree::leaf(rng);
        }
        let left = rng.below(nodes);
        Tree::fork(Tree::ragged(rng, left), Tree::ragged(rng, nodes - 1 - left))
    }

    /// S1: the most frames that are alive at a time in the serial execution.
    fn depth(&self) -> usize {
        match self {
            Tree::Leaf(_) => 1,
            Tree::Fork(halves) => 1 + halves[0].depth().max(halves[1].depth()),
        }
    }

    fn walk(&self, frames: &Frames) {
        let live = frames.live.fetch_add(1, SeqCst) + 1;
        frames.peak.fetch_max(live, SeqCst);
        match self {
            Tree::Leaf(0) => thread::yield_now(),
            Tree::Leaf(rounds) => (0..*rounds).for_each(|_| std::hint::spin_loop()),
            Tree::Fork(halves) => {
                join(|| halves[0].walk(frames), || halves[1].walk(frames));
            }
        }
        frames.live.fetch_sub(1, SeqCst);
    }
}

/// The frames of user code that are alive, and the most that have been.
#[derive(Default)]
struct Frames {
    live: AtomicUsize,
    peak: AtomicUsize,
}

#[test]
fn space_carriers_and_communication() {
    let mut rng = Rng::new(seed());
    let trees = [
        ("first spine", Tree::first_spine(&mut rng, 60)),
        ("second spine", Tree::second_spine(&mut rng, 60)),
        ("balanced", Tree::balanced(&mut rng, 9)),
        ("comb", Tree::comb(&mut rng, 50)),
        ("ragged", Tree::ragged(&mut rng, 500)),
    ];
    for processors in [1, 2, 4, 8] {
        for fence in [false, true] {
            let pool = builder(processors).fence(fence).build().unwrap();
            for (name, tree) in &trees {
                for _ in 0..10 {
                    check_bounds(&pool, name, tree);
                }
            }
        }
    }
}

fn check_bounds(pool: &Pool, name: &str, tree: &Tree) {
    let (processors, serial) = (pool.processors(), tree.depth());
    let frames = Frames::default();
    let before = pool.stats();
    watchdog(name, || pool.run(|| tree.walk(&frames)));
    let stats = pool.stats() - before;
    let peak = frames.peak.into_inner();
    let what = format!("{name} on {processors}: peak of {peak} frames, S1 = {serial}; {stats}");
    assert_eq!(frames.live.into_inner(), 0, "{what}");
    assert!((serial..=processors * serial).contains(&peak), "{what}");
    if processors == 1 {
        assert_eq!(peak, serial, "{what}");
        assert_eq!(stats.hand_overs, 0, "{what}");
    }
    // Every waiting frame lies above a busy leaf, and P leaves have at most P · S1 frames above them.
    assert!(stats.peak_carriers <= (processors * (serial + 1)) as u64, "{what}");
    assert!(stats.hand_overs <= stats.steals + stats.private_deques.gifts, "{what}");
    assert!(stats.escalations <= stats.steals, "{what}");
    assert_eq!(stats.in_place, 0, "{what}");
}

/// The CPU time that this thread's process has used.
#[cfg(target_os = "linux")]
fn cpu_time() -> std::time::Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs `burst` in a separate process and checks that its pool rests after it.
#[cfg(target_os = "linux")]
fn rests(test: &str, burst: impl Fn(&Pool)) {
    use std::time::Duration;
    if !common::child::is_child(test) {
        common::child::pass(test, &[]);
        return;
    }
    for (processors, fence) in [(1, false), (2, false), (2, true), (8, false)] {
        let pool = builder(processors).fence(fence).build().unwrap();
        watchdog(test, || burst(&pool));
        thread::sleep(Duration::from_millis(100));
        let before = cpu_time();
        thread::sleep(Duration::from_millis(400));
        let used = cpu_time() - before;
        let bound = Duration::from_millis(20);
        assert!(used <= bound, "{processors} idle processors used {used:?}; {}", pool.stats());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_pool_rests() {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    rests("an_idle_pool_rests", |pool| {
        for _ in 0..10 {
            assert_eq!(pool.run(|| fib(16)), 987);
        }
    });
}

/// Entries leave the deque out of order, and what is left of them must not look like work.
#[cfg(target_os = "linux")]
#[test]
fn a_pool_rests_after_scopes_and_detached_closures() {
    use std::sync::Arc;
    rests("a_pool_rests_after_scopes_and_detached_closures", |pool| {
        let ended = Arc::new(AtomicUsize::new(0));
        pool.run(|| {
            scope(|s| {
                for _ in 0..10 {
                    s.spawn(|_| thread::yield_now());
                    let ended = Arc::clone(&ended);
                    pool.spawn(move || common::bump(&ended));
                }
            });
        });
        wait_until(|| ended.load(SeqCst) == 10);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_pool_rests_after_blocking() {
    rests("a_pool_rests_after_blocking", |pool| {
        pool.run(|| {
            for _ in 0..20 {
                join(
                    || join(|| bombyx::blocking(thread::yield_now), thread::yield_now),
                    || scope(|s| s.spawn(|_| bombyx::blocking(thread::yield_now))),
                );
            }
        });
    });
}

/// A pool that was never used has one carrier. If only its carriers can run what callers bring, it has one for each
/// processor.
#[test]
fn carriers_of_a_pool_that_does_nothing() {
    let stats = pool(3).stats();
    assert_eq!((stats.carriers, stats.peak_carriers, stats.steals), (1, 1, 0));
    let stats = builder(3).stack_size(1 << 20).build().unwrap().stats();
    assert_eq!((stats.carriers, stats.peak_carriers, stats.steals), (3, 3, 0));
}
