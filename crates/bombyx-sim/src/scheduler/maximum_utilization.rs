//! `maximum-utilization`: with i < P ready threads, the i fastest processors run them (HET §2, after Jaffe).
//!
//! The [`high-utilization`](super::high_utilization) schedule of β = 1. Its time is at most
//! W1/(p·π_ave) + (π2/π1 + … + πp/πp−1)·W∞/(p·π_ave) (HET Theorem 2).

use super::{Beta, Policy, Setup, high_utilization};

pub(super) fn policy(setup: &Setup) -> Box<dyn Policy> {
    high_utilization::policy(setup, Beta::ONE)
}
