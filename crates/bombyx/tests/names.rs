//! Every name that programs written for rayon use exists, and does what it says.

use bombyx::iter;
use bombyx::prelude::*;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::sync::Arc;

/// Sources all have the same items, so one function can look at them.
fn same<T: Send + Ord + std::fmt::Debug>(par: impl ParallelIterator<Item = T>, seq: impl Iterator<Item = T>) {
    let (mut par, mut seq): (Vec<T>, Vec<T>) = (par.collect(), seq.collect());
    par.sort();
    seq.sort();
    assert_eq!(par, seq);
}

#[test]
fn ranges() {
    macro_rules! ranges {
        ($($t:ty)*) => {$(
            same((3 as $t..100).into_par_iter(), 3 as $t..100);
            same((3 as $t..=100).into_par_iter(), 3 as $t..=100);
        )*};
    }
    ranges!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
    same(('a'..'é').into_par_iter(), 'a'..'é');
    same(('a'..='é').into_par_iter(), 'a'..='é');
}

#[test]
fn collections() {
    macro_rules! collections {
        ($($collection:expr),* $(,)?) => {$(
            let collection = $collection;
            same(collection.par_iter(), collection.iter());
            same(collection.clone().into_par_iter(), collection.into_iter());
        )*};
    }
    macro_rules! changed {
        ($($collection:expr),* $(,)?) => {$(
            let (mut one, mut other) = ($collection, $collection);
            same(one.par_iter_mut(), other.iter_mut());
        )*};
    }
    let v: Vec<u32> = (0..50).collect();
    let pairs = || v.iter().map(|x| (x % 20, *x));
    collections!(
        v.clone(),
        [3, 1, 2],
        Some(7),
        VecDeque::from(v.clone()),
        BTreeSet::from_iter(v.clone()),
        HashSet::<u32>::from_iter(v.clone()),
        BTreeMap::from_iter(pairs()),
        HashMap::<u32, u32>::from_iter(pairs()),
        BinaryHeap::from(v.clone()),
        LinkedList::from_iter(v.clone()),
    );
    changed!(
        v.clone(),
        [3, 1, 2],
        Some(7),
        VecDeque::from(v.clone()),
        BTreeMap::from_iter(pairs()),
        HashMap::<u32, u32>::from_iter(pairs()),
        LinkedList::from_iter(v.clone()),
    );
    let mut fine: Result<u32, ()> = Ok(7);
    same(fine.par_iter(), fine.iter());
    same(fine.par_iter_mut(), [7].iter_mut());
    same(fine.into_par_iter(), [7].into_iter());
    same(v[..].par_iter(), v.iter());
    same(Box::<[u32]>::from(&v[..]).into_par_iter(), v.iter().copied());
}

#[test]
fn drains() {
    let v: Vec<u32> = (0..50).collect();
    same(v.clone().par_drain(..10), 0..10);
    same(VecDeque::from(v.clone()).par_drain(10..), 10..50);
    same(HashSet::<u32>::from_iter(v.clone()).par_drain(), 0..50);
    same(HashMap::<u32, u32>::from_iter(v.iter().map(|x| (*x, *x))).par_drain().map(|(k, _)| k), 0..50);
    same(BinaryHeap::from(v).par_drain(), 0..50);
    same("hello".to_owned().par_drain(1..3), "el".chars());
}

#[test]
fn strings() {
    let text = "one two\nthree  four\r\nfive";
    same(text.par_chars(), text.chars());
    same(text.par_bytes(), text.bytes());
    same(text.par_lines(), text.lines());
    same(text.par_char_indices(), text.char_indices());
    same(text.par_encode_utf16(), text.encode_utf16());
    same(text.par_split(' '), text.split(' '));
    same(text.par_split_inclusive(' '), text.split_inclusive(' '));
    same(text.par_split_terminator('\n'), text.split_terminator('\n'));
    same(text.par_split_whitespace(), text.split_whitespace());
    same(text.par_split_ascii_whitespace(), text.split_ascii_whitespace());
    same(text.par_matches('e'), text.matches('e'));
    same(text.par_match_indices('e'), text.match_indices('e'));
}

#[test]
fn slices() {
    let v: Vec<u32> = (0..50).map(|x| x * 7 % 50).collect();
    let (mut one, mut other) = (v.clone(), v.clone());
    same(v.par_chunks(7), v.chunks(7));
    same(v.par_chunks_exact(7), v.chunks_exact(7));
    same(one.par_chunks_mut(7), other.chunks_mut(7));
    same(one.par_chunks_exact_mut(7), other.chunks_exact_mut(7));
    same(v.par_rchunks(7), v.rchunks(7));
    same(v.par_rchunks_exact(7), v.rchunks_exact(7));
    same(one.par_rchunks_mut(7), other.rchunks_mut(7));
    same(one.par_rchunks_exact_mut(7), other.rchunks_exact_mut(7));
    same(v.par_windows(7), v.windows(7));
    same(v.par_split(|x| x % 3 == 0), v.split(|x| x % 3 == 0));
    same(v.par_split_inclusive(|x| x % 3 == 0), v.split_inclusive(|x| x % 3 == 0));
    same(one.par_split_mut(|x| x % 3 == 0), other.split_mut(|x| x % 3 == 0));
    same(one.par_split_inclusive_mut(|x| x % 3 == 0), other.split_inclusive_mut(|x| x % 3 == 0));
    same(v.par_chunk_by(|a, b| a < b), v.chunk_by(|a, b| a < b));
    same(one.par_chunk_by_mut(|a, b| a < b), other.chunk_by_mut(|a, b| a < b));
}

#[test]
fn sorts() {
    let v: Vec<u32> = (0..9000).map(|x| x * 7919 % 9001).collect();
    let sorted = |sort: fn(&mut Vec<u32>)| {
        let mut w = v.clone();
        sort(&mut w);
        assert!(w.is_sorted());
    };
    sorted(|v| v.par_sort());
    sorted(|v| v.par_sort_by(|a, b| a.cmp(b)));
    sorted(|v| v.par_sort_by_key(|x| *x));
    sorted(|v| v.par_sort_by_cached_key(|x| *x));
    sorted(|v| v.par_sort_unstable());
    sorted(|v| v.par_sort_unstable_by(|a, b| a.cmp(b)));
    sorted(|v| v.par_sort_unstable_by_key(|x| *x));
}

#[test]
fn adapters() {
    let v: Vec<u32> = (0..100).collect();
    let par = || v.par_iter().copied();
    let seq = || v.iter().copied();
    same(par().map(|x| x + 1), seq().map(|x| x + 1));
    same(par().map_with(1, |one, x| x + *one), seq().map(|x| x + 1));
    same(par().map_init(|| 1, |one, x| x + *one), seq().map(|x| x + 1));
    same(par().filter(|x| x % 3 == 0), seq().filter(|x| x % 3 == 0));
    same(par().filter_map(|x| x.checked_sub(5)), seq().filter_map(|x| x.checked_sub(5)));
    same(par().flat_map(|x| 0..x % 4), seq().flat_map(|x| 0..x % 4));
    same(par().flat_map_iter(|x| 0..x % 4), seq().flat_map(|x| 0..x % 4));
    same(par().map(|x| vec![x; 2]).flatten(), seq().flat_map(|x| vec![x; 2]));
    same(par().map(|x| vec![x; 2]).flatten_iter(), seq().flat_map(|x| vec![x; 2]));
    assert_eq!(par().fold(|| 0, |a, x| a + x).sum::<u32>(), 4950);
    assert_eq!(par().fold_with(0, |a, x| a + x).sum::<u32>(), 4950);
    let checked = |a: u32, x: u32| a.checked_add(x);
    assert_eq!(par().try_fold(|| 0, checked).try_reduce(|| 0, checked), Some(4950));
    assert_eq!(par().try_fold_with(0, checked).try_reduce(|| 0, checked), Some(4950));
    same(par().enumerate(), seq().enumerate());
    same(par().zip(par().rev()), seq().zip(seq().rev()));
    same(par().zip_eq(par()), seq().zip(seq()));
    same((par(), par(), par()).into_par_iter(), seq().map(|x| (x, x, x)));
    same(par().chain(par()), seq().chain(seq()));
    same(par().skip(3).take(50).step_by(7), seq().skip(3).take(50).step_by(7));
    assert_eq!(par().skip_any(3).count(), 97);
    assert_eq!(par().take_any(3).count(), 3);
    assert!(par().skip_any_while(|x| *x < 3).count() >= 97);
    assert!(par().take_any_while(|x| *x < 3).count() <= 3);
    same(par().interleave(par()), seq().chain(seq()));
    same(par().interleave_shortest(par()), seq().chain(seq()));
    assert_eq!(par().intersperse(9).count(), 199);
    same(par().inspect(|x| assert!(*x < 100)), seq());
    same(par().update(|x| *x += 1), 1..101);
    same(v.par_iter().cloned(), seq());
    same(par().chunks(7), v.chunks(7).map(<[u32]>::to_vec));
    same(par().fold_chunks(7, || 0, |a, x| a + x), v.chunks(7).map(|c| c.iter().sum()));
    same(par().fold_chunks_with(7, 0, |a, x| a + x), v.chunks(7).map(|c| c.iter().sum()));
    assert!(par().map(|x| (x < 50).then_some(x)).while_some().count() <= 50);
    same(par().panic_fuse(), seq());
    same(par().with_min_len(3).with_max_len(7), seq());
    same(par().by_uniform_blocks(7), seq());
    same(par().by_exponential_blocks(), seq());
    same(par().positions(|x| x > 90), 91..100);
    same(
        v.par_iter()
            .map(Some)
            .map(|x| x.map_or_else(|| iter::Either::Left(0), |x| iter::Either::Right(*x)))
            .map(|e| e.right_or(0)),
        seq(),
    );
}

#[test]
fn consumers() {
    let v: Vec<u32> = (0..100).collect();
    let par = || v.par_iter().copied();
    let fine = |_| Some(());
    par().for_each(|_| ());
    par().for_each_with((), |(), _| ());
    par().for_each_init(|| (), |(), _| ());
    assert_eq!(par().try_for_each(fine), Some(()));
    assert_eq!(par().try_for_each_with((), |(), x| fine(x)), Some(()));
    assert_eq!(par().try_for_each_init(|| (), |(), x| fine(x)), Some(()));
    assert_eq!(par().reduce(|| 0, |a, b| a + b), 4950);
    assert_eq!(par().reduce_with(|a, b| a + b), Some(4950));
    assert_eq!(par().map(Some).try_reduce(|| 0, u32::checked_add), Some(4950));
    assert_eq!(par().map(Some).try_reduce_with(u32::checked_add), Some(Some(4950)));
    assert_eq!((par().sum::<u32>(), par().skip(1).take(5).product::<u32>()), (4950, 120));
    assert_eq!((par().min(), par().max()), (Some(0), Some(99)));
    assert_eq!((par().min_by(|a, b| b.cmp(a)), par().max_by(|a, b| b.cmp(a))), (Some(99), Some(0)));
    assert_eq!((par().min_by_key(|x| 99 - x), par().max_by_key(|x| 99 - x)), (Some(99), Some(0)));
    assert_eq!((par().count(), par().len()), (100, 100));
    assert!(par().any(|x| x == 7) && par().all(|x| x < 100));
    assert_eq!(par().find_any(|x| *x == 7), Some(7));
    assert_eq!((par().find_first(|x| *x > 7), par().find_last(|x| *x < 7)), (Some(8), Some(6)));
    let over = |x: u32| x.checked_sub(97);
    assert!(par().find_map_any(over).is_some());
    assert_eq!((par().find_map_first(over), par().find_map_last(over)), (Some(0), Some(2)));
    assert_eq!(par().position_any(|x| x == 7), Some(7));
    assert_eq!((par().position_first(|x| x > 7), par().position_last(|x| x < 7)), (Some(8), Some(6)));
    assert!(par().cmp(par()).is_eq() && par().partial_cmp(par()).unwrap().is_eq());
    assert!(par().eq(par()) && !par().ne(par()) && par().le(par()) && par().ge(par()));
    assert!(par().lt(par().map(|x| x + 1)) && par().map(|x| x + 1).gt(par()));
}

#[test]
fn collects() {
    let v: Vec<u32> = (0..100).collect();
    let par = || v.par_iter().copied();
    let pairs = || par().map(|x| (x, x));
    let (small, large): (Vec<u32>, Vec<u32>) = par().partition(|x| *x < 30);
    assert_eq!((small.len(), large.len()), (30, 70));
    let either = |x| if x < 30 { iter::Either::Left(x) } else { iter::Either::Right(()) };
    let (small, large): (Vec<u32>, Vec<()>) = par().partition_map(either);
    assert_eq!((small.len(), large.len()), (30, 70));
    let (a, b): (Vec<u32>, BTreeSet<u32>) = pairs().unzip();
    assert!(a.iter().eq(&b));
    let (a, b): (Vec<u32>, HashSet<u32>) = pairs().collect();
    assert_eq!(a.len(), b.len());
    assert_eq!(par().collect::<Vec<_>>(), v);
    assert_eq!(par().collect::<Box<[_]>>()[..], v);
    assert_eq!(par().collect::<Arc<[_]>>()[..], v);
    assert_eq!(par().collect::<std::rc::Rc<[_]>>()[..], v);
    assert_eq!(par().collect::<VecDeque<_>>(), v);
    assert_eq!(par().collect::<LinkedList<_>>().len(), 100);
    assert_eq!(par().collect::<BinaryHeap<_>>().len(), 100);
    assert_eq!(par().collect::<BTreeSet<_>>().len(), 100);
    assert_eq!(pairs().collect::<BTreeMap<_, _>>().len(), 100);
    assert_eq!(pairs().collect::<HashMap<_, _>>().len(), 100);
    assert_eq!("hello".par_chars().collect::<String>(), "hello");
    assert_eq!(["a", "b"].par_iter().copied().collect::<String>(), "ab");
    assert_eq!(par().map(|x| (x < 100).then_some(x)).collect::<Option<Vec<_>>>(), Some(v.clone()));
    assert_eq!(par().map(|x| if x == 7 { Err(x) } else { Ok(x) }).collect::<Result<Vec<_>, _>>(), Err(7));
    par().map(|_| ()).collect::<()>();
    let (mut one, mut other) = (vec![1], vec![2]);
    par().collect_into_vec(&mut one);
    assert_eq!(one, v);
    pairs().unzip_into_vecs(&mut one, &mut other);
    assert_eq!((&one, &other), (&v, &v));
    assert_eq!(par().filter(|x| x % 2 == 0).collect_vec_list().iter().map(Vec::len).sum::<usize>(), 50);
    one.par_extend(par());
    assert_eq!(one.len(), 200);
    assert_eq!(iter::from_par_iter::<Vec<u32>, _>(par()), v);
}

/// Written as a library would.
fn generic<I, C>(items: I) -> C
where
    I: IntoParallelIterator<Iter: IndexedParallelIterator>,
    C: FromParallelIterator<I::Item> + ParallelExtend<I::Item>,
{
    items.into_par_iter().collect()
}

#[test]
fn sources() {
    assert_eq!(iter::empty::<u32>().count(), 0);
    assert_eq!(iter::once(7).collect::<Vec<_>>(), [7]);
    assert_eq!(iter::repeat(7).take(3).collect::<Vec<_>>(), [7; 3]);
    assert_eq!(iter::repeatn(7, 3).chain(iter::repeat_n(7, 3)).collect::<Vec<_>>(), [7; 6]);
    assert_eq!(iter::split(8, |n| if n > 1 { (n / 2, Some(n - n / 2)) } else { (n, None) }).sum::<u32>(), 8);
    let children = |n: &u32| [2 * n, 2 * n + 1].into_iter().filter(|c| *c < 8);
    same(iter::walk_tree(1, children), 1..8);
    assert_eq!(iter::walk_tree_prefix(1, children).collect::<Vec<_>>(), [1, 2, 4, 5, 3, 6, 7]);
    assert_eq!(iter::walk_tree_postfix(1, children).collect::<Vec<_>>(), [4, 5, 2, 6, 7, 3, 1]);
    same((0..100).par_bridge(), 0..100);
    assert_eq!(generic::<_, Vec<u32>>(0..3u32), [0, 1, 2]);
}

#[test]
fn either_is_what_it_holds() {
    for left in [true, false] {
        let par = || {
            if left {
                iter::Either::Left((0..99u32).into_par_iter())
            } else {
                iter::Either::Right(vec![7; 99].into_par_iter())
            }
        };
        let seq = || (0..99).map(|n| if left { n } else { 7 });
        assert_eq!((par().len(), par().opt_len()), (99, Some(99)));
        assert!(par().collect::<Vec<_>>().into_iter().eq(seq()));
        assert!(
            par()
                .rev()
                .zip(0..50u32)
                .map(|(a, _)| a)
                .collect::<Vec<_>>()
                .into_iter()
                .eq(seq().rev().take(50))
        );
        assert_eq!((0..9).into_par_iter().flat_map(|_| par()).sum::<u32>(), 9 * seq().sum::<u32>());
        let mut held =
            if left { iter::Either::Left(vec![5]) } else { iter::Either::Right(BTreeSet::from([5])) };
        held.par_extend(3..5u32);
        assert_eq!(
            held.either(|vec| vec, |set| set.into_iter().rev().collect()),
            if left { [5, 3, 4] } else { [5, 4, 3] }
        );
    }
}

/// The crate root of rayon, as far as other tests do not use it.
#[test]
fn roots() {
    assert_eq!((bombyx::yield_now(), bombyx::yield_local()), (None, None));
    let inside =
        bombyx::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(bombyx::yield_local);
    assert_eq!(inside, Some(bombyx::Yield::Idle));
    let nothing: () = bombyx::threads::spawn(|| ());
    bombyx::threads::scope(|_: &bombyx::threads::Scope<'_>| nothing);
}
