//! Which line of the program a fork inside a library stands for.
//!
//! rayon's iterators and sorts fork inside rayon, so every loop of a program would show the same line of rayon's
//! source. Therefore the first fork of each kind of loop keeps the stack's backtrace, and the report names the
//! innermost frame that belongs neither to rayon nor to the runtime. The code that runs the second half identifies the
//! kind of loop, because the compiler makes one function for each type of closure. (Two lines that sort vectors of the
//! same type share that code, and are shown as the first one.)
//!
//! While the program runs, a backtrace is only a list of addresses. It takes some microseconds, once for each kind of
//! loop. Names and lines are looked up when the report is made. In a program without line tables, the report names the
//! function.

/// Whether this file belongs to a library whose forks are attributed to its caller.
pub(crate) use bombyx_base::is_of_rayon as is_library;

use bombyx_base::is_in_package;
use std::backtrace::Backtrace;

/// Where in the program a library was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The source file, or the function if its lines are unknown.
    pub(crate) file: String,
    /// The line, or 0 if it is unknown.
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The innermost frame that belongs to the program, and whether rayon's `par_bridge` lies in between.
pub(crate) fn find(backtrace: &Backtrace) -> (Option<Caller>, bool) {
    let text = backtrace.to_string();
    (find_in(&text), text.contains("par_bridge"))
}

fn find_in(text: &str) -> Option<Caller> {
    let mut lines = text.lines().map(str::trim_start).peekable();
    while let Some(line) = lines.next() {
        let symbol = line.split_once(": ").filter(|(n, _)| n.parse::<u32>().is_ok()).map_or(line, |it| it.1);
        let place = lines.next_if(|next| next.starts_with("at ")).and_then(|at| parse(&at[3..]));
        let foreign = match &place {
            Some(place) => is_foreign_file(&place.file),
            None => is_foreign_symbol(symbol),
        };
        if !foreign {
            return Some(place.unwrap_or_else(|| Caller { file: symbol.to_owned(), line: 0, column: 0 }));
        }
    }
    None
}

/// `file:line:column`, or `file:line`.
fn parse(text: &str) -> Option<Caller> {
    let (rest, last) = text.rsplit_once(':')?;
    let last = last.parse().ok()?;
    let caller = |file: &str, line, column| Some(Caller { file: file.to_owned(), line, column });
    match rest.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
        Some((file, Ok(line))) => caller(file, line, last),
        _ => caller(rest, last, 0),
    }
}

fn is_foreign_file(file: &str) -> bool {
    // Functions in C belong to the system.
    !file.ends_with(".rs")
        || is_library(file)
        || file.starts_with("/rustc/")
        || file.contains("/rustlib/src/rust/")
        || is_in_package(file, |name| {
            name == "bombyx" || name.starts_with("bombyx-core") || name.starts_with("bombyx-threads")
        })
}

fn is_foreign_symbol(symbol: &str) -> bool {
    let path = symbol.trim_start_matches(['<', '&', '[', '*', '(']);
    let root = path.split("::").next().unwrap_or(path);
    // Functions in C have no path.
    !path.contains("::")
        || matches!(
            root,
            "rayon"
                | "rayon_core"
                | "bombyx"
                | "bombyx_core"
                | "bombyx_threads"
                | "core"
                | "std"
                | "alloc"
                | "__rustc"
        )
        || symbol.contains(" as rayon")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_frame_of_the_program_is_found() {
        let text = "
   0: <std::backtrace::Backtrace>::create
             at /rustc/59807616/library/std/src/backtrace.rs:331:13
   1: bombyx_core::profile::sites::intern
             at /src/bombyx/crates/bombyx-core/src/profile/sites.rs:90:9
      bombyx_threads::join::join_context
             at /src/bombyx/crates/bombyx-threads/src/join.rs:79:5
   2: rayon::iter::plumbing::bridge_producer_consumer::helper
             at /home/me/.cargo/registry/src/index/rayon-1.12.0/src/iter/plumbing/mod.rs:417:24
   3: <rayon::iter::map::Map<I,F> as rayon::iter::ParallelIterator>::drive_unindexed
             at /home/me/.cargo/registry/src/index/rayon-1.12.0/src/iter/map.rs:50:9
      rayon::iter::ParallelIterator::for_each
             at /home/me/.cargo/registry/src/index/rayon-1.12.0/src/iter/mod.rs:361:9
      render
             at ./src/main.rs:40:9
   5: tiles::main
             at ./src/main.rs:7:5
";
        let foot = "   0: start_thread\n             at ./nptl/pthread_create.c:442:8\n";
        assert_eq!(find_in(foot), None, "functions of C are not the program's");
        assert_eq!(find_in(text), Some(Caller { file: "./src/main.rs".into(), line: 40, column: 9 }));
    }

    #[test]
    fn without_lines_the_function_is_told() {
        let text = "   0: bombyx_core::profile::sites::intern\n   0: bombyx_threads::join::join\n   \
                    1: <rayon::iter::map::Map<I,F> as rayon::iter::ParallelIterator>::drive\n   2: tiles::render\n";
        assert_eq!(find_in(text), Some(Caller { file: "tiles::render".into(), line: 0, column: 0 }));
        let stolen = "   0: bombyx_core::x\n   1: std::sys::thread_start\n   2: start_thread\n   3: clone3\n";
        assert_eq!(find_in(stolen), None);
    }
}
