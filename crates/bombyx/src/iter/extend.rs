//! How the collections of the standard library take the items of parallel iterators: [`FromParallelIterator`] and
//! [`ParallelExtend`].

use super::collect::{append_in_place, append_pieces, pieces};
use super::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::Mutex;

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        let iter = iter.into_par_iter();
        match iter.opt_len() {
            Some(len) => append_in_place(self, len, |consumer| iter.drive_unindexed(consumer)),
            None => append_pieces(self, pieces(iter)),
        }
    }
}

/// Collections that take one item after the other, once the items have been computed in parallel.
macro_rules! extend {
    ($([$($g:tt)*] $collection:ty, $item:ty $(, where $reserve:ident)?;)*) => {$(
        impl<$($g)*> ParallelExtend<$item> for $collection {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, iter: I) {
                let pieces = pieces(iter.into_par_iter());
                $(self.$reserve(pieces.iter().map(Vec::len).sum());)?
                for piece in pieces {
                    self.extend(piece);
                }
            }
        }
    )*};
}

extend! {
    [T: Ord + Send] BinaryHeap<T>, T, where reserve;
    ['a, T: 'a + Ord + Copy + Send + Sync] BinaryHeap<T>, &'a T, where reserve;
    [K: Ord + Send, V: Send] BTreeMap<K, V>, (K, V);
    ['a, K: 'a + Ord + Copy + Send + Sync, V: 'a + Copy + Send + Sync] BTreeMap<K, V>, (&'a K, &'a V);
    [T: Ord + Send] BTreeSet<T>, T;
    ['a, T: 'a + Ord + Copy + Send + Sync] BTreeSet<T>, &'a T;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Send] HashMap<K, V, S>, (K, V), where reserve;
    ['a, K: 'a + Eq + Hash + Copy + Send + Sync, V: 'a + Copy + Send + Sync, S: BuildHasher + Send] HashMap<K, V, S>, (&'a K, &'a V), where reserve;
    [T: Eq + Hash + Send, S: BuildHasher + Send] HashSet<T, S>, T, where reserve;
    ['a, T: 'a + Eq + Hash + Copy + Send + Sync, S: BuildHasher + Send] HashSet<T, S>, &'a T, where reserve;
    [T: Send] LinkedList<T>, T;
    ['a, T: 'a + Copy + Send + Sync] LinkedList<T>, &'a T;
    [T: Send] VecDeque<T>, T, where reserve;
    ['a, T: 'a + Copy + Send + Sync] VecDeque<T>, &'a T, where reserve;
    ['a] OsString, &'a OsStr;
    [] OsString, OsString;
    ['a] OsString, Cow<'a, OsStr>;
}

impl<'a, T: 'a + Copy + Send + Sync> ParallelExtend<&'a T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, iter: I) {
        self.par_extend(iter.into_par_iter().copied());
    }
}

/// Strings: every run has its own string, and they are put together.
macro_rules! extend_string {
    ($([$($g:tt)*] $item:ty;)*) => {$(
        impl<$($g)*> ParallelExtend<$item> for String {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, iter: I) {
                let parts = pieces(iter.into_par_iter().fold(String::new, |mut part, item| {
                    part.extend([item]);
                    part
                }));
                self.reserve(parts.iter().flatten().map(String::len).sum());
                self.extend(parts.into_iter().flatten());
            }
        }

        impl<$($g)*> FromParallelIterator<$item> for String {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                extended(iter)
            }
        }

        impl<$($g)*> FromParallelIterator<$item> for Box<str> {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                extended::<String, _, _>(iter).into_boxed_str()
            }
        }
    )*};
}

extend_string! {
    [] char;
    ['a] &'a char;
    ['a] &'a str;
    [] String;
    [] Box<str>;
    ['a] Cow<'a, str>;
}

impl ParallelExtend<()> for () {
    fn par_extend<I: IntoParallelIterator<Item = ()>>(&mut self, iter: I) {
        iter.into_par_iter().for_each(|()| ());
    }
}

// ---- From nothing -------------------------------------------------------------------------------------------

#[track_caller]
fn extended<C, T, I>(iter: I) -> C
where
    C: Default + ParallelExtend<T>,
    T: Send,
    I: IntoParallelIterator<Item = T>,
{
    let mut collection = C::default();
    collection.par_extend(iter);
    collection
}

macro_rules! from_extend {
    ($([$($g:tt)*] $collection:ty, $item:ty;)*) => {$(
        impl<$($g)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                extended(iter)
            }
        }
    )*};
}

from_extend! {
    [T: Send] Vec<T>, T;
    [T: Send] LinkedList<T>, T;
    [K: Ord + Send, V: Send] BTreeMap<K, V>, (K, V);
    [T: Ord + Send] BTreeSet<T>, T;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default + Send] HashMap<K, V, S>, (K, V);
    [T: Eq + Hash + Send, S: BuildHasher + Default + Send] HashSet<T, S>, T;
    ['a] OsString, &'a OsStr;
    [] OsString, OsString;
    ['a] OsString, Cow<'a, OsStr>;
    [] (), ();
}

/// Collections that are made from a vector.
macro_rules! from_vec {
    ($([$($g:tt)*] $collection:ty, $item:ty;)*) => {$(
        impl<$($g)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                extended::<Vec<$item>, _, _>(iter).into()
            }
        }
    )*};
}

from_vec! {
    [T: Send] Box<[T]>, T;
    [T: Send] Rc<[T]>, T;
    [T: Send] Arc<[T]>, T;
    [T: Send] VecDeque<T>, T;
    [T: Ord + Send] BinaryHeap<T>, T;
}

impl<'a, C, T> FromParallelIterator<T> for Cow<'a, C>
where
    C: ToOwned<Owned: FromParallelIterator<T>> + ?Sized,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        Cow::Owned(C::Owned::from_par_iter(iter))
    }
}

// ---- All or nothing -----------------------------------------------------------------------------------------

impl<C, T> FromParallelIterator<Option<T>> for Option<C>
where
    C: FromParallelIterator<T>,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(iter: I) -> Self {
        let missing = std::sync::atomic::AtomicBool::new(false);
        let found = iter
            .into_par_iter()
            .inspect(|item| {
                if item.is_none() {
                    missing.store(true, std::sync::atomic::Ordering::Relaxed);
                }
            })
            .while_some()
            .collect();
        (!missing.into_inner()).then_some(found)
    }
}

impl<C, T, E> FromParallelIterator<Result<T, E>> for Result<C, E>
where
    C: FromParallelIterator<T>,
    T: Send,
    E: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(iter: I) -> Self {
        let failure = Mutex::new(None);
        let keep_first = |error| {
            let mut failure = failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if failure.is_none() {
                *failure = Some(error);
            }
        };
        let found = iter.into_par_iter().map(|item| item.map_err(keep_first).ok()).while_some().collect();
        match failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }
}
