//! What the papers print, as data: a file per paper, each figure with the place it stands in.

pub(super) mod dfd;
pub(super) mod rw;
