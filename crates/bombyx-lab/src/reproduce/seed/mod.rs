//! What the papers print, as data: a file per paper. Each figure says where in the paper it is.
//!
//! **Not here:** figures that we measured.

pub(super) mod dfd;
pub(super) mod rw;
