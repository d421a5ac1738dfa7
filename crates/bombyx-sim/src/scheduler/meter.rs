//! The quota K: what counts against it ([`Tariff`]). [`dfdeques`](super::dfdeques) counts it for each processor from
//! steal to steal, and [`depth_first`](super::depth_first) for each thread from one scheduling to the next.
//!
//! The rule is that of DFD §3.3 and of the runtime. K bounds the *net* amount of memory, heap and stack, from one steal
//! to the next. What a strand allocates is charged before it begins, and what it frees is credited when it ends. A
//! strand that allocates more than K is charged nothing, because its dummy threads have paid. So what it allocated is
//! not credited either when it is freed.

use super::{Metering, Quota};
use bombyx_dag::{Computation, StrandId};

/// What each strand of a computation is charged and credited under a quota.
#[derive(Clone, Debug)]
pub struct Tariff {
    quota: u64,
    charged: Vec<u64>,
    credited: Vec<u64>,
}

impl Tariff {
    /// For a quota of this many bytes, counting what `metering` says.
    ///
    /// A strand's frames are those of the threads that it spawns and ends. A computation does not say which blocks a
    /// strand frees. This takes them to be the last ones that the serial execution allocated.
    pub fn new(c: &Computation, quota: u64, metering: Metering) -> Self {
        let demand = |s: StrandId| metering.demand(c, s);
        let paid = |bytes: u64| bytes > quota;
        let charged: Vec<u64> = c.strands().map(demand).map(|m| if paid(m) { 0 } else { m }).collect();
        let mut credited: Vec<u64> = c.strands().map(|s| c.freed(s)).collect();
        if c.strands().any(|s| paid(demand(s))) {
            credited = credited_heap(c, |s| !paid(demand(s)));
        }
        if metering == Metering::HeapAndStack {
            for thread in c.threads() {
                if c.spawner(thread).is_some_and(|s| !paid(demand(s))) {
                    credited[c.last_strand(thread).index()] += c.frame(thread);
                }
            }
        }
        Self { quota, charged, credited }
    }

    /// K.
    pub fn quota(&self) -> u64 {
        self.quota
    }

    /// Bytes that a strand is charged before it begins.
    pub fn charged(&self, strand: StrandId) -> u64 {
        self.charged[strand.index()]
    }

    /// Bytes that are credited when a strand has ended.
    pub fn credited(&self, strand: StrandId) -> u64 {
        self.credited[strand.index()]
    }
}

/// The part of what each strand frees that `charged` strands allocated. These are the last blocks in the serial order.
fn credited_heap(c: &Computation, charged: impl Fn(StrandId) -> bool) -> Vec<u64> {
    let mut blocks: Vec<(u64, bool)> = Vec::new();
    let mut credited = vec![0; c.strand_count()];
    for strand in c.strands() {
        if c.allocated(strand) > 0 {
            blocks.push((c.allocated(strand), charged(strand)));
        }
        let mut freed = c.freed(strand);
        while let Some((bytes, charged)) = blocks.last_mut().filter(|_| freed > 0) {
            let part = freed.min(*bytes);
            credited[strand.index()] += if *charged { part } else { 0 };
            freed -= part;
            *bytes -= part;
            if *bytes == 0 {
                blocks.pop();
            }
        }
    }
    credited
}

/// Net allocation against a quota, one count for each processor.
#[derive(Clone, Debug)]
pub(super) struct Meters {
    /// `None` without a quota.
    tariff: Option<Tariff>,
    net: Vec<i128>,
}

impl Meters {
    pub(super) fn new(quota: Quota, setup: &super::Setup) -> Self {
        let tariff = match quota {
            Quota::Bytes(_) => setup.tariff.clone(),
            Quota::Infinite | Quota::Auto => None,
        };
        Self { tariff, net: vec![0; setup.processors] }
    }

    /// Whether anything is counted.
    pub(super) fn is_on(&self) -> bool {
        self.tariff.is_some()
    }

    /// A new quota.
    pub(super) fn reset(&mut self, p: crate::ProcessorId) {
        self.net[p.index()] = 0;
    }

    /// Whether `strand` may begin. If so, it is charged.
    pub(super) fn charge(&mut self, p: crate::ProcessorId, strand: StrandId) -> bool {
        let Some(tariff) = &self.tariff else { return true };
        let bytes = i128::from(tariff.charged(strand));
        let net = &mut self.net[p.index()];
        let admitted = bytes == 0 || *net + bytes <= i128::from(tariff.quota);
        if admitted {
            *net += bytes;
        }
        admitted
    }

    /// `strand` has ended.
    pub(super) fn credit(&mut self, p: crate::ProcessorId, strand: StrandId) {
        if let Some(tariff) = &self.tariff {
            self.net[p.index()] -= i128::from(tariff.credited(strand));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProcessorId;
    use crate::scheduler::Setup;
    use bombyx_dag::Builder;

    /// Allocates a block of each size, then frees this many bytes at each of the last strands.
    fn blocks(sizes: &[u64], frees: &[u64]) -> Computation {
        let mut b = Builder::new(0);
        for &size in sizes {
            b.strand(1);
            b.allocate(size);
        }
        for &bytes in frees {
            b.strand(1);
            b.free(bytes);
        }
        b.build().unwrap()
    }

    fn credits(c: &Computation, quota: u64) -> Vec<u64> {
        let tariff = Tariff::new(c, quota, Metering::HeapAndStack);
        c.strands().map(|s| tariff.credited(s)).collect()
    }

    #[test]
    fn what_was_not_charged_is_not_credited() {
        let c = blocks(&[60, 101, 40], &[30, 20, 101, 50]);
        assert_eq!(credits(&c, 100), [0, 0, 0, 30, 10, 10, 50]);
        assert_eq!(credits(&c, 101), [0, 0, 0, 30, 20, 101, 50]);
        let tariff = Tariff::new(&c, 100, Metering::Heap);
        assert_eq!(c.strands().map(|s| tariff.charged(s)).collect::<Vec<_>>(), [60, 0, 40, 0, 0, 0, 0]);
    }

    #[test]
    fn frames_count_unless_told_otherwise() {
        let mut b = Builder::new(1000);
        b.strand(1);
        b.spawn(70);
        b.strand(1);
        let end = b.end();
        b.strand(1);
        b.strand(1);
        b.wait_for(end);
        let c = b.build().unwrap();
        let of = |quota, metering| {
            let tariff = Tariff::new(&c, quota, metering);
            (tariff.charged(StrandId(0)), tariff.credited(StrandId(1)), tariff.credited(StrandId(3)))
        };
        assert_eq!(of(100, Metering::HeapAndStack), (70, 70, 0));
        assert_eq!(of(69, Metering::HeapAndStack), (0, 0, 0));
        assert_eq!(of(100, Metering::Heap), (0, 0, 0));
    }

    #[test]
    fn what_is_freed_may_be_allocated_again() {
        let c = blocks(&[60, 40, 1], &[30]);
        let mut setup = Setup::new(1);
        setup.tariff = Some(Tariff::new(&c, 100, Metering::default()));
        let mut meters = Meters::new(Quota::of(100), &setup);
        let p = ProcessorId(0);
        assert!(meters.charge(p, StrandId(0)) && meters.charge(p, StrandId(1)));
        assert!(!meters.charge(p, StrandId(2)));
        meters.credit(p, StrandId(3));
        assert!(meters.charge(p, StrandId(2)));
        assert!(!meters.charge(p, StrandId(1)));
        meters.reset(p);
        assert!(meters.charge(p, StrandId(1)));
        assert!(!Meters::new(Quota::Infinite, &setup).is_on());
    }
}
