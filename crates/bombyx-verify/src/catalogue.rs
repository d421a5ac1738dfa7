//! All claims, paper by paper.

use crate::claim::Claim;
use crate::{bl, dfd, het, lec, rw};

/// All claims, paper by paper, in the order in which the papers make them.
pub fn claims() -> impl Iterator<Item = &'static Claim> + Clone {
    let dfd = [dfd::CLAIMS, dfd::SPACE_CLAIMS, dfd::TIME_CLAIMS];
    let others = [rw::CLAIMS, rw::CLOCK, rw::PROOF, het::CLAIMS, het::RATIO_CLAIMS, het::MUGGING_CLAIMS];
    bl::claims().chain(lec::claims()).chain(dfd.into_iter().chain(others).flatten())
}

/// The claim with this id.
pub fn claim(id: &str) -> Option<&'static Claim> {
    claims().find(|claim| claim.id == id)
}
