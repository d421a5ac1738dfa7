//! Graphviz DOT: one cluster per thread, for people who want to lay out or restyle a computation themselves.

use super::TooLargeToDraw;
use crate::Computation;
use std::fmt::Write;

/// The computation in Graphviz's language, for `dot -Tsvg`.
///
/// # Errors
/// If it has more than [`MAX_DRAWN_STRANDS`](super::MAX_DRAWN_STRANDS) strands.
///
/// ```
/// let dot = bombyx_dag::draw::dot(&bombyx_dag::generate::figure1(1))?;
/// assert!(dot.contains("v6 -> v7 [style=bold"));
/// # Ok::<(), bombyx_dag::draw::TooLargeToDraw>(())
/// ```
pub fn dot(c: &Computation) -> Result<String, TooLargeToDraw> {
    TooLargeToDraw::check(c)?;
    let mut out = String::from(
        "digraph computation {\n  rankdir=LR;\n  node [shape=circle, fixedsize=true, width=0.45, fontsize=11, \
         style=filled, fillcolor=white];\n",
    );
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "  {text}").expect("strings take all text");
    for thread in c.threads() {
        line(format_args!("subgraph \"cluster_{thread}\" {{"));
        line(format_args!(
            "  label=\"{thread}\"; style=\"rounded,filled\"; color=\"#c3cde0\"; fillcolor=\"#e9eef7\";"
        ));
        for strand in c.strands_of(thread) {
            match c.weight(strand) {
                1 => line(format_args!("  {strand};")),
                weight => line(format_args!("  {strand} [xlabel=\"×{weight}\"];")),
            }
        }
        line(format_args!("}}"));
    }
    for strand in c.strands() {
        if let Some(next) = c.next(strand) {
            line(format_args!("{strand} -> {next} [weight=10];"));
        }
        if let Some(child) = c.spawned(strand) {
            line(format_args!("{strand} -> {child} [style=bold, color=\"#7c8db0\"];"));
        }
        for to in c.joins_from(strand) {
            line(format_args!("{strand} -> {to} [style=dashed, color=\"#b4532a\"];"));
        }
    }
    out.push_str("}\n");
    Ok(out)
}
