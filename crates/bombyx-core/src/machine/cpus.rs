//! Which CPUs the processors of a pool run on.

use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::system::affinity;
use std::io;
use std::sync::Arc;

/// Decides on which CPUs processors run. The defaults are those of a pool whose processors stay where they are: pinned if its
/// [builder](crate::Builder::pin) says so, else wherever the kernel puts their carriers.
pub(crate) trait Cpus: Send + Sync {
    /// How many CPUs there must be to pin processors to; 0 if processors need not be pinned.
    fn least(&self) -> usize {
        0
    }

    /// The calling carrier has taken hold of the processor.
    fn took_hold(&self, processor: &Processor) {
        if processor.pool().config.pin {
            affinity::pin(processor.index);
        }
    }

    /// The calling carrier lets the processor go.
    fn lets_go(&self, _processor: &Processor) {}

    /// The calling thread, which has let its processor go, leaves the pool.
    fn left(&self) {}

    /// The CPU on which the next holder of the processor should wake up, if the processor is pinned.
    fn cpu_of(&self, processor: &Processor) -> Option<usize> {
        if processor.pool().config.pin { affinity::seat(processor.index) } else { None }
    }

    /// The pool begins: starts what is needed beside the carriers.
    fn start(&self, _pool: Arc<PoolCore>) -> io::Result<()> {
        Ok(())
    }

    /// The pool ends: stops that, and waits for its end.
    fn stop(&self) {}

    /// How fast the processors are, relative to the best CPU, as last estimated.
    fn speeds(&self, processors: usize) -> Vec<f64> {
        vec![1.0; processors]
    }
}

/// See the defaults of [`Cpus`].
pub(crate) struct AnyCpus;

impl Cpus for AnyCpus {}
