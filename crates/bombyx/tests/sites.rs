//! The fork site of a loop is the user's own line, whatever method ends the chain.

use bombyx::Pool;
use bombyx::iter;
use bombyx::prelude::*;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// Longer than any piece that the profiler takes for one strand.
fn slow<T>(item: T) -> T {
    sleep(Duration::from_millis(1));
    item
}

fn par() -> impl IndexedParallelIterator<Item = u32> {
    (0..3u32).into_par_iter().map(slow)
}

fn pairs() -> impl IndexedParallelIterator<Item = (u32, u32)> {
    par().map(|n| (n, n))
}

fn words() -> impl ParallelIterator<Item = String> {
    par().map(|n| n.to_string())
}

/// A loop, its text, and its line.
macro_rules! at {
    ($run:expr) => {
        (line!(), stringify!($run), &(|| drop($run)) as &(dyn Fn() + Sync))
    };
}

#[test]
#[rustfmt::skip]
#[allow(dropping_copy_types)]
fn sites_are_the_users_lines() {
    let loops = [
        at!(par().for_each(drop)),
        at!(par().for_each_with((), |(), _| ())),
        at!(par().for_each_init(|| (), |(), _| ())),
        at!(par().try_for_each(|_| Some(())).is_none()),
        at!(par().try_for_each_with((), |(), _| Some(())).is_none()),
        at!(par().try_for_each_init(|| (), |(), _| Some(())).is_none()),
        at!(par().reduce(|| 0, u32::max)),
        at!(par().reduce_with(u32::max)),
        at!(par().map(Some).try_reduce(|| 0, u32::checked_add)),
        at!(par().map(Some).try_reduce_with(u32::checked_add)),
        at!(par().sum::<u32>()),
        at!(par().product::<u32>()),
        at!(par().min()),
        at!(par().max()),
        at!(par().min_by(u32::cmp)),
        at!(par().max_by(u32::cmp)),
        at!(par().min_by_key(|n| *n)),
        at!(par().max_by_key(|n| *n)),
        at!(par().count()),
        at!(par().any(|n| n > 9)),
        at!(par().all(|n| n < 9)),
        at!(par().find_any(|n| *n > 9)),
        at!(par().find_first(|n| *n > 9)),
        at!(par().find_last(|n| *n > 9)),
        at!(par().find_map_any(|_| None::<()>)),
        at!(par().find_map_first(|_| None::<()>)),
        at!(par().find_map_last(|_| None::<()>)),
        at!(par().position_any(|n| n > 9)),
        at!(par().position_first(|n| n > 9)),
        at!(par().position_last(|n| n > 9)),
        at!(par().positions(|n| n > 9).count()),
        at!(par().cmp(par())),
        at!(par().partial_cmp(par())),
        at!(par().eq(par())),
        at!(par().ne(par())),
        at!(par().lt(par())),
        at!(par().le(par())),
        at!(par().gt(par())),
        at!(par().ge(par())),
        at!(par().partition::<Vec<_>, Vec<_>, _>(|n| *n > 1)),
        at!(par().partition_map::<Vec<_>, Vec<_>, _, _, _>(iter::Either::<_, u32>::Left)),
        at!(pairs().unzip::<_, _, Vec<_>, HashSet<_>>()),
        at!(par().collect::<Vec<_>>()),
        at!(par().filter(|_| true).collect::<Vec<_>>()),
        at!(par().collect::<Box<[_]>>()),
        at!(par().collect::<Arc<[_]>>()),
        at!(par().collect::<VecDeque<_>>()),
        at!(par().collect::<LinkedList<_>>()),
        at!(par().collect::<BinaryHeap<_>>()),
        at!(par().collect::<BTreeSet<_>>()),
        at!(pairs().collect::<BTreeMap<_, _>>()),
        at!(pairs().collect::<HashMap<_, _>>()),
        at!(words().collect::<String>()),
        at!(pairs().collect::<(Vec<_>, Vec<_>)>()),
        at!(par().map(Some).collect::<Option<Vec<_>>>()),
        at!(par().map(Ok::<_, ()>).collect::<Result<Vec<_>, _>>().is_ok()),
        at!(par().collect_vec_list()),
        at!(par().collect_into_vec(&mut Vec::new())),
        at!(pairs().unzip_into_vecs(&mut Vec::new(), &mut Vec::new())),
        at!(Vec::from_par_iter(par())),
        at!(String::from_par_iter(words())),
        at!(<Box<str>>::from_par_iter(words())),
        at!(HashSet::<u32>::from_par_iter(par())),
        at!(<Arc<[u32]>>::from_par_iter(par())),
        at!(<()>::from_par_iter(par().map(drop))),
        at!(<Option<Vec<_>>>::from_par_iter(par().map(Some))),
        at!(<Result<Vec<_>, ()>>::from_par_iter(par().map(Ok)).is_ok()),
        at!(iter::from_par_iter::<Vec<_>, _>(par())),
        at!(Vec::new().par_extend(par())),
        at!(Vec::new().par_extend(par().filter(|_| true))),
        at!(Vec::<u32>::new().par_extend([1u32, 2, 3].par_iter().inspect(|_| slow(())))),
        at!(String::new().par_extend(words())),
        at!(BTreeSet::new().par_extend(par())),
        at!(HashMap::new().par_extend(pairs())),
        at!(iter::Either::<Vec<_>, Vec<_>>::Left(Vec::new()).par_extend(par())),
        at!(par().with_state(|| ()).for_each(|(), _| ())),
        at!(par().fold(|| 0, u32::max).sum::<u32>()),
        at!(par().deterministic().sum::<u32>()),
        at!(par().progress(|_, _| ()).sum::<u32>()),
        at!(par().explain(drop).sum::<u32>()),
        at!((0..3).par_bridge().map(slow).for_each(drop)),
        at!((0..3).par_stream(3).map(slow).for_each(drop)),
        at!("a b c".par_split(' ').for_each(|_| slow(()))),
        at!([1, 0, 2, 0, 3].par_split(|n| *n == 0).for_each(|_| slow(()))),
        at!([1, 2, 3].par_chunks(1).for_each(|_| slow(()))),
        at!((0..9000).map(|n| n * 7919 % 9000).collect::<Vec<_>>().par_sort()),
        at!((0..9000).map(|n| n * 7919 % 9000).collect::<Vec<_>>().par_sort_unstable()),
    ];
    for (line, text, run) in loops {
        let pool = Pool::builder().processors(2).profile(true).build().unwrap();
        pool.run(run);
        let profile = pool.profile().expect("profiled");
        let sites: Vec<_> = profile.sites.iter().filter(|site| site.forks_here()).map(|site| (&*site.file, site.line)).collect();
        assert!(!sites.is_empty(), "{text} does not fork");
        assert!(sites.iter().all(|site| *site == (file!(), line)), "{text}, line {line}, is reported as {sites:?}");
    }
}
