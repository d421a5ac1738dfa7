//! Builds a decision tree from instances with continuous attributes (as C4.5 does): at each node every attribute is
//! sorted in parallel to find the best split, the instances are divided, and both sides are built in parallel. The
//! tree is as uneven as the data.

use crate::inputs::Rng;
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par, Serial};

pub(crate) static DECISION_TREE: Entry = Entry {
    name: "decision-tree",
    about: "decision-tree builder on continuous attributes",
    suite: Suite::DfDeques,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let data = Data::generate(size.pick(600, 133_999, 400_000), seed);
        prepared(DecisionTree {
            data,
            grain: size.pick(grain.pick(100, 20), grain.pick(2000, 4), grain.pick(2000, 4)),
            tree: None,
        })
    },
};

const ATTRIBUTES: usize = 6;
const CLASSES: usize = 3;
/// Nodes with fewer instances are not split.
const SMALLEST_SPLIT: usize = 8;
/// One label in this many is wrong.
const NOISE: u64 = 20;

struct DecisionTree {
    data: Data,
    /// Nodes with at most this many instances are built serially.
    grain: usize,
    tree: Option<Node>,
}

/// Instances, column by column.
struct Data {
    values: [Vec<f32>; ATTRIBUTES],
    classes: Vec<u8>,
}

type Tally = [u32; CLASSES];

enum Node {
    Leaf(Tally),
    /// Instances whose attribute is below the threshold go left.
    Split {
        attribute: usize,
        threshold: f32,
        children: Box<[Node; 2]>,
    },
}

/// The best split of one attribute; a higher score is better.
#[derive(Clone, Copy)]
struct Candidate {
    score: f64,
    attribute: usize,
    threshold: f32,
}

impl Data {
    /// Classes follow a hidden rule on the first four attributes, apart from the noise.
    fn generate(n: usize, seed: u64) -> Data {
        let mut rng = Rng::new(seed);
        let mut data = Data { values: Default::default(), classes: Vec::with_capacity(n) };
        for _ in 0..n {
            let x: [f32; ATTRIBUTES] = std::array::from_fn(|a| match a % 3 {
                0 => rng.unit() as f32,
                1 => rng.exponential() as f32,
                _ => rng.below(100) as f32,
            });
            let class = if rng.below(NOISE) == 0 {
                rng.below(CLASSES as u64) as u8
            } else if x[0] * x[0] + x[3] < 0.8 {
                u8::from(x[1] > 0.5)
            } else {
                u8::from(x[2] < 30.0) + u8::from(x[1] * x[3] > 0.6)
            };
            data.values.iter_mut().zip(x).for_each(|(column, x)| column.push(x));
            data.classes.push(class);
        }
        data
    }

    fn tally(&self, instances: &[u32]) -> Tally {
        let mut tally = [0; CLASSES];
        instances.iter().for_each(|&i| tally[usize::from(self.classes[i as usize])] += 1);
        tally
    }

    /// What [`best_split`](Self::best_split) reads.
    fn touch<F: Fork>(&self, instances: &[u32], attribute: usize) {
        if F::TOUCHES {
            F::touch(instances);
            for &i in instances {
                F::touch(&self.values[attribute][i as usize..][..1]);
                F::touch(&self.classes[i as usize..][..1]);
            }
        }
    }

    /// The split of `instances` by `attribute` with the least Gini impurity, if any two values differ.
    fn best_split(&self, instances: &[u32], attribute: usize, total: &Tally) -> Option<Candidate> {
        let column = &self.values[attribute];
        let mut sorted: Vec<(f32, u8)> =
            instances.iter().map(|&i| (column[i as usize], self.classes[i as usize])).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = [0; CLASSES];
        let mut best: Option<Candidate> = None;
        for (i, pair) in sorted.windows(2).enumerate() {
            left[usize::from(pair[0].1)] += 1;
            if pair[0].0 < pair[1].0 {
                let right: Tally = std::array::from_fn(|c| total[c] - left[c]);
                let score = purity(&left, i + 1) + purity(&right, sorted.len() - i - 1);
                if best.is_none_or(|best| score > best.score) {
                    best = Some(Candidate { score, attribute, threshold: pair[1].0 });
                }
            }
        }
        best
    }
}

/// The sum of squares of a tally over its size: what minimal Gini impurity maximizes over both sides.
fn purity(tally: &Tally, size: usize) -> f64 {
    tally.iter().map(|&count| u64::from(count) * u64::from(count)).sum::<u64>() as f64 / size as f64
}

/// The better candidate; the lower attribute if they tie.
fn better(a: Option<Candidate>, b: Option<Candidate>) -> Option<Candidate> {
    match (a, b) {
        (Some(x), Some(y)) => Some(if y.score > x.score { y } else { x }),
        _ => a.or(b),
    }
}

fn build<F: Fork>(fork: &mut F, data: &Data, instances: &[u32], grain: usize) -> Node {
    if instances.len() <= grain {
        (0..ATTRIBUTES).for_each(|attribute| data.touch::<F>(instances, attribute));
        grow(&mut Serial, data, instances, grain)
    } else {
        grow(fork, data, instances, grain)
    }
}

fn grow<F: Fork>(fork: &mut F, data: &Data, instances: &[u32], grain: usize) -> Node {
    let tally = data.tally(instances);
    let pure = tally.iter().any(|&count| count as usize == instances.len());
    if pure || instances.len() < SMALLEST_SPLIT {
        return Node::Leaf(tally);
    }
    // Each attribute sorts a copy. All blocks are announced, as by the `malloc` of the paper's library (Narlikar §5).
    fork.reserve(instances.len() * size_of::<(f32, u8)>());
    let split = |a: std::ops::Range<usize>| {
        data.touch::<F>(instances, a.start);
        data.best_split(instances, a.start, &tally)
    };
    let best = fork.map_reduce(0..ATTRIBUTES, 1, &split, &better);
    let Some(Candidate { score, attribute, threshold }) = best else {
        return Node::Leaf(tally);
    };
    if score <= purity(&tally, instances.len()) {
        return Node::Leaf(tally);
    }
    let column = &data.values[attribute];
    let (left, right) = fork.join(
        |fork| {
            fork.reserve(size_of_val(instances));
            fork.filter(instances, grain, &|&i| column[i as usize] < threshold)
        },
        |fork| {
            fork.reserve(size_of_val(instances));
            fork.filter(instances, grain, &|&i| column[i as usize] >= threshold)
        },
    );
    let (a, b) = fork.join(|fork| build(fork, data, &left, grain), |fork| build(fork, data, &right, grain));
    Node::Split { attribute, threshold, children: Box::new([a, b]) }
}

impl Node {
    /// Appends a description of the tree: the splits and tallies in preorder.
    fn describe(&self, words: &mut Vec<u64>) {
        match self {
            Node::Leaf(tally) => words.extend(tally.iter().map(|&count| u64::from(count))),
            Node::Split { attribute, threshold, children } => {
                words.extend([1 << 32 | *attribute as u64, u64::from(threshold.to_bits())]);
                children.iter().for_each(|child| child.describe(words));
            }
        }
    }

    /// Sends `instances` down the tree and counts those whose class is the majority at their leaf.
    fn recount(&self, data: &Data, instances: &[u32]) -> Result<u32, String> {
        match self {
            Node::Leaf(tally) => {
                ensure(*tally == data.tally(instances), || "a leaf has a wrong tally".to_string())?;
                Ok(tally.iter().copied().max().unwrap_or(0))
            }
            Node::Split { attribute, threshold, children } => {
                let (left, right): (Vec<u32>, Vec<u32>) =
                    instances.iter().partition(|&&i| data.values[*attribute][i as usize] < *threshold);
                ensure(!left.is_empty() && !right.is_empty(), || "a split has an empty side".to_string())?;
                Ok(children[0].recount(data, &left)? + children[1].recount(data, &right)?)
            }
        }
    }
}

impl Kernel for DecisionTree {
    fn input(&self) -> String {
        format!("{} instances, serial up to {}", self.data.classes.len(), self.grain)
    }

    fn reset(&mut self) {
        self.tree = None;
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let instances: Vec<u32> = (0..self.data.classes.len() as u32).collect();
        self.tree = Some(build(fork, &self.data, &instances, self.grain));
    }

    fn checksum(&self) -> Checksum {
        let mut words = Vec::new();
        if let Some(tree) = &self.tree {
            tree.describe(&mut words);
        }
        Checksum::of(words)
    }

    /// Tallies are those of the instances that reach a leaf, and the tree has learned the hidden rule.
    fn check(&self) -> Result<(), String> {
        let tree = self.tree.as_ref().ok_or("no tree was built")?;
        let n = self.data.classes.len() as u32;
        let right = tree.recount(&self.data, &(0..n).collect::<Vec<_>>())?;
        ensure(right >= n / 100 * 94, || format!("the tree is right for {right} of {n} only"))
    }
}
