//! Files that the environment asks for, and when to write them.
//!
//! Files appear whole or not at all. If a file cannot be written, the only effect on the program is a line on standard
//! error.

use crate::system::process::Generation;
use std::ffi::{OsStr, OsString, c_int};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fmt, fs};

/// Says something to the user, on standard error. If that is closed or full, nobody hears it, and that is all:
/// `eprintln` would panic, and a panic in a panic hook aborts the process.
pub(crate) fn say(what: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "bombyx: {what}");
}

/// The file that a variable of the environment asks for, if any. Whoever starts the program may have fewer rights than
/// the program, and must not choose what it writes.
pub(crate) fn asked(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|path| !path.is_empty() && !is_privileged())
}

/// A number of MiB that a variable of the environment gives, or the default. Returns bytes.
pub(crate) fn mebibytes(variable: &str, default: usize) -> usize {
    let given = env::var(variable).ok();
    let mib = given.as_deref().map_or(Ok(default), |given| given.trim().parse()).unwrap_or_else(|_| {
        let given = given.as_deref().unwrap_or_default();
        say(format_args!("{variable} is `{given}`, but must be a number of MiB; using {default}"));
        default
    });
    mib.saturating_mul(1 << 20)
}

/// Calls the first function when the process ends by itself, and the second when a signal ends it that it does not
/// handle. The latter on Linux only.
pub(crate) fn at_the_end(by_itself: extern "C" fn(), by_signal: fn()) {
    // SAFETY: a function of the C library, called as it is declared there.
    unsafe { atexit(by_itself) };
    #[cfg(target_os = "linux")]
    super::interrupt::before_the_end(by_signal);
    #[cfg(not(target_os = "linux"))]
    let _ = by_signal;
}

/// Writes, and says on standard error what went wrong. Not in a child of fork(2), where the parent writes.
pub(crate) fn complain(write: impl FnOnce() -> io::Result<()> + std::panic::UnwindSafe) {
    if !Generation::current().is_first() {
        return;
    }
    // Unwinding from here would abort a program that has otherwise ended well.
    let _ = std::panic::catch_unwind(|| {
        if let Err(error) = write() {
            say(format_args!("{error}"));
        }
    });
}

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> c_int;
}

/// Whether the program has more rights than its caller: set-user-ID, set-group-ID, capabilities of its file. The C
/// library ignores such variables then, too (ld.so(8), AT_SECURE).
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: the call has no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Whether the program has, or had, other rights than its caller: set-user-ID or set-group-ID (issetugid(2)).
#[cfg(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly",
))]
pub(crate) fn is_privileged() -> bool {
    unsafe extern "C" {
        fn issetugid() -> c_int;
    }
    // SAFETY: declared as in the C library. The call has no preconditions.
    unsafe { issetugid() != 0 }
}

/// Here nobody gives a program rights by starting it, or nobody can tell.
#[cfg(not(any(
    all(target_os = "linux", not(miri)),
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly",
)))]
pub(crate) fn is_privileged() -> bool {
    false
}

/// Writes a file that is there whole or not at all: first beside its place, then moved there. If the target is not a
/// regular file, such as a pipe or a terminal, or if its folder allows no new file, this writes to it directly.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let write = |file| {
        let mut out = io::BufWriter::with_capacity(1 << 18, file);
        write(&mut out)?;
        out.flush()
    };
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|known| !known.is_file()) {
        return write(fs::File::create(&path)?);
    }
    match new_beside(&path) {
        Ok((part, file)) => {
            let moved = write(file).and_then(|()| fs::rename(&part, &path));
            moved.inspect_err(|_| drop(fs::remove_file(&part)))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => write(fs::File::create(&path)?),
    }
}

/// A new file in the same folder. If something has its name already, perhaps a link that somebody else has put there,
/// it is left alone and another name is tried.
fn new_beside(path: &Path) -> io::Result<(PathBuf, fs::File)> {
    const NAMES: u32 = 100;
    let mut tried = 0;
    loop {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.{tried}.part", std::process::id()));
        let part = path.with_file_name(name);
        tried += 1;
        match fs::OpenOptions::new().write(true).create_new(true).open(&part) {
            Ok(file) => return Ok((part, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < NAMES => {}
            Err(error) => return Err(error),
        }
    }
}

/// Says in an error which file it is about.
pub(crate) fn named(variable: &str, path: &OsStr, result: io::Result<()>) -> io::Result<()> {
    result.map_err(|error| {
        let text = format!("cannot write {} ({variable}): {error}", Path::new(path).display());
        io::Error::new(error.kind(), text)
    })
}
