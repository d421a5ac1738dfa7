//! [`Spec`]: a computation by its name: `fib:20`, `dnc:depth=12,work=100`.

use super::{GENERATORS, Generator};
use crate::{BuildError, Computation};
use bombyx_base::{count, nearest};
use std::fmt;
use std::str::FromStr;

/// A generator with its parameters.
///
/// Written `name:value,…`, where a value is `parameter=number`. The first parameter needs no name, and parameters that
/// are left out have their defaults. Numbers may carry a factor `k`, `M` or `G` (powers of 1000) and `_` between
/// digits.
///
/// ```
/// use bombyx_dag::generate::Spec;
/// let spec: Spec = "dnc:depth=12,work=1k".parse()?;
/// assert_eq!(spec.to_string(), "dnc:depth=12,work=1000");
/// assert_eq!(spec.build()?.thread_count(), 8191);
///
/// let typo = "fibb:20".parse::<Spec>().unwrap_err();
/// assert!(typo.to_string().contains("did you mean `fib`?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Spec {
    generator: &'static Generator,
    values: Vec<u64>,
}

/// More strands or join edges than this are refused, because their tables alone would take 6 GiB.
const MAX_SIZE: f64 = (1_u64 << 28) as f64;

impl Spec {
    /// The generator that the spec names.
    pub fn generator(&self) -> &'static Generator {
        self.generator
    }

    /// The value of a parameter, or `None` if the generator has no such parameter.
    pub fn value(&self, parameter: &str) -> Option<u64> {
        let at = self.generator.parameters.iter().position(|p| p.name == parameter)?;
        Some(self.values[at])
    }

    /// How many strands or join edges the computation will have, whichever are more. An upper bound for random shapes.
    pub fn estimated_size(&self) -> u64 {
        (self.generator.size)(&self.values) as u64
    }

    /// Makes the computation.
    ///
    /// # Errors
    /// If it would have too many strands or join edges to hold, or weights that overflow.
    pub fn build(&self) -> Result<Computation, SpecError> {
        let size = (self.generator.size)(&self.values);
        if size > MAX_SIZE {
            return Err(SpecError::TooLarge { spec: self.to_string(), size });
        }
        (self.generator.build)(&self.values).map_err(SpecError::Build)
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let generator = GENERATORS
            .iter()
            .find(|g| g.name == name)
            .ok_or_else(|| SpecError::UnknownGenerator(name.to_owned()))?;
        let mut values: Vec<u64> = generator.parameters.iter().map(|p| p.default).collect();
        let mut given = vec![false; values.len()];
        for (nth, setting) in settings.split(',').enumerate().filter(|(_, s)| !s.is_empty()) {
            let (at, number) = match setting.split_once('=') {
                Some((key, number)) => {
                    let at = generator
                        .parameters
                        .iter()
                        .position(|p| p.name == key)
                        .ok_or_else(|| SpecError::UnknownParameter { generator, name: key.to_owned() })?;
                    (at, number)
                }
                None if nth == 0 => (0, setting),
                None => return Err(SpecError::Unnamed { generator, value: setting.to_owned() }),
            };
            let parameter = &generator.parameters[at];
            if std::mem::replace(&mut given[at], true) {
                return Err(SpecError::Twice { generator, parameter: parameter.name });
            }
            let value = count(number).ok_or_else(|| SpecError::BadNumber {
                generator,
                parameter: parameter.name,
                value: number.to_owned(),
            })?;
            if !(parameter.min..=parameter.max).contains(&value) {
                return Err(SpecError::OutOfRange { generator, at, value });
            }
            values[at] = value;
        }
        Ok(Self { generator, values })
    }
}

impl fmt::Display for Spec {
    /// The shortest spelling: defaults are left out, and a first parameter called `n` has no name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.generator.name)?;
        let mut separator = ':';
        for (nth, (parameter, value)) in self.generator.parameters.iter().zip(&self.values).enumerate() {
            let bare = nth == 0 && parameter.name == "n";
            if bare {
                write!(f, "{separator}{value}")?;
            } else if *value != parameter.default {
                write!(f, "{separator}{}={value}", parameter.name)?;
            } else {
                continue;
            }
            separator = ',';
        }
        Ok(())
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.generator.name == other.generator.name && self.values == other.values
    }
}

impl Eq for Spec {}

/// Why a spec names no computation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SpecError {
    /// No such generator.
    UnknownGenerator(String),
    /// The generator has no such parameter.
    UnknownParameter {
        /// The generator that was named.
        generator: &'static Generator,
        /// The parameter that it does not have.
        name: String,
    },
    /// A value without a name that is not the first.
    Unnamed {
        /// The generator that was named.
        generator: &'static Generator,
        /// The value.
        value: String,
    },
    /// A parameter is given twice.
    Twice {
        /// The generator that was named.
        generator: &'static Generator,
        /// The parameter.
        parameter: &'static str,
    },
    /// Not a whole number, or too large a one.
    BadNumber {
        /// The generator that was named.
        generator: &'static Generator,
        /// The parameter.
        parameter: &'static str,
        /// What was given for it.
        value: String,
    },
    /// A number that the parameter cannot have.
    OutOfRange {
        /// The generator that was named.
        generator: &'static Generator,
        /// Index of the parameter.
        at: usize,
        /// What was given for it.
        value: u64,
    },
    /// More strands or join edges than can be held.
    TooLarge {
        /// The whole spec.
        spec: String,
        /// How many it would have.
        size: f64,
    },
    /// Each parameter is valid, but together they make no computation.
    Build(BuildError),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownGenerator(name) => {
                write!(f, "there is no generator `{name}`; ")?;
                write_suggestion(f, name, GENERATORS.iter().map(|g| g.name))?;
                write!(f, "known are ")?;
                write_list(f, GENERATORS.iter().map(|g| g.name))
            }
            Self::UnknownParameter { generator, name } => {
                write!(f, "`{}` has no parameter `{name}`; ", generator.name)?;
                write_suggestion(f, name, generator.parameters.iter().map(|p| p.name))?;
                write!(f, "it takes ")?;
                write_list(f, generator.parameters.iter().map(|p| p.name))
            }
            Self::Unnamed { generator, value } => {
                write!(f, "`{value}` needs a name; `{}` takes ", generator.name)?;
                write_list(f, generator.parameters.iter().map(|p| p.name))
            }
            Self::Twice { generator, parameter } => {
                write!(f, "`{}` is given `{parameter}` twice", generator.name)
            }
            Self::BadNumber { generator, parameter, value } => write!(
                f,
                "`{value}` is not a whole number below 2^64, which `{parameter}` of `{}` must be (k, M and G are understood)",
                generator.name
            ),
            Self::OutOfRange { generator, at, value } => {
                let parameter = &generator.parameters[*at];
                write!(
                    f,
                    "`{}` of `{}` must be from {} to {}, not {value}",
                    parameter.name, generator.name, parameter.min, parameter.max
                )
            }
            Self::TooLarge { spec, size } => write!(
                f,
                "`{spec}` would have about {size:.1e} strands or join edges; at most {MAX_SIZE:.1e} can be held, so \
                 make it smaller"
            ),
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpecError {}

fn write_list<'a>(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'a str>) -> fmt::Result {
    for (nth, name) in names.enumerate() {
        write!(f, "{}`{name}`", if nth == 0 { "" } else { ", " })?;
    }
    Ok(())
}

/// Suggests a known word with a similar spelling.
fn write_suggestion<'a>(
    f: &mut fmt::Formatter<'_>,
    given: &str,
    known: impl Iterator<Item = &'a str>,
) -> fmt::Result {
    match nearest(given, known) {
        Some(word) => write!(f, "did you mean `{word}`? "),
        None => Ok(()),
    }
}
