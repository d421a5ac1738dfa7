//! Sorting: the sorts of the standard library for parts, then merges that are themselves parallel.
//!
//! A merge reads the slice and writes a buffer. The buffer is copied back when the merge has ended. So a comparison
//! that panics leaves every item in the slice exactly once, and nothing in the buffer that would be dropped.

use bombyx_core::loop_plumbing::{self as runtime, LoopSite};
use std::cmp::Ordering;
use std::mem::MaybeUninit;
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
    let site = LoopSite::map_reduce();
    runtime::enter(site, || {
        let processors = runtime::processors();
        if processors == 1 {
            return serial(slice);
        }
        let mut buffer: Vec<MaybeUninit<T>> = Vec::with_capacity(len);
        // SAFETY: `MaybeUninit` needs no initialisation.
        unsafe { buffer.set_len(len) };
        let parts = (2 * processors.next_power_of_two()).min(len / SERIAL_SORT * 2);
        Sort { site, compare, serial: &serial, grain: len.div_ceil(parts.max(2)) }
            .sort(slice, Buffer(&mut buffer));
    });
}

/// Memory for as many items as the slice that it goes with. It holds no items for good.
struct Buffer<'a, T>(&'a mut [MaybeUninit<T>]);

// SAFETY: copies of items are written here and moved on, but never used here.
unsafe impl<T: Send> Send for Buffer<'_, T> {}

struct Sort<'a, F, S> {
    compare: &'a F,
    serial: &'a S,
    grain: usize,
    site: LoopSite,
}

impl<F, S> Sort<'_, F, S> {
    fn sort<T>(&self, slice: &mut [T], buffer: Buffer<'_, T>)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
        S: Fn(&mut [T]) + Sync,
    {
        if slice.len() <= self.grain {
            return (self.serial)(slice);
        }
        let middle = slice.len() / 2;
        let (left, right) = slice.split_at_mut(middle);
        let (left_buffer, right_buffer) = buffer.0.split_at_mut(middle);
        let (left_buffer, right_buffer) = (Buffer(left_buffer), Buffer(right_buffer));
        runtime::fork(self.site, || self.sort(left, left_buffer), |_| self.sort(right, right_buffer));
        let (last, first) = (&slice[middle - 1], &slice[middle]);
        if (self.compare)(last, first).is_le() {
            return;
        }
        let (left, right) = slice.split_at(middle);
        merge(Run(left), Run(right), Buffer(&mut *buffer.0), self.compare, self.site);
        move_back(Buffer(buffer.0), slice, self.site);
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

fn merge_serially<T, F>(a: &[T], b: &[T], to: &mut [MaybeUninit<T>], compare: &F)
where
    F: Fn(&T, &T) -> Ordering,
{
    assert_eq!(a.len() + b.len(), to.len());
    let mut out = to.as_mut_ptr().cast::<T>();
    let (mut a, mut b) = (a.as_ptr_range(), b.as_ptr_range());
    while a.start < a.end && b.start < b.end {
        // SAFETY: neither run is at its end, and the buffer has room for both. Copies are not used before they are
        // moved back.
        unsafe {
            let right = compare(&*b.start, &*a.start).is_lt();
            ptr::copy_nonoverlapping(if right { b.start } else { a.start }, out, 1);
            a.start = a.start.add(usize::from(!right));
            b.start = b.start.add(usize::from(right));
            out = out.add(1);
        }
    }
    for rest in [a, b] {
        // SAFETY: this is the rest of one run, and there is room for it.
        unsafe {
            let len = rest.end.offset_from_unsigned(rest.start);
            ptr::copy_nonoverlapping(rest.start, out, len);
            out = out.add(len);
        }
    }
}

/// Moves all items from the buffer, where they are in order, to the slice, where they are in another order.
fn move_back<T: Send>(buffer: Buffer<'_, T>, slice: &mut [T], site: LoopSite) {
    /// One processor copies up to this many bytes.
    const SERIAL_COPY: usize = 256 << 10;
    if size_of_val(slice) > SERIAL_COPY {
        let middle = slice.len() / 2;
        let (left, right) = slice.split_at_mut(middle);
        let (left_buffer, right_buffer) = buffer.0.split_at_mut(middle);
        let (left_buffer, right_buffer) = (Buffer(left_buffer), Buffer(right_buffer));
        runtime::fork(
            site,
            move || move_back(left_buffer, left, site),
            move |_| move_back(right_buffer, right, site),
        );
        return;
    }
    // SAFETY: the buffer is as long as the slice. All parts together have a copy of every item exactly once. Nothing
    // can panic before all parts are copied.
    unsafe { ptr::copy_nonoverlapping(buffer.0.as_ptr().cast::<T>(), slice.as_mut_ptr(), slice.len()) };
}
