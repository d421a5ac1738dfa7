//! A model of what is made at its first use.

use super::*;
use crate::protocol::made::Made;
use crate::system::primitive::AtomicU64;

/// Two threads want the thing, and one of them looks first whether it is there. It is made once, and both see what its maker
/// wrote.
#[test]
fn make_once() {
    explore_weak(3, &[Fault::MakeTwice, Fault::MakeWithoutOrder], || {
        let all = Arc::new((Made::<AtomicU64>::not_yet(), AtomicUsize::new(0), AtomicU64::new(0)));
        let want = |all: &(Made<AtomicU64>, AtomicUsize, AtomicU64)| {
            let thing = all.0.get_or_make(|| {
                all.1.fetch_add(1, Relaxed);
                all.2.store(7, Relaxed);
                AtomicU64::new(0)
            });
            assert_eq!(all.2.load(Relaxed), 7, "what the maker wrote is there");
            ptr::from_ref(thing) as usize
        };
        let other = {
            let all = Arc::clone(&all);
            thread::spawn(move || want(&all))
        };
        let early = all.0.get().map(|thing| ptr::from_ref(thing) as usize);
        let here = want(&all);
        assert!(early.is_none_or(|early| early == here));
        assert_eq!(other.join().unwrap(), here, "there is one thing");
        assert_eq!(all.1.load(Relaxed), 1, "it was made once");
    });
}
