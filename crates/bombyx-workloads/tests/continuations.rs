//! The programs in continuation-passing style give what their direct forms give, bit for bit, on 1 to 16 processors.

use bombyx_workloads::{Grain, Runtime, RwLane, RwPool, Size, Suite, all};

/// Runs every program that has both forms.
fn on(lane: RwLane, processors: impl IntoIterator<Item = usize> + Clone, grain: Grain) {
    let mut programs = 0;
    for workload in all() {
        let mut prepared = workload.prepare(Size::Small, grain, 7);
        let serial = prepared.run(Runtime::Serial).checksum;
        for processors in processors.clone() {
            let mut pool = RwPool::new(lane, processors).unwrap();
            prepared.reset();
            if !prepared.continue_on(&mut pool) {
                assert_ne!(workload.suite(), Suite::ReadWrite, "{} has one form only", workload.name());
                break;
            }
            let name = workload.name();
            assert_eq!(prepared.checksum(), serial, "{name}, {lane}, {grain} grain, {processors} processors");
            assert_eq!(prepared.check(), Ok(()), "{name}, {lane}, {grain} grain, {processors} processors");
            programs += usize::from(processors == 2);
        }
    }
    assert_eq!(programs, 16, "{lane}");
}

#[test]
fn loads_and_stores_only_on_1_to_16_processors() {
    on(RwLane::WsJr, 1..=16, Grain::Fine);
    on(RwLane::WsJr, [2], Grain::Medium);
}

#[test]
fn with_delays_at_every_access() {
    on(RwLane::ShakenWsJr, [2, 3, 5], Grain::Fine);
}

#[test]
fn baselines() {
    for &lane in RwLane::ALL {
        on(lane, [1, 2, 4], Grain::Fine);
    }
}

#[test]
fn lanes_are_found_by_name() {
    for &lane in RwLane::ALL {
        assert_eq!(lane.name().parse(), Ok(lane));
    }
    assert!("Cilk".parse::<RwLane>().unwrap_err().to_string().contains("Chase Lev"));
}
