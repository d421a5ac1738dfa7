//! What a workload is run on: the options that the commands which run workloads have in common.

use bombyx_workloads::{Grain, Size};

/// The input of a workload.
#[derive(clap::Args, Clone, Copy)]
pub struct Input {
    /// How much work a run is: small, default (about a second) or large
    #[arg(long, default_value_t)]
    pub size: Size,

    /// How small the serial pieces of a workload are: medium or fine
    #[arg(long, default_value_t)]
    pub grain: Grain,

    /// Seed of the inputs, and of the choice of victims
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}
