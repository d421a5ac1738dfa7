//! Sorting: the sorts of the standard library for parts, then merges that are themselves parallel.
//!
//! Merges go back and forth between the slice and a buffer of the same size: parts are sorted in the slice, merged into
//! the buffer, merged from there into the slice, and so on. The number of merges of an item is even, so all items end in
//! the slice.
//!
//! A comparison may panic. Then every item must be in the slice exactly once, and nothing in the buffer may be dropped.
//! While a merge writes into the buffer, the part of the slice that it reads does not change. While a merge writes into
//! the slice, the part of the buffer that it reads does not change, and if the merge unwinds, that part is copied to the
//! slice ([`Restore`]).

use bombyx_core::loop_plumbing::{self as runtime, LoopSite};
use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ptr;

/// One processor sorts slices with fewer items.
const SERIAL_SORT: usize = 2 << 10;
/// One processor merges fewer items.
const SERIAL_MERGE: usize = 8 << 10;

/// Sorts, and keeps the order of equal items.
#[track_caller]
pub(super) fn stable<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(slice: &mut [T], compare: F) {
    sort(slice, &compare, |part| part.sort_by(&compare));
}

/// Sorts. Equal items may change places.
#[track_caller]
pub(super) fn unstable<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(slice: &mut [T], compare: F) {
    sort(slice, &compare, |part| part.sort_unstable_by(&compare));
}

#[track_caller]
fn sort<T, F, S>(slice: &mut [T], compare: &F, serial: S)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
    S: Fn(&mut [T]) + Sync,
{
    let len = slice.len();
    if len <= SERIAL_SORT || size_of::<T>() == 0 {
        return serial(slice);
    }
    if slice.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return;
    }
    if slice.is_sorted_by(|a, b| compare(a, b).is_gt()) {
        // No two items are equal, so this is stable.
        return slice.reverse();
    }
    let site = LoopSite::sort();
    runtime::enter(site, || {
        let processors = runtime::processors();
        if processors == 1 {
            return serial(slice);
        }
        let mut buffer: Vec<MaybeUninit<T>> = Vec::with_capacity(len);
        // SAFETY: `MaybeUninit` needs no initialisation.
        unsafe { buffer.set_len(len) };
        // At least two parts per processor, but no small ones, and an even number of merges.
        let mut merges = (processors.next_power_of_two().ilog2() + 1).next_multiple_of(2);
        while merges > 2 && len >> merges < SERIAL_SORT / 2 {
            merges -= 2;
        }
        Sort { site, compare, serial: &serial }.sort(slice, Buffer(&mut buffer), merges);
    });
}

/// Memory for as many items as the slice that it goes with. It holds no items for good.
struct Buffer<'a, T>(&'a mut [MaybeUninit<T>]);

// SAFETY: copies of items are written here and moved on, but never used here.
unsafe impl<T: Send> Send for Buffer<'_, T> {}

struct Sort<'a, F, S> {
    compare: &'a F,
    serial: &'a S,
    site: LoopSite,
}

impl<F, S> Sort<'_, F, S> {
    /// Sorts by so many merges. If their number is even, the items end in the slice, otherwise in the buffer. The slice has all
    /// items in any case, even if a comparison panics.
    fn sort<T>(&self, slice: &mut [T], buffer: Buffer<'_, T>, merges: u32)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
        S: Fn(&mut [T]) + Sync,
    {
        if merges == 0 {
            return (self.serial)(slice);
        }
        let middle = slice.len() / 2;
        let (left, right) = slice.split_at_mut(middle);
        let (left_buffer, right_buffer) = buffer.0.split_at_mut(middle);
        let (left_buffer, right_buffer) = (Buffer(left_buffer), Buffer(right_buffer));
        runtime::fork(
            self.site,
            || self.sort(left, left_buffer, merges - 1),
            |_| self.sort(right, right_buffer, merges - 1),
        );
        if merges % 2 == 1 {
            let (left, right) = slice.split_at(middle);
            return merge(Run(left), Run(right), Buffer(buffer.0), self.compare, self.site);
        }
        // SAFETY: the halves were sorted by an odd number of merges, so the buffer has a copy of every item. The copies are
        // only compared, and nobody uses the items of the slice meanwhile.
        let sorted = unsafe { &*(ptr::from_ref::<[MaybeUninit<T>]>(buffer.0) as *const [T]) };
        let restore = Restore { from: sorted.as_ptr(), to: slice };
        // SAFETY: the same memory. What is written there are items again, once the merge or `restore` has ended.
        let target = unsafe { &mut *(ptr::from_mut::<[T]>(restore.to) as *mut [MaybeUninit<T>]) };
        let (left, right) = sorted.split_at(middle);
        merge(Run(left), Run(right), Buffer(target), self.compare, self.site);
        mem::forget(restore);
    }
}

/// Copies all items back into the slice if a merge that writes there unwinds.
struct Restore<'a, T> {
    from: *const T,
    to: &'a mut [T],
}

impl<T> Drop for Restore<'_, T> {
    fn drop(&mut self) {
        // SAFETY: there is a copy of every item of the slice. Both parts of the merge have ended.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to.as_mut_ptr(), self.to.len()) };
    }
}

/// Items that several processors read, each item on one processor.
struct Run<'a, T>(&'a [T]);

// SAFETY: only comparisons see the items. Each run is seen by one processor at a time, except for its middle item,
// which is compared before the run is cut. The items themselves may be sent.
unsafe impl<T: Send> Send for Run<'_, T> {}

/// Merges two sorted runs. Of equal items, the left ones come first.
fn merge<T, F>(left: Run<'_, T>, right: Run<'_, T>, buffer: Buffer<'_, T>, compare: &F, site: LoopSite)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let (a, b) = (left.0, right.0);
    if a.len() + b.len() <= SERIAL_MERGE || a.is_empty() || b.is_empty() {
        return merge_serially(a, b, buffer.0, compare);
    }
    let (in_a, in_b) = if a.len() >= b.len() {
        let middle = a.len() / 2;
        (middle, b.partition_point(|item| compare(item, &a[middle]).is_lt()))
    } else {
        let middle = b.len() / 2;
        (a.partition_point(|item| compare(item, &b[middle]).is_le()), middle)
    };
    let ((a1, a2), (b1, b2)) = (a.split_at(in_a), b.split_at(in_b));
    let (to1, to2) = buffer.0.split_at_mut(in_a + in_b);
    let (first, second) = ((Run(a1), Run(b1), Buffer(to1)), (Run(a2), Run(b2), Buffer(to2)));
    runtime::fork(
        site,
        move || {
            let (a, b, to) = first;
            merge(a, b, to, compare, site);
        },
        move |_| {
            let (a, b, to) = second;
            merge(a, b, to, compare, site);
        },
    );
}

/// Merges from both ends at once: the two chains of comparisons do not wait for each other.
fn merge_serially<T, F>(a: &[T], b: &[T], to: &mut [MaybeUninit<T>], compare: &F)
where
    F: Fn(&T, &T) -> Ordering,
{
    assert_eq!(a.len() + b.len(), to.len());
    let out = to.as_mut_ptr_range();
    let (mut front, mut back) = (out.start.cast::<T>(), out.end.cast::<T>());
    let (mut a, mut b) = (a.as_ptr_range(), b.as_ptr_range());
    loop {
        // SAFETY: both pointers belong to the same run.
        let (in_a, in_b) =
            unsafe { (a.end.offset_from(a.start) as usize, b.end.offset_from(b.start) as usize) };
        // Neither end of a run can reach the other one in so many steps.
        let steps = in_a.min(in_b) / 2;
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            // SAFETY: neither run is at its end, and the target has room for both. Copies are not used before the merge
            // has ended.
            unsafe {
                let right = compare(&*b.start, &*a.start).is_lt();
                ptr::copy_nonoverlapping(if right { b.start } else { a.start }, front, 1);
                a.start = a.start.add(usize::from(!right));
                b.start = b.start.add(usize::from(right));
                front = front.add(1);
                let left = compare(&*b.end.sub(1), &*a.end.sub(1)).is_lt();
                a.end = a.end.sub(usize::from(left));
                b.end = b.end.sub(usize::from(!left));
                back = back.sub(1);
                ptr::copy_nonoverlapping(if left { a.end } else { b.end }, back, 1);
            }
        }
    }
    while a.start < a.end && b.start < b.end {
        // SAFETY: as above.
        unsafe {
            let right = compare(&*b.start, &*a.start).is_lt();
            ptr::copy_nonoverlapping(if right { b.start } else { a.start }, front, 1);
            a.start = a.start.add(usize::from(!right));
            b.start = b.start.add(usize::from(right));
            front = front.add(1);
        }
    }
    for rest in [a, b] {
        // SAFETY: this is the rest of one run, and there is room for it.
        unsafe {
            let len = rest.end.offset_from(rest.start) as usize;
            ptr::copy_nonoverlapping(rest.start, front, len);
            front = front.add(len);
        }
    }
}
