//! Stands in for the processor where the models hand one over: there it is only an address.

/// See the module text. Its size makes its address differ from the markers that a carrier can be given.
pub(crate) struct Processor(#[allow(dead_code)] pub(crate) [u64; 4]);
