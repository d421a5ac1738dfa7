//! Generators: every spec builds what it announces, names round-trip, and mistakes get helpful answers.

use bombyx_dag::generate::{GENERATORS, Spec};
use bombyx_dag::{Augmented, Class, Computation, Measures};

fn spec(text: &str) -> Spec {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn build(text: &str) -> Computation {
    spec(text).build().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_default_builds_within_its_estimate() {
    for generator in GENERATORS {
        let spec = spec(generator.name);
        let strands = spec.build().unwrap().strand_count() as u64;
        assert!(strands <= spec.estimated_size(), "{spec}: {strands} > {}", spec.estimated_size());
    }
}

#[test]
fn estimates_are_exact_where_the_shape_is_fixed() {
    for text in [
        "figure1",
        "fib:0",
        "fib:1",
        "fib:10",
        "dnc:0",
        "dnc:5",
        "dnc:depth=3,branch=5",
        "skewed:1",
        "skewed:100",
        "chain:1",
        "chain:9",
        "fan:7",
        "geometric:6",
        "greedy-trap:rounds=3",
    ] {
        let spec = spec(text);
        let strands = spec.build().unwrap().strand_count() as u64;
        assert_eq!(spec.estimated_size(), strands, "{text}");
    }
}

#[test]
fn classes() {
    for (text, class) in [
        ("figure1", Class::FullyStrict),
        ("fib:8", Class::NestedParallel),
        ("dnc:depth=4,branch=3", Class::NestedParallel),
        ("skewed:50", Class::NestedParallel),
        ("loop:n=50,repeat=3", Class::NestedParallel),
        ("chain:10", Class::NestedParallel),
        ("fan:10", Class::NestedParallel),
        ("geometric:5", Class::NestedParallel),
        ("greedy-trap", Class::NestedParallel),
        ("random:threads=50", Class::FullyStrict),
        ("wavefront:reach=1", Class::FullyStrict),
        ("wavefront", Class::Strict),
    ] {
        assert_eq!(build(text).class(), class, "{text}");
    }
}

#[test]
fn measures_of_shapes_with_known_values() {
    let fib = Measures::of(&build("fib:10,frame=8"));
    // 89 leaves, 88 inner threads of 4; the span goes through fib(9), fib(8), …, adding 2 on the way down and 1 up.
    assert_eq!((fib.work, fib.spawn_depth, fib.stack), (89 + 88 * 4, 9, 80));
    assert_eq!(fib.joins_to_parent, 1);

    let dnc = Measures::of(&build("dnc:depth=3,work=100,divide=5,combine=7,memory=1000,frame=10"));
    // Per level: two spawning strands and a unit one, or down the second child: 5 + 5 + leaf + 7.
    assert_eq!(dnc.work, 8 * 100 + 7 * (5 + 5 + 1 + 7));
    assert_eq!(dnc.span, 100 + 3 * (5 + 5 + 7));
    assert_eq!((dnc.stack, dnc.serial_space, dnc.allocated), (40, 4040, 15000));

    let chain = Measures::of(&build("chain:length=100,work=10,frame=3"));
    assert_eq!((chain.stack, chain.spawn_depth, chain.span), (300, 99, 99 + 10 + 99));

    let trap = Measures::of(&build("greedy-trap:processors=4,long=1000,short=10,rounds=2"));
    assert_eq!(trap.span, 2 * (4 + 1000 + 1));

    let wave = Measures::of(&build("wavefront:rows=4,columns=5,work=10"));
    assert_eq!(wave.span, 3 + (4 + 5 - 1) * 10);
}

#[test]
fn random_computations_obey_the_model_for_many_seeds() {
    for seed in 0..300 {
        let text = format!("random:threads=40,spawn=60,join=50,strands=4,memory=100,seed={seed}");
        let c = build(&text);
        assert!(c.class() <= Class::FullyStrict, "{text}");
        assert_eq!(c.thread_count(), 40, "{text}");
        let m = Measures::of(&c);
        assert!(m.span <= m.work && m.stack <= m.serial_space, "{text}: {m:?}");
        let augmented = Augmented::of(&c);
        assert_eq!(augmented.order().len(), c.strand_count(), "{text}");
        assert!(augmented.span() >= m.span, "{text}");
    }
}

#[test]
fn on_unit_instructions_the_augmented_span_is_at_most_twice_the_span() {
    for text in ["figure1", "fib:12", "chain:length=50,work=1", "fan:children=50,work=1", "wavefront:work=1"]
    {
        let c = build(text);
        let span = Measures::of(&c).span;
        assert!(Augmented::of(&c).span() <= 2 * span, "{text}");
    }
}

#[test]
fn seeds_name_computations() {
    for text in ["random:threads=30", "geometric:6", "loop:n=64,jitter=1"] {
        let with = |seed: u32| build(&format!("{text},seed={seed}"));
        assert_eq!(with(7), with(7), "{text}");
        assert_ne!(with(7), with(8), "{text}");
    }
    // The same numbers on every platform.
    let m = Measures::of(&build("random:threads=30,seed=7"));
    assert_eq!((m.work, m.span), (978, 685));
}

#[test]
fn names_round_trip() {
    for (text, shown) in [
        ("fib:20", "fib:20"),
        ("fib", "fib:20"),
        ("fib:n=7,frame=1k", "fib:7,frame=1000"),
        ("dnc:12,work=100", "dnc:depth=12"),
        ("figure1", "figure1"),
        ("loop:n=1_000,work=2M", "loop:1000,work=2000000"),
    ] {
        assert_eq!(spec(text).to_string(), shown);
        assert_eq!(spec(shown), spec(text));
    }
}

#[test]
fn mistakes_get_helpful_answers() {
    for (text, parts) in [
        ("fibo:20", &["no generator `fibo`", "did you mean `fib`?", "`wavefront`"] as &[&str]),
        ("", &["no generator ``", "known are"]),
        ("dnc:detph=3", &["no parameter `detph`", "did you mean `depth`?", "`combine`"]),
        ("dnc:3,4", &["`4` needs a name"]),
        ("dnc:3,depth=4", &["`depth` twice"]),
        ("fib:twenty", &["`twenty` is not a whole number"]),
        ("fib:-1", &["`-1` is not a whole number"]),
        ("fib:", &[]),
        ("fib:99999999999999999999", &["not a whole number"]),
        ("fib:61", &["from 0 to 60"]),
    ] {
        match text.parse::<Spec>() {
            Ok(_) => assert!(parts.is_empty(), "{text} was accepted"),
            Err(error) => {
                let message = error.to_string();
                assert!(!parts.is_empty(), "{text}: {message}");
                for part in parts {
                    assert!(message.contains(part), "{text}: {message}");
                }
            }
        }
    }
    for text in ["fib:60", "wavefront:rows=1k,columns=1k,reach=1M"] {
        let error = spec(text).build().unwrap_err().to_string();
        assert!(error.contains("make it smaller"), "{error}");
    }
    let error = spec("loop:n=100M,work=1000G,grain=100M").build().unwrap_err().to_string();
    assert!(error.contains("64 bits"), "{error}");
}
