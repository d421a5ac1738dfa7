//! Which build of a program this is: the hash of its file. Client and workers compare their builds, because a name
//! means the same function only in the same build.

use sha1::{Digest, Sha1};
use std::fs::File;
use std::io::{self, Read};

/// The running program's file. On Linux this is the file that runs, even if another has replaced it meanwhile.
pub(crate) fn program() -> io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// The hash, as text.
pub(crate) fn id() -> io::Result<String> {
    let mut file = File::open(program()?)?;
    let mut hash = Sha1::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hash.update(&buffer[..length]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
