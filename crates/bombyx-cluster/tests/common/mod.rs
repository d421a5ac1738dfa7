//! What the test programs share.
#![allow(dead_code, unreachable_pub)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Where to run: `BOMBYX_TEST_CLUSTERS`, or the engines that need only Rust. One slot is enough for nested calls.
pub fn addresses() -> Vec<String> {
    let default = "local:1 local:3 processes:1 processes:3 processes:1x2";
    let given = std::env::var("BOMBYX_TEST_CLUSTERS").unwrap_or_else(|_| default.to_owned());
    given.split_whitespace().map(str::to_owned).collect()
}

/// What `f` says when it panics.
pub fn panic_message(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    payload.downcast_ref::<String>().expect("a message").clone()
}

/// Runs `f`. If that takes longer than this many seconds, it hangs, and this ends the program.
pub fn within(seconds: u64, f: impl FnOnce() + Send + 'static) {
    let (send, receive) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let _send = send;
        f();
    });
    if receive.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
        eprintln!("a test hangs: nothing happened for {seconds} s");
        std::process::exit(99);
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

/// Numbers that look random, the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// A process, told apart from a later one with the same number by when it began.
pub type Process = (u32, u64);

/// The process with this number. `None` if it has ended.
pub fn process(pid: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut rest = stat.rsplit(')').next()?.split_whitespace();
    if rest.next()? == "Z" {
        return None;
    }
    Some((pid, rest.nth(18)?.parse().ok()?))
}

/// The children of a process on this machine, their children, and so on.
pub fn descendants(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let children =
        threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|line| line.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>())
        .collect();
    children.iter().flat_map(|&child| std::iter::once(child).chain(descendants(child))).collect()
}
