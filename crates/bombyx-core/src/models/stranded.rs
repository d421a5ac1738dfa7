//! Models of ready carriers that nobody would find: in a pool of one processor that can start no carrier, a guest makes
//! carriers ready and leaves.

use super::*;
use crate::protocol::commons::{Commons, Paired};
use crate::protocol::queue::Queued;
use crate::protocol::ready::shared::{Order, SharedPool};
use crate::protocol::stranded::{LooksUp, Then, find_carrier};
use std::time::Duration;

/// The pool, as far as these models need it. It has no spare carriers, and can start none.
struct Pool {
    queued: Queued,
    sleepers: Sleepers,
    commons: Mutex<Commons<UnsafeCell<u32>>>,
    ready: SharedPool,
    /// What the holder of the processor writes.
    processor: UnsafeCell<u32>,
    carriers: [Carrier; 2],
    tasks: [Task; 2],
}

// SAFETY: the models check that accesses to the cell are ordered. The pointers in the lists name parts of the pool.
unsafe impl Sync for Pool {}
// SAFETY: as above.
unsafe impl Send for Pool {}

/// Proof that the caller holds the processor.
struct Hold;

impl Pool {
    fn new() -> Arc<Pool> {
        Arc::new(Pool {
            queued: Queued::none(None),
            sleepers: Sleepers::new(0),
            commons: Mutex::new(Commons::new()),
            ready: SharedPool::new(Order::Arrival, 1),
            processor: UnsafeCell::new(0),
            carriers: [(), ()].map(|()| Carrier::here()),
            tasks: [Task::new(), Task::new()],
        })
    }

    fn carrier(&self, index: usize) -> NonNull<Carrier> {
        NonNull::from(&self.carriers[index])
    }

    fn latch(&self, index: usize) -> &Latch {
        // SAFETY: the jobs are not untouched, because they were taken out of a deque.
        unsafe { self.tasks[index].job.latch() }
    }

    /// The processor rests. Joins have forked the tasks, and wait for them. The tasks are queued.
    fn wait_for_queued_tasks(&self, joins: usize) {
        lock(&self.commons).rest([NonNull::from(&self.processor)], &self.sleepers);
        let deque = Deque::new(false);
        for (index, task) in self.tasks[..joins].iter().enumerate() {
            fork(&deque, task);
            let queue = Place::Queue((&raw const *self).cast());
            let entry = deque.take_top(|entry| entry.taken(queue)).expect("pushed");
            lock(&self.commons).queue.push(entry, &self.queued);
            assert!(self.latch(index).park(self.carrier(index)), "nobody has run the task");
        }
    }

    /// The holder puts an entry among those that are ready.
    fn submit(&self, _: &Hold, entry: Entry) {
        let deque = Deque::new(false);
        deque.push_over(entry);
        self.ready.absorb(0, &deque);
    }

    /// The oldest entry, for the holder.
    fn take(&self, _: &Hold) -> Option<Entry> {
        let queued = || self.queued.any().then(|| lock(&self.commons).queue.take(&self.queued)).flatten();
        self.ready.take_next_if(|_| true).or_else(queued)
    }

    fn work_visible(&self) -> bool {
        self.queued.any() || self.ready.len() > 0
    }

    /// Takes the processor, if it rests.
    fn borrow(&self) -> Option<Hold> {
        let processor = lock(&self.commons).take_idle(&self.sleepers)?;
        // SAFETY: the pool owns the processor. Loom checks that nobody else holds it.
        unsafe { processor.as_ref() }.with_mut(|used| unsafe { *used += 1 });
        Some(Hold)
    }

    fn give(&self, carrier: NonNull<Carrier>, _: Hold) {
        let processor = NonNull::from(&self.processor).cast();
        // SAFETY: the carrier came out of the queue, or from among the ready.
        unsafe { Carrier::give_raw(carrier, processor.as_ptr(), None) };
    }

    /// Lets the processor rest. If there is work, gives it to a carrier of the queue.
    fn retire(&self, _: Hold) {
        let processor = NonNull::from(&self.processor);
        lock(&self.commons).rest([processor], &self.sleepers);
        if !self.work_visible() {
            return;
        }
        let mut commons = lock(&self.commons);
        let Some(rested) = commons.take_rested(&self.sleepers) else { return };
        if let Paired::Ready(ready, _) = commons.pair(rested, None, &self.queued, &self.sleepers) {
            drop(commons);
            self.give(ready, Hold);
        }
    }

    /// A guest: runs all there is, lists what it was given and the carriers that are ready now, and leaves.
    fn visit(&self, list: Option<Entry>) {
        let Some(hold) = self.borrow() else { return };
        let mut enabled = Vec::new();
        while let Some(entry) = self.take(&hold) {
            enabled.extend(execute(entry));
        }
        for entry in list.into_iter().chain(enabled.into_iter().map(Entry::carrier)) {
            self.submit(&hold, entry);
        }
        self.retire(hold);
    }

    /// A waiting carrier looks up: what [`crate::machine::hand_over`] does now and then. Returns the
    /// processor if it has it now.
    fn look_up(&self, index: usize, looks_up: &mut LooksUp) -> Option<Hold> {
        if self.carriers[index].receive_within(Duration::ZERO).is_some() {
            return Some(Hold);
        }
        if !self.sleepers.any_resting() || !self.work_visible() {
            return None;
        }
        let hold = self.borrow()?;
        match looks_up.with_processor(self.latch(index), self.carrier(index)) {
            Then::Help => return Some(hold),
            Then::Rest => {}
            Then::FindCarrier => {
                let mut others = Vec::new();
                let found = find_carrier(|| self.take(&hold), &mut others);
                let mut commons = lock(&self.commons);
                others.into_iter().for_each(|entry| commons.queue.push(entry, &self.queued));
                if let Some(carrier) = found {
                    assert!(commons.idle_or_queue(carrier, &self.queued, &self.sleepers).is_none());
                }
            }
        }
        self.retire(hold);
        None
    }
}

/// A guest runs what a carrier waits for, and leaves, while the carrier looks up. The carrier goes on: with the guest's
/// processor, or with the same processor before the guest comes. Then it runs the task itself. What else the guest has
/// listed is still there.
#[test]
fn a_guest_leaves_a_ready_carrier_behind() {
    let faults = [Fault::RestThoughStranded, Fault::ForgetWhatElseIsFound, Fault::LeaveLatchBlindly];
    explore_weak(4, &faults, || {
        let pool = Pool::new();
        pool.wait_for_queued_tasks(1);
        let guest = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.visit(Some(Entry::heap(NonNull::from(&pool.tasks[1].job)))))
        };
        let mut looks_up = LooksUp::default();
        if let Some(hold) = pool.look_up(0, &mut looks_up) {
            assert_eq!(pool.tasks[0].runs.load(Relaxed), 0, "the carrier helps although it is ready");
            assert!(execute(pool.take(&hold).expect("queued")).is_none(), "nobody waits at the latch");
            guest.join().unwrap();
        } else {
            guest.join().unwrap();
            let given = (0..3).find_map(|_| pool.look_up(0, &mut looks_up));
            let hold = given.expect("the carrier waits for ever");
            run_either(pool.take(&hold).expect("listed"));
            assert_eq!(pool.tasks[1].runs.load(Relaxed), 1);
        }
        assert!(pool.latch(0).is_done());
        assert_eq!(pool.tasks[0].runs.load(Relaxed), 1);
    });
}

/// A guest has run what two carriers wait for, and has left. Both look up. Both go on, one after the other.
#[test]
fn a_guest_leaves_two_ready_carriers_behind() {
    /// A carrier looks up until it goes on. When it ends, it gives the processor to the other one, if that is listed.
    fn go_on(pool: &Pool, index: usize) {
        let mut looks_up = LooksUp::default();
        let hold = loop {
            match pool.look_up(index, &mut looks_up) {
                Some(hold) => break hold,
                None => thread::yield_now(),
            }
        };
        match pool.take(&hold).map(Entry::kind) {
            None => pool.retire(hold),
            Some(Kind::Carrier(other)) => pool.give(other, hold),
            Some(_) => panic!("everything else has run"),
        }
    }

    explore_weak(2, &[Fault::RestThoughStranded], || {
        let pool = Pool::new();
        pool.wait_for_queued_tasks(2);
        pool.visit(None);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || go_on(&pool, 1))
        };
        go_on(&pool, 0);
        other.join().unwrap();
        assert!(!pool.work_visible());
    });
}
