//! Models of the end of a scope.

use super::*;

/// A scope whose closures run on three processors. Exactly one of them, or the body, finds that everything has ended,
/// and has seen what all closures did.
#[test]
fn credits_of_a_scope() {
    /// The credits, what three closures write, and how often the end was found.
    struct Scope {
        credits: Credits,
        results: [UnsafeCell<u32>; 3],
        ends: AtomicUsize,
    }
    // SAFETY: the model checks that accesses to the cells are ordered.
    unsafe impl Sync for Scope {}
    // SAFETY: as above.
    unsafe impl Send for Scope {}

    impl Scope {
        fn run(&self, index: usize, stock: &Stock) -> Ended {
            // SAFETY: checked by loom; the closure's credit is out.
            unsafe {
                self.results[index].with_mut(|result| *result = 1);
                stock.put(NonNull::from(&self.credits))
            }
        }

        fn ended(&self) {
            self.ends.fetch_add(1, Relaxed);
            for result in &self.results {
                // SAFETY: checked by loom.
                assert_eq!(result.with(|result| unsafe { *result }), 1);
            }
        }
    }

    explore_weak(3, &[Fault::SettleWithoutOrder], || {
        let scope = Arc::new(Scope {
            credits: Credits::new(|_| None),
            results: [(), (), ()].map(|()| UnsafeCell::new(0)),
            ends: AtomicUsize::new(0),
        });
        let stock = Stock::new();
        let credits = NonNull::from(&scope.credits);
        // SAFETY: the scope lives until the model ends.
        assert!((0..3).all(|_| unsafe { stock.take(credits) }.is_none()));
        let others = [0, 1].map(|index| {
            let scope = Arc::clone(&scope);
            thread::spawn(move || {
                let stock = Stock::new();
                // It also spawns, and runs what it spawned. Its stock comes from its own addition.
                let credits = NonNull::from(&scope.credits);
                // SAFETY: as above.
                assert!(unsafe { stock.take(credits) }.is_none());
                assert!(scope.run(index, &stock).is_none());
                // SAFETY: the credit of the closure that was spawned above.
                assert!(unsafe { stock.put(credits) }.is_none());
                if stock.empty().is_some() {
                    scope.ended();
                }
            })
        });
        let body_last = scope.credits.end_body(Some(&stock));
        let enabled = if body_last { None } else { scope.run(2, &stock).or_else(|| stock.empty()) };
        assert!(!body_last, "a closure had not ended");
        if enabled.is_some() {
            scope.ended();
        }
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(scope.ends.load(Relaxed), 1);
    });
}
