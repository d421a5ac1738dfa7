use crate::unwind;
use rayon_core::{join, join_context};

#[path = "../../upstream-core/src/join/test.rs"]
mod test;
