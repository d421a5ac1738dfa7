//! The same program on every engine that needs only Rust: same results, same panics, same errors.
//!
//! This file has its own `main`, because the workers of `processes` are this same program in worker mode.

mod common;

use bombyx_cluster::{Cluster, Error, Remote, remote, work_if_worker};
use common::{addresses, panic_message, within};
use libtest_mimic::{Arguments, Trial};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle { radius: f64 },
    Path(Vec<(i32, String)>, Option<Box<Shape>>),
}

#[remote]
fn double(n: u64) -> u64 {
    2 * n
}

#[remote]
fn mirror(shape: Shape) -> Shape {
    shape
}

#[remote]
fn slow_backwards((nth, of): (u64, u64)) -> u64 {
    std::thread::sleep(Duration::from_millis(of - nth));
    nth
}

#[remote]
fn sleep_ms(ms: u64) -> u64 {
    std::thread::sleep(Duration::from_millis(ms));
    ms
}

#[remote]
fn complain(about: String) -> u64 {
    let fail = |yes: bool| if yes { panic!("no more {about}") } else { 0 };
    bombyx::join(|| fail(false), || fail(true)).0
}

/// Nested calls all the way down: more callers than slots.
#[remote]
fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = Cluster::current().join((fib, n - 1), (fib, n - 2)).unwrap();
    a + b
}

/// Nested calls from closures that Bombyx forks.
#[remote]
fn forked_sum(n: u64) -> u64 {
    let cluster = Cluster::current();
    let call = |m| cluster.call(double, m).unwrap();
    let (a, b) = bombyx::join(|| call(n), || call(n + 1));
    a + b
}

#[remote]
fn nested_map(n: u64) -> u64 {
    Cluster::current().map_reduce(double, 0..n, 0, |a, b| a + b).unwrap()
}

#[remote]
fn numbers(n: u64) -> Vec<u64> {
    (0..n).collect()
}

#[remote]
fn total((numbers, factor): (Remote<Vec<u64>>, u64)) -> u64 {
    factor * numbers.get().unwrap().iter().sum::<u64>()
}

#[remote]
fn concatenated(parts: Vec<Remote<Vec<u64>>>) -> Vec<u64> {
    parts.iter().flat_map(|part| part.get().unwrap()).collect()
}

/// Keeps something itself, and passes on what it was given.
#[remote]
fn keeps_itself(given: Remote<Vec<u64>>) -> u64 {
    let cluster = Cluster::current();
    let own = cluster.keep(numbers, 5).unwrap();
    cluster.call(total, (given, 1)).unwrap() + cluster.call(total, (own, 1)).unwrap()
}

#[remote]
fn smuggle(given: Remote<Vec<u64>>) -> Remote<Vec<u64>> {
    given
}

#[remote]
fn processors(_: ()) -> usize {
    bombyx::processor_count().unwrap()
}

fn not_remote(n: u64) -> u64 {
    n
}

fn results(cluster: &Cluster) {
    assert_eq!(cluster.call(double, 21), Ok(42));
    let shape = Shape::Path(vec![(-1, "ä".into())], Some(Box::new(Shape::Circle { radius: 0.1 })));
    assert_eq!(cluster.join((mirror, shape.clone()), (mirror, Shape::Point)), Ok((shape, Shape::Point)));
    let items = (0..50).map(|nth| (nth, 50));
    let ordered: Result<Vec<u64>, Error> = cluster.map(slow_backwards, items).collect();
    assert_eq!(ordered, Ok((0..50).collect()));
    assert_eq!(cluster.map_reduce(double, 0..100, 0, |a, b| a + b), Ok(9900));
    assert_eq!(cluster.map(double, 0..0).count(), 0);
}

fn nested(cluster: &Cluster) {
    assert_eq!(cluster.call(fib, 7), Ok(13));
    assert_eq!(cluster.call(forked_sum, 10), Ok(42));
    let sums: Result<Vec<u64>, Error> = cluster.map(nested_map, 0..10).collect();
    assert_eq!(sums, Ok((0..10).map(|n: u64| n * n.saturating_sub(1)).collect()));
}

fn remotes(cluster: &Cluster) {
    let kept = cluster.keep(numbers, 10).unwrap();
    assert_eq!(cluster.call(total, (kept.clone(), 3)), Ok(135));
    let put = cluster.put(&vec![7_u64, 8]).unwrap();
    // A chain that the client never waits for.
    let both = cluster.keep(concatenated, vec![kept.clone(), put.clone(), kept]).unwrap();
    let all = cluster.keep(concatenated, vec![both.clone(), put]).unwrap();
    drop(both);
    let all: Vec<u64> = all.get().unwrap();
    assert_eq!((all.len(), all.iter().sum::<u64>()), (24, 120));
    let given = cluster.keep(numbers, 4).unwrap();
    assert_eq!(cluster.call(keeps_itself, given.clone()), Ok(6 + 10));
    let message = panic_message(|| drop(cluster.call(smuggle, given)));
    assert!(message.contains("holds a `Remote`"), "{message}");
    let broken = cluster.keep(complain, "milk".to_owned()).unwrap();
    let message = panic_message(|| drop(broken.get()));
    assert!(message.contains("no more milk"), "{message}");
}

fn panics(cluster: &Cluster) {
    let message = panic_message(|| drop(cluster.call(complain, "tea".to_owned())));
    assert!(
        message.starts_with("no more tea\nin the remote function `engines::complain`, the call at "),
        "{message}"
    );
    assert!(message.contains("tests/engines.rs"), "{message}");
    assert!(message.contains("remote backtrace:\nat ") && message.contains("complain"), "{message}");
    let message = panic_message(|| drop(cluster.join((double, 1), (complain, "rice".to_owned()))));
    assert!(message.contains("no more rice") && message.contains("the second half of the join"), "{message}");
    let items = ["a", "b", "c"].map(str::to_owned);
    let message = panic_message(|| cluster.map(complain, items).for_each(drop));
    assert!(message.contains("item ") && message.contains(" of the map at"), "{message}");
    // It arrives although an older item has not ended.
    assert_eq!(cluster.call(double, 1), Ok(2), "the cluster goes on");
}

fn errors(cluster: &Cluster) {
    let error = cluster.call(not_remote, 1).unwrap_err();
    assert!(matches!(&error, Error::NotRemote(name) if name == "engines::not_remote"), "{error}");
    assert!(matches!(cluster.call(|n: u64| n, 1), Err(Error::NotRemote(_))));
    let error = cluster.map(not_remote, 0..3).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("#[bombyx_cluster::remote]"), "{error}");
}

/// The items are taken as results are handed out, not before.
fn bounded(cluster: &Cluster) {
    let taken = std::cell::Cell::new(0);
    let items = (0..200).inspect(|_| taken.set(taken.get() + 1));
    for (nth, result) in cluster.map(double, items).in_flight(5).enumerate() {
        assert_eq!(result, Ok(2 * nth as u64));
        assert!(taken.get() <= nth + 5, "{} taken, {nth} handed out", taken.get());
    }
    assert_eq!(taken.get(), 200);
}

/// Calls that nobody wants any more do not hold up others.
fn cancelled(cluster: &Cluster) {
    let began = Instant::now();
    let mut map = cluster.map(sleep_ms, std::iter::once(0).chain(std::iter::repeat_n(1_000_000, 100)));
    assert_eq!(map.next(), Some(Ok(0)));
    drop(map);
    assert_eq!(cluster.call(double, 4), Ok(8));
    assert!(began.elapsed() < Duration::from_secs(100));
}

/// A program whose calls are recorded: a map that is dropped early, and a call with nested calls.
fn be_recorded() {
    let cluster = Cluster::builder().address("local:2").start().unwrap();
    let mut map = cluster.map(double, 0..100).in_flight(4);
    (0..3).for_each(|n| assert_eq!(map.next(), Some(Ok(2 * n))));
    drop(map);
    assert_eq!(cluster.call(nested_map, 5), Ok(20));
}

fn recorded() {
    let file = std::env::temp_dir().join(format!("bombyx-cluster-{}.dag", std::process::id()));
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    let status =
        program.env("BOMBYX_TEST_RECORDED", "1").env("BOMBYX_CLUSTER_RECORD", &file).status().unwrap();
    assert!(status.success());
    let computation = bombyx_dag::format::read(&std::fs::read(&file).unwrap()[..]).unwrap();
    std::fs::remove_file(file).unwrap();
    // The client, three to seven calls of the map, the call of `nested_map` and the five below it.
    assert!((10..=14).contains(&computation.thread_count()), "{} threads", computation.thread_count());
    let below = |thread| computation.parent(thread).is_some_and(|parent| parent.index() > 0);
    assert_eq!(computation.threads().filter(|&thread| below(thread)).count(), 5);
}

fn main() {
    work_if_worker();
    if std::env::var_os("BOMBYX_TEST_RECORDED").is_some() {
        return be_recorded();
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    type Case = (&'static str, fn(&Cluster));
    let cases: [Case; 6] = [
        ("results", results),
        ("nested", nested),
        ("remotes", remotes),
        ("panics", panics),
        ("errors", errors),
        ("bounded", bounded),
    ];
    for address in addresses() {
        for (name, case) in cases {
            let address = address.clone();
            trials.push(Trial::test(format!("{name} on {address}"), move || {
                within(120, move || case(&Cluster::builder().address(&address).start().unwrap()));
                Ok(())
            }));
        }
    }
    // Threads of this process cannot be ended.
    for address in addresses().into_iter().filter(|address| !address.starts_with("local")) {
        trials.push(Trial::test(format!("cancelled on {address}"), move || {
            within(120, move || cancelled(&Cluster::builder().address(&address).start().unwrap()));
            Ok(())
        }));
    }
    trials.push(Trial::test("threads are processors", || {
        within(120, || {
            let cluster = Cluster::builder().address("processes:1x3").start().unwrap();
            assert_eq!(cluster.call(processors, ()), Ok(3));
        });
        Ok(())
    }));
    trials.push(Trial::test("a recording has what ended", || {
        within(60, recorded);
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit();
}
