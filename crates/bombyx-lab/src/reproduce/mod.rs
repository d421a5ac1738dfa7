//! Figures and tables of the papers, with the paper's figures beside ours.
//!
//! **Not here:** the theorems of the papers. `bombyx-verify` tries those.
//!
//! This file finds exhibits by name. [`exhibit`] says what a reproduction is, [`lab`] makes the runs, and [`seed`]
//! holds what the papers print. [`bl`], [`dfd`], [`rw`] and [`het`] are the exhibits, and [`plot`] draws them.

mod bl;
mod dfd;
mod exhibit;
mod het;
mod lab;
mod plot;
mod rw;
mod seed;
mod verdict;

use bombyx_base::{Paper, nearest};

pub use exhibit::{Exhibit, Page};
pub use lab::Lab;

/// Everything that can be reproduced, paper by paper.
pub fn exhibits() -> impl Iterator<Item = &'static Exhibit> {
    bl::EXHIBITS.iter().chain(dfd::EXHIBITS).chain(rw::EXHIBITS).chain(het::EXHIBITS)
}

/// The paper, which is the beginning of the id.
pub fn paper_of(exhibit: &Exhibit) -> Paper {
    let id = exhibit.id.split_once('-').map_or(exhibit.id, |(paper, _)| paper);
    Paper::named(id).unwrap_or_else(|| unreachable!("{} begins with no paper", exhibit.id))
}

/// The exhibits that a name stands for: one, all of a paper, or `all`.
///
/// # Errors
/// If nothing has this name.
pub fn select(name: &str) -> Result<Vec<&'static Exhibit>, String> {
    let chosen = |exhibit: &&Exhibit| name == "all" || exhibit.id == name || paper_of(exhibit).id() == name;
    let exhibits: Vec<_> = exhibits().filter(chosen).collect();
    if !exhibits.is_empty() {
        return Ok(exhibits);
    }
    let near = nearest(name, self::exhibits().map(|exhibit| exhibit.id));
    let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
    Err(format!("there is no exhibit `{name}`; {near}`bombyx reproduce` lists them"))
}

/// Everything that can be reproduced, as a list.
pub fn list() -> String {
    let mut out = String::new();
    for paper in Paper::ALL.into_iter().filter(|paper| exhibits().any(|exhibit| paper_of(exhibit) == *paper))
    {
        let (id, name) = (paper.id(), paper.about());
        out += &format!("{}{id}: {name}\n", if out.is_empty() { "" } else { "\n" });
        for exhibit in exhibits().filter(|exhibit| paper_of(exhibit) == paper) {
            out += &format!("  {:16}{}\n", exhibit.id, exhibit.about);
        }
    }
    out += "\nA paper's short name stands for all of its exhibits, `all` for all of them.\n";
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_papers_and_typos() {
        assert_eq!(select("rw-table-1").unwrap()[0].id, "rw-table-1");
        assert_eq!(select("dfd").unwrap().len(), 15);
        assert_eq!(select("all").unwrap().len(), exhibits().count());
        assert!(select("dfd-figur-13").err().unwrap().contains("did you mean `dfd-figure-13`?"));
    }

    #[test]
    fn the_list_names_everything_once() {
        let list = list();
        for exhibit in exhibits() {
            assert_eq!(list.matches(&format!("  {} ", exhibit.id)).count(), 1, "{}", exhibit.id);
        }
    }
}
