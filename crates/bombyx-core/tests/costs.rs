//! What a pool does to all processors at once stays rare, however many processors it has.

use bombyx::{Pool, join};
use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// The least time between two rounds, per core (`machine/pool/rounds.rs`).
const PER_CORE: Duration = Duration::from_micros(8);

fn tree(leaves: usize, leaf: Duration) {
    if leaves == 1 {
        let start = Instant::now();
        while start.elapsed() < leaf {
            spin_loop();
        }
        return;
    }
    join(|| tree(leaves / 2, leaf), || tree(leaves - leaves / 2, leaf));
}

/// Short and long regions, with and without pauses, on more and more processors than there are cores.
#[test]
fn rounds_keep_their_distance_on_any_number_of_processors() {
    for scheduler in ["work-stealing", "private-cas", "read-write"] {
        for processors in [4, 16, 64] {
            let pool = Pool::builder().processors(processors).scheduler(scheduler.parse().unwrap()).build();
            count_rounds(&format!("{scheduler}, P = {processors}"), &pool.unwrap());
        }
    }
}

fn count_rounds(what: &str, pool: &Pool) {
    let cores = std::thread::available_parallelism().unwrap().get();
    let (start, before) = (Instant::now(), pool.stats());
    for (leaf, pause) in [(0, 0), (5, 0), (20, 0), (5, 200), (20, 200)]
        .map(|(leaf, pause)| (Duration::from_micros(leaf), Duration::from_micros(pause)))
    {
        for _ in 0..100 {
            pool.run(|| tree(64, leaf));
            std::thread::sleep(pause);
        }
    }
    // The figures are read before the clock, so no round is counted whose time is not.
    let stats = pool.stats() - before;
    let elapsed = start.elapsed();
    let apart = PER_CORE * pool.processors().min(cores) as u32;
    let most = elapsed.as_nanos() / apart.as_nanos() + 1;
    println!("{what}, {elapsed:?}: {stats}");
    assert!(u128::from(stats.rounds) <= most, "{what}: {} rounds, at most {most}", stats.rounds);
    assert!(stats.escalations <= stats.barriers, "{what}: {stats}");
    assert!(stats.barriers <= stats.attempts, "{what}: {stats}");
}
