//! Short names of closures. The compiler's names are long, and the runtime's part of them tells the user nothing.

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
    let paths = paths(full);
    let known = |path: &&String| path.split("::").next().is_some_and(|first| !WRAPPERS.contains(&first));
    let closure = |path: &&String| path.contains("{{closure}}");
    let path = paths.iter().filter(closure).rfind(known);
    let path =
        path.or_else(|| paths.iter().find(known)).or_else(|| paths.first()).map_or(full, String::as_str);
    let mut short = path.to_owned();
    while let Some(shorter) = short.strip_suffix("::{{closure}}") {
        short = shorter.to_owned();
    }
    short.replace("::{{closure}}", "")
}

/// The paths in a name of a type, without their arguments. Those in arguments come first, and the outermost comes last.
/// Left out is what has only one part, and what begins with a type in angle brackets: its beginning is no path.
fn paths(full: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut end = |path: String| {
        if path.contains("::") && !path.starts_with("::") {
            paths.push(path);
        }
    };
    // The paths that have begun, the outermost first.
    let mut begun = vec![String::new()];
    let mut last = ' ';
    for character in full.chars() {
        let here = begun.last_mut().expect("the outermost is never taken off");
        match character {
            '<' => begun.push(String::new()),
            // Not the arrow before a result.
            '>' if last != '-' => {
                if begun.len() > 1 {
                    end(begun.pop().unwrap_or_default());
                }
            }
            ',' | '(' | ')' | '[' | ']' | '&' | ';' | ' ' | '-' | '>' => end(std::mem::take(here)),
            part => here.push(part),
        }
        last = character;
    }
    while let Some(path) = begun.pop() {
        end(path);
    }
    paths
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
            (
                "bombyx_core::api::join::join<<a::Real as a::Fork>::join<a::sort<a::Real>::{{closure}}, fn() -> a::T>::{{closure}}, ()>",
                "a::sort",
            ),
            ("a::map<b::main::{{closure}}>::{{closure}}", "a::map"),
            ("bombyx_core::api::task::start", "bombyx_core::api::task::start"),
            ("", ""),
            ("<script>", "<script>"),
        ] {
            assert_eq!(short_name(full), short, "{full}");
        }
    }
}
