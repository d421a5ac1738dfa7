//! Where ready entries wait if they are not in the deque of a processor: in one pool that all share ([`shared`]), or in
//! deques without an owner ([`ranks`]).
//!
//! **Not here:** the schedulers that use these structures. They are in [`crate::scheduler`].

pub(crate) mod list;
pub(crate) mod ranks;
pub(crate) mod shared;
