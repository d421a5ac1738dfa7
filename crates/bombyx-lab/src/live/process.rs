//! Processes that one may look at: which have a board, who may look, and whether they have ended.

use super::board::Board;
use bombyx_base::live;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// A process, told apart from later ones with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    number: u32,
    /// When it began, in ticks of the system.
    began: String,
    name: String,
}

/// Why one cannot look at a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotLook {
    /// There is no such process.
    NoProcess(u32),
    /// The process has ended.
    Ended(u32),
    /// The system lets only the same user look.
    NotYours { process: u32, owner: u32 },
    /// It has no board.
    NoBoard { process: u32, name: String },
    /// It has a board that this version cannot read.
    BadBoard { process: u32, why: &'static str },
}

impl std::fmt::Display for CannotLook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoProcess(process) => write!(f, "there is no process {process}"),
            Self::Ended(process) => write!(f, "process {process} has ended"),
            Self::NotYours { process, owner } => write!(
                f,
                "the system does not let you look at process {process}, which belongs to user {owner}: only the same user \
                 may, or root"
            ),
            Self::NoBoard { process, name } => write!(
                f,
                "process {process} ({name}) shows no pool, and neither does a process that it has started. Either it does \
                 not use Bombyx, or it has built no pool yet, or it was started with BOMBYX_LIVE=0. `bombyx doctor` says \
                 which rayon-core a project links"
            ),
            Self::BadBoard { process, why } => {
                write!(
                    f,
                    "process {process} has a board that cannot be read: {why}. Use the `bombyx` of its version"
                )
            }
        }
    }
}

impl std::error::Error for CannotLook {}

/// What the system says of a process: its name, its state, its parent, and when it began.
fn stat(number: u32) -> Option<(String, char, u32, String)> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name is in parentheses, and may contain some.
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.replace(char::is_control, "?");
    let fields: Vec<_> = tail.split_whitespace().collect();
    let state = fields.first()?.chars().next()?;
    Some((name, state, fields.get(1)?.parse().ok()?, (*fields.get(19)?).to_owned()))
}

impl Process {
    /// The process with this number.
    pub fn find(number: u32) -> Result<Self, CannotLook> {
        match stat(number) {
            None => Err(CannotLook::NoProcess(number)),
            Some((_, 'Z' | 'X', ..)) => Err(CannotLook::Ended(number)),
            Some((name, _, _, began)) => Ok(Self { number, began, name }),
        }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The name that the system has for it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it still runs.
    pub fn lives(&self) -> bool {
        stat(self.number)
            .is_some_and(|(_, state, _, began)| !matches!(state, 'Z' | 'X') && began == self.began)
    }

    /// Its board, or that of the nearest descendant that has one: the process may be a shell that has started the program.
    pub(super) fn board(self) -> Result<(Self, Board), CannotLook> {
        let number = self.number;
        let first = match self.own_board() {
            Ok(board) => return Ok((self, board)),
            Err(error) => error,
        };
        for child in descendants(number) {
            if let Ok(process) = Self::find(child)
                && let Ok(board) = process.own_board()
            {
                return Ok((process, board));
            }
        }
        Err(if self.lives() { first } else { CannotLook::Ended(number) })
    }

    fn own_board(&self) -> Result<Board, CannotLook> {
        let process = self.number;
        let mut found = Err(CannotLook::NoBoard { process, name: self.name.clone() });
        for path in board_files(process).map_err(|error| self.denied(&error))? {
            let file = File::open(path).map_err(|error| self.denied(&error))?;
            match Board::open(&file) {
                // A child of fork(2) has inherited its parent's board.
                Ok(board) if board.process() != number_inside(process) => {}
                Ok(board) => return Ok(board),
                Err(why) => found = Err(CannotLook::BadBoard { process, why }),
            }
        }
        found
    }

    fn denied(&self, error: &io::Error) -> CannotLook {
        let process = self.number;
        match fs::metadata(format!("/proc/{process}")) {
            _ if !self.lives() => CannotLook::Ended(process),
            Ok(metadata) if error.kind() == io::ErrorKind::PermissionDenied => {
                CannotLook::NotYours { process, owner: metadata.uid() }
            }
            _ => CannotLook::NoBoard { process, name: self.name.clone() },
        }
    }
}

/// The number that the process has for itself: another one than ours if it is in a container.
fn number_inside(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.and_then(|line| line.split_whitespace().last()?.parse().ok()).unwrap_or(process)
}

/// What looks like a board among the files of a process.
fn board_files(process: u32) -> io::Result<Vec<PathBuf>> {
    let named = |path: &PathBuf| {
        fs::read_link(path)
            .is_ok_and(|name| name.to_string_lossy().starts_with(&format!("/memfd:{}", live::NAME)))
    };
    let files = fs::read_dir(format!("/proc/{process}/fd"))?;
    Ok(files.flatten().map(|entry| entry.path()).filter(named).collect())
}

/// All processes, with their parents.
fn processes() -> Vec<(u32, u32)> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok();
    let numbers = all.flatten().filter_map(|entry| number(entry.file_name()));
    let mut found: Vec<_> = numbers.filter_map(|number| Some((number, stat(number)?.2))).collect();
    found.sort_unstable();
    found
}

/// What a process has started, and what that has started, the nearest first.
fn descendants(process: u32) -> Vec<u32> {
    let all = processes();
    let (mut found, mut known) = (vec![process], HashSet::from([process]));
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        let children = all.iter().filter(|&&(_, of)| of == parent).map(|&(number, _)| number);
        found.extend(children.filter(|&child| known.insert(child)));
        at += 1;
    }
    found.split_off(1)
}

/// The processes of this machine that have a board that the caller may look at.
pub fn with_boards() -> Vec<Process> {
    let all = processes().into_iter().filter_map(|(number, _)| Process::find(number).ok());
    all.filter(|process| process.own_board().is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_and_lives() {
        let own = Process::find(std::process::id()).unwrap();
        assert!(own.lives());
        assert_eq!(number_inside(own.number()), own.number());
        let other = Process { began: "0".to_owned(), ..own };
        assert!(!other.lives(), "another process with the same number");
        assert_eq!(Process::find(u32::MAX), Err(CannotLook::NoProcess(u32::MAX)));
    }

    #[test]
    fn a_process_that_has_ended_is_told_from_one_that_never_was() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let number = child.id();
        // Nobody has waited for it, so the system keeps its number.
        while Process::find(number) != Err(CannotLook::Ended(number)) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_program_without_pools_has_no_board() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let error = Process::find(child.id()).unwrap().board().err();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(error, Some(CannotLook::NoBoard { .. })), "{error:?}");
    }
}
