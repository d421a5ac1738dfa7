//! Views: what a chain has added to reducers that were made elsewhere, in serial order.
//!
//! A reducer has a *home*: the chain that made it. The view of its home is in the reducer itself. Any other chain makes a
//! view when it first uses the reducer, and keeps it in its [`Views`]. When the chain ends, the chain that waits for it
//! puts these views behind its own.
//!
//! # Closures of a scope
//!
//! A spawned closure runs later than its place in the serial order. So a spawn *cuts* the calling chain: it sets aside the
//! views so far, followed by a [`Later`], a place that the closure will fill when it ends. Then a new part of the chain
//! begins without views, even for reducers that have their home here. When the scope ends, all its closures have filled
//! their places, and [`Views::settle`] merges everything from left to right. Places of outer scopes may still be empty
//! then; they stay.
//!
//! ```text
//! before | later | between | later | now        set aside: everything but `now`
//! ```
//!
//! A closure that spawns brings such a list itself, and so does a stolen half that spawns. The join puts the list of the
//! half behind its own.
//!
//! A chain that spawns many closures settles what it can now and then ([`Views::settle_if_long`]). So its list is at most
//! about twice as long as the number of its closures that have not ended.
//!
//! # Who may touch what
//!
//! A chain's views belong to the thread that runs the chain. So does the view in a reducer whose home is this chain. The end
//! of a chain comes before the merging of its views, because the waiting frame is told of the end. A [`Later`] has a lock,
//! because a chain may look whether it is filled while the closure still runs.

use crate::machine::chain;
use crate::machine::handlers::drop_unwanted;
use crate::system::primitive::{Mutex, lock};
use std::cell::Cell;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The first part of every view.
#[repr(C)]
pub(crate) struct Head {
    /// The number of the reducer. Numbers are not used again.
    pub(crate) reducer: u64,
    /// Whether a frame of the chain uses the view.
    pub(crate) busy: Cell<bool>,
    /// A second view, for what is added while the view is busy. It comes after what the user of the view adds.
    pub(crate) over: Cell<Option<View>>,
    pub(crate) kind: &'static Kind,
    /// Set once the reducer no longer moves.
    pub(crate) home: Cell<NonNull<Home>>,
}

impl Head {
    /// Whether a frame of the chain uses the view.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Whether something was done while the view was busy, and is not added yet.
    #[inline(always)]
    pub(crate) fn has_over(&self) -> bool {
        // SAFETY: only the chain that the view belongs to uses the cell, and nothing changes it meanwhile.
        unsafe { (*self.over.as_ptr()).is_some() }
    }
}

/// How to handle a view without knowing its type.
pub(crate) struct Kind {
    /// Adds the second view to the first, and frees the second.
    pub(crate) fold: unsafe fn(NonNull<Head>, NonNull<Head>),
    /// Frees the view.
    pub(crate) free: unsafe fn(NonNull<Head>),
}

/// The home of a reducer. It is in memory that all views of the reducer keep alive.
pub(crate) struct Home {
    /// The number of the chain.
    chain: u64,
    /// The part of the chain in which the view of the reducer can be used. Only the chain changes it.
    epoch: Cell<u64>,
    /// The view.
    view: Cell<*const Head>,
}

impl Home {
    /// The calling chain.
    pub(crate) fn here() -> Home {
        Home { chain: chain::number(), epoch: Cell::new(chain::epoch()), view: Cell::new(ptr::null()) }
    }

    pub(crate) fn set_view(&self, view: NonNull<Head>) {
        self.view.set(view.as_ptr());
    }

    /// The view of the reducer, if the calling chain may use it: it is the home, and nothing of the reducer is set aside
    /// behind that view.
    fn open(&self) -> Option<NonNull<Head>> {
        // Only the home chain gets past this test, so only it touches the cells.
        if self.chain != chain::number() {
            return None;
        }
        if self.epoch.get() != chain::epoch() {
            // SAFETY: the calling chain's views, which nobody else uses.
            if unsafe { chain::views().cast::<Views>().as_ref() }.is_some_and(|views| !views.aside.is_empty())
            {
                return None;
            }
            self.epoch.set(chain::epoch());
        }
        NonNull::new(self.view.get().cast_mut())
    }
}

/// A view outside of its reducer. Dropping it frees it: nothing will be merged with it, because a panic broke that off, or
/// because it has no place in the serial order. If its destructor panics, nobody receives that panic.
pub(crate) struct View(NonNull<Head>);

// SAFETY: views are values that can be sent, and nobody else has them.
unsafe impl Send for View {}

impl View {
    /// # Safety
    /// The view was allocated for this, its value can be sent, and it is not used otherwise.
    pub(crate) unsafe fn new(head: NonNull<Head>) -> View {
        View(head)
    }

    pub(crate) fn head(&self) -> &Head {
        // SAFETY: alive until this is dropped.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn erased(&self) -> NonNull<Head> {
        self.0
    }

    fn is_busy(&self) -> bool {
        self.head().is_busy()
    }

    pub(crate) fn into_raw(self) -> NonNull<Head> {
        mem::ManuallyDrop::new(self).0
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: only this value has the view.
        drop_unwanted(|| unsafe { (self.head().kind.free)(self.0) });
    }
}

/// Adds `view` behind what `to` has. If `to` is busy, the addition waits until `to` is no longer busy.
///
/// # Safety
/// Both belong to the calling chain and to the same reducer.
pub(crate) unsafe fn fold(to: NonNull<Head>, view: View) {
    // SAFETY: alive, because it belongs to the chain or the reducer.
    let head = unsafe { to.as_ref() };
    if !head.busy.get() {
        // SAFETY: as the caller promises; nobody uses the first view, and the second is ours.
        return unsafe { (head.kind.fold)(to, view.into_raw()) };
    }
    match head.over.take() {
        None => head.over.set(Some(view)),
        Some(over) => {
            // It goes back before the fold, which may panic.
            let at = over.0;
            head.over.set(Some(over));
            // SAFETY: as above.
            unsafe { fold(at, view) };
        }
    }
}

/// How many reducers there are in this process. Without any, spawns need no place.
static REDUCERS: AtomicUsize = AtomicUsize::new(0);

/// A reducer was made (1) or dropped (-1). Relaxed: whoever uses a reducer has learned of it from its maker.
pub(crate) fn count_reducer(change: isize) {
    REDUCERS.fetch_add(change as usize, Relaxed);
}

/// Something in the list of a chain.
enum Part {
    Done(Vec<View>),
    Later(Arc<Later>),
}

/// A place for the views of a spawned closure, in the list of the chain that spawned it.
#[derive(Default)]
pub(crate) struct Later(Mutex<Brought>);

#[derive(Default)]
enum Brought {
    #[default]
    NotYet,
    Views(Option<Box<Views>>),
}

impl Later {
    /// Whether closures need a place: there are reducers.
    #[inline]
    pub(crate) fn needed() -> bool {
        REDUCERS.load(Relaxed) != 0
    }

    /// A place at this point of the calling chain.
    pub(crate) fn here() -> Arc<Later> {
        Views::cut()
    }

    /// The closure has ended.
    pub(crate) fn bring(&self, views: Option<Box<Views>>) {
        *lock(&self.0) = Brought::Views(views);
    }

    /// The views that the closure has brought, if it has ended.
    fn take(&self) -> Option<Option<Box<Views>>> {
        match mem::take(&mut *lock(&self.0)) {
            Brought::NotYet => None,
            Brought::Views(views) => Some(views),
        }
    }
}

/// How long a list gets before its chain settles it without being asked, at least.
const LONG: usize = 64;

/// The views of a chain. See the module text.
pub(crate) struct Views {
    /// What comes before `now`. Empty if the chain is not cut.
    aside: Vec<Part>,
    now: Vec<View>,
    /// The part of the chain before the first cut.
    first: u64,
    /// How long `aside` may get.
    long: usize,
}

/// What a root says if there is no join to merge a view.
const STRAY: &str = "a reducer was used by a thread, a task or a part of a broadcast that does not end in a join \
                     or a scope below the place where the reducer was made";

impl Views {
    /// The views of the calling chain. If there are none, makes them. Nobody keeps the reference while the user's code
    /// runs, because that code may come here again.
    fn here() -> &'static mut Views {
        if chain::views().is_null() {
            let none = Views { aside: Vec::new(), now: Vec::new(), first: 0, long: LONG };
            chain::set_views(Box::into_raw(Box::new(none)).cast());
        }
        // SAFETY: made above, and freed when the chain has ended or has no views left. Only this chain's code uses it, on
        // this thread. See above for other references.
        unsafe { &mut *chain::views().cast() }
    }

    /// The views of the calling chain, if it has any.
    fn of_chain() -> Option<&'static mut Views> {
        if chain::views().is_null() { None } else { Some(Views::here()) }
    }

    /// The views that a chain has left, from [`chain::Begun::end`].
    ///
    /// # Safety
    /// Nobody else takes them.
    pub(crate) unsafe fn from_raw(left: *mut ()) -> Option<Box<Views>> {
        // SAFETY: made in `here`, and the caller takes them.
        (!left.is_null()).then(|| unsafe { Box::from_raw(left.cast()) })
    }

    /// The view of a reducer that the calling chain uses from now on. `make` makes an empty one.
    ///
    /// # Panics
    /// If the chain is a root, and not the reducer's home.
    pub(crate) fn of(reducer: u64, home: &Home, make: impl FnOnce() -> View) -> NonNull<Head> {
        let head = home.open().or_else(|| Views::find(reducer)).unwrap_or_else(|| {
            assert!(!Views::refuses(), "{STRAY}");
            let view = make();
            let head = view.0;
            Views::here().now.push(view);
            head
        });
        chain::set_recent(reducer, head.as_ptr().cast_const().cast());
        head
    }

    fn find(reducer: u64) -> Option<NonNull<Head>> {
        find(&Views::of_chain()?.now, reducer)
    }

    /// Whether the calling chain refuses views of reducers that have their home elsewhere.
    fn refuses() -> bool {
        chain::is_root() && Views::of_chain().is_none_or(|views| views.aside.is_empty())
    }

    /// Adds a view behind the views of the calling chain. Returns false if the chain refuses it.
    fn add(view: View) -> bool {
        let (reducer, home) = (view.head().reducer, view.head().home.get());
        // SAFETY: a view keeps its home alive.
        match unsafe { home.as_ref() }.open().or_else(|| Views::find(reducer)) {
            // SAFETY: this belongs to the calling chain, and `view` to the caller.
            Some(to) => unsafe { fold(to, view) },
            None if Views::refuses() => return false,
            None => Views::here().now.push(view),
        }
        true
    }

    fn add_all(views: Vec<View>) {
        let mut refused = false;
        for view in views {
            refused |= !Views::add(view);
        }
        assert!(!refused, "{STRAY}");
    }

    /// Adds what another chain has left to what the calling chain has done.
    #[cold]
    #[inline(never)]
    pub(crate) fn merge(mut left: Views) {
        let (aside, now) = (mem::take(&mut left.aside), mem::take(&mut left.now));
        if aside.is_empty() {
            return Views::add_all(now);
        }
        let here = Views::here();
        here.set_aside();
        here.aside.extend(aside);
        here.now = now;
    }

    /// Cuts the calling chain. What it does from now on comes after the place that this returns.
    fn cut() -> Arc<Later> {
        let later = Arc::<Later>::default();
        let here = Views::here();
        here.set_aside();
        here.aside.push(Part::Later(Arc::clone(&later)));
        later
    }

    /// Settles the list of the calling chain if it is long. A spawn does this before anything else, because it calls the
    /// user's code: that may panic, and the carrier may hold another processor afterwards.
    #[inline]
    pub(crate) fn settle_if_long() {
        if !chain::views().is_null() {
            Views::settle_long_list();
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_long_list() {
        let here = Views::here();
        if here.aside.len() >= here.long {
            Views::settle();
            if let Some(here) = Views::of_chain() {
                here.long = LONG.max(2 * here.aside.len());
            }
        }
    }

    fn set_aside(&mut self) {
        if self.aside.is_empty() {
            self.first = chain::epoch();
        }
        if !self.now.is_empty() {
            self.aside.push(Part::Done(mem::take(&mut self.now)));
        }
        chain::begin_part();
    }

    /// Merges what the calling chain has set aside, as far as closures have ended. If all have ended, the chain is no
    /// longer cut. The end of a scope needs this.
    #[inline]
    pub(crate) fn settle() {
        if !chain::views().is_null() {
            Views::settle_list();
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_list() {
        let here = Views::here();
        if here.aside.is_empty() {
            return;
        }
        chain::forget_recent();
        let mut parts = flatten(mem::take(&mut here.aside));
        parts.push(Part::Done(mem::take(&mut here.now)));
        // Something stays aside, so that the chain is still cut for code that `fold` calls.
        here.aside.push(Part::Done(Vec::new()));
        let mut settling = Settling { settled: Vec::new(), rest: parts.into_iter() };
        for part in settling.rest.by_ref() {
            match (settling.settled.last_mut(), part) {
                (Some(Part::Done(left)), Part::Done(views)) if !views.iter().any(View::is_busy) => {
                    for view in views {
                        match find(left, view.head().reducer) {
                            // SAFETY: both are in this list, which belongs to the calling chain.
                            Some(to) => unsafe { fold(to, view) },
                            None => left.push(view),
                        }
                    }
                }
                (_, part) => settling.settled.push(part),
            }
        }
        drop(settling);
        let here = Views::here();
        // If a place is still empty, or a frame of the chain uses a view, the chain stays cut. The next time will do.
        let [Part::Done(all)] = &mut here.aside[..] else { return };
        if here.now.iter().chain(&*all).any(View::is_busy) {
            return;
        }
        let mut all = mem::take(all);
        all.append(&mut here.now);
        here.aside.clear();
        chain::resume_part(here.first);
        Views::free_if_empty();
        Views::add_all(all);
    }

    fn free_if_empty() {
        if Views::of_chain().is_some_and(|views| views.aside.is_empty() && views.now.is_empty()) {
            // SAFETY: nobody else has the pointer, and the chain forgets it.
            let views = unsafe { Views::from_raw(chain::views()) };
            chain::set_views(ptr::null_mut());
            drop(views);
        }
    }

    /// Takes the views of a reducer out of what the calling chain has done, in serial order. Nobody uses them, and nobody
    /// will make new ones meanwhile.
    pub(crate) fn take(reducer: u64) -> Vec<View> {
        let Some(here) = Views::of_chain() else { return Vec::new() };
        chain::forget_recent();
        here.aside = flatten(mem::take(&mut here.aside));
        let mut taken = Vec::new();
        let mut take_from = |views: &mut Vec<View>| {
            let (wanted, rest): (Vec<_>, _) =
                mem::take(views).into_iter().partition(|view| view.head().reducer == reducer);
            *views = rest;
            taken.extend(wanted);
        };
        for part in &mut here.aside {
            if let Part::Done(views) = part {
                take_from(views);
            }
        }
        take_from(&mut here.now);
        Views::free_if_empty();
        taken
    }
}

/// Lists may nest deeply: a closure spawns the next one, and so on. This frees them without recursion.
impl Drop for Views {
    fn drop(&mut self) {
        drop(flatten(mem::take(&mut self.aside)));
    }
}

/// Merging a list. If the user's code panics meanwhile, the rest stays in the list.
struct Settling {
    settled: Vec<Part>,
    rest: std::vec::IntoIter<Part>,
}

impl Drop for Settling {
    fn drop(&mut self) {
        let here = Views::here();
        // The user's code may have added something behind the place that was kept.
        let since = mem::take(&mut here.aside).into_iter().skip(1);
        here.aside = mem::take(&mut self.settled);
        here.aside.extend(&mut self.rest);
        here.aside.extend(since);
    }
}

fn find(views: &[View], reducer: u64) -> Option<NonNull<Head>> {
    views.iter().find(|view| view.head().reducer == reducer).map(|view| view.0)
}

/// Replaces each place that was filled by what was brought there.
fn flatten(parts: Vec<Part>) -> Vec<Part> {
    let mut flat = Vec::with_capacity(parts.len());
    let mut rest = parts;
    rest.reverse();
    while let Some(part) = rest.pop() {
        match part {
            Part::Done(_) => flat.push(part),
            Part::Later(later) => match later.take() {
                None => flat.push(Part::Later(later)),
                Some(None) => {}
                Some(Some(mut brought)) => {
                    rest.push(Part::Done(mem::take(&mut brought.now)));
                    rest.extend(mem::take(&mut brought.aside).into_iter().rev());
                }
            },
        }
    }
    flat
}
