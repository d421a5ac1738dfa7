//! A program may use rayon, on this core, and Bombyx side by side: they share one global pool.

use rayon::prelude::*;

#[test]
fn rayon_and_bombyx_share_the_global_pool() {
    let global = bombyx::Pool::global();
    assert_eq!(rayon::current_num_threads(), global.processors());
    // A loop of rayon runs in Bombyx's pool, and the other way round.
    let inside = (0..100).into_par_iter().map(|_| bombyx::processor_count()).collect::<Vec<_>>();
    assert_eq!(inside, vec![Some(global.processors()); 100]);
    let threads = bombyx::iter::ParallelIterator::map(
        bombyx::iter::IntoParallelIterator::into_par_iter(0..100),
        |_| rayon::current_thread_index(),
    );
    let threads: Vec<_> = bombyx::iter::ParallelIterator::collect(threads);
    assert!(threads.iter().all(|thread| thread.is_some_and(|index| index < global.processors())));
    // Forks of both are in one computation.
    let (a, b) = rayon::join(|| bombyx::join(|| 1, || 2), || bombyx::scope(|_| rayon::join(|| 3, || 4)));
    assert_eq!((a, b), ((1, 2), (3, 4)));
}
