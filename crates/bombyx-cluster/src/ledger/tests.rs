//! The ledger, with nodes that a test plays itself.

use super::*;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A node that only notes what it is told.
struct Puppet {
    id: NodeId,
    told: Sender<(NodeId, Told)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Told {
    Start(String),
    Abandon,
}

impl Node for Puppet {
    fn start(&self, call: Arc<Call>) {
        self.told.send((self.id, Told::Start(call.key.to_string()))).unwrap();
    }

    fn is_expendable(&self) -> bool {
        true
    }

    fn abandon(&self) {
        self.told.send((self.id, Told::Abandon)).unwrap();
    }
}

struct Stage {
    ledger: Ledger,
    tell: Sender<(NodeId, Told)>,
    told: Receiver<(NodeId, Told)>,
}

impl Stage {
    fn new(allowed_failures: u32) -> Stage {
        let (tell, told) = channel();
        Stage { ledger: Ledger::new(allowed_failures), tell, told }
    }

    fn node(&self, id: u64, slots: usize) -> NodeId {
        let id = NodeId(id);
        self.ledger.join(id, Arc::new(Puppet { id, told: self.tell.clone() }), slots);
        id
    }

    fn submit(&self, key: &str, needs: &[&str], depth: u32, origin: Option<NodeId>) -> Receiver<Outcome> {
        let (send, receive) = channel();
        self.ledger.submit(
            call(key, needs, depth),
            Some(Box::new(move |outcome| drop(send.send(outcome)))),
            origin,
        );
        receive
    }

    fn told(&self) -> Vec<(u64, Told)> {
        self.told.try_iter().map(|(node, told)| (node.0, told)).collect()
    }

    fn started(&self) -> Vec<(u64, String)> {
        let name = |(node, told)| match told {
            Told::Start(key) => (node, key),
            Told::Abandon => panic!("node {node} is abandoned"),
        };
        self.told().into_iter().map(name).collect()
    }
}

fn call(key: &str, needs: &[&str], depth: u32) -> Call {
    Call {
        key: Key::from(key),
        function: "f".into(),
        argument: vec![],
        needs: needs.iter().map(|&need| Key::from(need)).collect(),
        depth,
        place: format!("place of {key}"),
    }
}

fn value(byte: u8) -> Tagged {
    Tagged::value(vec![byte])
}

#[test]
fn calls_fill_the_slots_and_no_more() {
    let stage = Stage::new(0);
    let answers: Vec<_> = ["a", "b", "c", "d"].map(|key| stage.submit(key, &[], 0, None)).into();
    assert!(stage.started().is_empty(), "there is no node yet");
    let (one, two) = (stage.node(1, 1), stage.node(2, 2));
    let started = stage.started();
    assert_eq!(started.len(), 3);
    assert!(started.iter().all(|(_, key)| key != "d"), "the oldest first: {started:?}");
    assert_eq!(started.iter().filter(|(node, _)| *node == 1).count(), 1);
    let (node, key) = &started[0];
    let node = if *node == 1 { one } else { two };
    stage.ledger.done(node, &Key::from(&**key), value(7));
    assert_eq!(stage.started().len(), 1, "the last one has a slot now");
    assert_eq!(answers.iter().filter(|answer| answer.try_recv() == Ok(Ok(value(7)))).count(), 1);
}

#[test]
fn deeper_calls_go_first() {
    let stage = Stage::new(0);
    let _outer = stage.submit("outer", &[], 0, None);
    let _inner = stage.submit("inner", &[], 2, None);
    stage.node(1, 1);
    assert_eq!(stage.started(), [(1, "inner".to_owned())]);
}

#[test]
fn a_dead_node_answers_nothing_and_its_calls_run_elsewhere() {
    let stage = Stage::new(1);
    let one = stage.node(1, 1);
    let answer = stage.submit("a", &[], 0, None);
    assert_eq!(stage.started(), [(1, "a".to_owned())]);
    stage.ledger.died(one, "was killed");
    let two = stage.node(2, 1);
    assert_eq!(stage.started(), [(2, "a".to_owned())]);
    stage.ledger.done(one, &Key::from("a"), value(1));
    assert!(answer.try_recv().is_err(), "the node was given up");
    stage.ledger.done(two, &Key::from("a"), value(2));
    stage.ledger.done(two, &Key::from("a"), value(3));
    assert_eq!(answer.try_iter().collect::<Vec<_>>(), [Ok(value(2))]);
    assert!(stage.ledger.is_empty());
}

#[test]
fn too_many_failures_are_an_error_that_names_the_call() {
    let stage = Stage::new(1);
    let answer = stage.submit("a", &[], 0, None);
    for id in 1..=2 {
        let node = stage.node(id, 1);
        stage.ledger.died(node, "caught fire");
    }
    let Ok(Err(Error::Lost { function, place, reason })) = answer.try_recv() else { panic!("not lost") };
    assert_eq!((&*function, &*place), ("f", "place of a"));
    assert_eq!(reason, "2 workers failed under it; the last one caught fire");
    assert!(stage.ledger.is_empty());
}

#[test]
fn whoever_waits_gives_its_slot() {
    let stage = Stage::new(0);
    let one = stage.node(1, 1);
    let _outer = stage.submit("outer", &[], 0, None);
    let inner = stage.submit("inner", &[], 1, Some(one));
    assert_eq!(stage.started(), [(1, "outer".to_owned())]);
    stage.ledger.pause(one);
    assert_eq!(stage.started(), [(1, "inner".to_owned())]);
    stage.ledger.done(one, &Key::from("inner"), value(1));
    stage.ledger.resume(one);
    assert_eq!(inner.try_recv(), Ok(Ok(value(1))));
    let _more = stage.submit("more", &[], 0, None);
    assert!(stage.started().is_empty(), "the outer call has its slot again");
}

#[test]
fn what_a_dead_node_asked_for_goes_with_it() {
    let stage = Stage::new(3);
    let (one, _two) = (stage.node(1, 1), stage.node(2, 1));
    let _outer = stage.submit("outer", &[], 0, None);
    let outer_at = stage.started()[0].0;
    let dead = NodeId(outer_at);
    let inner = stage.submit("inner", &[], 1, Some(dead));
    stage.ledger.put(&Key::from("data"), value(9), Some(dead));
    let inner_at = stage.started()[0].0;
    stage.ledger.died(dead, "was killed");
    assert_eq!(inner.try_recv(), Ok(Err(Error::Cancelled)));
    assert_eq!(stage.told(), [(inner_at, Told::Abandon)], "nobody wants what runs there");
    stage.ledger.died(NodeId(inner_at), "was not wanted");
    let three = stage.node(3, 1);
    assert_eq!(stage.started(), [(3, "outer".to_owned())]);
    stage.ledger.done(three, &Key::from("outer"), value(1));
    assert!(stage.ledger.is_empty());
    let _ = one;
}

#[test]
fn kept_results_live_as_long_as_somebody_needs_them() {
    let stage = Stage::new(0);
    let one = stage.node(1, 1);
    stage.ledger.submit(call("data", &[], 0), None, None);
    let answer = stage.submit("use", &["data"], 0, None);
    assert_eq!(stage.started(), [(1, "data".to_owned())], "the user waits for its need");
    stage.ledger.release(&Key::from("data"));
    stage.ledger.done(one, &Key::from("data"), value(5));
    assert_eq!(stage.started(), [(1, "use".to_owned())]);
    let (send, fetched) = channel();
    stage.ledger.fetch(&Key::from("data"), Box::new(move |outcome| drop(send.send(outcome))));
    assert_eq!(fetched.try_recv(), Ok(Ok(value(5))), "its user has not ended");
    stage.ledger.done(one, &Key::from("use"), value(6));
    assert_eq!(answer.try_recv(), Ok(Ok(value(6))));
    assert!(stage.ledger.is_empty());
}

#[test]
fn a_lost_need_is_the_loss_of_its_user() {
    let stage = Stage::new(0);
    let one = stage.node(1, 1);
    stage.ledger.submit(call("data", &[], 0), None, None);
    let answer = stage.submit("use", &["data"], 0, None);
    stage.ledger.died(one, "was killed");
    assert!(matches!(answer.try_recv(), Ok(Err(Error::Lost { place, .. })) if place == "place of data"));
    let unknown = stage.submit("other", &["nothing"], 0, None);
    assert!(matches!(unknown.try_recv(), Ok(Err(Error::Protocol(_)))));
}

#[test]
fn a_ledger_that_gave_up_answers_at_once() {
    let stage = Stage::new(0);
    let before = stage.submit("before", &[], 0, None);
    stage.ledger.give_up(&Error::Gone("the end".into()));
    let after = stage.submit("after", &[], 0, None);
    for answer in [before, after] {
        assert_eq!(answer.try_recv(), Ok(Err(Error::Gone("the end".into()))));
    }
}
