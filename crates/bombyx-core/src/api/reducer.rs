//! Reducers: values that every closure below can add to, without locks, with the result of the serial program.
//!
//! These are the hyperobjects of Cilk (Frigo, Halpern, Leiserson and Lewin-Berlin, "Reducers and other Cilk++
//! hyperobjects", SPAA 2009), for forks whose second half is stolen instead of the continuation. How a half that was
//! stolen gets its own view, and how views are merged, is in [`crate::machine::chain`] and [`crate::machine::views`].
//!
//! # Why this is safe
//!
//! - Only one chain uses a view, and a chain runs one thing at a time, on one thread. `busy` says that a frame of the
//!   chain uses the view. Then an inner call gets a second view, which comes after the first.
//! - A [`Reducer`] stays on its thread, because it is not `Send`. Other chains get only references to it. So nobody can move
//!   or drop it while such a chain runs. Whoever moves or drops it is its home, or runs after its home on the same thread.
//! - Views that were not merged keep the [`Core`] alive, and with it the user's [`Monoid`]. They may outlive the reducer
//!   if the reducer is forgotten. So [`Reducer::new`] asks for `'static`. [`Reducer::scoped`] gives away only a reference,
//!   and takes the views back before it returns. By then all joins and scopes that could have used the reference have
//!   ended, because a closure of an outer scope cannot borrow it.

use crate::machine::chain;
use crate::machine::views::{self, Head, Home, Kind, View, Views};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// An associative operation with a neutral element. It need not be commutative.
///
/// ```
/// use bombyx::{Monoid, Reducer};
///
/// /// The longest word, or of several the first one.
/// struct Longest;
///
/// impl Monoid for Longest {
///     type View = String;
///
///     fn identity(&self) -> String {
///         String::new()
///     }
///
///     fn combine(&self, left: &mut String, right: String) {
///         if right.len() > left.len() {
///             *left = right;
///         }
///     }
/// }
///
/// let words = ["leaf", "mulberry", "silkworm", "moth"];
/// let longest = Reducer::new(Longest);
/// bombyx::for_each(0..words.len(), |i| longest.with(|seen| Longest.combine(seen, words[i].to_string())));
/// assert_eq!(longest.into_inner(), "mulberry");
/// ```
pub trait Monoid: Send + Sync {
    /// What closures add to.
    type View: Send;

    /// A view to which nothing was added.
    fn identity(&self) -> Self::View;

    /// Adds everything in `right` behind everything in `left`.
    ///
    /// The join or the scope that merges two views calls this, and a spawn in a scope does now and then. It may fork and
    /// block. If it panics, whoever called it panics.
    fn combine(&self, left: &mut Self::View, right: Self::View);
}

/// A value that every closure below can add to, without a lock, and with the result of the serial program.
///
/// A stolen closure that uses the reducer gets its own *view*: a partial result. Its join combines the view with what
/// came before it in serial order. So a list has the order of the serial program, whatever was stolen. A fork that nobody
/// steals does nothing for this.
///
/// ```
/// use bombyx::{Reducer, reducers::Append};
///
/// struct Tree { label: char, children: Vec<Tree> }
///
/// fn walk(tree: &Tree, labels: &Reducer<Append<Vec<char>>>) {
///     labels.with(|list| list.push(tree.label));
///     bombyx::for_each(0..tree.children.len(), |i| walk(&tree.children[i], labels));
/// }
///
/// let leaf = |label| Tree { label, children: vec![] };
/// let tree = Tree { label: 'a', children: vec![leaf('b'), Tree { label: 'c', children: vec![leaf('d')] }, leaf('e')] };
/// let labels = Reducer::new(Append::new());
/// walk(&tree, &labels);
/// assert_eq!(labels.into_inner(), ['a', 'b', 'c', 'd', 'e']);
/// ```
///
/// - Use it in joins, scopes, loops and parallel iterators below the place where it was made, and in
///   [`Pool::run`](crate::Pool::run). What a closure of a [`scope`](crate::scope()) adds comes at the place of its
///   `spawn`, as if the closure had run there.
/// - A [task](crate::Task), a part of a broadcast, or another thread has no place in the serial order. If one of them uses
///   a reducer that was made elsewhere, it panics.
/// - If a closure panics, what it added stays. The other half of its join, and the other closures of its scope, still run
///   and add. So the result is the same in every run, even then.
/// - A closure inside `with` may fork. What is added meanwhile comes after what the closure itself adds.
pub struct Reducer<M: Monoid> {
    core: Arc<Core<M>>,
    /// Not `Send`: see the module text.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared reference gives access to the monoid, which is `Sync`, and to the view of the calling chain alone.
// Views are `Send`, because they are merged elsewhere.
unsafe impl<M: Monoid> Sync for Reducer<M> {}

/// What the reducer and its views share.
struct Core<M: Monoid> {
    monoid: M,
    number: u64,
    home: Home,
    /// The view of the home. The other fields are read by all threads, so it has cache lines of its own.
    own: Apart<Slot<M>>,
}

/// On cache lines that nothing else shares.
#[repr(align(128))]
struct Apart<T>(T);

// SAFETY: other threads use the monoid, and of the home and its view nothing that only the home may use.
unsafe impl<M: Monoid> Sync for Core<M> {}
// SAFETY: the last owner drops it: the reducer, or a view that outlives the reducer, perhaps on another thread. The monoid
// and the value are `Send`, and nobody uses the rest by then.
unsafe impl<M: Monoid> Send for Core<M> {}

/// A view.
#[repr(C)]
struct Slot<M: Monoid> {
    head: Head,
    /// None for the view in the core.
    core: Option<Arc<Core<M>>>,
    value: UnsafeCell<M::View>,
}

impl<M: Monoid> Slot<M> {
    const KIND: Kind = Kind { fold: Slot::<M>::fold, free: Slot::<M>::free };

    fn new(core: Option<Arc<Core<M>>>, number: u64, home: NonNull<Home>, value: M::View) -> Slot<M> {
        let kind = &Self::KIND;
        let head = Head {
            reducer: number,
            busy: Cell::new(false),
            over: Cell::new(None),
            kind,
            home: Cell::new(home),
        };
        Slot { head, core, value: UnsafeCell::new(value) }
    }

    /// The slot as a view, with the provenance of the whole slot.
    #[inline(always)]
    fn erased(&self) -> NonNull<Head> {
        NonNull::from(self).cast()
    }

    /// # Safety
    /// Both are slots of this type and of one reducer, and nobody uses them. The second came from [`Core::view`].
    unsafe fn fold(left: NonNull<Head>, right: NonNull<Head>) {
        // SAFETY: as the caller promises.
        let right = *unsafe { Box::from_raw(right.cast::<Slot<M>>().as_ptr()) };
        let core = right.core.expect("only views outside of the core are added to others");
        // SAFETY: as the caller promises. Marked as busy, because the user's code may come here again.
        let left = unsafe { left.cast::<Slot<M>>().as_ref() };
        let using = Using::begin(left);
        // SAFETY: nobody else uses the value until `using` is dropped.
        core.monoid.combine(unsafe { &mut *left.value.get() }, right.value.into_inner());
        drop(using);
    }

    /// # Safety
    /// The slot came from [`Core::view`], and nobody uses it any more.
    unsafe fn free(slot: NonNull<Head>) {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(slot.cast::<Slot<M>>().as_ptr()) });
    }
}

impl<M: Monoid> Core<M> {
    /// A view without anything in it.
    fn view(self: &Arc<Self>) -> View {
        let value = self.monoid.identity();
        let home = NonNull::from(&self.home);
        let slot = Slot::new(Some(Arc::clone(self)), self.number, home, value);
        // SAFETY: allocated here, with a value that is `Send`.
        unsafe { View::new(NonNull::from(Box::leak(Box::new(slot))).cast()) }
    }
}

/// A frame uses a view until this is dropped.
struct Using<'a, M: Monoid>(&'a Slot<M>);

impl<'a, M: Monoid> Using<'a, M> {
    #[inline(always)]
    fn begin(slot: &'a Slot<M>) -> Using<'a, M> {
        slot.head.busy.set(true);
        Using(slot)
    }
}

impl<M: Monoid> Drop for Using<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.head.busy.set(false);
        if self.0.head.has_over() {
            add_over(self.0);
        }
    }
}

/// Adds what was done while the view was busy.
#[cold]
#[inline(never)]
fn add_over<M: Monoid>(slot: &Slot<M>) {
    let Some(over) = slot.head.over.take() else { return };
    // SAFETY: both belong to the calling chain and to one reducer.
    let add = || unsafe { views::fold(slot.erased(), over) };
    if thread::panicking() {
        // A second panic would abort the process.
        let _ = panic::catch_unwind(AssertUnwindSafe(add)).map_err(mem::forget);
    } else {
        add();
    }
}

impl<M: Monoid> Reducer<M> {
    /// An empty reducer. The calling closure is its home.
    ///
    /// For views that borrow, see [`Reducer::scoped`].
    pub fn new(monoid: M) -> Reducer<M>
    where
        M: 'static,
        M::View: 'static,
    {
        Reducer::make(monoid)
    }

    /// Calls `f` with a new reducer, and returns the result of `f` and of the reducer. The views may borrow.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Append};
    /// let words = ["leaf".to_string(), "silk".to_string(), "moth".to_string()];
    /// let ((), with_l) = Reducer::scoped(Append::new(), |list| {
    ///     bombyx::for_each(0..words.len(), |i| if words[i].contains('l') {
    ///         list.with(|list: &mut Vec<&str>| list.push(&words[i]));
    ///     });
    /// });
    /// assert_eq!(with_l, ["leaf", "silk"]);
    /// ```
    pub fn scoped<R>(monoid: M, f: impl FnOnce(&Reducer<M>) -> R) -> (R, M::View) {
        let reducer = Reducer::make(monoid);
        let result = f(&reducer);
        (result, reducer.into_inner())
    }

    fn make(monoid: M) -> Reducer<M> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Relaxed) + 1;
        let own = Slot::new(None, number, NonNull::dangling(), monoid.identity());
        let core = Arc::new(Core { monoid, number, home: Home::here(), own: Apart(own) });
        core.own.0.head.home.set(NonNull::from(&core.home));
        core.home.set_view(core.own.0.erased());
        views::count_reducer(1);
        Reducer { core, stays: PhantomData }
    }

    /// Calls `f` with the view of the calling closure.
    ///
    /// This takes a few nanoseconds. Only the first call after a steal makes a view.
    ///
    /// # Panics
    /// If the caller has no place in the serial order below the place where the reducer was made: see [`Reducer`].
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut M::View) -> R) -> R {
        let slot = self.slot();
        let _using = Using::begin(slot);
        // SAFETY: the view belongs to the calling chain, which runs one thing at a time. It was not busy, and is until
        // `_using` is dropped, so no other frame uses it.
        f(unsafe { &mut *slot.value.get() })
    }

    /// The view of the calling chain, which is not busy.
    #[inline(always)]
    fn slot(&self) -> &Slot<M> {
        let (number, head) = chain::recent();
        if number == self.core.number {
            // SAFETY: the chain noted this view, which is alive as long as it is noted.
            let slot = unsafe { &*head.cast::<Slot<M>>() };
            if !slot.head.is_busy() {
                return slot;
            }
        }
        self.find_slot()
    }

    #[cold]
    #[inline(never)]
    fn find_slot(&self) -> &Slot<M> {
        let mut head = Views::of(self.core.number, &self.core.home, || self.core.view());
        loop {
            // SAFETY: the view belongs to the calling chain and this reducer, so it is alive while the reducer is used.
            let slot = unsafe { head.cast::<Slot<M>>().as_ref() };
            if !slot.head.is_busy() {
                return slot;
            }
            let over = slot.head.over.take().unwrap_or_else(|| self.core.view());
            head = over.erased();
            slot.head.over.set(Some(over));
        }
    }

    /// The result. Every closure that used the reducer has ended, because it had borrowed the reducer.
    pub fn into_inner(mut self) -> M::View {
        self.take()
    }

    /// The result so far. The reducer is then as if it were new.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Sum};
    /// let mut sum = Reducer::new(Sum::<u32>::new());
    /// bombyx::for_each(0..10, |n| sum.with(|sum| *sum += n));
    /// assert_eq!(sum.take(), 45);
    /// assert_eq!(sum.take(), 0);
    /// ```
    pub fn take(&mut self) -> M::View {
        let own = self.core.own.0.erased();
        for view in Views::take(self.core.number) {
            // SAFETY: the reducer is on its thread, and nobody else has a reference to it. So nobody uses its views.
            unsafe { views::fold(own, view) };
        }
        let identity = self.core.monoid.identity();
        // SAFETY: as above.
        mem::replace(unsafe { &mut *self.core.own.0.value.get() }, identity)
    }
}

impl<M: Monoid> Drop for Reducer<M> {
    fn drop(&mut self) {
        drop(Views::take(self.core.number));
        views::count_reducer(-1);
    }
}

impl<M: Monoid> fmt::Debug for Reducer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reducer").finish_non_exhaustive()
    }
}
