//! A process on the other end of a socket pair: how it is started, how frames reach it.
//!
//! Nothing that sends a frame waits for the other process, because a separate thread writes. A process that stands
//! still holds up only that thread.

use crate::wire::{self, Frame};
use std::io::{self, BufReader};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};

/// The number of the socket in a process that was started here.
const SOCKET: RawFd = 3;

/// Tells a process which of its files is the socket to its parent.
pub(crate) const SOCKET_VARIABLE: &str = "BOMBYX_CLUSTER_SOCKET";

/// Frames from the other process.
pub(crate) type Frames = BufReader<UnixStream>;

/// Starts a process with a socket to this one.
///
/// It gets a separate process group, so that Ctrl-C ends only this process. The others end because their sockets do.
/// A process that stands still ends, too: the kernel ends it with the *thread* that started it.
pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Sender<Frame>, Frames)> {
    let (ours, theirs) = UnixStream::pair()?;
    let socket = theirs.as_raw_fd();
    command.env(SOCKET_VARIABLE, SOCKET.to_string()).process_group(0);
    let place = move || {
        // SAFETY: the calls are allowed between fork and exec, and `theirs` is open until the child has begun.
        let done = unsafe {
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if socket == SOCKET { libc::fcntl(SOCKET, libc::F_SETFD, 0) } else { libc::dup2(socket, SOCKET) }
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure does nothing that fork forbids in a child.
    unsafe { command.pre_exec(place) };
    let mut child = command.spawn()?;
    drop(theirs);
    match connect(ours) {
        Ok((to, frames)) => Ok((child, to, frames)),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

/// Both directions of a socket.
pub(crate) fn connect(socket: UnixStream) -> io::Result<(Sender<Frame>, Frames)> {
    let mut out = socket.try_clone()?;
    let (to, frames) = channel::<Frame>();
    std::thread::Builder::new().name("bombyx-cluster-out".to_owned()).spawn(move || {
        for frame in frames {
            if wire::write(&mut out, &frame).is_err() {
                // The reader of this socket notices the same, and tells everybody.
                return;
            }
        }
    })?;
    Ok((to, BufReader::with_capacity(1 << 16, socket)))
}
