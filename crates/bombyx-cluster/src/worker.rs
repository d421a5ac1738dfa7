//! A process in worker mode: runs the calls that its parent sends, until the parent is gone.
//!
//! The parent is the client itself (`processes`) or the Python shim of a Dask worker. The process ends with its parent
//! in two ways: the socket ends, or the kernel ends the process (PR_SET_PDEATHSIG). The latter also reaches a process
//! that stands still.

use crate::build;
use crate::current;
use crate::dask::{self, WORKER_OF};
use crate::engine::Engine;
use crate::error::Error;
use crate::execute::execute;
use crate::key::Key;
use crate::link::Link;
use crate::pipe::{self, SOCKET_VARIABLE};
use crate::wire::{self, Frame, Header, PROTOCOL};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Asks a worker which build it is. Reading a program to find its build takes a while.
pub(crate) const ASK_BUILD: &str = "BOMBYX_CLUSTER_ASK_BUILD";

/// If this process was started as a worker, works and never returns. Otherwise does nothing.
///
/// [`start`](crate::start) does this first. A program that does something else before it starts a cluster, such as
/// reading its arguments, can call this at the top of `main`.
pub fn work_if_worker() {
    if let Ok(address) = std::env::var(WORKER_OF) {
        let code = dask::work_for(&address, std::env::args_os().skip(1)).unwrap_or_else(|error| {
            eprintln!("bombyx worker: {error}");
            1
        });
        std::process::exit(code);
    }
    if let Ok(socket) = std::env::var(SOCKET_VARIABLE) {
        let Ok(socket) = socket.parse::<RawFd>() else {
            eprintln!("{SOCKET_VARIABLE} is `{socket}`, but must be the number of a socket");
            std::process::exit(2);
        };
        serve(socket);
    }
}

fn serve(socket: RawFd) -> ! {
    // SAFETY: no other thread has begun yet, because this is called first in `main`. The number is that of a socket
    // which the parent made for this process, and nothing else here uses it.
    let socket = unsafe {
        std::env::remove_var(SOCKET_VARIABLE);
        libc::fcntl(socket, libc::F_SETFD, libc::FD_CLOEXEC);
        // The Python shim does not set this before its child begins.
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        UnixStream::from_raw_fd(socket)
    };
    let (to, mut frames) = pipe::connect(socket).unwrap_or_else(|error| {
        eprintln!("bombyx worker: cannot use the socket to the parent: {error}");
        std::process::exit(1);
    });
    let build = match std::env::var_os(ASK_BUILD) {
        Some(_) => build::id().unwrap_or_else(|error| format!("unknown: {error}")),
        None => String::new(),
    };
    let link = Arc::new(Link::new(to, true));
    let engine: Arc<dyn Engine> = link.clone();
    current::set_default(&engine);
    link.send(Header::Hello { protocol: PROTOCOL, build });
    loop {
        match wire::read(&mut frames) {
            Ok(Some(frame)) => {
                let Some(Frame { header, body }) = link.receive(frame) else { continue };
                match header {
                    Header::Call { call, function, depth } => {
                        let (link, engine) = (link.clone(), engine.clone());
                        std::thread::spawn(move || {
                            let result = execute(engine, Key::from(&*function), depth, &function, &body);
                            drop(body);
                            link.send(Frame { header: Header::Done { call }, body: result.into_bytes() });
                        });
                    }
                    Header::Ping => link.send(Header::Pong),
                    // Runs what belongs to the end of a process, such as writing its profile.
                    Header::Bye => std::process::exit(0),
                    other => {
                        eprintln!("bombyx worker: {}", Error::Protocol(format!("{other:?}")));
                        std::process::exit(1);
                    }
                }
            }
            // The parent is gone, and nobody wants what is under way.
            // SAFETY: this ends the process, whatever its threads do.
            Ok(None) | Err(_) => unsafe { libc::_exit(1) },
        }
    }
}
