//! Pools whose carriers all wait or block: what can be run is run.

mod common;

use bombyx::dropin::HandleExt as _;
use bombyx::{Pool, blocking};
use common::{schedulers, watchdog};
use std::sync::mpsc;

/// One carrier blocks until the other has broadcast. The first one has let its processor go. Only the second carrier
/// can run that processor's part, and it waits for it.
#[test]
fn who_waits_for_a_broadcast_runs_the_parts_that_nobody_else_can() {
    for scheduler in schedulers() {
        watchdog(&format!("a broadcast, {scheduler}"), || {
            let pool = Pool::builder().processors(2).max_carriers(2).scheduler(scheduler).build().unwrap();
            let (done, result) = mpsc::channel();
            let handle = pool.handle();
            pool.spawn(move || {
                let (go, wait) = mpsc::channel::<()>();
                let (blocks, blocked) = mpsc::channel();
                handle.spawn(move || {
                    blocking(|| {
                        blocks.send(()).unwrap();
                        wait.recv().unwrap();
                    })
                });
                while blocked.try_recv().is_err() {
                    bombyx::checkpoint();
                    std::thread::yield_now();
                }
                let indices = handle.broadcast(|place| place.index());
                go.send(()).unwrap();
                done.send(indices).unwrap();
            });
            assert_eq!(result.recv().unwrap(), [0, 1], "{scheduler}");
        });
    }
}
