//! Profiles of workers: each writes its own file beside that of the client, and `bombyx profile` sums them.

use std::process::Command;

/// Gives a worker a separate file, if this process is profiled. Two processes must not write the same file.
pub(crate) fn hand_down(command: &mut Command, worker: u64) {
    if let Some(mut file) = std::env::var_os("BOMBYX_PROFILE") {
        file.push(format!(".node-{}-{worker}", std::process::id()));
        command.env("BOMBYX_PROFILE", file);
    }
    command.env_remove("BOMBYX_RECORD").env_remove("BOMBYX_CLUSTER_RECORD");
}
