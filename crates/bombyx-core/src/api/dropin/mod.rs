//! What the drop-in core for rayon needs in addition: order of arrival, broadcasts, yields, carriers that the caller
//! starts, handlers. Other programs may use these too.
//!
//! **Not here:** rayon's own interface. The crate `bombyx-threads` has it, in terms of these functions.

pub(crate) mod broadcast;
mod ext;
mod yielding;

pub use self::broadcast::Broadcast;
pub use self::ext::{BuilderExt, HandleExt, ScopeExt};
pub use self::yielding::{Yield, has_pending, yield_local, yield_now};
pub use crate::machine::new_carrier::NewCarrier;
