//! A start handler that uses its pool, the global one. In a separate process.

#[test]
fn a_start_handler_may_fork() {
    rayon_core::ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(|_| {
            rayon_core::join(|| (), || ());
        })
        .build_global()
        .unwrap();
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
}
