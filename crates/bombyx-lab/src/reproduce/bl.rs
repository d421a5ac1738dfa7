//! Exhibits of Blumofe and Leiserson's paper.

use super::exhibit::{Exhibit, Page, Sheet, none};
use super::lab::Lab;
use crate::Result;
use bombyx_base::FIGURE_2;
use bombyx_dag::draw;
use bombyx_dag::generate::figure1;
use bombyx_sim::{Scheduler, Simulation, step_table};
use serde_json::{Value, json};

pub(super) const EXHIBITS: &[Exhibit] = &[Exhibit {
    id: "bl-figure-2",
    about: "the 2-processor schedule of the Busy-Leaves Algorithm for the computation of Figure 1",
    make: figure_2,
}];

/// A step: the threads in the pool, and what p1 and p2 execute as (thread, instruction).
type Step = (Vec<u32>, [Option<(u32, u32)>; 2]);

fn figure_2(_: &Lab) -> Result<Page> {
    let computation = figure1(1);
    let outcome = Simulation::new(&computation, Scheduler::BusyLeaves).processors(2).trace().run()?;
    let table = step_table(&computation, &outcome).ok_or("the run has no steps")?;
    let (ours, theirs) = (parse(&table)?, parse(FIGURE_2)?);
    let mut sheet = Sheet::new("", &["step", "pool", "ours", "p1", "ours", "p2", "ours", ""]);
    let mut same = 0;
    for (nth, step) in theirs.iter().enumerate() {
        let our = ours.get(nth).cloned().unwrap_or_default();
        let equal = *step == our;
        same += usize::from(equal);
        let threads = |threads: &[u32]| -> Value {
            threads.iter().map(|t| format!("Γ{t}")).collect::<Vec<_>>().join(" ").into()
        };
        let work = |work: Option<(u32, u32)>| -> Value {
            work.map_or_else(none, |(thread, instruction)| format!("Γ{thread}: v{instruction}").into())
        };
        sheet.row(vec![
            json!(nth + 1),
            threads(&step.0),
            threads(&our.0),
            work(step.1[0]),
            work(our.1[0]),
            work(step.1[1]),
            work(our.1[1]),
            if equal { "same" } else { "DIFFERS" }.into(),
        ]);
    }
    let (steps, all) = (outcome.makespan, theirs.len());
    Ok(Page {
        method: format!(
            "Simulated in unit steps; the simulator's busy-leaves on the paper's own computation. At most {} threads live at \
             a time; the computation allocates nothing.",
            outcome.peak.threads
        ),
        sheets: vec![sheet],
        agrees: format!(
            "{same} of {all} steps are the paper's, instruction by instruction; ours takes {steps}."
        ),
        differs: match same {
            _ if same == all && ours.len() == all => "nothing.".into(),
            _ => {
                format!("{} steps: the simulator breaks a rule of the algorithm.", all.max(ours.len()) - same)
            }
        },
        plot: draw::svg(&computation).map_err(|error| error.to_string())?,
    })
}

/// Parses the table of [`step_table`]. A processor that goes on with its thread does not name it again.
fn parse(table: &str) -> Result<Vec<Step>> {
    let mut lines = table.lines();
    let head = lines.next().ok_or("an empty table")?;
    let column = |name: &str| head.chars().collect::<String>().find(name).ok_or("a column is missing");
    let (pool, p1, p2) = (column("pool")?, column("p1")?, column("p2")?);
    let mut threads = [0; 2];
    lines
        .map(|line| {
            let cut = |from: usize, to: usize| -> String { line.chars().take(to).skip(from).collect() };
            let numbers = |text: &str, letter: char| -> Vec<u32> {
                let words = text.split(|c: char| !c.is_alphanumeric());
                words.filter_map(|word| word.strip_prefix(letter)?.parse().ok()).collect()
            };
            let mut work = [None; 2];
            for (nth, text) in [cut(p1, p2), cut(p2, usize::MAX)].iter().enumerate() {
                if let Some(thread) = numbers(text, 'Γ').first() {
                    threads[nth] = *thread;
                }
                work[nth] = numbers(text, 'v').first().map(|instruction| (threads[nth], *instruction));
            }
            Ok((numbers(&cut(pool, p1), 'Γ'), work))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_back() {
        let table = "step  pool   p1       p2\n   1         Γ1: v1\n   2  (Γ2)       v2   Γ3: v4\n";
        let steps = parse(table).unwrap();
        assert_eq!(steps[0], (vec![], [Some((1, 1)), None]));
        assert_eq!(steps[1], (vec![2], [Some((1, 2)), Some((3, 4))]));
    }

    #[test]
    fn figure_2_is_reproduced() {
        let page = figure_2(&Lab::new(true)).unwrap();
        assert!(page.agrees.starts_with("14 of 14"), "{}", page.agrees);
    }
}
