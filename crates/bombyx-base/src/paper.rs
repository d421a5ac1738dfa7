//! [`Paper`]: the papers that Bombyx implements, and their short names.

use std::fmt;

/// A paper. `bombyx verify`, `bombyx reproduce` and the documentation call it by its short name.
///
/// ```
/// use bombyx_base::Paper;
/// assert_eq!(Paper::Dfd.id(), "dfd");
/// assert_eq!(Paper::Dfd.to_string(), "DFD");
/// assert_eq!(Paper::named("het"), Some(Paper::Het));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper {
    /// Blumofe and Leiserson, scheduling multithreaded computations by work stealing.
    Bl,
    /// The MIT lecture on the Cilk scheduler.
    Lec,
    /// Narlikar, scheduling threads for low space and good locality.
    Dfd,
    /// Acar, Charguéraud, Muller and Rainey, work stealing without atomic read-modify-write operations.
    Rw,
    /// Bender and Rabin, online scheduling on processors of different speeds.
    Het,
}

impl Paper {
    /// All papers, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Bl, Self::Lec, Self::Dfd, Self::Rw, Self::Het];

    /// The short name: `bl`, `lec`, `dfd`, `rw` or `het`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Bl => "bl",
            Self::Lec => "lec",
            Self::Dfd => "dfd",
            Self::Rw => "rw",
            Self::Het => "het",
        }
    }

    /// The paper with this short name.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|paper| paper.id() == id)
    }

    /// Authors and subject, for headings.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Bl => "Blumofe and Leiserson: scheduling by work stealing",
            Self::Lec => "the MIT lecture on the Cilk scheduler",
            Self::Dfd => "Narlikar: low space and good locality with DFDeques",
            Self::Rw => "Acar, Charguéraud, Muller and Rainey: stealing with loads and stores only",
            Self::Het => "Bender and Rabin: processors of different speeds",
        }
    }
}

/// In capitals, for references to sections: `DFD §3`.
impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bl => "BL",
            Self::Lec => "LEC",
            Self::Dfd => "DFD",
            Self::Rw => "RW",
            Self::Het => "HET",
        })
    }
}

/// BL Figure 2: the schedule that the Busy-Leaves Algorithm computes for the computation of Figure 1 on two processors.
/// Typed from the paper, not written by a program. Stalled threads, which are not bold in the paper, are in
/// parentheses.
pub const FIGURE_2: &str = include_str!("figure-2.txt");
