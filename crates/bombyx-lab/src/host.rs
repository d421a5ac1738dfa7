//! Where and with what a measurement was made: the record without which figures mean nothing.

use serde::Serialize;
use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The machine, the build and the command.
#[derive(Serialize)]
pub struct Record {
    /// When, in UTC.
    date: String,
    command: String,
    host: Host,
    versions: Versions,
    /// The cargo profile; published figures use `bench-lto`.
    profile: &'static str,
}

#[derive(Serialize)]
struct Host {
    cpu: String,
    cores: usize,
    system: String,
}

#[derive(Serialize)]
struct Versions {
    rustc: &'static str,
    bombyx: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rayon: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chili: Option<&'static str>,
}

impl Record {
    /// Describes the running process.
    pub fn of_this_process() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let arguments = std::env::args_os().skip(1);
        let arguments = arguments.map(|argument| format!(" {}", argument.to_string_lossy()));
        Self {
            date: date(seconds),
            command: format!("bombyx{}", arguments.collect::<String>()),
            host: Host { cpu: cpu(), cores: cores(), system: system() },
            versions: Versions {
                rustc: env!("BOMBYX_RUSTC"),
                bombyx: env!("CARGO_PKG_VERSION"),
                rayon: peer("rayon"),
                chili: peer("chili"),
            },
            profile: env!("BOMBYX_BUILT_AS"),
        }
    }

    /// The command line.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// One line for the head of a report.
    pub fn line(&self) -> String {
        let Host { cpu, cores, system } = &self.host;
        let peers = [("rayon", self.versions.rayon), ("chili", self.versions.chili)];
        let peers =
            peers.iter().filter_map(|(name, version)| Some(format!(", {name} {}", version.as_ref()?)));
        format!(
            "{}; {cpu}, {cores} core{}, {system}; {}, profile {}{}",
            self.date,
            if *cores == 1 { "" } else { "s" },
            self.versions.rustc,
            self.profile,
            peers.collect::<String>()
        )
    }
}

/// How many cores the process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, model)| model.trim().to_owned())
}

fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, release.trim()).trim_end().to_owned()
}

/// The version of a peer that the lock file of the workspace names.
fn peer(name: &str) -> Option<&'static str> {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let package = format!("name = \"{name}\"");
    cfg!(feature = "peers").then_some(())?;
    LOCK.split("[[package]]")
        .filter(|entry| entry.lines().any(|line| line == package) && entry.contains("\nsource = "))
        .find_map(|entry| entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"')))
}

/// Seconds since 1970 as a date and time of the Gregorian calendar.
fn date(seconds: u64) -> String {
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute) = (of_day / 3600, of_day % 3600 / 60);
    format!("{year}-{:02}-{:02} {hour:02}:{minute:02} UTC", month + 1, days + 1)
}

/// Keeps all cores busy for a moment. A core that has had nothing to do for a while, because what was measured before was
/// serial, say, is slow at first, or elsewhere: whoever is measured next should not pay for that.
pub fn rouse() {
    let end = Instant::now() + Duration::from_millis(30);
    let spin = || while Instant::now() < end {};
    thread::scope(|scope| {
        for _ in 1..cores() {
            scope.spawn(spin);
        }
        spin();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[cfg(feature = "peers")]
    #[test]
    fn the_lock_file_names_the_peers() {
        for name in ["rayon", "chili"] {
            assert!(peer(name).is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())));
        }
        assert_eq!(peer("no-such-peer"), None);
    }
}
