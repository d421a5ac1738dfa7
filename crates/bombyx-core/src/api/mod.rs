//! The top floor: what users call.

pub mod alloc;
pub(crate) mod blocking;
pub(crate) mod builder;
pub(crate) mod costs;
pub mod dropin;
pub(crate) mod enter;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod join;
pub mod lab;
pub(crate) mod loops;
pub(crate) mod pool;
pub(crate) mod scope;
pub(crate) mod signal;
