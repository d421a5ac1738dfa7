//! The operations, once for each library, over the same items. Each returns a number that must be the same for all.

use std::collections::{HashSet, VecDeque};
use std::num::Wrapping;

/// An item's work: steps that depend on each other. `K` of them, or `k` if `K` is 0.
#[inline(always)]
fn body<const K: usize>(mut x: u64, k: usize) -> u64 {
    for _ in 0..if K == 0 { k } else { K } {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29);
    }
    x
}

/// The number of items of a vector that somebody will look at.
fn len<T>(v: Vec<T>) -> u64 {
    std::hint::black_box(v).len() as u64
}

fn hit(x: &u64) -> bool {
    x % 3 == 0
}

/// Counts items by their last bits.
#[inline(always)]
fn count<const K: usize>(mut counts: [u64; 4], x: u64, k: usize) -> [u64; 4] {
    counts[(body::<K>(x, k) & 3) as usize] += 1;
    counts
}

fn add(a: u64, b: u64) -> u64 {
    a.wrapping_add(b)
}

/// What the compiler turns into vector instructions.
#[inline(always)]
fn vector(x: u64) -> u64 {
    x ^ (x >> 7)
}

/// The items of all sources.
pub(crate) struct Items {
    /// Random, unless the operation names another pattern.
    pub(crate) slice: Vec<u64>,
    pub(crate) deque: VecDeque<u64>,
    pub(crate) set: HashSet<u64>,
}

impl Items {
    pub(crate) fn new(n: usize, source: &str, op: &str) -> Items {
        let item = |i: u64| i.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1;
        let (n64, pattern) = (n as u64, op.split_once('/').map_or("", |(_, pattern)| pattern));
        let slice: Vec<u64> = match pattern {
            "sorted" => (0..n64).collect(),
            "reversed" => (0..n64).rev().collect(),
            "few" => (0..n64).map(|i| item(i) % 8).collect(),
            "organ-pipe" => (0..n64).map(|i| i.min(n64 - i)).collect(),
            _ => (0..n64).map(item).collect(),
        };
        let mut deque: VecDeque<u64> = VecDeque::new();
        let mut set = HashSet::new();
        if source == "deque" {
            // The items lie in two parts.
            deque.extend(&slice);
            deque.rotate_left(n / 3);
            deque.push_back(1);
        }
        if source == "set" {
            set.extend(&slice);
        }
        Items { slice, deque, set }
    }
}

pub(crate) type Run<'a> = Box<dyn FnMut() -> u64 + Send + 'a>;
pub(crate) type Contenders<'a> = Vec<(&'static str, Run<'a>)>;
pub(crate) type Paralight = std::sync::Mutex<paralight::threads::ThreadPool>;

pub(crate) const SOURCES: [&str; 5] = ["slice", "range", "vec", "deque", "set"];
pub(crate) const OPERATIONS: [&str; 23] = [
    "map-sum",
    "vector-sum",
    "map-collect",
    "filter-collect",
    "flat_map",
    "find",
    "find-early",
    "min_by",
    "reduce",
    "fold",
    "zip",
    "chunks",
    "bridge",
    "sort",
    "sort/sorted",
    "sort/reversed",
    "sort/few",
    "sort/organ-pipe",
    "sort_unstable",
    "sort_unstable/sorted",
    "sort_unstable/reversed",
    "sort_unstable/few",
    "sort_unstable/organ-pipe",
];

macro_rules! list {
    ($($name:literal => $run:expr),* $(,)?) => { vec![$(($name, Box::new(move || $run) as Run<'a>)),*] };
}

/// The contenders that all sources have. Each source is an expression per library, evaluated in each call.
macro_rules! common {
    ($op:ident, $k:ident, $steps:ident, serial: $s:expr, bombyx: $b:expr, rayon: $r:expr $(, orx: $o:expr, paralight($light:ident): $p:expr)?) => {{
        use bombyx::iter::ParallelIterator as _;
        use rayon::iter::ParallelIterator as _;
        #[allow(unused_imports)]
        use orx_parallel::Par as _;
        #[allow(unused_imports)]
        use paralight::iter::{ExactParallelSourceExt as _, ParallelIteratorExt as _};
        match $op {
            "map-sum" => list! {
                "serial" => $s.map(move |x| body::<$k>(x, $steps)).map(Wrapping).sum::<Wrapping<u64>>().0,
                "bombyx" => $b.map(move |x| body::<$k>(x, $steps)).map(Wrapping).sum::<Wrapping<u64>>().0,
                "rayon" => $r.map(move |x| body::<$k>(x, $steps)).map(Wrapping).sum::<Wrapping<u64>>().0,
                $("orx" => $o.map(move |x| body::<$k>(x, $steps)).map(Wrapping).sum::<Wrapping<u64>>().0,
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).map(move |x| body::<$k>(x, $steps)).map(Wrapping).sum::<Wrapping<u64>>().0,)?
            },
            "map-collect" => list! {
                "serial" => len($s.map(move |x| body::<$k>(x, $steps)).collect::<Vec<_>>()),
                "bombyx" => len($b.map(move |x| body::<$k>(x, $steps)).collect::<Vec<_>>()),
                "rayon" => len($r.map(move |x| body::<$k>(x, $steps)).collect::<Vec<_>>()),
                $("orx" => len($o.map(move |x| body::<$k>(x, $steps)).collect::<Vec<_>>()),
                "paralight" => len($p.map(move |x| body::<$k>(x, $steps)).with_thread_pool(&mut *$light.lock().unwrap()).collect::<Vec<_>>()),)?
            },
            "filter-collect" => list! {
                "serial" => len($s.map(move |x| body::<$k>(x, $steps)).filter(hit).collect::<Vec<_>>()),
                "bombyx" => len($b.map(move |x| body::<$k>(x, $steps)).filter(hit).collect::<Vec<_>>()),
                "rayon" => len($r.map(move |x| body::<$k>(x, $steps)).filter(hit).collect::<Vec<_>>()),
                $("orx" => len($o.map(move |x| body::<$k>(x, $steps)).filter(hit).collect::<Vec<_>>()),)?
            },
            _ => Vec::new(),
        }
    }};
}

/// What slices and ranges have, too.
macro_rules! indexed {
    ($op:ident, $k:ident, $steps:ident, $end:expr, serial: $s:expr, bombyx: $b:expr, rayon: $r:expr, orx: $o:expr, paralight($light:ident): $p:expr) => {{
        use bombyx::iter::{IndexedParallelIterator as _, ParallelIterator as _};
        use rayon::iter::{IndexedParallelIterator as _, ParallelIterator as _};
        use orx_parallel::Par as _;
        use paralight::iter::{ExactParallelSourceExt as _, ParallelIteratorExt as _, ZipableSource as _};
        let end = $end;
        match $op {
            "vector-sum" if $k > 0 => list! {
                "serial" => $s.map(vector).fold(0, add),
                "bombyx" => $b.map(vector).reduce(|| 0, add),
                "rayon" => $r.map(vector).reduce(|| 0, add),
                "orx" => $o.map(vector).reduce(add).unwrap_or(0),
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).map(vector).reduce(|| 0, add),
            },
            "flat_map" => list! {
                "serial" => $s.flat_map(move |x| [body::<$k>(x, $steps), x]).fold(0, add),
                "bombyx" => $b.flat_map_iter(move |x| [body::<$k>(x, $steps), x]).reduce(|| 0, add),
                "rayon" => $r.flat_map_iter(move |x| [body::<$k>(x, $steps), x]).reduce(|| 0, add),
                "orx" => $o.flat_map(move |x| [body::<$k>(x, $steps), x]).reduce(add).unwrap_or(0),
            },
            "find" => list! {
                "serial" => $s.find(move |&x| body::<$k>(x, $steps) == end).unwrap_or(0),
                "bombyx" => $b.find_first(move |&x| body::<$k>(x, $steps) == end).unwrap_or(0),
                "rayon" => $r.find_first(move |&x| body::<$k>(x, $steps) == end).unwrap_or(0),
                "orx" => $o.find(move |&x| body::<$k>(x, $steps) == end).unwrap_or(0),
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).find_first(move |&x| body::<$k>(x, $steps) == end).unwrap_or(0),
            },
            "find-early" => list! {
                "serial" => $s.find(move |&x| body::<$k>(x, $steps) % 16 == 3).unwrap_or(0),
                "bombyx" => $b.find_first(move |&x| body::<$k>(x, $steps) % 16 == 3).unwrap_or(0),
                "rayon" => $r.find_first(move |&x| body::<$k>(x, $steps) % 16 == 3).unwrap_or(0),
                "orx" => $o.find(move |&x| body::<$k>(x, $steps) % 16 == 3).unwrap_or(0),
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).find_first(move |&x| body::<$k>(x, $steps) % 16 == 3).unwrap_or(0),
            },
            "min_by" => list! {
                "serial" => $s.map(move |x| body::<$k>(x, $steps)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
                "bombyx" => $b.map(move |x| body::<$k>(x, $steps)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
                "rayon" => $r.map(move |x| body::<$k>(x, $steps)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
                "orx" => $o.map(move |x| body::<$k>(x, $steps)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).map(move |x| body::<$k>(x, $steps)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
            },
            "reduce" => list! {
                "serial" => $s.map(move |x| body::<$k>(x, $steps)).fold(0, u64::max),
                "bombyx" => $b.map(move |x| body::<$k>(x, $steps)).reduce(|| 0, u64::max),
                "rayon" => $r.map(move |x| body::<$k>(x, $steps)).reduce(|| 0, u64::max),
                "orx" => $o.map(move |x| body::<$k>(x, $steps)).reduce(u64::max).unwrap_or(0),
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).map(move |x| body::<$k>(x, $steps)).reduce(|| 0, u64::max),
            },
            "fold" => list! {
                "serial" => $s.fold([0; 4], move |a, x| count::<$k>(a, x, $steps))[0],
                "bombyx" => $b.fold(|| [0; 4], move |a, x| count::<$k>(a, x, $steps)).map(|a| a[0]).reduce(|| 0, add),
                "rayon" => $r.fold(|| [0; 4], move |a, x| count::<$k>(a, x, $steps)).map(|a| a[0]).reduce(|| 0, add),
                "orx" => $o.fold(|| [0; 4], move |counts: &mut [u64; 4], x| *counts = count::<$k>(*counts, x, $steps)).into_iter().map(|a| a[0]).sum(),
                "paralight" => $p.with_thread_pool(&mut *$light.lock().unwrap()).fold_per_thread(|| [0; 4], move |a, x| count::<$k>(a, x, $steps), |_| 0, |sum, a| sum + a[0]),
            },
            "zip" => list! {
                "serial" => $s.zip($s).map(move |(x, y)| body::<$k>(x, $steps) ^ y).fold(0, add),
                "bombyx" => $b.zip($b).map(move |(x, y)| body::<$k>(x, $steps) ^ y).reduce(|| 0, add),
                "rayon" => $r.zip($r).map(move |(x, y)| body::<$k>(x, $steps) ^ y).reduce(|| 0, add),
                "paralight" => ($p, $p).zip_eq().with_thread_pool(&mut *$light.lock().unwrap()).map(move |(x, y)| body::<$k>(x, $steps) ^ y).reduce(|| 0, add),
            },
            _ => common!($op, $k, $steps, serial: $s, bombyx: $b, rayon: $r, orx: $o, paralight($light): $p),
        }
    }};
}

/// The contenders of an operation over a source, the ordinary loop first. Nobody if they do not go together.
// A vector that is used up is one of the sources.
#[allow(clippy::unnecessary_to_owned)]
pub(crate) fn contenders<'a, const K: usize>(
    op: &str,
    source: &str,
    k: usize,
    items: &'a Items,
    light: &'a Paralight,
) -> Contenders<'a> {
    use bombyx::iter::{
        IntoParallelIterator as IntoBombyx, IntoParallelRefIterator as ByRefBombyx, ParallelBridge as Bombyx,
    };
    use orx_parallel::{IntoParIter as _, IterIntoParIter as _, Par as _, Parallelizable as _};
    use paralight::iter::{
        IntoExactParallelRefSource as ByRefParalight, IntoExactParallelSource as IntoParalight,
    };
    use rayon::iter::{
        IntoParallelIterator as IntoRayon, IntoParallelRefIterator as ByRefRayon, ParallelBridge as Rayon,
    };

    let v = &items.slice[..];
    match (source, op) {
        ("slice", "chunks") => {
            use bombyx::iter::ParallelIterator as _;
            use rayon::iter::ParallelIterator as _;
            let chunk = move |c: &[u64]| c.iter().copied().map(move |x| body::<K>(x, k)).fold(0, add);
            list! {
                "serial" => v.chunks(16).map(chunk).max().unwrap_or(0),
                "bombyx" => bombyx::slice::ParallelSlice::par_chunks(v, 16).map(chunk).max().unwrap_or(0),
                "rayon" => rayon::slice::ParallelSlice::par_chunks(v, 16).map(chunk).max().unwrap_or(0),
            }
        }
        ("slice", "bridge") => {
            use bombyx::iter::ParallelIterator as _;
            use rayon::iter::ParallelIterator as _;
            let arbitrary = move || v.iter().copied().filter(|&x| x != 1);
            list! {
                "serial" => arbitrary().map(move |x| body::<K>(x, k)).fold(0, add),
                "bombyx" => Bombyx::par_bridge(arbitrary()).map(move |x| body::<K>(x, k)).reduce(|| 0, add),
                "rayon" => Rayon::par_bridge(arbitrary()).map(move |x| body::<K>(x, k)).reduce(|| 0, add),
                "orx" => arbitrary().iter_into_par().map(move |x| body::<K>(x, k)).reduce(add).unwrap_or(0),
            }
        }
        ("slice", _) if op.starts_with("sort") => {
            if K == 0 {
                return Vec::new();
            }
            let stable = !op.starts_with("sort_unstable");
            macro_rules! sorted {
                ($trait:path, $stable:ident, $unstable:ident) => {{
                    #[allow(unused_imports)]
                    use $trait as _;
                    let mut w = v.to_vec();
                    if stable {
                        w.$stable()
                    } else {
                        w.$unstable()
                    }
                    w[w.len() / 2]
                }};
            }
            list! {
                "serial" => sorted!(std::iter::Iterator, sort, sort_unstable),
                "bombyx" => sorted!(bombyx::slice::ParallelSliceMut, par_sort, par_sort_unstable),
                "rayon" => sorted!(rayon::slice::ParallelSliceMut, par_sort, par_sort_unstable),
            }
        }
        ("slice", _) => indexed!(op, K, k, v.last().map_or(0, move |&x| body::<K>(x, k)),
            serial: v.iter().copied(),
            bombyx: ByRefBombyx::par_iter(v).copied(),
            rayon: ByRefRayon::par_iter(v).copied(),
            orx: v.par().copied(),
            paralight(light): ByRefParalight::par_iter(v).copied()),
        ("range", _) => {
            let n = v.len();
            // Not from 0, whose work is 0: the compiler sees that nothing is smaller, and leaves out the ordinary loop.
            indexed!(op, K, k, body::<K>(n as u64, k),
                serial: (0..n).map(|x| x as u64 + 1),
                bombyx: IntoBombyx::into_par_iter(0..n).map(|x| x as u64 + 1),
                rayon: IntoRayon::into_par_iter(0..n).map(|x| x as u64 + 1),
                orx: (0..n).into_par().map(|x| x as u64 + 1),
                paralight(light): IntoParalight::into_par_iter(0..n).map(|x| x as u64 + 1))
        }
        ("vec", _) => common!(op, K, k,
            serial: v.to_vec().into_iter(),
            bombyx: IntoBombyx::into_par_iter(v.to_vec()),
            rayon: IntoRayon::into_par_iter(v.to_vec()),
            orx: v.to_vec().into_par(),
            paralight(light): IntoParalight::into_par_iter(v.to_vec())),
        ("deque", _) => {
            let deque = &items.deque;
            common!(op, K, k,
                serial: deque.iter().copied(),
                bombyx: ByRefBombyx::par_iter(deque).copied(),
                rayon: ByRefRayon::par_iter(deque).copied(),
                orx: deque.par().copied(),
                paralight(light): ByRefParalight::par_iter(deque).copied())
        }
        ("set", _) => {
            let set = &items.set;
            common!(op, K, k,
                serial: set.iter().copied(),
                bombyx: ByRefBombyx::par_iter(set).copied(),
                rayon: ByRefRayon::par_iter(set).copied())
        }
        _ => Vec::new(),
    }
}
