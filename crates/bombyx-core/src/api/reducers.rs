//! Operations for a [`Reducer`](crate::Reducer) that are needed often.
//!
//! | operation | result | of nothing |
//! |---|---|---|
//! | [`Sum`] | the sum | 0 |
//! | [`Min`], [`Max`] | the least or greatest value with its index; of equal ones the first | `None` |
//! | [`Append`] | a vector, a string, or another collection, in serial order | empty |
//! | [`Merge`] | a map; `combine` decides between values with the same key | empty |
//! | [`First`], [`Last`] | the first or last value in serial order: `Option::or` | `None` |
//! | [`Fold`] | whatever two closures say | |

use crate::api::reducer::Monoid;
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::ops::AddAssign;

/// Defines an operation that is only a name for its type.
macro_rules! operation {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        pub struct $name<T>(PhantomData<fn() -> T>);

        impl<T> $name<T> {
            /// The operation.
            pub const fn new() -> $name<T> {
                $name(PhantomData)
            }
        }

        impl<T> Default for $name<T> {
            fn default() -> $name<T> {
                $name::new()
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

operation! {
    /// The sum of what was added with `+=`.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Sum};
    /// let sum = Reducer::new(Sum::<f64>::new());
    /// bombyx::join(|| sum.with(|sum| *sum += 0.5), || sum.with(|sum| *sum += 2.0));
    /// assert_eq!(sum.into_inner(), 2.5);
    /// ```
    Sum
}

impl<T: AddAssign + Default + Send> Monoid for Sum<T> {
    type View = T;

    fn identity(&self) -> T {
        T::default()
    }

    #[inline]
    fn combine(&self, left: &mut T, right: T) {
        *left += right;
    }
}

/// The best value so far, with its index. This is the view of [`Min`] and [`Max`], to which closures offer values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best<T, I, const GREATEST: bool>(Option<(T, I)>);

impl<T: PartialOrd, I, const GREATEST: bool> Best<T, I, GREATEST> {
    /// Takes `value`, which has this index, if it is better than the best value so far.
    #[inline]
    pub fn offer(&mut self, value: T, index: I) {
        let better = match &self.0 {
            None => true,
            Some((best, _)) if GREATEST => value > *best,
            Some((best, _)) => value < *best,
        };
        if better {
            self.0 = Some((value, index));
        }
    }

    /// The best value and its index, if there was any value.
    pub fn get(self) -> Option<(T, I)> {
        self.0
    }
}

macro_rules! best {
    ($(#[$about:meta])* $name:ident, $greatest:literal) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name<T, I = usize>(PhantomData<fn() -> (T, I)>);

        impl<T, I> $name<T, I> {
            /// The operation.
            pub const fn new() -> $name<T, I> {
                $name(PhantomData)
            }
        }

        impl<T, I> Default for $name<T, I> {
            fn default() -> $name<T, I> {
                $name::new()
            }
        }

        impl<T: PartialOrd + Send, I: Send> Monoid for $name<T, I> {
            type View = Best<T, I, $greatest>;

            fn identity(&self) -> Self::View {
                Best(None)
            }

            #[inline]
            fn combine(&self, left: &mut Self::View, right: Self::View) {
                if let Some((value, index)) = right.0 {
                    left.offer(value, index);
                }
            }
        }
    };
}

best! {
    /// The least value with its index; of equal ones the first in serial order.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Min};
    /// let numbers = [3.5, 1.5, 2.5, 1.5];
    /// let min = Reducer::new(Min::new());
    /// bombyx::for_each(0..numbers.len(), |i| min.with(|min| min.offer(numbers[i], i)));
    /// assert_eq!(min.into_inner().get(), Some((1.5, 1)));
    /// ```
    Min, false
}

best! {
    /// The greatest value with its index; of equal ones the first in serial order.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Max};
    /// let words = ["silk", "leaf", "moth"];
    /// let max = Reducer::new(Max::new());
    /// bombyx::for_each(0..words.len(), |i| max.with(|max| max.offer(words[i], i)));
    /// assert_eq!(max.into_inner().get(), Some(("silk", 0)));
    /// ```
    Max, true
}

operation! {
    /// A collection to which closures append: `Vec`, `String`, `VecDeque`, `LinkedList`, or a `Vec` as the output of
    /// [`std::io::Write`].
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Append};
    /// use std::fmt::Write;
    /// let text = Reducer::new(Append::<String>::new());
    /// bombyx::for_each(0..5, |n| text.with(|text| write!(text, "{n} ").unwrap()));
    /// assert_eq!(text.into_inner(), "0 1 2 3 4 ");
    /// ```
    Append
}

/// A collection that [`Append`] knows.
pub trait Collection: Default {
    /// Moves everything in `right` behind everything in `self`.
    fn append_all(&mut self, right: Self);
}

impl<C: Collection + Send> Monoid for Append<C> {
    type View = C;

    fn identity(&self) -> C {
        C::default()
    }

    fn combine(&self, left: &mut C, right: C) {
        left.append_all(right);
    }
}

macro_rules! collections {
    ($($collection:ident)*) => {$(
        impl<T> Collection for $collection<T> {
            fn append_all(&mut self, mut right: Self) {
                self.append(&mut right);
            }
        }
    )*};
}

collections! { Vec VecDeque LinkedList }

impl Collection for String {
    fn append_all(&mut self, right: String) {
        self.push_str(&right);
    }
}

/// A map. If both sides have a key, `combine` adds the value on the right to the one on the left.
///
/// ```
/// use bombyx::{Reducer, reducers::Merge};
/// use std::collections::BTreeMap;
/// let words = ["silk", "moth", "silk"];
/// let counts = Reducer::new(Merge::<BTreeMap<&str, u32>, _>::new(|count, more| *count += more));
/// bombyx::for_each(0..words.len(), |i| counts.with(|map| *map.entry(words[i]).or_insert(0) += 1));
/// assert_eq!(counts.into_inner(), BTreeMap::from([("moth", 1), ("silk", 2)]));
/// ```
pub struct Merge<C, F> {
    combine: F,
    map: PhantomData<fn() -> C>,
}

impl<C: Map, F: Fn(&mut C::Value, C::Value) + Send + Sync> Merge<C, F> {
    /// The operation.
    pub const fn new(combine: F) -> Merge<C, F> {
        Merge { combine, map: PhantomData }
    }
}

impl<C, F> fmt::Debug for Merge<C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Merge")
    }
}

/// A map that [`Merge`] knows.
pub trait Map: Default {
    /// The values of the map.
    type Value;

    /// Moves everything in `right` into `self`.
    fn merge_all(&mut self, right: Self, combine: impl Fn(&mut Self::Value, Self::Value));
}

impl<C: Map + Send, F: Fn(&mut C::Value, C::Value) + Send + Sync> Monoid for Merge<C, F> {
    type View = C;

    fn identity(&self) -> C {
        C::default()
    }

    fn combine(&self, left: &mut C, right: C) {
        left.merge_all(right, &self.combine);
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Default> Map for HashMap<K, V, S> {
    type Value = V;

    fn merge_all(&mut self, right: Self, combine: impl Fn(&mut V, V)) {
        use std::collections::hash_map::Entry;
        for (key, value) in right {
            match self.entry(key) {
                Entry::Occupied(mut entry) => combine(entry.get_mut(), value),
                Entry::Vacant(entry) => drop(entry.insert(value)),
            }
        }
    }
}

impl<K: Ord, V> Map for BTreeMap<K, V> {
    type Value = V;

    fn merge_all(&mut self, right: Self, combine: impl Fn(&mut V, V)) {
        use std::collections::btree_map::Entry;
        for (key, value) in right {
            match self.entry(key) {
                Entry::Occupied(mut entry) => combine(entry.get_mut(), value),
                Entry::Vacant(entry) => drop(entry.insert(value)),
            }
        }
    }
}

operation! {
    /// The first value in serial order that a closure has set: `Option::or`.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::First};
    /// let first = Reducer::new(First::<usize>::new());
    /// bombyx::for_each(0..1000, |n| if n % 100 == 77 {
    ///     first.with(|first| { first.get_or_insert(n); });
    /// });
    /// assert_eq!(first.into_inner(), Some(77));
    /// ```
    First
}

impl<T: Send> Monoid for First<T> {
    type View = Option<T>;

    fn identity(&self) -> Option<T> {
        None
    }

    fn combine(&self, left: &mut Option<T>, right: Option<T>) {
        if left.is_none() {
            *left = right;
        }
    }
}

operation! {
    /// The last value in serial order that a closure has set.
    ///
    /// ```
    /// use bombyx::{Reducer, reducers::Last};
    /// let last = Reducer::new(Last::<u32>::new());
    /// bombyx::join(|| last.with(|last| *last = Some(1)), || last.with(|last| *last = Some(2)));
    /// assert_eq!(last.into_inner(), Some(2));
    /// ```
    Last
}

impl<T: Send> Monoid for Last<T> {
    type View = Option<T>;

    fn identity(&self) -> Option<T> {
        None
    }

    fn combine(&self, left: &mut Option<T>, right: Option<T>) {
        if right.is_some() {
            *left = right;
        }
    }
}

/// An operation made of two closures.
///
/// ```
/// use bombyx::{Reducer, reducers::Fold};
/// let product = Reducer::new(Fold::new(|| 1u64, |left: &mut u64, right| *left *= right));
/// bombyx::for_each(1..6, |n| product.with(|product| *product *= n));
/// assert_eq!(product.into_inner(), 120);
/// ```
pub struct Fold<I, C> {
    identity: I,
    combine: C,
}

impl<I, C> Fold<I, C> {
    /// `combine` must be associative, with `identity` as its neutral element.
    pub const fn new<T>(identity: I, combine: C) -> Fold<I, C>
    where
        I: Fn() -> T + Send + Sync,
        C: Fn(&mut T, T) + Send + Sync,
    {
        Fold { identity, combine }
    }
}

impl<I, C> fmt::Debug for Fold<I, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fold")
    }
}

impl<T, I, C> Monoid for Fold<I, C>
where
    T: Send,
    I: Fn() -> T + Send + Sync,
    C: Fn(&mut T, T) + Send + Sync,
{
    type View = T;

    fn identity(&self) -> T {
        (self.identity)()
    }

    fn combine(&self, left: &mut T, right: T) {
        (self.combine)(left, right);
    }
}
