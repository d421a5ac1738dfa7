//! Models of the ring of events.

use super::*;
use crate::protocol::ring::{Ring, WORDS};
use crate::system::primitive::AtomicU64;

fn ring() -> Ring<Vec<[AtomicU64; WORDS]>> {
    Ring::new((0..2).map(|_| [0; WORDS].map(AtomicU64::new)).collect())
}

/// A writer fills both slots twice, while a reader copies. Each event carries its number in its words, so
/// the reader can tell whether what it keeps is whole, and in its place.
#[test]
fn copy_against_overwrite() {
    let faults = [Fault::OverwriteWithoutFence, Fault::PublishWithoutOrder, Fault::KeepTheOldest];
    explore_weak(3, &faults, || {
        let ring = Arc::new(ring());
        let writer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for number in 0..4 {
                    ring.push([number + 1; WORDS]);
                }
            })
        };
        let copied = ring.copy();
        for (at, event) in copied.events.iter().enumerate() {
            assert_eq!(
                *event,
                [copied.lost + at as u64 + 1; WORDS],
                "a mixture, or an event in a wrong place"
            );
        }
        writer.join().unwrap();
        assert_eq!(ring.copy().events, [[4; WORDS]]);
    });
}
