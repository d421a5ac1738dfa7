//! The names of closures and of source files. The board says where in the program's memory a name is. Names never change, so
//! they are in the file of the program, and the system says where: `/proc/PID/maps`.

use bombyx_base::{is_of_rayon, live};
use bombyx_trace::short_name;
use std::collections::HashMap;
use std::fs::{self, Metadata, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

/// The longest name that is read, in bytes.
const LONGEST: usize = 4096;

/// A part of a file in the memory of the process.
struct Mapped {
    begin: u64,
    end: u64,
    offset: u64,
    file: PathBuf,
}

/// See the module text.
pub(super) struct Names {
    process: u32,
    mapped: Vec<Mapped>,
    known: HashMap<u64, Option<String>>,
}

impl Names {
    pub(super) fn of(process: u32) -> Self {
        Self { process, mapped: Vec::new(), known: HashMap::new() }
    }

    /// The name of a closure that this word of the board stands for, if it can be found.
    pub(super) fn name(&mut self, word: u64) -> Option<String> {
        self.text(word).map(|full| short_name(&full))
    }

    /// The file and the line of a fork site. `None` in rayon's files, which say nothing about the program.
    pub(super) fn site(&mut self, (file, line): (u64, u64)) -> Option<String> {
        let file = self.text(file).filter(|file| !is_of_rayon(file))?;
        Some(format!("{file}:{line}"))
    }

    fn text(&mut self, word: u64) -> Option<String> {
        if let Some(known) = self.known.get(&word) {
            return known.clone();
        }
        let (address, length) = live::closure_at(word)?;
        if !self.mapped.iter().any(|part| (part.begin..part.end).contains(&address)) {
            self.mapped = mapped(self.process);
        }
        let text = self.read(address, length.min(LONGEST));
        self.known.insert(word, text.clone());
        text
    }

    fn read(&self, address: u64, length: usize) -> Option<String> {
        let part = self.mapped.iter().find(|part| (part.begin..part.end).contains(&address))?;
        let mut bytes = vec![0; length];
        let at = part.offset.checked_add(address - part.begin)?;
        // The process chooses what has this path now. A pipe would make the caller wait, and opening a device may do
        // something.
        fs::metadata(&part.file).ok().filter(Metadata::is_file)?;
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&part.file).ok()?;
        file.read_exact_at(&mut bytes, at).ok()?;
        // A terminal obeys control characters.
        String::from_utf8(bytes).ok().filter(|name| !name.contains(char::is_control))
    }
}

/// The files in the memory of the process.
fn mapped(process: u32) -> Vec<Mapped> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let program = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    let part = |line: &str| {
        let mut words = line.splitn(6, ' ');
        let (begin, end) = words.next()?.split_once('-')?;
        let offset = words.nth(1)?;
        let file = words.nth(2)?.trim_start();
        let number = |text| u64::from_str_radix(text, 16).ok();
        let file = match file {
            // Also if the file has been replaced since the program began.
            _ if program.as_os_str() == file => format!("/proc/{process}/exe").into(),
            _ if file.starts_with('/') => PathBuf::from(format!("/proc/{process}/root{file}")),
            _ => return None,
        };
        Some(Mapped { begin: number(begin)?, end: number(end)?, offset: number(offset)?, file })
    };
    maps.lines().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process may put a pipe where its program was.
    #[test]
    fn only_regular_files_are_read() {
        let file = std::env::temp_dir().join(format!("bombyx-names-{}", std::process::id()));
        let path = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: the name outlives the call.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        let part = Mapped { begin: 4096, end: 8192, offset: 0, file: file.clone() };
        let names = Names { mapped: vec![part], ..Names::of(std::process::id()) };
        assert_eq!(names.read(4096, 8), None);
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn texts_of_this_program_are_found_in_its_file() {
        let name = std::any::type_name::<Names>();
        let word = live::closure(name.as_ptr().addr() as u64, name.len());
        let mut names = Names::of(std::process::id());
        assert_eq!(names.name(word).as_deref(), Some("bombyx_lab::live::names::Names"));
        // On the stack and not in a file.
        let here = [b'x'; 16];
        assert_eq!(names.name(live::closure(here.as_ptr().addr() as u64, here.len())), None);
        assert_eq!(names.name(live::closure(8, 8)), None);
        assert_eq!(Names::of(u32::MAX).name(word), None);
        let file = |file: &'static str| (live::closure(file.as_ptr().addr() as u64, file.len()), 7);
        assert_eq!(names.site(file("src/sort.rs")).as_deref(), Some("src/sort.rs:7"));
        assert_eq!(names.site(file("vendor/rayon/src/slice/sort.rs")), None);
    }
}
