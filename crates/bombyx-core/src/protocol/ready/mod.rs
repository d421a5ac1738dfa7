//! Where ready entries wait if they are not in the deque of a processor: in one pool that all share ([`shared`]), or in
//! deques without an owner ([`ranks`]). Here are only the structures and their locks. The schedulers that use them are
//! in [`crate::scheduler`].

pub(crate) mod list;
pub(crate) mod ranks;
pub(crate) mod shared;
