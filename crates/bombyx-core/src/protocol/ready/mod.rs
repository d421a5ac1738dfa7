//! Where ready entries wait if not in the deque of a processor: in one pool that all share ([`shared`]), or in
//! deques without an owner ([`ranks`]). Structures and their locks; what is done with them is in
//! [`crate::scheduler`].

pub(crate) mod list;
pub(crate) mod ranks;
pub(crate) mod shared;
