//! What the drop-in core for rayon needs beside the rest.

pub(crate) mod broadcast;
pub(crate) mod fifo;
pub(crate) mod handle;
pub(crate) mod yielding;
