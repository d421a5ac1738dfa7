//! Random chains of parallel iterators yield the same as chains of ordinary iterators. A source, up to six adapters and a
//! consumer are drawn from a seed, on pools of all schedulers, with one to sixteen processors.

mod erased;

use bombyx::prelude::*;
use bombyx::{Error, Pool, Scheduler};
use erased::Erased;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn mix(x: u64, salt: u64) -> u64 {
    (x ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

/// Ends both chains and compares.
fn end<P, S>(random: &mut Random, par: P, seq: S) -> &'static str
where
    P: ParallelIterator<Item = u64>,
    S: Iterator<Item = u64>,
{
    let salt = random.below(1000) as u64;
    match random.below(9) {
        0 => {
            assert_eq!(par.collect::<Vec<_>>(), seq.collect::<Vec<_>>());
            "collect"
        }
        1 => {
            // Sums of these do not overflow.
            assert_eq!(par.map(|x| x >> 20).sum::<u64>(), seq.map(|x| x >> 20).sum::<u64>());
            "sum"
        }
        2 => {
            let hit = |x: &u64| mix(*x, salt) % 16 == 0;
            assert_eq!(par.find_first(hit), { seq }.find(hit));
            "find_first"
        }
        3 => {
            let hit = |x: &u64| mix(*x, salt) % 16 == 0;
            assert_eq!(par.find_last(hit), seq.filter(hit).last());
            "find_last"
        }
        4 => {
            assert_eq!(par.min_by_key(|x| x % 64), seq.min_by_key(|x| x % 64));
            "min_by_key"
        }
        5 => {
            assert_eq!(par.max_by_key(|x| x % 64), seq.max_by_key(|x| x % 64));
            "max_by_key"
        }
        6 => {
            let (a, b): (Vec<_>, Vec<_>) = par.partition(|x| x % 3 == 0);
            assert_eq!((a, b), seq.partition(|x| x % 3 == 0));
            "partition"
        }
        7 => {
            // Concatenation is associative but not commutative.
            let folded = par
                .fold(Vec::new, |mut v, x| {
                    v.push(x);
                    v
                })
                .reduce(Vec::new, |mut a, mut b| {
                    a.append(&mut b);
                    a
                });
            assert_eq!(folded, seq.collect::<Vec<_>>());
            "fold"
        }
        _ => {
            let (a, b): (Vec<u64>, Vec<u64>) = par.map(|x| (x, !x)).unzip();
            assert_eq!((a, b), seq.map(|x| (x, !x)).unzip());
            "unzip"
        }
    }
}

/// [`end`] with fewer consumers, so that there are fewer types to compile.
fn end_in_order<P, S>(random: &mut Random, par: P, seq: S) -> &'static str
where
    P: ParallelIterator<Item = u64>,
    S: Iterator<Item = u64>,
{
    let listed: Vec<u64> = seq.collect();
    if random.below(2) == 0 {
        assert_eq!(par.collect::<Vec<_>>(), listed);
        return "collect";
    }
    let wanted = listed.get(random.below(listed.len().max(1))).copied();
    assert_eq!(par.find_first(|&x| Some(x) == wanted), wanted);
    "find_first"
}

/// What follows an adapter.
trait Then {
    fn then<P, S>(self, random: &mut Random, par: P, seq: S) -> String
    where
        P: ParallelIterator<Item = u64>,
        S: Iterator<Item = u64>;
}

/// A consumer follows.
struct End;

impl Then for End {
    fn then<P, S>(self, random: &mut Random, par: P, seq: S) -> String
    where
        P: ParallelIterator<Item = u64>,
        S: Iterator<Item = u64>,
    {
        end(random, par, seq).to_owned()
    }
}

/// One of few consumers follows.
struct EndInOrder;

impl Then for EndInOrder {
    fn then<P, S>(self, random: &mut Random, par: P, seq: S) -> String
    where
        P: ParallelIterator<Item = u64>,
        S: Iterator<Item = u64>,
    {
        end_in_order(random, par, seq).to_owned()
    }
}

/// Another adapter follows, then one of few consumers.
struct Again;

impl Then for Again {
    fn then<P, S>(self, random: &mut Random, par: P, seq: S) -> String
    where
        P: ParallelIterator<Item = u64>,
        S: Iterator<Item = u64>,
    {
        unindexed(random, par, seq, EndInOrder)
    }
}

/// One adapter that may change the number of items.
fn unindexed<P, S>(random: &mut Random, par: P, seq: S, then: impl Then) -> String
where
    P: ParallelIterator<Item = u64>,
    S: Iterator<Item = u64>,
{
    let salt = random.below(1000) as u64;
    let keep = move |x: &u64| mix(*x, salt) % 3 != 0;
    match random.below(5) {
        0 => "filter ".to_owned() + &then.then(random, par.filter(keep), seq.filter(keep)),
        1 => {
            let some = move |x: u64| keep(&x).then_some(!x);
            "filter_map ".to_owned() + &then.then(random, par.filter_map(some), seq.filter_map(some))
        }
        2 => {
            let many = move |x: u64| (0..mix(x, salt) % 4).map(move |i| x ^ i);
            "flat_map_iter ".to_owned() + &then.then(random, par.flat_map_iter(many), seq.flat_map(many))
        }
        3 => {
            let many = move |x: u64| (0..mix(x, salt) % 4).into_par_iter().map(move |i| x ^ i);
            let serial = move |x: u64| (0..mix(x, salt) % 4).map(move |i| x ^ i);
            "flat_map ".to_owned() + &then.then(random, par.flat_map(many), seq.flat_map(serial))
        }
        _ => "inspect ".to_owned() + &then.then(random, par.inspect(|_| ()), seq),
    }
}

/// What follows an adapter that keeps positions.
trait ThenIndexed {
    fn then<P>(self, random: &mut Random, par: P, seq: Vec<u64>) -> String
    where
        P: IndexedParallelIterator<Item = u64> + 'static;
}

impl ThenIndexed for EndInOrder {
    fn then<P>(self, random: &mut Random, par: P, seq: Vec<u64>) -> String
    where
        P: IndexedParallelIterator<Item = u64> + 'static,
    {
        end_in_order(random, par, seq.into_iter()).to_owned()
    }
}

/// So many further adapters that keep positions follow, then others.
struct More(usize);

impl ThenIndexed for More {
    fn then<P>(self, random: &mut Random, par: P, seq: Vec<u64>) -> String
    where
        P: IndexedParallelIterator<Item = u64> + 'static,
    {
        long(random, Erased::new(par), seq, self.0)
    }
}

/// A chain of `more` adapters that keep positions, up to two others, and a consumer.
fn long(random: &mut Random, par: Erased, seq: Vec<u64>, more: usize) -> String {
    if more > 0 {
        return indexed(random, par, seq, More(more - 1));
    }
    match random.below(4) {
        0 => end(random, par, seq.into_iter()).to_owned(),
        1 => unindexed(random, par, seq.into_iter(), End),
        _ => unindexed(random, par, seq.into_iter(), Again),
    }
}

/// An adapter that keeps positions.
fn indexed<P>(random: &mut Random, par: P, seq: Vec<u64>, then: impl ThenIndexed) -> String
where
    P: IndexedParallelIterator<Item = u64> + 'static,
{
    let len = seq.len();
    let n = random.below(len + 2);
    let small = 1 + random.below(7);
    let other: Vec<u64> = (0..n as u64).collect();
    assert_eq!(par.len(), len);
    match random.below(12) {
        0 => {
            let mapped = seq.into_iter().map(|x| mix(x, 7)).collect();
            "map ".to_owned() + &then.then(random, par.map(|x| mix(x, 7)), mapped)
        }
        1 => {
            let add = |(i, x): (usize, u64)| x ^ i as u64;
            let counted = seq.into_iter().enumerate().map(add).collect();
            "enumerate ".to_owned() + &then.then(random, par.enumerate().map(add), counted)
        }
        2 => "rev ".to_owned() + &then.then(random, par.rev(), seq.into_iter().rev().collect()),
        3 => "skip ".to_owned() + &then.then(random, par.skip(n), seq.into_iter().skip(n).collect()),
        4 => "take ".to_owned() + &then.then(random, par.take(n), seq.into_iter().take(n).collect()),
        5 => {
            let steps = seq.into_iter().step_by(small).collect();
            "step_by ".to_owned() + &then.then(random, par.step_by(small), steps)
        }
        6 => {
            let both = |(a, b): (u64, u64)| a ^ mix(b, 3);
            let zipped = seq.into_iter().zip(other.iter().copied()).map(both).collect();
            "zip ".to_owned() + &then.then(random, par.zip(other).map(both), zipped)
        }
        7 => {
            let chained = seq.into_iter().chain(other.iter().copied()).collect();
            "chain ".to_owned() + &then.then(random, par.chain(other), chained)
        }
        8 => {
            let sum = |chunk: &[u64]| chunk.iter().fold(0, |a, &b| mix(a ^ b, 1));
            let sums = seq.chunks(small).map(sum).collect();
            let chunks = par.chunks(small).map(move |chunk| sum(&chunk));
            "chunks ".to_owned() + &then.then(random, chunks, sums)
        }
        9 => {
            let mut turns = Vec::new();
            let (mut a, mut b) = (seq.into_iter(), other.iter().copied());
            loop {
                let (x, y) = (a.next(), b.next());
                turns.extend(x.into_iter().chain(y));
                if x.is_none() && y.is_none() {
                    break;
                }
            }
            "interleave ".to_owned() + &then.then(random, par.interleave(other), turns)
        }
        10 => {
            let mut between = Vec::new();
            for x in seq {
                if !between.is_empty() {
                    between.push(1);
                }
                between.push(x);
            }
            "intersperse ".to_owned() + &then.then(random, par.intersperse(1), between)
        }
        _ => "max_len ".to_owned() + &then.then(random, par.with_max_len(small * 10), seq),
    }
}

/// A source, and what follows.
fn pipeline(random: &mut Random) -> String {
    let len = [0, 1, 2, 10, 100, 1000, 5000][random.below(7)] + random.below(5);
    let numbers: Vec<u64> = (0..len as u64).map(|i| mix(i, 5) >> 32).collect();
    match random.below(20) {
        0 => "vec ".to_owned() + &indexed(random, numbers.clone().into_par_iter(), numbers, EndInOrder),
        1 => "slice ".to_owned() + end_in_order(random, numbers.par_iter().copied(), numbers.iter().copied()),
        2 => {
            let firsts = numbers.chunks(3).map(|chunk| chunk[0]);
            "par_chunks ".to_owned()
                + end_in_order(random, numbers.par_chunks(3).map(|chunk| chunk[0]), firsts)
        }
        3 => {
            let n = random.below(len + 1);
            let mut deque: std::collections::VecDeque<u64> = numbers.iter().copied().collect();
            deque.rotate_left(n);
            "deque ".to_owned() + end_in_order(random, deque.par_iter().copied(), deque.iter().copied())
        }
        4 => {
            let range = 5..len as u64;
            "range ".to_owned() + end_in_order(random, range.clone().into_par_iter(), range)
        }
        _ => {
            let more = 1 + random.below(4);
            "any ".to_owned() + &long(random, Erased::new(numbers.clone().into_par_iter()), numbers, more)
        }
    }
}

#[test]
fn random_pipelines() {
    let seed = std::env::var("BOMBYX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let shapes =
        std::env::var("BOMBYX_SHAPES").ok().and_then(|shapes| shapes.parse().ok()).unwrap_or(4000usize);
    println!("BOMBYX_SEED={seed} BOMBYX_SHAPES={shapes}");
    let mut random = Random(seed);
    let schedulers: Vec<Scheduler> = SCHEDULERS
        .iter()
        .map(|name| name.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    let rounds = schedulers.len() * 4;
    for round in 0..rounds {
        let processors = [1, 2, 3 + random.below(5), 8 + random.below(9)][round % 4];
        let scheduler = schedulers[round / 4];
        let pool = match Pool::builder().processors(processors).scheduler(scheduler).build() {
            Ok(pool) => pool,
            Err(error @ (Error::Pin(_) | Error::OneCpu)) => {
                eprintln!("{scheduler} is left out: {error}");
                continue;
            }
            Err(error) => panic!("{scheduler}: {error}"),
        };
        for shape in 0..shapes.div_ceil(rounds) {
            let seed = random.below(usize::MAX) as u64;
            println!("{scheduler}, {processors} processors, shape {shape}, seed {seed}");
            seen.insert(pool.run(|| pipeline(&mut Random(seed))));
        }
    }
    println!("{} different chains", seen.len());
    // Of four chains, three are long, and few of these occur twice.
    assert!(seen.len() > shapes / 2, "only {} different chains of {shapes}", seen.len());
}

const SCHEDULERS: [&str; 10] = [
    "work-stealing",
    "heterogeneous:1.25",
    "dfdeques:inf",
    "dfdeques:64k",
    "read-write",
    "read-write-steals",
    "private-cas",
    "fifo",
    "busy-leaves",
    "depth-first:64k",
];
