//! Models of closures that begin in the order of their spawns.

use super::*;
use crate::protocol::tickets::Tickets;

/// A spawned closure, which notes when it ran.
#[repr(C)]
struct Closure {
    job: Job,
    number: usize,
    order: Arc<Mutex<Vec<usize>>>,
}

impl Closure {
    fn new(number: usize, order: &Arc<Mutex<Vec<usize>>>) -> Closure {
        Closure { job: Job::unpushed(Closure::exec), number, order: Arc::clone(order) }
    }

    unsafe fn exec(job: *const Job) -> Enabled {
        // SAFETY: the model makes closures of all jobs, and keeps them.
        let closure = unsafe { &*job.cast::<Closure>() };
        lock(&closure.order).push(closure.number);
        None
    }
}

/// Two closures are spawned in order. Their owner takes tickets from the bottom, a thief takes one from the top. Every closure
/// runs once, and an owner that runs both begins with the older.
#[test]
fn tickets_against_steal() {
    explore_weak(4, &[Fault::YoungestTicketFirst], || {
        let deque = Arc::new(Deque::new(false));
        let order: Arc<Mutex<Vec<usize>>> = Arc::new(Mutex::new(Vec::new()));
        // The jobs have no state that anybody but their one runner touches.
        let closures: &'static [Closure; 2] =
            Box::leak(Box::new([0, 1].map(|number| Closure::new(number, &order))));
        let tickets: &'static Tickets = Box::leak(Box::new(Tickets::new(0)));
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                let stolen = deque.steal_free(0, true);
                stolen.is_some_and(|entry| execute(entry).is_none())
            })
        };
        for closure in closures {
            let _ = deque.push_over(tickets.push(Entry::heap(NonNull::from(&closure.job))));
        }
        while let Some(entry) = deque.take_youngest(|_| true) {
            assert!(execute(entry).is_none());
        }
        let stole = thief.join().unwrap();
        let mut order = std::mem::take(&mut *lock(&order));
        if stole {
            order.sort_unstable();
        }
        assert_eq!(order, [0, 1], "a closure was lost, or went before an older one");
    });
}
