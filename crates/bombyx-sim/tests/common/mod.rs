//! What the integration tests share: golden files, random computations, and an independent check that a trace is a
//! legal schedule.
#![allow(dead_code)]

use bombyx_dag::generate::Spec;
use bombyx_dag::{Builder, Class, Computation, StrandId};
use bombyx_sim::{AttemptResult, EventKind, Outcome, Scheduler};
use std::path::Path;

/// Compares with `tests/golden/<name>.txt`; with `BOMBYX_BLESS=1` in the environment, writes it.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("BOMBYX_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == text,
        "{} differs; if the change is meant, run the tests with BOMBYX_BLESS=1.\nexpected:\n{expected}\nfound:\n{text}",
        path.display()
    );
}

pub(crate) fn computation(spec: &str) -> Computation {
    spec.parse::<Spec>().unwrap_or_else(|e| panic!("{e}")).build().unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn scheduler(name: &str) -> Scheduler {
    name.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// One of each scheduler, with parameters that make their special rules happen.
pub(crate) fn every_scheduler() -> Vec<Scheduler> {
    let parameters = [("K", vec!["inf", "2000", "100"]), ("BETA", vec!["1", "1.5"])];
    let mut schedulers = Vec::new();
    for spelling in Scheduler::SPELLINGS {
        match spelling.split_once(':') {
            None => schedulers.push(scheduler(spelling)),
            Some((name, parameter)) => {
                let (_, values) = parameters.iter().find(|(p, _)| *p == parameter).unwrap();
                schedulers.extend(values.iter().map(|value| scheduler(&format!("{name}:{value}"))));
            }
        }
    }
    schedulers
}

/// Checks, only from the trace, that every strand executed once, after all its predecessors, for as long as its weight,
/// and that no processor did two things at a time. `c` is the computation that was executed.
pub(crate) fn assert_legal(c: &Computation, outcome: &Outcome, equal_speeds: bool) {
    let c = outcome.with_dummies.as_ref().map_or(c, |with| &with.computation);
    let trace = outcome.trace.as_ref().expect("a trace was recorded");
    let ends = trace.ends(c.strand_count());
    let mut begins = vec![u64::MAX; c.strand_count()];
    let mut worked = vec![0; c.strand_count()];
    let mut busy_until = vec![0; outcome.processors];
    for event in trace.events() {
        let busy = &mut busy_until[event.processor.index()];
        // A thief that executes in the step of its attempt takes no time for it.
        let succeeded = |result| matches!(result, AttemptResult::Stolen(_) | AttemptResult::Mugged(_));
        let at_once = matches!(event.kind, EventKind::Attempt { result, .. } if succeeded(result));
        assert!(event.from >= *busy && (event.to > event.from || at_once), "{event} overlaps");
        *busy = event.to;
        if let EventKind::Execute { strand, complete } = event.kind {
            let begin = &mut begins[strand.index()];
            assert_eq!(*begin == u64::MAX, worked[strand.index()] == 0);
            *begin = (*begin).min(event.from);
            worked[strand.index()] += event.to - event.from;
            assert!(event.to <= ends[strand.index()] && complete == (event.to == ends[strand.index()]));
        }
    }
    for strand in c.strands() {
        let end = ends[strand.index()];
        assert!(end <= outcome.makespan, "{strand} never ended");
        if equal_speeds {
            assert_eq!(worked[strand.index()], c.weight(strand), "{strand} took too long");
        }
        let joins = c.joins_from(strand).iter().copied();
        for next in c.next(strand).into_iter().chain(c.spawned(strand)).chain(joins) {
            assert!(begins[next.index()] >= end, "{next} began before {strand} ended");
        }
    }
    assert_eq!(ends.iter().max(), Some(&outcome.makespan));
}

/// A random nested-parallel computation of about `threads` threads whose strands allocate about `memory` bytes.
pub(crate) fn nested(threads: u64, memory: u64, seed: u64) -> Computation {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut left = threads;
    let mut b = Builder::new(8);
    body(&mut b, &mut below, &mut left, memory, 0);
    let computation = b.build().unwrap();
    assert_eq!(computation.class(), Class::NestedParallel);
    computation
}

/// Builds one thread: strands, some of which spawn, and syncs that wait for the youngest children first.
fn body(b: &mut Builder, below: &mut impl FnMut(u64) -> u64, left: &mut u64, memory: u64, depth: u32) {
    let mut held = 0;
    let mut children: Vec<StrandId> = Vec::new();
    for _ in 0..2 + below(6) {
        b.strand(1 + below(6));
        if memory > 0 && below(2) == 0 {
            let bytes = 1 + below(2 * memory);
            b.allocate(bytes);
            held += bytes;
        }
        if *left > 0 && depth < 12 && below(5) < 3 {
            *left -= 1;
            b.spawn(8);
            body(b, below, left, memory, depth + 1);
            children.push(b.end());
            b.strand(1 + below(3));
        }
        if below(4) == 0 {
            let awaited = children.len().min(1 + below(3) as usize);
            sync(b, children.drain(children.len() - awaited..));
        }
    }
    sync(b, children.drain(..));
    b.strand(1);
    b.free(held);
}

fn sync(b: &mut Builder, children: impl ExactSizeIterator<Item = StrandId>) {
    if children.len() > 0 {
        b.strand(1);
        children.for_each(|child| b.wait_for(child));
    }
}

/// A random computation whose join edges go anywhere forwards in the serial order, mostly of no class.
pub(crate) fn general(threads: u64, seed: u64) -> Computation {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut left = threads;
    let mut b = Builder::new(8);
    let mut ended = vec![];
    // Threads that are being built, each with the number of strands still to come.
    let mut open = vec![20];
    while let Some(strands) = open.last_mut() {
        if *strands == 0 {
            open.pop();
            b.strand(1);
            if open.is_empty() {
                b.strand(1);
                ended.drain(..).for_each(|end| b.wait_for(end));
            } else {
                ended.push(b.end());
            }
            continue;
        }
        *strands -= 1;
        b.strand(1 + below(5));
        b.strand(1 + below(5));
        if !ended.is_empty() && below(3) == 0 {
            let end = ended.swap_remove(below(ended.len() as u64) as usize);
            b.strand(1);
            b.wait_for(end);
        }
        if left > 0 && below(3) > 0 {
            left -= 1;
            b.spawn(8);
            open.push(1 + below(5));
        }
    }
    b.build().unwrap()
}
