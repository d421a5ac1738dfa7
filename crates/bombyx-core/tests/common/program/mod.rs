//! Random fork-join programs: a tree of nodes drawn from a seed, its serial elision, and the same tree on the
//! runtime.
//!
//! Every node has a number, and a run counts how often each node was executed. The result is a composition of affine
//! maps, which is associative and not commutative, so a node that is left out, repeated or combined out of order shows.
//! A node may panic. The serial elision then says which payloads may arrive.

mod cancelled;
mod draw;
mod serial;
mod values;

use super::{Census, Counted, Rng, wait_until};
use bombyx::dropin::{BuilderExt as _, HandleExt as _, ScopeExt as _, has_pending, yield_local, yield_now};
use bombyx::{
    CancelToken, Cancelled, Error, Handle, Pool, Reducer, Scope, TaskLocal, block_on, blocking, charge,
    checkpoint, for_each, join, join_all, join_context, join3, map_reduce, reducers::Append, release,
    reserve, scope,
};
use draw::Draw;
use serial::Serial;
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use values::{Compose, Meanwhile};

type Number = usize;

/// What a node does. Actions with children are executed as the function or method of that name.
#[derive(Debug)]
enum Action {
    Leaf,
    Spin(u32),
    /// [`thread::yield_now`]
    Yield,
    /// [`yield_now`], or with `true` [`yield_local`].
    YieldTo(bool),
    Sleep(Duration),
    Checkpoint,
    /// A block of this size is announced, charged and released.
    Reserve(usize),
    Panic,
    /// [`Handle::broadcast`], or with `true` [`Handle::spawn_broadcast`], on the pool of the program.
    Broadcast(bool),
    Sequence(Vec<Node>),
    Join(Box<[Node; 2]>),
    /// [`join_all`], or [`join3`] of three.
    JoinAll(Vec<Node>),
    /// [`join_context`]
    JoinContext(Box<[Node; 2]>),
    /// `blocking` in the first half waits for a message of the second.
    Rendezvous(Box<[Node; 2]>),
    /// The body, and the spawned closures. Each `chained` closure is spawned by the one before.
    Scope {
        place: Opened,
        how: How,
        body: Box<Node>,
        spawned: Vec<Node>,
        chained: bool,
    },
    /// A scope that spawns so many closures that it must run some in place.
    Flood(u32, How),
    /// A scope whose closures are those of a broadcast.
    ScopeBroadcast,
    ForEach(Range<usize>, Box<Node>),
    MapReduce(Range<usize>, Box<Node>),
    Blocking(Box<Node>),
    /// [`Pool::run`] on the pool of the program.
    Run(Box<Node>),
    /// [`Pool::run`] on the other pool.
    Elsewhere(Box<Node>),
    /// [`Handle::run`] on the pool of the caller.
    RunHere(Box<Node>),
    /// [`Pool::spawn`], or with `true` [`Handle::spawn_fifo`], on the pool of the program.
    Detach(bool),
    /// A task on the pool of the program, and what the caller does with it.
    Task(Wanted),
    /// A separate pool, which its handle closes when the node has ended, but perhaps before a detached closure has.
    Closed(Box<Node>),
    /// A separate thread that is part of a pool.
    Seated(Box<Node>),
    /// [`BOUND`] is bound to the number of this node.
    Bind(Box<Node>),
    /// [`CancelToken::join`], with a token that nobody cancels before.
    Token(Box<[Node; 2]>),
    /// Something that is cancelled while it runs.
    Cancelled(cancelled::Part),
    /// Inside of [`Reducer::with`].
    Within(Box<Node>),
    /// Values that so many closures take turns with.
    PerProcessor(usize),
    /// So many closures beside a reducer whose operation panics when it meets a certain number.
    Touchy(usize, usize, How),
    /// [`Pool::set_processors`], where the pool allows it. The number may be any.
    Resize(usize),
}

/// What the nodes inherit.
static BOUND: TaskLocal<Number> = TaskLocal::new();

/// What becomes of a task.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// [`Task::join`](bombyx::Task::join)
    Join,
    /// [`block_on`]
    Await,
    /// [`Handle::run_async`] instead of a task, and [`block_on`].
    RunAsync,
    /// [`Task::abort`](bombyx::Task::abort), perhaps too late.
    Abort,
}

/// Where a scope is opened.
#[derive(Clone, Copy, Debug)]
enum Opened {
    /// [`scope`]
    Here,
    /// [`Handle::in_place_scope`] of the program's pool.
    InPlace,
    /// [`Handle::in_place_scope`] of the other pool.
    InPlaceElsewhere,
}

/// How closures are spawned in a scope.
#[derive(Clone, Copy, Debug)]
enum How {
    Spawn,
    Defer,
    Fifo,
}

#[derive(Debug)]
struct Node {
    number: Number,
    /// What [`BOUND`] is bound to.
    bound: Option<Number>,
    /// Whether the node adds to the reducer.
    adds: bool,
    action: Action,
}

/// A random program. See the module text.
#[derive(Debug)]
pub(crate) struct Program {
    root: Node,
    nodes: usize,
    meanwhile: Meanwhile,
}

/// The map x → a·x + b modulo 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Affine(u64, u64);

impl Affine {
    const IDENTITY: Affine = Affine(1, 0);

    fn of(number: Number) -> Affine {
        let x = Rng::new(number as u64).next();
        Affine(x | 1, x.rotate_left(32))
    }

    fn then(self, next: Affine) -> Affine {
        Affine(self.0.wrapping_mul(next.0), self.0.wrapping_mul(next.1).wrapping_add(self.1))
    }
}

/// What the serial elision says: the result, or the nodes whose panic may arrive.
type Outcome = Result<Affine, BTreeSet<Number>>;

/// The payload of an injected panic.
struct Boom(Counted<Number>);

/// Which threads a program may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Threads {
    /// As many as it blocks.
    Any,
    /// Those of its processors: it blocks, but waits for nothing that needs another thread.
    Few,
    /// Those of its processors, which are fixed: it also does not wait for a thread outside that waits for the pool.
    Fixed,
    /// Those of its processors, and it neither blocks nor broadcasts.
    FewAndNoneBlocks,
}

impl Program {
    /// A program of about `size` nodes.
    pub(crate) fn random(rng: &mut Rng, size: usize) -> Program {
        Program::draw(rng, size, Threads::Any)
    }

    /// A program that never blocks, so that it must not depend on spare carriers.
    pub(crate) fn random_without_blocking(rng: &mut Rng, size: usize) -> Program {
        Program::draw(rng, size, Threads::FewAndNoneBlocks)
    }

    /// A program of about `size` nodes that relies only on these threads.
    pub(crate) fn draw(rng: &mut Rng, size: usize, threads: Threads) -> Program {
        let resizes = rng.one_in(4);
        Program::draw_with(rng, size, threads, resizes)
    }

    /// Like [`Program::draw`], for a pool that runs other programs at the same time. If one of them changed the number of
    /// processors, the parts of the others' broadcasts would not be determined.
    #[allow(dead_code, reason = "not every test runs programs beside each other")]
    pub(crate) fn draw_beside_others(rng: &mut Rng, size: usize, threads: Threads) -> Program {
        Program::draw_with(rng, size, threads, false)
    }

    fn draw_with(rng: &mut Rng, size: usize, threads: Threads, resizes: bool) -> Program {
        let panics = rng.one_in(3);
        let meanwhile = match rng.below(8) {
            0 => Meanwhile::Forks,
            1 if threads != Threads::FewAndNoneBlocks => Meanwhile::Blocks,
            _ => Meanwhile::Nothing,
        };
        let mut draw = Draw { rng, threads, resizes, nodes: 0, bound: None, adds: true };
        let root = draw.node(size, panics);
        Program { root, nodes: draw.nodes, meanwhile }
    }
}

// ---- On the runtime -----------------------------------------------------------------------------------------

/// One execution of a program.
struct Run<'a> {
    pool: &'a Pool,
    /// How many processors the pool has at the beginning and at the end.
    processors: usize,
    other: &'a Pool,
    counts: Arc<[AtomicU32]>,
    /// Detached closures that have not ended.
    detached: Arc<AtomicUsize>,
    census: Census,
    /// The maps of the nodes that have run, in serial order.
    order: Reducer<Compose>,
}

type Value = Counted<Affine>;

impl Run<'_> {
    fn count(&self, number: Number) {
        self.counts[number].fetch_add(1, SeqCst);
    }

    fn value(&self, affine: Affine) -> Value {
        self.census.count(affine)
    }

    fn combine(&self, a: Value, b: Value) -> Value {
        self.value(a.0.then(b.0))
    }

    fn node(&self, node: &Node) -> Value {
        self.count(node.number);
        assert_eq!(BOUND.get(), node.bound, "nodes inherit what is bound");
        if node.adds {
            self.add(node.number);
        }
        let own = self.value(Affine::of(node.number));
        let rest = self.action(node.number, &node.action);
        self.combine(own, rest)
    }

    fn add(&self, number: Number) {
        self.order.with(|order| *order = order.then(Affine::of(number)));
    }

    fn action(&self, number: Number, action: &Action) -> Value {
        match action {
            Action::Leaf => {}
            Action::Spin(rounds) => (0..*rounds).for_each(|_| std::hint::spin_loop()),
            Action::Yield => thread::yield_now(),
            Action::Sleep(time) => thread::sleep(*time),
            Action::Checkpoint => checkpoint(),
            Action::YieldTo(local) => {
                has_pending();
                if *local {
                    yield_local()
                } else {
                    yield_now()
                };
            }
            Action::Reserve(bytes) => {
                reserve(*bytes);
                charge(*bytes);
                release(*bytes);
            }
            // Not `panic!`, because nobody wants to read the messages of the hook.
            Action::Panic => panic::resume_unwind(Box::new(Boom(self.census.count(number)))),
            Action::Sequence(nodes) => {
                let none = self.value(Affine::IDENTITY);
                return nodes.iter().fold(none, |sum, node| self.combine(sum, self.node(node)));
            }
            Action::Join(halves) => {
                let (a, b) = join(|| self.node(&halves[0]), || self.node(&halves[1]));
                return self.combine(a, b);
            }
            Action::JoinContext(halves) => {
                let (a, b) = join_context(
                    |_| self.node(&halves[0]),
                    |context| {
                        checkpoint();
                        let _ = context.migrated();
                        self.node(&halves[1])
                    },
                );
                return self.combine(a, b);
            }
            Action::JoinAll(nodes) => {
                if let [a, b, c] = &nodes[..] {
                    let (a, b, c) = join3(|| self.node(a), || self.node(b), || self.node(c));
                    return self.combine(self.combine(a, b), c);
                }
                let closures: Vec<_> = nodes.iter().map(|node| || self.node(node)).collect();
                let values = join_all(closures).into_iter();
                return values.fold(self.value(Affine::IDENTITY), |sum, value| self.combine(sum, value));
            }
            Action::Rendezvous(halves) => return self.rendezvous(halves),
            Action::Scope { place, how, body, spawned, chained } => {
                let slots: Vec<Slot> = spawned.iter().map(|_| Mutex::new(None)).collect();
                let inside = Inside { how: *how, body, spawned, slots: &slots, chained: *chained };
                let body = match place {
                    Opened::Here => scope(|s| self.scope(s, inside)),
                    Opened::InPlace => self.pool.handle().in_place_scope(|s| self.scope(s, inside)),
                    Opened::InPlaceElsewhere => self.other.handle().in_place_scope(|s| self.scope(s, inside)),
                };
                return slots.into_iter().fold(body, |sum, slot| {
                    let value = slot.into_inner().unwrap();
                    self.combine(sum, value.expect("a spawned closure ends before the scope does"))
                });
            }
            Action::Flood(count, how) => scope(|s| {
                for _ in 0..*count {
                    let token = self.value(Affine::IDENTITY);
                    how.spawn(s, move |_| {
                        drop(token);
                        self.count(number);
                    });
                }
            }),
            Action::Broadcast(false) => {
                let indices = self.pool.handle().broadcast(|place| {
                    self.count(number);
                    self.census.count(place.index())
                });
                assert!(indices.iter().map(|index| index.0).eq(0..self.pool.processors()));
            }
            Action::Broadcast(true) => {
                self.detached.fetch_add(self.pool.processors(), SeqCst);
                let detached = self.detached_closure(number);
                self.pool.handle().spawn_broadcast(move |_| detached());
            }
            Action::ScopeBroadcast => self.pool.run(|| {
                scope(|s| {
                    s.spawn_broadcast(move |_, place| {
                        assert!(place.index() < place.processors());
                        self.count(number);
                    });
                });
            }),
            Action::ForEach(range, body) => for_each(range.clone(), |i| {
                assert!(range.contains(&i));
                self.node(body);
            }),
            Action::MapReduce(range, body) => {
                return map_reduce(
                    range.clone(),
                    |i| self.combine(self.value(Affine::of(i)), self.node(body)),
                    || self.value(Affine::IDENTITY),
                    |a, b| self.combine(a, b),
                );
            }
            Action::Bind(node) => return BOUND.scope(number, || self.node(node)),
            Action::Token(halves) => return self.token(halves),
            Action::Cancelled(part) => return self.cancelled(*part),
            Action::Within(node) => {
                return self.order.with(|order| {
                    *order = order.then(Affine::of(number + 1));
                    let value = self.node(node);
                    *order = order.then(Affine::of(number + 2));
                    value
                });
            }
            Action::PerProcessor(iterations) => self.per_processor(*iterations),
            Action::Touchy(closures, at, how) => self.touchy(*closures, *at, *how),
            Action::Resize(number) => match self.pool.set_processors(1 + number % self.processors) {
                Ok(()) | Err(Error::NotResizable) => {}
                Err(error) => panic!("{error}"),
            },
            Action::Blocking(node) => return blocking(|| self.node(node)),
            Action::Run(node) => return self.pool.run(|| self.node(node)),
            Action::Elsewhere(node) => return self.other.run(|| self.node(node)),
            Action::RunHere(node) => {
                let handle = Handle::current().unwrap_or_else(|| self.pool.handle());
                return handle.run(|| self.node(node));
            }
            Action::Detach(fifo) => {
                self.detached.fetch_add(1, SeqCst);
                let closure = self.detached_closure(number);
                if *fifo { self.pool.handle().spawn_fifo(closure) } else { drop(self.pool.spawn(closure)) }
            }
            Action::Task(wanted) => self.task(number, *wanted),
            Action::Closed(node) => {
                let pool = Pool::builder().processors(1 + number % 2).build().expect("a small pool");
                let handle = pool.into_handle();
                let value = handle.run(|| self.node(node));
                self.detached.fetch_add(1, SeqCst);
                handle.spawn(self.detached_closure(number));
                handle.close();
                return value;
            }
            Action::Seated(node) => {
                let seated = || {
                    let pool = Pool::builder().processors(2).use_current_thread().build();
                    let value = self.node(node);
                    drop(pool.expect("a small pool"));
                    value
                };
                let ended = blocking(|| thread::scope(|threads| threads.spawn(seated).join()));
                return ended.unwrap_or_else(|payload| panic::resume_unwind(payload));
            }
        }
        self.value(Affine::IDENTITY)
    }

    fn token(&self, halves: &[Node; 2]) -> Value {
        let token = CancelToken::new();
        let both = token.join(|| self.node(&halves[0]), || self.node(&halves[1]));
        let (a, b) = both.expect("nobody has cancelled the token");
        token.cancel();
        let value = self.value(Affine::IDENTITY);
        let nothing = token.join(|| drop(value), || unreachable!("the token is cancelled"));
        assert_eq!(nothing, Err::<((), ()), _>(Cancelled));
        self.combine(a, b)
    }

    /// A closure that only the end of the program waits for. The caller must count it before.
    fn detached_closure(&self, number: Number) -> impl Fn() + Send + Sync + 'static {
        let (counts, detached) = (Arc::clone(&self.counts), Arc::clone(&self.detached));
        move || {
            counts[number].fetch_add(1, SeqCst);
            detached.fetch_sub(1, SeqCst);
        }
    }

    /// Starts a task on the pool of the program. The closure runs once, or is dropped and counted here.
    fn task(&self, number: Number, wanted: Wanted) {
        self.detached.fetch_add(1, SeqCst);
        let (carried, bound) = (self.census.count(number), BOUND.get());
        let ended = self.detached_closure(number);
        let closure = move || {
            assert_eq!(BOUND.get(), bound, "tasks inherit what is bound");
            // A task has no place in the order of the program, and may have an order of its own.
            let list = Reducer::new(Append::<Vec<Number>>::new());
            let add = |number| list.with(|list| list.push(number));
            join(|| join(|| add(0), || add(1)), || scope(|s| (2..4).for_each(|n| s.spawn(move |_| add(n)))));
            assert_eq!(list.into_inner(), [0, 1, 2, 3]);
            drop(carried);
            ended();
        };
        match wanted {
            Wanted::Join => self.pool.spawn(closure).join().expect("the closure does not panic"),
            Wanted::Await => block_on(self.pool.spawn(closure)).expect("the closure does not panic"),
            Wanted::RunAsync => block_on(self.pool.handle().run_async(closure)),
            Wanted::Abort => {
                if self.pool.spawn(closure).abort() {
                    self.detached_closure(number)();
                }
            }
        }
    }

    fn rendezvous(&self, halves: &[Node; 2]) -> Value {
        let (sender, receiver) = mpsc::channel();
        let (a, b) = join(
            move || {
                blocking(|| receiver.recv().expect("the second half sends"));
                self.node(&halves[0])
            },
            || {
                sender.send(()).expect("the first half waits");
                self.node(&halves[1])
            },
        );
        self.combine(a, b)
    }

    /// What happens in a scope: its closures leave their values in the slots.
    fn scope<'s>(&'s self, s: &Scope<'s>, inside: Inside<'s>) -> Value {
        let Inside { how, body, spawned, slots, chained } = inside;
        if chained {
            self.spawn_chain(s, how, spawned, slots);
        } else {
            for (node, slot) in spawned.iter().zip(slots) {
                how.spawn(s, move |_| *slot.lock().unwrap() = Some(self.node(node)));
            }
        }
        self.node(body)
    }

    fn spawn_chain<'s>(&'s self, s: &Scope<'s>, how: How, nodes: &'s [Node], slots: &'s [Slot]) {
        if let ([node, nodes @ ..], [slot, slots @ ..]) = (nodes, slots) {
            how.spawn(s, move |s| {
                self.spawn_chain(s, how, nodes, slots);
                let value = self.node(node);
                *slot.lock().unwrap() = Some(value);
            });
        }
    }
}

/// What is in a scope.
#[derive(Clone, Copy)]
struct Inside<'a> {
    how: How,
    body: &'a Node,
    spawned: &'a [Node],
    slots: &'a [Slot],
    chained: bool,
}

/// Where a closure of a scope leaves its value.
type Slot = Mutex<Option<Value>>;

impl How {
    fn spawn<'s>(self, s: &Scope<'s>, f: impl FnOnce(&Scope<'s>) + Send + 's) {
        match self {
            How::Spawn => s.spawn(f),
            How::Defer => s.defer(f),
            How::Fifo => s.spawn_fifo(f),
        }
    }
}

impl Program {
    /// Executes the program on `pool`, with some of it on `other`, and compares with the serial elision. Call this
    /// under a watchdog.
    pub(crate) fn check(&self, pool: &Pool, other: &Pool) {
        let mut serial = Serial {
            counts: vec![0; self.nodes],
            order: Affine::IDENTITY,
            processors: pool.processors() as u32,
        };
        let expected = self.root.serial(&mut serial);
        let processors = pool.processors();
        let mut run = Run {
            pool,
            processors,
            other,
            counts: (0..self.nodes).map(|_| AtomicU32::new(0)).collect(),
            detached: Arc::default(),
            census: Census::default(),
            order: Reducer::new(Compose(self.meanwhile)),
        };
        let result = panic::catch_unwind(AssertUnwindSafe(|| pool.run(|| self_check(&run, &self.root))));
        match (result, expected) {
            (Ok(value), Ok(expected)) => {
                assert_eq!(value.0, expected, "the result is that of the serial elision")
            }
            (Err(payload), Err(expected)) => match payload.downcast::<Boom>() {
                Ok(boom) => assert!(
                    expected.contains(&boom.0.0),
                    "the panic of {} arrived, not one of {expected:?}",
                    boom.0.0
                ),
                Err(other) => panic::resume_unwind(other),
            },
            (Ok(_), Err(expected)) => panic!("no panic arrived, not one of {expected:?}"),
            (Err(payload), Ok(_)) => panic::resume_unwind(payload),
        }
        wait_until(|| run.detached.load(SeqCst) == 0);
        if pool.processors() != processors {
            pool.set_processors(processors).expect("the program has resized the pool");
        }
        let counts: Vec<u32> = run.counts.iter().map(|count| count.load(SeqCst)).collect();
        assert_eq!(counts, serial.counts, "every closure runs exactly once");
        assert_eq!(run.order.take(), serial.order, "the reducer's order is the serial one");
        assert_eq!(run.census.alive(), 0, "every value is dropped exactly once");
    }
}

/// The root of a program, which must run on a processor of its pool.
fn self_check(run: &Run<'_>, root: &Node) -> Value {
    let processor = bombyx::current_processor().expect("a program holds a processor");
    assert!(processor < run.pool.processors());
    run.node(root)
}
