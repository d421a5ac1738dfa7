//! Models of how processors change hands.

use super::*;

/// A join that missed and the taker that finishes: the waiting carrier continues exactly once, with a processor.
#[test]
fn latch_and_hand_over() {
    explore(6, &[Fault::SetWithoutSwap, Fault::GiveWithoutOrder], || {
        let deque = Arc::new(relying());
        let task = Arc::new(Task::new());
        fork(&deque, &task);
        let processor = Arc::new(Processor([0; 4]));
        let thief = {
            let (deque, task, processor) = (Arc::clone(&deque), Arc::clone(&task), Arc::clone(&processor));
            thread::spawn(move || {
                let _ = &task;
                if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere))
                    && let Some(carrier) = execute(entry)
                {
                    let processor = processor.baton().as_ptr();
                    // SAFETY: the latch named the carrier once, to this caller.
                    unsafe { Carrier::give_raw(carrier, processor, affinity::Thread::HERE.allowed()) };
                }
            })
        };
        if !join(&deque, &task) {
            let carrier = Carrier::here();
            // SAFETY: the job is not untouched.
            let latch = unsafe { task.job.latch() };
            if !latch.is_done() && latch.park(NonNull::from(&carrier)) {
                assert_eq!(carrier.receive(), Some(processor.baton()));
                assert!(latch.is_done());
            }
            // The taker's writes are visible now.
            // SAFETY: checked by loom.
            task.closure.with(|closure| assert_eq!(unsafe { *closure }, 8));
        }
        thief.join().unwrap();
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}

/// A carrier parks at a latch and leaves it again, to help with another processor, while the latch is set. Either the
/// carrier has left, and sees later that the latch is set, or it is given the finisher's processor. It never has both,
/// and the finisher's processor is never lost.
#[test]
fn leave_a_latch_against_its_end() {
    explore_weak(6, &[Fault::LeaveLatchBlindly, Fault::SetWithoutSwap], || {
        let latch = Arc::new(Latch::new());
        let processors = Arc::new([Processor([0; 4]), Processor([1; 4])]);
        let carrier = Arc::new(Carrier::here());
        let finisher = {
            let (latch, processors, carrier) =
                (Arc::clone(&latch), Arc::clone(&processors), Arc::clone(&carrier));
            thread::spawn(move || {
                let _ = &carrier;
                // SAFETY: the latch is alive, and set once.
                let enabled = unsafe { Latch::set(&raw const *latch) };
                if let Some(carrier) = enabled {
                    // SAFETY: the latch named the carrier once, to this caller.
                    unsafe { Carrier::give_raw(carrier, processors[0].baton().as_ptr(), None) };
                }
                enabled.is_some()
            })
        };
        let this = NonNull::from(&*carrier);
        let mut given = false;
        if latch.park(this) && !latch.leave(this) {
            assert_eq!(carrier.receive(), Some(processors[0].baton()));
            assert!(latch.is_done());
            given = true;
        }
        while !latch.is_done() {
            thread::yield_now();
        }
        assert_eq!(finisher.join().unwrap(), given, "a processor is lost");
    });
}

/// A thread outside waits for work in a pool. It wakes up when the work has ended, sees what was done, and may leave at
/// once.
#[test]
fn signal_to_the_outside() {
    /// What lies in the frame of the waiting thread.
    struct Frame {
        latch: Latch,
        thread: Outside,
        result: UnsafeCell<u32>,
    }
    // SAFETY: the model checks that accesses to the cell are ordered.
    unsafe impl Sync for Frame {}
    // SAFETY: as above.
    unsafe impl Send for Frame {}

    explore_weak(6, &[Fault::UnparkBeforeSetting], || {
        let frame =
            Box::new(Frame { latch: Latch::new(), thread: Outside::here(), result: UnsafeCell::new(0) });
        let address = &raw const *frame as usize;
        let worker = thread::spawn(move || {
            let frame = address as *const Frame;
            // SAFETY: the frame exists until the latch is set. Loom checks that the cell is ours.
            unsafe {
                (*frame).result.with_mut(|result| *result = 7);
                Outside::set(&raw const (*frame).thread, &raw const (*frame).latch);
            }
        });
        while !frame.thread.wait_for(&frame.latch, None) {}
        // SAFETY: checked by loom.
        assert_eq!(frame.result.with(|result| unsafe { *result }), 7);
        drop(frame);
        worker.join().unwrap();
    });
}

/// A thread outside waits until one of two others wakes it: the wakers of a future. They share the latch with the
/// waiting frame. One of them sets it, and what that one did before is seen.
#[test]
fn first_of_two_wakers() {
    /// What the wakers and the frame share.
    struct Notice {
        latch: Latch,
        first: First,
        thread: Outside,
        result: UnsafeCell<u32>,
        sets: AtomicUsize,
    }
    // SAFETY: the model checks that accesses to the cell are ordered.
    unsafe impl Sync for Notice {}
    // SAFETY: as above.
    unsafe impl Send for Notice {}
    impl Notice {
        fn wake(&self) {
            if self.first.comes() {
                // SAFETY: checked by loom.
                self.result.with_mut(|result| unsafe { *result += 7 });
                self.sets.fetch_add(1, Relaxed);
                // SAFETY: the caller owns a share of both.
                unsafe { Outside::set(&raw const self.thread, &raw const self.latch) };
            }
        }
    }

    explore_weak(4, &[Fault::ComeTwice, Fault::UnparkBeforeSetting], || {
        let notice = Arc::new(Notice {
            latch: Latch::new(),
            first: First::new(),
            thread: Outside::here(),
            result: UnsafeCell::new(0),
            sets: AtomicUsize::new(0),
        });
        let wakers = [(), ()].map(|()| {
            let notice = Arc::clone(&notice);
            thread::spawn(move || notice.wake())
        });
        while !notice.thread.wait_for(&notice.latch, None) {}
        // SAFETY: checked by loom.
        assert_eq!(notice.result.with(|result| unsafe { *result }), 7);
        for waker in wakers {
            waker.join().unwrap();
        }
        assert_eq!(notice.sets.load(Relaxed), 1, "the latch was set twice");
    });
}

/// A frame gives way. Somebody finds it and gives it another processor before it has given away its own. The frame
/// takes that processor when it waits, and the spare gets the first one.
#[test]
fn hand_over_in_the_middle_of_giving_up() {
    explore_weak(3, &[Fault::ForgetEarlyProcessor, Fault::GiveWithoutOrder], || {
        /// Processors, with what their holders write.
        struct Processors([Processor; 2], [UnsafeCell<u32>; 2]);
        // SAFETY: the model checks that accesses to the cells are ordered.
        unsafe impl Sync for Processors {}
        // SAFETY: as above.
        unsafe impl Send for Processors {}
        impl Processors {
            fn use_as_holder(&self, index: usize) {
                // SAFETY: checked by loom.
                self.1[index].with_mut(|used| unsafe { *used += 1 });
            }
            fn at(&self, index: usize) -> *mut Baton {
                self.0[index].baton().as_ptr()
            }
        }
        let processors = Arc::new(Processors(
            [Processor([0; 4]), Processor([1; 4])],
            [UnsafeCell::new(0), UnsafeCell::new(0)],
        ));
        let ranks = Arc::new(Ranks::new(2));
        let frame = Arc::new(Carrier::here());
        let spare = Arc::new(Carrier::to_be_started());
        let spare_thread = {
            let (spare, processors) = (Arc::clone(&spare), Arc::clone(&processors));
            let handle = crate::system::primitive::current_thread();
            spare.started(&handle);
            thread::spawn(move || {
                assert_eq!(spare.receive().map(NonNull::as_ptr), Some(processors.at(0)));
                processors.use_as_holder(0);
            })
        };
        processors.use_as_holder(0);
        ranks.arrive(0);
        // From here on anyone may find the frame.
        ranks.give_up(0, &Deque::new(false), Entry::carrier(NonNull::from(&*frame)), 0);
        let thief = {
            let (ranks, processors) = (Arc::clone(&ranks), Arc::clone(&processors));
            thread::spawn(move || {
                processors.use_as_holder(1);
                let Drawn::Entry(entry) = ranks.draw(1, 0, 1) else { panic!("the frame is there") };
                let Kind::Carrier(ready) = entry.kind() else { panic!("the frame is a carrier") };
                // SAFETY: the entry named the carrier, once.
                unsafe { Carrier::give_raw(ready, processors.at(1), None) };
            })
        };
        // SAFETY: the spare waits, and nobody else knows it.
        unsafe { Carrier::give_raw(NonNull::from(&*spare), processors.at(0), None) };
        assert_eq!(frame.receive().map(NonNull::as_ptr), Some(processors.at(1)));
        processors.use_as_holder(1);
        thief.join().unwrap();
        spare_thread.join().unwrap();
    });
}
