//! Names of closures: what the compiler calls them is long, and the runtime's own part of it says nothing.

/// Crates whose functions wrap the closures of programs.
const WRAPPERS: &[&str] =
    &["bombyx", "bombyx_core", "bombyx_threads", "rayon", "rayon_core", "core", "alloc", "std"];

/// The part of a closure's full name that a programmer knows: the function of the program that the closure is written in.
///
/// ```
/// let full = "bombyx_core::api::join::join<sort::merge::{{closure}}, sort::merge::{{closure}}, (), ()>::{{closure}}";
/// assert_eq!(bombyx_trace::short_name(full), "sort::merge");
/// ```
pub fn short_name(full: &str) -> String {
    let paths = || {
        full.split(|between: char| "<>()[]&,; ".contains(between))
            .map(|path| path.trim_matches(':'))
            .filter(|path| path.contains("::"))
    };
    let first = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
    let known = |path: &&str| !WRAPPERS.contains(&first(path).as_str());
    let closure = |path: &&str| path.contains("{{closure}}");
    let path = paths().filter(closure).rfind(known);
    let path = path.or_else(|| paths().find(known)).or_else(|| paths().next()).unwrap_or(full);
    let mut short = path.to_owned();
    while let Some(shorter) = short.strip_suffix("::{{closure}}") {
        short = shorter.to_owned();
    }
    short.replace("::{{closure}}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_wrote_is_kept() {
        for (full, short) in [
            ("fib::main::{{closure}}", "fib::main"),
            (
                "bombyx_core::api::join::join<a::b::{{closure}}, a::c::{{closure}}, u64, u64>::{{closure}}",
                "a::c",
            ),
            (
                "bombyx::iter::bridge<bombyx::iter::Map<&[a::Item], x::y::{{closure}}::{{closure}}>>::{{closure}}",
                "x::y",
            ),
            ("bombyx::iter::sum<alloc::vec::Vec<game::Unit>>::{{closure}}", "game::Unit"),
            ("bombyx_core::api::task::start", "bombyx_core::api::task::start"),
            ("", ""),
            ("<script>", "<script>"),
        ] {
            assert_eq!(short_name(full), short, "{full}");
        }
    }
}
