//! Maximum and high utilization with any order. The invariant says which processors work, not on what (HET §2: "any
//! processor may execute any task"). So an adversary chooses which waiting thread goes next, and which thread moves.

use bombyx_dag::{ThreadId, distances_to_end};
use bombyx_sim::{Beta, Machine, Policy, ProcessorId, Ready};

/// Which waiting thread is taken next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// The one that became ready last.
    Newest,
    /// The one nearest to the end of the computation, so that long paths wait.
    Nearest,
    /// Any thread, by the bits of a seed.
    Any(u64),
}

impl Order {
    pub(super) const ALL: [Self; 3] = [Self::Newest, Self::Nearest, Self::Any(1)];
}

pub(super) struct AnyOrder {
    order: Order,
    beta: Beta,
    waiting: Vec<ThreadId>,
    distances: Vec<u64>,
}

impl AnyOrder {
    pub(super) fn new(order: Order, beta: Beta) -> Self {
        Self { order, beta, waiting: Vec::new(), distances: Vec::new() }
    }

    fn take(&mut self, m: &Machine<'_>) -> Option<ThreadId> {
        let count = self.waiting.len();
        let distance = |&t: &ThreadId| m.next_strand(t).map_or(0, |s| self.distances[s.index()]);
        let at = match &mut self.order {
            _ if count == 0 => return None,
            Order::Newest => count - 1,
            Order::Nearest => (0..count).min_by_key(|&i| distance(&self.waiting[i]))?,
            Order::Any(bits) => {
                *bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*bits >> 33) as usize % count
            }
        };
        Some(self.waiting.remove(at))
    }
}

impl Policy for AnyOrder {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.distances = distances_to_end(m.computation());
        self.waiting.push(m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.waiting.extend([parent, child]);
        m.rest(p);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn enabled(&mut self, _: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.waiting.push(thread);
    }

    fn continued(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.waiting.push(thread);
        m.rest(p);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        while let Some(idle) = m.idle().max_by_key(|&p| m.speed(p)) {
            if let Some(thread) = self.take(m) {
                m.acquire(idle, thread);
                continue;
            }
            let busy = m.processors().filter(|&p| m.thread_of(p).is_some());
            let Some(slowest) = busy.min_by_key(|&p| m.speed(p)) else { break };
            if !self.beta.exceeded_by(m.speed(idle), m.speed(slowest)) {
                break;
            }
            let thread = m.interrupt(slowest);
            m.acquire(idle, thread);
        }
    }

    fn ready(&self) -> Ready {
        Ready::Pool(self.waiting.clone())
    }
}
