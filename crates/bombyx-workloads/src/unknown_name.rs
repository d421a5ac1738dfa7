//! [`UnknownName`]: what is said of a name that does not exist.

use std::fmt;

/// A size, grain, suite or bound that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: &'static [&'static str],
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str, known: &'static [&'static str]) -> UnknownName {
        UnknownName { what, name: name.to_owned(), known }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`; choose one of {}", self.what, self.name, self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}
