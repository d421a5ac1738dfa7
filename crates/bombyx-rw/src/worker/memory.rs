//! When the record of a join is freed. If both branches ended on one worker, it is freed at once. Otherwise it is
//! buried until the side that does not take the join has said that it looked for the last time.

use super::Worker;
use crate::discipline::Discipline;
use crate::record::{Join, JoinRef};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Acquire;

impl<K: Discipline> Worker<K> {
    /// Frees joins that nobody looks at any more.
    #[cold]
    #[inline(never)]
    pub(super) fn reap(&mut self) {
        let mut kept: *mut Join = ptr::null_mut();
        let mut count = 0;
        while let Some(join) = NonNull::new(self.buried) {
            // SAFETY: a buried record lives until it is freed here.
            let record = unsafe { join.as_ref() };
            self.buried = record.buried.get();
            if record.left_behind.load(Acquire) {
                let class = usize::from(record.class);
                // SAFETY: its body has run, and the other side has looked for the last time.
                unsafe { self.arena.free_class(join.cast(), class) };
            } else {
                record.buried.set(kept);
                kept = join.as_ptr();
                count += 1;
            }
        }
        self.buried = kept;
        self.buried_count = count;
    }

    /// Frees the record of a join whose body is about to run, or buries it while the other side may look.
    ///
    /// # Safety
    /// What the record holds was moved out.
    #[inline(always)]
    pub(crate) unsafe fn retire(&mut self, join: JoinRef) {
        let record = join.get();
        if record.shared.get() && !record.left_behind.load(Acquire) {
            return self.bury(join);
        }
        let class = usize::from(record.class);
        // SAFETY: nobody looks at it any more.
        unsafe { self.arena.free_class(join.0.cast(), class) };
    }

    #[cold]
    fn bury(&mut self, join: JoinRef) {
        join.get().buried.set(self.buried);
        self.buried = join.0.as_ptr();
        self.buried_count += 1;
        if self.buried_count.is_power_of_two() && self.buried_count >= 64 {
            self.reap();
        }
    }
}
