//! Names of threads that the system does not allow.

use rayon_core::{ThreadPoolBuilder, join};
use std::io;

fn bad(index: usize) -> impl FnMut(usize) -> String + 'static {
    move |i| if i == index { "a\0b".into() } else { format!("worker-{i}") }
}

#[test]
fn are_an_error_where_they_are_given() {
    for index in [0, 1] {
        let error = ThreadPoolBuilder::new().num_threads(2).thread_name(bad(index)).build().unwrap_err();
        assert_eq!(error.to_string(), "the name of a thread contains a null character");
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::InvalidInput));
    }
}

/// The current thread is not named, and its pool works.
#[test]
fn are_not_used_for_the_current_thread() {
    std::thread::spawn(|| {
        let pool =
            ThreadPoolBuilder::new().num_threads(2).use_current_thread().thread_name(bad(0)).build().unwrap();
        assert_eq!(join(|| 1, || 2), (1, 2));
        pool.scope(|s| (0..100).for_each(|_| s.spawn(|_| std::thread::yield_now())));
    })
    .join()
    .unwrap();
}
