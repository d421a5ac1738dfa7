//! With the features `tracing` and `metrics`: spans follow stolen work, and the facade gets the figures.

#[cfg(feature = "tracing")]
mod spans {
    use bombyx::{Pool, scope, spans::follow};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use tracing::{Span, info_span};

    /// The innermost span on the calling thread.
    fn current() -> Option<tracing::Id> {
        Span::current().id()
    }

    #[test]
    fn a_stolen_half_runs_in_the_span_of_its_fork() {
        // For all threads of the process.
        tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap();
        let pool = Pool::builder().processors(2).build().unwrap();
        let span = info_span!("request");
        let id = span.id();
        assert!(id.is_some());
        let stolen = AtomicBool::new(false);
        pool.run(|| {
            follow(span, || {
                let inner = info_span!("inner");
                let left = || {
                    // Deeper spans of this half do not leak into the other one.
                    let _entered = inner.enter();
                    while !stolen.load(SeqCst) {
                        bombyx::checkpoint();
                        std::hint::spin_loop();
                    }
                };
                let right = || {
                    assert_eq!(current(), id);
                    scope(|s| s.spawn(|_| assert_eq!(current(), id)));
                    let task = bombyx::spawn(current);
                    assert_eq!(task.join().unwrap(), id);
                    stolen.store(true, SeqCst);
                };
                bombyx::join(left, right);
                assert_eq!(current(), id);
            });
            assert_eq!(current(), None);
        });
        // No thread stays in the span.
        for _ in 0..50 {
            assert_eq!(pool.spawn(current).join().unwrap(), None);
        }
    }
}

#[cfg(feature = "metrics")]
mod figures {
    use bombyx::{Pool, publish};
    use metrics::{
        Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    };
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    /// Keeps the last value of each name.
    #[derive(Clone, Default)]
    struct Last(Arc<Mutex<BTreeMap<String, f64>>>);

    struct Entry(Last, String);

    impl Entry {
        fn set_to(&self, value: f64) {
            self.0.0.lock().unwrap().insert(self.1.clone(), value);
        }
    }

    impl CounterFn for Entry {
        fn increment(&self, _: u64) {
            unreachable!("counters are set")
        }

        fn absolute(&self, value: u64) {
            self.set_to(value as f64);
        }
    }

    impl GaugeFn for Entry {
        fn increment(&self, _: f64) {
            unreachable!("gauges are set")
        }

        fn decrement(&self, _: f64) {
            unreachable!("gauges are set")
        }

        fn set(&self, value: f64) {
            self.set_to(value);
        }
    }

    impl Last {
        fn entry(&self, key: &Key) -> Arc<Entry> {
            let labels: Vec<_> =
                key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            Arc::new(Entry(self.clone(), format!("{} {}", key.name(), labels.join(","))))
        }
    }

    impl Recorder for Last {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(self.entry(key))
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(self.entry(key))
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    #[test]
    fn the_facade_gets_the_figures() {
        let pool = Pool::builder().processors(3).build().unwrap();
        let last = Last::default();
        metrics::with_local_recorder(&last, || publish("render", &pool.metrics()));
        let last = last.0.lock().unwrap();
        assert_eq!(last["bombyx_processors pool=render"], 3.0);
        assert_eq!(last["bombyx_busy pool=render"], 0.0);
        assert_eq!(last["bombyx_steals pool=render"], pool.stats().steals as f64);
        assert_eq!(last.len(), 14);
    }
}
