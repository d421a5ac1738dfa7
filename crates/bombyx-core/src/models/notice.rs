//! Models of the entries of a notice board.

use super::*;
use crate::protocol::notice::{look, post, withdraw};
use crate::system::primitive::AtomicU64;

/// An entry is used twice, while a reader looks. Two words of each use are its number.
#[test]
fn look_against_reuse() {
    let faults = [Fault::PostWithoutOrder, Fault::ReuseWithoutFence, Fault::LookWithoutFence];
    explore_weak(3, &faults, || {
        let entry = Arc::new([const { 0 }; 3].map(AtomicU64::new));
        let writer = {
            let entry = Arc::clone(&entry);
            thread::spawn(move || {
                for use_ in 1..3 {
                    entry[1].store(use_, Relaxed);
                    entry[2].store(use_, Relaxed);
                    post(&entry[0], use_);
                    if use_ < 2 {
                        withdraw(&entry[0]);
                    }
                }
            })
        };
        if let Some((number, words)) = look(&entry[0], || [entry[2].load(Relaxed), entry[1].load(Relaxed)]) {
            assert_eq!(words, [number; 2], "words of another use");
        }
        writer.join().unwrap();
        assert_eq!(look(&entry[0], || entry[1].load(Relaxed)), Some((2, 2)));
    });
}
