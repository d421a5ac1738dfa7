//! Runs programs with a profile, once or twice: what `bombyx profile` and `bombyx scale` begin with.

use crate::launch::{Ended, Launch, Scratch};
use crate::text::counted;
use crate::{Result, host};
use bombyx_profile::{Comparison, Profile, add_node, read};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;

/// Runs a program again, on another number of processors, for [`Profile::companion`]. Returns what there is to say about
/// that, if the two runs cannot be compared.
///
/// # Errors
/// If the program cannot be started.
pub fn add_companion(profile: &mut Profile, program: &[OsString]) -> Result<Option<String>> {
    let other = if profile.processors == 1 { host::cores() } else { 1 };
    if other as u32 == profile.processors {
        return Ok(None);
    }
    let (ended, companion) = profiled(program, Some(other), To::Nobody)?;
    let failed = |why: &str| -> Result<Option<String>> {
        Ok(Some(format!(
            "the second run, on {}, {why}; so the speedup is not known",
            counted(other as u64, "processor")
        )))
    };
    if let Some(complaint) = ended.complaint() {
        return failed(&complaint);
    }
    match companion {
        Some(Ok(companion)) if companion.processors as usize != other => failed(&format!(
            "used {}, because the program builds its pool itself",
            counted(u64::from(companion.processors), "processor")
        )),
        Some(Ok(companion)) => {
            profile.companion = Some(Box::new(companion));
            if Comparison::of(profile).is_none() {
                return failed("did something else: it did not enter pools as often");
            }
            Ok(None)
        }
        _ => failed("wrote no profile"),
    }
}

/// Where the output of a program goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Where ours goes.
    Same,
    /// To our standard error.
    Errors,
    /// Nowhere, and the program has no input.
    Nobody,
}

/// Runs a program. Returns how it ended, and its profile if it wrote one.
///
/// # Errors
/// If it cannot be started.
pub fn profiled(
    program: &[OsString],
    processors: Option<usize>,
    to: To,
) -> Result<(Ended, Option<Result<Profile>>)> {
    let scratch = Scratch::new()?;
    let path = scratch.file("profile.json");
    let launch = Launch::new(program).with("BOMBYX_PROFILE", &path).processors(processors);
    let ended = match to {
        To::Same => launch,
        To::Errors => launch.output_to_errors(),
        To::Nobody => launch.quiet(),
    }
    .run()?;
    let profile = match fs::exists(&path)? {
        true => Some(load(&path)),
        false => None,
    };
    Ok((ended, with_nodes(&path, profile)?))
}

/// Adds the profiles of a cluster's workers, which lie beside that of the program. The program itself may have none.
fn with_nodes(path: &Path, own: Option<Result<Profile>>) -> Result<Option<Result<Profile>>> {
    let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let mut nodes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let text = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if text.strip_prefix(&*name.to_string_lossy()).is_some_and(|rest| rest.starts_with(".node-")) {
            nodes.push(file);
        }
    }
    nodes.sort();
    let mut nodes = nodes.iter().map(|file| load(file));
    let sum = match own.or_else(|| nodes.next()) {
        Some(Ok(sum)) => sum,
        other => return Ok(other),
    };
    let (mut sum, mut longest) = (sum, None);
    for node in nodes {
        add_node(&mut sum, &node?, &mut longest);
    }
    Ok(Some(Ok(sum)))
}

/// Reads a profile.
///
/// # Errors
/// With the name of the file, if it cannot be read or is no profile.
pub fn load(path: &Path) -> Result<Profile> {
    let explain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| explain(&error))?;
    Ok(read(file).map_err(|error| explain(&error))?)
}
