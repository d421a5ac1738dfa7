//! `collect` into vectors: directly into place if the number of items is known, else into pieces that are moved once.

use super::ParallelIterator;
use super::plumbing::{Consumer, Extent};
use super::terminal::simple;
use bombyx_core::join;
use bombyx_core::loop_plumbing::LoopSite;
use std::marker::PhantomData;
use std::mem;
use std::ptr;

// ---- In place -----------------------------------------------------------------------------------------------

/// Writes items where they belong: the memory behind the end of a vector, for `len` items.
pub(crate) struct InPlace<'a, T> {
    site: LoopSite,
    target: *mut T,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

// SAFETY: it is only used to make runs. Each run has a part of the memory that no other run has, and an item goes to
// whoever has its run.
unsafe impl<T: Send> Sync for InPlace<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for InPlace<'_, T> {}

/// Neighbouring items that were written. They belong to whoever has this.
pub(crate) struct Run<'a, T> {
    /// The first item.
    target: *mut T,
    len: usize,
    /// How many items the part has room for.
    room: usize,
    /// The position of the first item.
    start: usize,
    marker: PhantomData<&'a mut [T]>,
}

// SAFETY: it owns its items.
unsafe impl<T: Send> Send for Run<'_, T> {}

impl<T> Drop for Run<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `len` items were written from there on, and are dropped nowhere else.
        unsafe { ptr::slice_from_raw_parts_mut(self.target, self.len).drop_in_place() }
    }
}

/// Counts what was written, even if the next item panics.
struct Written<'a> {
    len: usize,
    saved: &'a mut usize,
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        *self.saved = self.len;
    }
}

impl<'a, T: Send> Consumer<T> for InPlace<'a, T> {
    type Folder = Run<'a, T>;
    type Result = Run<'a, T>;

    fn start(&self, extent: Extent) -> Run<'a, T> {
        assert!(
            extent.exact && extent.start <= extent.end && extent.end <= self.len,
            "an iterator yields more items than it said"
        );
        // SAFETY: within the memory, or at its end.
        let target = unsafe { self.target.add(extent.start) };
        Run { target, len: 0, room: extent.end - extent.start, start: extent.start, marker: PhantomData }
    }

    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, mut run: Run<'a, T>, iter: I) -> Run<'a, T> {
        let (target, room) = (run.target, run.room - run.len);
        if !mem::needs_drop::<T>() && size_of::<T>() > 0 {
            // If an item panics, nothing has to be dropped, so nobody needs to know how many were written. The position stays in a
            // register.
            // SAFETY: as below. The end is in the same memory as the beginning.
            unsafe {
                let start = target.add(run.len);
                let end = iter.take(room).fold(start, |to, item| {
                    to.write(item);
                    to.add(1)
                });
                run.len += end.offset_from(start) as usize;
            }
            return run;
        }
        let mut written = Written { len: run.len, saved: &mut run.len };
        // An iterator with more items than it said must not write into the next run. If the compiler knows how many it
        // has, this costs nothing.
        iter.take(room).for_each(|item| {
            // SAFETY: there is room, which only this run has, and nothing has been written there.
            unsafe { target.add(written.len).write(item) };
            written.len += 1;
        });
        drop(written);
        run
    }

    fn complete(&self, run: Run<'a, T>) -> Run<'a, T> {
        run
    }

    fn reduce(&self, mut left: Run<'a, T>, right: Run<'a, T>) -> Run<'a, T> {
        // If a panic left a gap, what is behind the gap is dropped.
        if left.start + left.len == right.start {
            left.len += right.len;
            mem::forget(right);
        }
        left
    }

    fn narrow(&self, run: &mut Run<'a, T>, end: usize) {
        run.room = run.room.min(end.saturating_sub(run.start));
    }

    simple!(open);
    simple!(site);
}

/// Appends exactly `len` items to the vector. `drive` supplies them.
#[track_caller]
pub(crate) fn append_in_place<'a, T, D>(vec: &'a mut Vec<T>, len: usize, drive: D)
where
    T: Send,
    D: FnOnce(InPlace<'a, T>) -> Run<'a, T>,
{
    vec.reserve(len);
    let old = vec.len();
    // SAFETY: this is the end of what is used, with room for `len` more.
    let target = unsafe { vec.as_mut_ptr().add(old) };
    let run = drive(InPlace { site: LoopSite::iterator(), target, len, marker: PhantomData });
    assert!(run.start == 0 && run.len == len, "expected {len} items, but got {}", run.len);
    mem::forget(run);
    // SAFETY: all of the items were written, and nobody else owns them any more.
    unsafe { vec.set_len(old + len) };
}

/// Appends to two vectors at a time.
#[track_caller]
pub(crate) fn append_both<I, A, B>(iter: I, len: usize, left: &mut Vec<A>, right: &mut Vec<B>)
where
    I: ParallelIterator<Item = (A, B)>,
    A: Send,
    B: Send,
{
    append_in_place(right, len, |right| {
        let mut result = None;
        append_in_place(left, len, |left| {
            let (left, right) =
                iter.drive_unindexed(super::unzip::Unzipping { a: left, b: right, op: super::unzip::ByPair });
            result = Some(right);
            left
        });
        result.expect("the drive ended")
    });
}

// ---- Pieces -------------------------------------------------------------------------------------------------

/// A piece gives back memory that it does not need, if that is more than this many bytes.
const SLACK_BYTES: usize = 4 << 10;

/// Collects items in pieces, one per run.
pub(crate) struct Pieces {
    pub(crate) site: LoopSite,
}

impl<T: Send> Consumer<T> for Pieces {
    type Folder = Vec<T>;
    /// The pieces in order. None is empty.
    type Result = Vec<Vec<T>>;

    fn start(&self, _: Extent) -> Vec<T> {
        Vec::new()
    }

    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, mut piece: Vec<T>, iter: I) -> Vec<T> {
        iter.for_each(|item| piece.push(item));
        piece
    }

    fn complete(&self, mut piece: Vec<T>) -> Vec<Vec<T>> {
        if piece.is_empty() {
            return Vec::new();
        }
        if (piece.capacity() - piece.len()) * size_of::<T>() > SLACK_BYTES {
            piece.shrink_to_fit();
        }
        vec![piece]
    }

    fn reduce(&self, mut left: Vec<Vec<T>>, mut right: Vec<Vec<T>>) -> Vec<Vec<T>> {
        if left.is_empty() {
            return right;
        }
        left.append(&mut right);
        left
    }

    simple!();
}

/// The items of an iterator, in pieces, in order.
#[track_caller]
pub(crate) fn pieces<I: ParallelIterator>(iter: I) -> Vec<Vec<I::Item>> {
    iter.drive_unindexed(Pieces { site: LoopSite::iterator() })
}

/// Items to be moved, and where to.
struct Move<T> {
    from: *const T,
    to: *mut T,
    len: usize,
}

// SAFETY: whoever has it moves the items, and nobody else uses them or the memory that they go to.
unsafe impl<T: Send> Send for Move<T> {}

/// Makes the moves, with help if they are long.
fn move_all<T: Send>(moves: &mut [Move<T>]) {
    /// Fewer bytes than this are not worth sharing.
    const SHARED: usize = 512 << 10;

    let len: usize = moves.iter().map(|part| part.len).sum();
    if len * size_of::<T>() >= SHARED {
        if let [part] = moves {
            let half = part.len / 2;
            // SAFETY: both are within their memory.
            let (from, to) = unsafe { (part.from.add(half), part.to.add(half)) };
            let mut left = [Move { len: half, ..*part }];
            let mut right = [Move { from, to, len: part.len - half }];
            join(|| move_all(&mut left), || move_all(&mut right));
        } else {
            let (left, right) = moves.split_at_mut(moves.len() / 2);
            join(|| move_all(left), || move_all(right));
        }
        return;
    }
    for part in moves {
        // SAFETY: [`append_pieces`] has made room, and no two moves overlap.
        unsafe { ptr::copy_nonoverlapping(part.from, part.to, part.len) };
    }
}

/// Moves pieces to the end of a vector. If the vector has no memory yet, it takes that of the first piece.
pub(crate) fn append_pieces<T: Send>(vec: &mut Vec<T>, pieces: Vec<Vec<T>>) {
    let mut pieces = pieces.into_iter();
    if vec.capacity() == 0 {
        *vec = pieces.next().unwrap_or_default();
    }
    let mut pieces: Vec<Vec<T>> = pieces.collect();
    let len: usize = pieces.iter().map(Vec::len).sum();
    if len == 0 {
        return;
    }
    vec.reserve_exact(len);
    let old = vec.len();
    // SAFETY: this is the end of what is used.
    let mut to = unsafe { vec.as_mut_ptr().add(old) };
    let mut moves: Vec<Move<T>> = Vec::with_capacity(pieces.len());
    for piece in &mut pieces {
        moves.push(Move { from: piece.as_ptr(), to, len: piece.len() });
        // SAFETY: room was reserved for all pieces. The items no longer belong to the piece, which keeps the memory.
        unsafe {
            to = to.add(piece.len());
            piece.set_len(0);
        }
    }
    move_all(&mut moves);
    // SAFETY: all of the items were moved there.
    unsafe { vec.set_len(old + len) };
}
