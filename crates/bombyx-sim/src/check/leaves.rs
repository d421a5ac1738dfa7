//! The busy-leaves property of BL §3, from which Lemma 2 concludes that space is at most S1·P.

use super::Check;
use crate::machine::{Machine, Status};
use crate::scheduler::Ready;

pub(super) struct BusyLeaves;

impl Check for BusyLeaves {
    fn check(&mut self, m: &Machine<'_>, _: &Ready) -> Result<(), String> {
        let idle_leaf = m.computation().threads().find(|&thread| {
            let waiting = matches!(m.status(thread), Status::Ready | Status::Stalled);
            waiting && m.living_children(thread) == 0
        });
        match idle_leaf {
            Some(thread) => Err(format!("{thread} has no living children and nobody works on it")),
            None => Ok(()),
        }
    }
}
