//! [`Task`]: what a body holds while it runs, and how it ends: with a value ([`Task::end`]), with a fork
//! ([`Task::fork`]), or with another body to run before what follows ([`Task::call`]).
//!
//! A body gets one `Task` and must return an [`Ended`]. Only consuming the task gives one, so a body ends exactly once.
//! Values go into cells of the join's record. Each branch writes its own cell before it ends, and the join's body,
//! which runs after both, gets them as arguments.

use crate::arena::Arena;
use crate::discipline::Discipline;
use crate::protocol::{Next, fork};
use crate::record::{Join, JoinRef, Ops, Thread, ThreadRef};
use crate::worker::Worker;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

type Invariant<'a> = PhantomData<fn(&'a ()) -> &'a ()>;

/// A running thread that owes a `T`. `'e` is the lifetime of what threads may borrow, and `K` is the scheduler.
#[must_use = "a thread must end"]
pub struct Task<'w, 'e, T, K: Discipline> {
    worker: &'w mut Worker<K>,
    out: *mut T,
    _environment: Invariant<'e>,
}

/// Proof that a thread has ended. It is useless outside the body that must return it.
#[must_use = "a body returns this"]
pub struct Ended<'w>(Invariant<'w>);

impl<T, K: Discipline> fmt::Debug for Task<'_, '_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("processor", &self.worker.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Ended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ended")
    }
}

impl<'w, 'e, T: Send, K: Discipline> Task<'w, 'e, T, K> {
    /// Ends with a value.
    #[inline(always)]
    pub fn end(self, value: T) -> Ended<'w> {
        // SAFETY: `out` is this thread's cell in the record of what follows it, which runs later. Nobody else writes
        // the cell.
        unsafe { self.out.write(value) };
        Ended(PhantomData)
    }

    /// Ends with a fork. `left` and `right` may run at the same time, and `join` runs after both, with their values.
    /// What follows this thread follows `join`.
    #[inline(always)]
    pub fn fork<A, B, L, R, J>(self, left: L, right: R, join: J) -> Ended<'w>
    where
        A: Send + 'e,
        B: Send + 'e,
        L: for<'x> FnOnce(Task<'x, 'e, A, K>) -> Ended<'x> + Send + 'e,
        R: for<'x> FnOnce(Task<'x, 'e, B, K>) -> Ended<'x> + Send + 'e,
        J: for<'x> FnOnce(Task<'x, 'e, T, K>, A, B) -> Ended<'x> + Send + 'e,
    {
        let worker = self.worker;
        let joint: NonNull<Joint<J, A, B, T>> = worker.arena.allocate();
        // SAFETY: the three records are new; their types are those that `run` casts back to.
        let (left, right) = unsafe {
            joint.write(Joint {
                join: Join::new(Joint::<J, A, B, T>::OPS::<'e, K>(), Arena::class_of::<Joint<J, A, B, T>>()),
                out: self.out,
                left: MaybeUninit::uninit(),
                right: MaybeUninit::uninit(),
                body: MaybeUninit::new(join),
            });
            (
                branch::<L, A, K>(worker, left, &raw mut (*joint.as_ptr()).left),
                branch::<R, B, K>(worker, right, &raw mut (*joint.as_ptr()).right),
            )
        };
        fork(worker, left, right, JoinRef(joint.cast()));
        Ended(PhantomData)
    }

    /// Continues with `first`. After everything that `first` forks, `then` runs and gets the value.
    #[inline(always)]
    pub fn call<A, C, J>(self, first: C, then: J) -> Ended<'w>
    where
        A: Send + 'e,
        C: for<'x> FnOnce(Task<'x, 'e, A, K>) -> Ended<'x>,
        J: for<'x> FnOnce(Task<'x, 'e, T, K>, A) -> Ended<'x> + Send + 'e,
    {
        let worker = self.worker;
        let Some(next) = worker.current.take() else { unreachable!("a thread ends once") };
        let sequel: NonNull<Sequel<J, A, T>> = worker.arena.allocate();
        // SAFETY: the record is new; its type is the one that `run` casts back to.
        let out = unsafe {
            sequel.write(Sequel {
                thread: Thread::new(Sequel::<J, A, T>::OPS::<'e, K>()),
                out: self.out,
                value: MaybeUninit::uninit(),
                body: MaybeUninit::new(then),
            });
            sequel.as_ref().thread.set_next(next);
            &raw mut (*sequel.as_ptr()).value
        };
        worker.current = Some(Next::Single(JoinRef(sequel.cast())));
        first(Task { worker, out: out.cast(), _environment: PhantomData })
    }

    /// How many processors there are.
    pub fn processors(&self) -> usize {
        self.worker.shared.cells.len()
    }
}

/// A thread without predecessors: a branch of a fork, or the first of all.
#[repr(C)]
struct Branch<F, T> {
    thread: Thread,
    out: *mut T,
    body: MaybeUninit<F>,
}

/// Makes the record of a branch.
#[inline(always)]
pub(crate) fn branch<'e, F, T, K>(worker: &mut Worker<K>, body: F, out: *mut MaybeUninit<T>) -> ThreadRef
where
    K: Discipline,
    T: Send + 'e,
    F: for<'x> FnOnce(Task<'x, 'e, T, K>) -> Ended<'x> + Send + 'e,
{
    let record: NonNull<Branch<F, T>> = worker.arena.allocate();
    let thread = Thread::new(Branch::<F, T>::OPS::<'e, K>());
    // SAFETY: the record is new.
    unsafe { record.write(Branch { thread, out: out.cast(), body: MaybeUninit::new(body) }) };
    ThreadRef(record.cast())
}

impl<F, T> Branch<F, T> {
    #[allow(non_snake_case, reason = "a constant that depends on a discipline")]
    #[inline(always)]
    fn OPS<'e, K>() -> &'static Ops
    where
        K: Discipline,
        T: Send + 'e,
        F: for<'x> FnOnce(Task<'x, 'e, T, K>) -> Ended<'x> + Send + 'e,
    {
        &const { Ops { run: run_branch::<F, T, K> } }
    }
}

/// # Safety
/// `thread` is a `Branch<F, T>` that the worker owns, and `worker` a `Worker<K>` that nothing else uses meanwhile.
unsafe fn run_branch<'e, F, T, K>(thread: NonNull<Thread>, worker: *mut ())
where
    K: Discipline,
    T: Send + 'e,
    F: for<'x> FnOnce(Task<'x, 'e, T, K>) -> Ended<'x> + Send + 'e,
{
    let record: NonNull<Branch<F, T>> = thread.cast();
    // SAFETY: as the caller promises. What the record holds is moved out before its memory is freed.
    unsafe {
        let worker = &mut *worker.cast::<Worker<K>>();
        let body = (*record.as_ptr()).body.assume_init_read();
        let out = (*record.as_ptr()).out;
        worker.arena.free(record);
        let Ended(_) = body(Task { worker, out, _environment: PhantomData });
    }
}

/// The thread that joins two branches.
#[repr(C)]
struct Joint<F, A, B, T> {
    join: Join,
    out: *mut T,
    left: MaybeUninit<A>,
    right: MaybeUninit<B>,
    body: MaybeUninit<F>,
}

impl<F, A, B, T> Joint<F, A, B, T> {
    #[allow(non_snake_case, reason = "a constant that depends on a discipline")]
    #[inline(always)]
    fn OPS<'e, K>() -> &'static Ops
    where
        K: Discipline,
        T: Send,
        F: for<'x> FnOnce(Task<'x, 'e, T, K>, A, B) -> Ended<'x> + Send + 'e,
    {
        &const { Ops { run: run_joint::<F, A, B, T, K> } }
    }
}

/// # Safety
/// As for [`run_branch`], with a `Joint<F, A, B, T>` whose branches have both ended.
unsafe fn run_joint<'e, F, A, B, T, K>(thread: NonNull<Thread>, worker: *mut ())
where
    K: Discipline,
    T: Send,
    F: for<'x> FnOnce(Task<'x, 'e, T, K>, A, B) -> Ended<'x> + Send + 'e,
{
    let record: NonNull<Joint<F, A, B, T>> = thread.cast();
    // SAFETY: by the caller's promise; both branches wrote their values before they ended.
    unsafe {
        let worker = &mut *worker.cast::<Worker<K>>();
        let joint = record.as_ptr();
        let (a, b) = ((*joint).left.assume_init_read(), (*joint).right.assume_init_read());
        let body = (*joint).body.assume_init_read();
        let out = (*joint).out;
        worker.retire(JoinRef(record.cast()));
        let Ended(_) = body(Task { worker, out, _environment: PhantomData }, a, b);
    }
}

/// The thread that follows another.
#[repr(C)]
struct Sequel<F, A, T> {
    thread: Thread,
    out: *mut T,
    value: MaybeUninit<A>,
    body: MaybeUninit<F>,
}

impl<F, A, T> Sequel<F, A, T> {
    #[allow(non_snake_case, reason = "a constant that depends on a discipline")]
    #[inline(always)]
    fn OPS<'e, K>() -> &'static Ops
    where
        K: Discipline,
        T: Send,
        F: for<'x> FnOnce(Task<'x, 'e, T, K>, A) -> Ended<'x> + Send + 'e,
    {
        &const { Ops { run: run_sequel::<F, A, T, K> } }
    }
}

/// # Safety
/// As for [`run_branch`], with a `Sequel<F, A, T>` whose predecessor has ended.
unsafe fn run_sequel<'e, F, A, T, K>(thread: NonNull<Thread>, worker: *mut ())
where
    K: Discipline,
    T: Send,
    F: for<'x> FnOnce(Task<'x, 'e, T, K>, A) -> Ended<'x> + Send + 'e,
{
    let record: NonNull<Sequel<F, A, T>> = thread.cast();
    // SAFETY: by the caller's promise.
    unsafe {
        let worker = &mut *worker.cast::<Worker<K>>();
        let value = (*record.as_ptr()).value.assume_init_read();
        let body = (*record.as_ptr()).body.assume_init_read();
        let out = (*record.as_ptr()).out;
        worker.arena.free(record);
        let Ended(_) = body(Task { worker, out, _environment: PhantomData }, value);
    }
}

/// The first thread of a computation, whose value goes to `out`.
pub(crate) fn first<'e, F, T, K>(worker: &mut Worker<K>, body: F, out: &mut MaybeUninit<T>) -> ThreadRef
where
    K: Discipline,
    T: Send + 'e,
    F: for<'x> FnOnce(Task<'x, 'e, T, K>) -> Ended<'x> + Send + 'e,
{
    branch(worker, body, ptr::from_mut(out))
}
