//! Stub for the first build.
use crate::claim::Claim;
pub(crate) const CLAIMS: &[Claim] = &[];
