//! What users call.

pub mod alloc;
pub(crate) mod blocking;
pub(crate) mod dropin;
pub(crate) mod error;
pub(crate) mod join;
pub(crate) mod loops;
pub(crate) mod pool;
pub(crate) mod scope;
