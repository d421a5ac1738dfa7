//! The collections of the standard library. If a collection cannot be cut, its items are first listed in a vector, by
//! reference or by value.
//!
//! **Not here:** slices, vectors, ranges and strings, which have their own modules.
//!
//! ```
//! use bombyx::prelude::*;
//! use std::collections::HashMap;
//! let mut ages = HashMap::from([("Ada", 36), ("Alan", 41)]);
//! ages.par_iter_mut().for_each(|(_, age)| *age += 1);
//! assert_eq!(ages.par_iter().map(|(_, age)| age).sum::<i32>(), 79);
//! ```

use crate::iter::{
    Chain, IntoParallelIterator, ParallelDrainFull, ParallelDrainRange, ParallelIterator, delegate,
};
use crate::{slice, vec};
use std::collections::{
    BTreeMap, BTreeSet, BinaryHeap as StdBinaryHeap, HashMap, HashSet, LinkedList, VecDeque as StdVecDeque,
};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// A parallel iterator over a list of a collection's items.
macro_rules! listed {
    ($doc:literal $name:ident [$($g:tt)*] [$($p:tt)*] => $item:ty; from [$($h:tt)*] $collection:ty, |$this:ident| $list:expr) => {
        listed!(@iterator $doc $name [$($g)*] [$($p)*] => $item);

        impl<$($h)*> IntoParallelIterator for $collection {
            type Item = $item;
            type Iter = $name<$($p)*>;

            fn into_par_iter(self) -> Self::Iter {
                let $this = self;
                $name { inner: $list.into_par_iter(), marker: PhantomData }
            }
        }
    };
    ($doc:literal $name:ident [$($g:tt)*] [$($p:tt)*] => $item:ty; drained [$($h:tt)*] $collection:ty, |$this:ident| $list:expr) => {
        listed!(@iterator $doc $name [$($g)*] [$($p)*] => $item);

        impl<$($h)*> ParallelDrainFull for $collection {
            type Item = $item;
            type Iter = $name<$($p)*>;

            fn par_drain(self) -> Self::Iter {
                let $this = self;
                $name { inner: $list.into_par_iter(), marker: PhantomData }
            }
        }
    };
    (@marker $item:ty, 'a $($rest:tt)*) => { PhantomData<&'a mut $item> };
    (@marker $item:ty, $($rest:tt)*) => { PhantomData<$item> };
    (@iterator $doc:literal $name:ident [$($g:tt)*] [$($p:tt)*] => $item:ty) => {
        #[doc = $doc]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<$($g)*> {
            inner: vec::IntoIter<$item>,
            #[allow(clippy::type_complexity)]
            marker: listed!(@marker $item, $($p)*),
        }

        impl<$($g)*> Clone for $name<$($p)*>
        where
            $item: Clone,
        {
            fn clone(&self) -> Self {
                $name { inner: self.inner.clone(), marker: PhantomData }
            }
        }

        impl<$($g)*> std::fmt::Debug for $name<$($p)*>
        where
            $item: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.inner.fmt(f)
            }
        }

        delegate::wrapper!([$($g)*] $name<$($p)*> => $item);
    };
}

fn list<I: IntoIterator>(items: I) -> Vec<I::Item> {
    items.into_iter().collect()
}

/// Maps by hashing.
pub mod hash_map {
    use super::*;

    listed! { "A parallel iterator over references to keys and values." Iter ['a, K: Sync, V: Sync] ['a, K, V] => (&'a K, &'a V);
    from ['a, K: Sync, V: Sync, S] &'a HashMap<K, V, S>, |map| list(map.iter()) }
    listed! { "A parallel iterator over keys and mutable references to values." IterMut ['a, K: Sync, V: Send] ['a, K, V] => (&'a K, &'a mut V);
    from ['a, K: Sync, V: Send, S] &'a mut HashMap<K, V, S>, |map| list(map.iter_mut()) }
    listed! { "A parallel iterator over keys and values." IntoIter [K: Send, V: Send] [K, V] => (K, V);
    from [K: Send, V: Send, S] HashMap<K, V, S>, |map| list(map) }
    listed! { "A parallel iterator that empties a map." Drain ['a, K: Send + 'a, V: Send + 'a] ['a, K, V] => (K, V);
    drained ['a, K: Hash + Eq + Send, V: Send, S: BuildHasher] &'a mut HashMap<K, V, S>, |map| list(map.drain()) }
}

/// Sets by hashing.
pub mod hash_set {
    use super::*;

    listed! { "A parallel iterator over references to the items." Iter ['a, T: Sync] ['a, T] => &'a T;
    from ['a, T: Sync, S] &'a HashSet<T, S>, |set| list(set) }
    listed! { "A parallel iterator over the items." IntoIter [T: Send] [T] => T;
    from [T: Send, S] HashSet<T, S>, |set| list(set) }
    listed! { "A parallel iterator that empties a set." Drain ['a, T: Send + 'a] ['a, T] => T;
    drained ['a, T: Hash + Eq + Send, S: BuildHasher] &'a mut HashSet<T, S>, |set| list(set.drain()) }
}

/// Sorted maps.
pub mod btree_map {
    use super::*;

    listed! { "A parallel iterator over references to keys and values, in order." Iter ['a, K: Sync, V: Sync] ['a, K, V] => (&'a K, &'a V);
    from ['a, K: Sync, V: Sync] &'a BTreeMap<K, V>, |map| list(map) }
    listed! { "A parallel iterator over keys and mutable references to values, in order." IterMut ['a, K: Sync, V: Send] ['a, K, V] => (&'a K, &'a mut V);
    from ['a, K: Sync, V: Send] &'a mut BTreeMap<K, V>, |map| list(map) }
    listed! { "A parallel iterator over keys and values, in order." IntoIter [K: Send, V: Send] [K, V] => (K, V);
    from [K: Send, V: Send] BTreeMap<K, V>, |map| list(map) }
}

/// Sorted sets.
pub mod btree_set {
    use super::*;

    listed! { "A parallel iterator over references to the items, in order." Iter ['a, T: Sync] ['a, T] => &'a T;
    from ['a, T: Sync] &'a BTreeSet<T>, |set| list(set) }
    listed! { "A parallel iterator over the items, in order." IntoIter [T: Send] [T] => T;
    from [T: Send] BTreeSet<T>, |set| list(set) }
}

/// Heaps.
pub mod binary_heap {
    use super::*;

    listed! { "A parallel iterator over references to the items." Iter ['a, T: Sync] ['a, T] => &'a T;
    from ['a, T: Sync] &'a StdBinaryHeap<T>, |heap| list(heap) }
    listed! { "A parallel iterator over the items." IntoIter [T: Send] [T] => T;
    from [T: Send] StdBinaryHeap<T>, |heap| heap.into_vec() }
    listed! { "A parallel iterator that empties a heap." Drain ['a, T: Send + 'a] ['a, T] => T;
    drained ['a, T: Send] &'a mut StdBinaryHeap<T>, |heap| list(heap.drain()) }
}

/// Linked lists.
pub mod linked_list {
    use super::*;

    listed! { "A parallel iterator over references to the items." Iter ['a, T: Sync] ['a, T] => &'a T;
    from ['a, T: Sync] &'a LinkedList<T>, |items| list(items) }
    listed! { "A parallel iterator over mutable references to the items." IterMut ['a, T: Send] ['a, T] => &'a mut T;
    from ['a, T: Send] &'a mut LinkedList<T>, |items| list(items) }
    listed! { "A parallel iterator over the items." IntoIter [T: Send] [T] => T;
    from [T: Send] LinkedList<T>, |items| list(items) }
}

/// Deques: two slices.
pub mod vec_deque {
    use super::*;

    /// A parallel iterator over references to the items.
    #[derive(Debug)]
    #[must_use = "iterators do nothing unless they are used"]
    pub struct Iter<'a, T: Sync> {
        inner: Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>,
    }

    impl<T: Sync> Clone for Iter<'_, T> {
        fn clone(&self) -> Self {
            Iter { inner: self.inner.clone() }
        }
    }

    impl<'a, T: Sync> IntoParallelIterator for &'a StdVecDeque<T> {
        type Item = &'a T;
        type Iter = Iter<'a, T>;

        fn into_par_iter(self) -> Iter<'a, T> {
            let (a, b) = self.as_slices();
            Iter { inner: a.into_par_iter().chain(b) }
        }
    }

    delegate::wrapper!(['a, T: Sync] Iter<'a, T> => &'a T);

    /// A parallel iterator over mutable references to the items.
    #[derive(Debug)]
    #[must_use = "iterators do nothing unless they are used"]
    pub struct IterMut<'a, T: Send> {
        inner: Chain<slice::IterMut<'a, T>, slice::IterMut<'a, T>>,
    }

    impl<'a, T: Send> IntoParallelIterator for &'a mut StdVecDeque<T> {
        type Item = &'a mut T;
        type Iter = IterMut<'a, T>;

        fn into_par_iter(self) -> IterMut<'a, T> {
            let (a, b) = self.as_mut_slices();
            IterMut { inner: a.into_par_iter().chain(b) }
        }
    }

    delegate::wrapper!(['a, T: Send] IterMut<'a, T> => &'a mut T);

    listed! { "A parallel iterator over the items." IntoIter [T: Send] [T] => T;
    from [T: Send] StdVecDeque<T>, |deque| Vec::from(deque) }

    listed!(@iterator "A parallel iterator that takes a range out of a deque." Drain ['a, T: Send + 'a] ['a, T] => T);

    impl<'a, T: Send> ParallelDrainRange<usize> for &'a mut StdVecDeque<T> {
        type Iter = Drain<'a, T>;
        type Item = T;

        fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a, T> {
            Drain { inner: list(self.drain(range)).into_par_iter(), marker: PhantomData }
        }
    }
}
