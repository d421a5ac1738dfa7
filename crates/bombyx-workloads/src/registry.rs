//! The list of all workloads and how to find one by name.

use std::fmt;

use crate::Workload;
use bombyx_base::edits;

static ALL: &[&dyn Workload] = &[
    &crate::fib::FIB,
    &crate::matmul::MATMUL,
    &crate::cilksort::RANDOM,
    &crate::cilksort::EXPONENTIAL,
    &crate::samplesort::RANDOM,
    &crate::samplesort::EXPONENTIAL,
    &crate::quickhull::UNIFORM,
    &crate::quickhull::PLUMMER,
    &crate::matching::GRID2D,
    &crate::matching::GRID3D,
    &crate::matching::LOCAL,
    &crate::matching::RMAT,
    &crate::mis::GRID2D,
    &crate::mis::GRID3D,
    &crate::mis::LOCAL,
    &crate::mis::RMAT,
    &crate::volume::VOLUME,
    &crate::densemm::DENSE_MM,
    &crate::spmv::SPMV,
    &crate::fft::FFT,
    &crate::fmm::FMM,
    &crate::barneshut::BARNES_HUT,
    &crate::barneshut::TREE,
    &crate::barneshut::TREE_SPIN,
    &crate::dtree::DECISION_TREE,
    &crate::nqueens::NQUEENS,
    &crate::uts::T1,
    &crate::uts::T3,
    &crate::mandelbrot::MANDELBROT,
    &crate::heat::HEAT,
    &crate::strassen::STRASSEN,
    &crate::lu::LU,
    &crate::knapsack::KNAPSACK,
];

/// All workloads. Programs with several inputs are side by side.
pub fn all() -> &'static [&'static dyn Workload] {
    ALL
}

/// The workload with exactly this name.
///
/// # Errors
/// Names the nearest matches if there is no such workload.
///
/// ```
/// assert_eq!(bombyx_workloads::find("fib").unwrap().name(), "fib");
/// let error = bombyx_workloads::find("fibb").err().unwrap();
/// assert_eq!(error.to_string(), "there is no workload `fibb`; did you mean `fib`?");
/// ```
pub fn find(name: &str) -> Result<&'static dyn Workload, UnknownWorkload> {
    all().iter().copied().find(|w| w.name() == name).ok_or_else(|| UnknownWorkload::new(name))
}

/// The workload with this name, or all inputs of the program with this name (`cilksort` means `cilksort-random` and
/// `cilksort-exponential`).
///
/// # Errors
/// Names the nearest matches if nothing has this name.
pub fn select(name: &str) -> Result<Vec<&'static dyn Workload>, UnknownWorkload> {
    let belongs = |w: &&dyn Workload| {
        w.name().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    match find(name) {
        Ok(workload) => Ok(vec![workload]),
        Err(error) => {
            let family: Vec<_> = all().iter().copied().filter(belongs).collect();
            if family.is_empty() { Err(error) } else { Ok(family) }
        }
    }
}

/// A name that no workload has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWorkload {
    name: String,
    nearest: Vec<&'static str>,
}

impl UnknownWorkload {
    fn new(name: &str) -> Self {
        let mut ranked: Vec<(usize, &'static str)> = all()
            .iter()
            .map(|w| (distance(name, w.name()), w.name()))
            .filter(|(distance, _)| *distance <= name.len() / 3)
            .collect();
        ranked.sort();
        let nearest = ranked.into_iter().take(3).map(|(_, known)| known).collect();
        UnknownWorkload { name: name.to_string(), nearest }
    }

    /// Up to three names with a similar spelling, the best first.
    pub fn nearest(&self) -> &[&'static str] {
        &self.nearest
    }
}

impl fmt::Display for UnknownWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no workload `{}`; ", self.name)?;
        if self.nearest.is_empty() {
            let names: Vec<_> = all().iter().map(|w| w.name()).collect();
            write!(f, "choose one of {}", names.join(", "))
        } else {
            write!(f, "did you mean `{}`?", self.nearest.join("` or `"))
        }
    }
}

impl std::error::Error for UnknownWorkload {}

/// How far a name is from a known one or from its program's: none if it is a part of it.
fn distance(name: &str, known: &str) -> usize {
    if known.contains(name) {
        return 0;
    }
    let program = known.split('-').next().unwrap_or(known);
    edits(name, known).min(edits(name, program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut names: Vec<_> = all().iter().map(|w| w.name()).collect();
        assert!(
            names
                .iter()
                .all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn the_readme_lists_every_workload() {
        let readme = include_str!("../README.md");
        let missing: Vec<_> =
            all().iter().map(|w| w.name()).filter(|name| !readme.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "not in README.md: {missing:?}");
    }
}
