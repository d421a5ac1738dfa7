//! Narlikar's order of the schedulers, FIFO ≫ work stealing ≥ DFDeques ≥ depth-first, in living threads and in heap
//! memory: how often it holds, simulated or on real processors. Small differences are forgiven, because the peak of a
//! whole run is one moment of it, and differs from run to run.

use super::{LARGER, measured, names};
use crate::Result;
use crate::reproduce::exhibit::Space;
use crate::reproduce::lab::{Lab, lane};
use crate::reproduce::seed::dfd::{ROWS, Row};
use crate::statistics::geometric_mean;
use bombyx_workloads::Grain;

/// How often the order FIFO > work stealing ≥ DFDeques ≥ depth-first holds, up to a tenth and four threads.
pub(super) fn ordered(rows: &[[u64; 4]]) -> usize {
    let holds = |[fifo, adf, dfd, ws]: &[u64; 4]| {
        let about = |more: u64, less: u64| more + more / 10 + 4 >= less;
        fifo > ws && about(*ws, *dfd) && about(*dfd, *adf)
    };
    rows.iter().filter(|row| holds(row)).count()
}

/// Programs with a smaller peak of the heap, in bytes, are not compared, because what the pool itself allocates would
/// show.
const MUCH: u64 = 1 << 20;

/// How many programs have their heap in order, up to a tenth, and how many use much heap. In order means that FIFO
/// takes at least as much as work stealing, that at least as much as DFDeques, and that at least as much as the
/// depth-first scheduler.
pub(super) fn heaps_in_order(heaps: &[[u64; 4]]) -> (usize, usize) {
    let about = |more: u64, less: u64| more + more / 10 >= less;
    let holds = |[fifo, adf, dfd, ws]: [u64; 4]| about(fifo, ws) && about(ws, dfd) && about(dfd, adf);
    let much = || heaps.iter().filter(|heap| heap.iter().all(|&bytes| bytes > MUCH));
    (much().filter(|heap| holds(**heap)).count(), much().count())
}

/// The schedulers that run on real processors: the four, and DFDeques with the [larger](LARGER) quota.
pub(super) fn five() -> [&'static str; 5] {
    let [fifo, adf, dfd, ws] = names();
    [fifo, adf, dfd, LARGER, ws]
}

/// The results of [`five`], without the larger quota.
pub(super) fn four([fifo, adf, dfd, _, ws]: [u64; 5]) -> [u64; 4] {
    [fifo, adf, dfd, ws]
}

/// Most living threads of one benchmark, by scheduler, as in [`five`].
#[derive(Clone, Copy)]
pub(super) struct Counted(pub(super) [u64; 5]);

impl Counted {
    pub(super) const HEADINGS: [&str; 5] = ["FIFO", "ADF", "DFD", "DFD 500k", "WS"];

    /// For how many of these the order holds, with the paper's quota and with the larger one.
    fn ordered(counted: &[Counted]) -> [usize; 2] {
        let larger = |[fifo, adf, _, larger, ws]: [u64; 5]| [fifo, adf, larger, ws];
        [
            ordered(&counted.iter().map(|one| four(one.0)).collect::<Vec<_>>()),
            ordered(&counted.iter().map(|one| larger(one.0)).collect::<Vec<_>>()),
        ]
    }

    /// Whether the order holds for all of them, with the paper's quota.
    pub(super) fn all_in_order(counted: &[Counted]) -> bool {
        Counted::ordered(counted)[0] == counted.len()
    }

    /// By scheduler.
    fn means(counted: &[Counted]) -> [f64; 5] {
        std::array::from_fn(|nth| geometric_mean(counted.iter().map(|one| one.0[nth] as f64)).unwrap_or(0.0))
    }

    /// For how many [`ORDER`] holds, and the means, in words.
    pub(super) fn verdict(counted: &[Counted], grains: &str) -> String {
        let [paper, larger] = Counted::ordered(counted);
        let [fifo, adf, dfd, more, ws] = Counted::means(counted);
        format!(
            "at {grains} for {paper} of {}, with K = 500,000 for {larger} (geometric means: FIFO {fifo:.0}, WS {ws:.1}, DFD \
             {dfd:.1}, with the larger K {more:.1}, ADF {adf:.1})",
            counted.len()
        )
    }
}

/// What [`Counted::verdict`] counts.
pub(super) const ORDER: &str = "FIFO > WS ≥ DFD ≥ ADF in living threads, up to a tenth and four threads,";

/// What [`nearest`] chooses.
pub(super) const NEAREST: &str = "the grain that is nearest to the paper's fine one";

/// The grain at which a benchmark has most nearly, by ratio, as many threads as the paper's at fine grain. The paper's
/// threads were so expensive that some of our medium grains are finer.
pub(super) fn nearest(lab: &Lab, row: &Row) -> Result<Grain> {
    let distance = |grain| -> Result<f64> {
        let ours = lab.recorded(row.workload, grain)?.computation.thread_count();
        Ok((ours as f64 / row.fine_total as f64).ln().abs())
    };
    Ok(if distance(Grain::Fine)? < distance(Grain::Medium)? { Grain::Fine } else { Grain::Medium })
}

/// The benchmarks on the processors of this machine, except those for which not all schedulers count their threads.
pub(super) fn counted_here(lab: &Lab, grain: Grain) -> Result<Vec<(&'static Row, Counted)>> {
    let mut counted = Vec::new();
    for row in &ROWS {
        let case = measured(lab, row.workload, grain)?;
        let threads = |name| Space::of(lane(&case, name)).threads;
        if let [Some(fifo), Some(adf), Some(dfd), Some(larger), Some(ws)] = five().map(threads) {
            counted.push((row, Counted([fifo, adf, dfd, larger, ws])));
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_and_four_threads_are_forgiven() {
        assert_eq!(ordered(&[[900, 40, 40, 40], [900, 52, 44, 40], [41, 40, 48, 40]]), 3);
        assert_eq!(ordered(&[[40, 40, 40, 40], [900, 40, 49, 40], [900, 49, 40, 40]]), 0);
    }

    #[test]
    fn a_tenth_of_much_heap_is_forgiven() {
        let mebibytes = |heaps: &[[u64; 4]]| {
            heaps_in_order(&heaps.iter().map(|four| four.map(|n| n << 20)).collect::<Vec<_>>())
        };
        assert_eq!(mebibytes(&[[900, 100, 100, 100], [95, 109, 100, 100], [900, 1, 1, 1]]), (2, 2));
        assert_eq!(mebibytes(&[[900, 100, 111, 100], [900, 111, 100, 100], [80, 50, 50, 100]]), (0, 3));
    }

    #[test]
    fn both_quotas_are_judged() {
        let one = |dfd, larger| Counted([900, 40, dfd, larger, 40]);
        assert_eq!(Counted::ordered(&[one(40, 40), one(60, 40), one(40, 60)]), [2, 2]);
        assert_eq!(Counted::ordered(&[one(40, 60)]), [1, 0]);
    }
}
