//! Pictures show every strand, thread and edge once, and refuse what would not fit.

use bombyx_dag::draw::{dot, svg};
use bombyx_dag::generate::{Spec, figure1};

#[test]
fn pictures_are_complete() {
    for spec in ["figure1", "fib:5", "wavefront:rows=3,columns=4", "geometric:depth=3", "random:threads=20"] {
        let c = spec.parse::<Spec>().unwrap().build().unwrap();
        let (strands, spawns, joins) = (c.strand_count(), c.thread_count() - 1, c.join_count());
        let continues = strands - c.thread_count();
        let picture = svg(&c).unwrap();
        let count = |class: &str| picture.matches(&format!("class=\"{class}\"")).count();
        assert_eq!(count("strand"), strands, "{spec}");
        assert_eq!(count("block"), c.thread_count(), "{spec}");
        assert_eq!((count("edge"), count("spawn"), count("join")), (continues, spawns, joins), "{spec}");
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{spec}");
        assert_eq!(dot(&c).unwrap().matches(" -> ").count(), continues + spawns + joins, "{spec}");
    }
}

#[test]
fn large_computations_are_refused() {
    let c = "fib:20".parse::<Spec>().unwrap().build().unwrap();
    for error in [svg(&c).unwrap_err(), dot(&c).unwrap_err()] {
        assert!(error.to_string().contains("draw a smaller one"));
    }
    assert!(svg(&figure1(0)).is_ok());
}
