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
    /// The last commit before the build.
    #[serde(skip_serializing_if = "str::is_empty")]
    commit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rayon: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chili: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_union: Option<&'static str>,
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
                commit: env!("BOMBYX_COMMIT"),
                rayon: peer("rayon"),
                chili: peer("chili"),
                fork_union: cfg!(feature = "fork-union").then(|| peer("fork_union")).flatten(),
            },
            profile: env!("BOMBYX_BUILT_AS"),
        }
    }

    /// The head of a report: four lines that begin with `date`, `command`, `version` and `host`. `scripts/record`
    /// writes the same lines.
    pub fn head(&self) -> String {
        let Host { cpu, cores, system } = &self.host;
        let Versions { rustc, bombyx, commit, rayon, chili, fork_union } = &self.versions;
        let commit = if commit.is_empty() { "no commit" } else { commit };
        let peer = |name: &str, version: &Option<&str>| version.map(|version| format!("; {name} {version}"));
        let peers = [peer("rayon", rayon), peer("chili", chili), peer("fork_union", fork_union)];
        let peers = peers.into_iter().flatten().collect::<String>();
        let plural = if *cores == 1 { "" } else { "s" };
        format!(
            "date      {}\n\
             command   {}\n\
             version   bombyx {bombyx} ({commit}), profile {}; {rustc}{peers}\n\
             host      {cpu}, {cores} core{plural}, {system}\n",
            self.date, self.command, self.profile,
        )
    }
}

/// How many cores other programs keep busy now. `None` if the system does not say. This looks for a quarter of a
/// second, and this process should do nothing meanwhile.
pub fn busy_elsewhere() -> Option<f64> {
    const LOOK: Duration = Duration::from_millis(250);
    let (before, start) = (idle_ticks()?, Instant::now());
    thread::sleep(LOOK);
    let (after, passed) = (idle_ticks()?, start.elapsed().as_secs_f64());
    let idle = after.1.checked_sub(before.1)? as f64;
    let all = after.0.checked_sub(before.0)? as f64;
    (all > 0.0 && passed > 0.0).then(|| after.2 as f64 * (1.0 - idle / all).max(0.0))
}

/// All ticks of all CPUs, the idle ones among them, and the number of CPUs (proc_stat(5)).
fn idle_ticks() -> Option<(u64, u64, usize)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let cpus = text.lines().filter(|line| line.starts_with("cpu")).count().checked_sub(1)?;
    let numbers = text.lines().next()?.split_whitespace().skip(1);
    let ticks: Vec<u64> = numbers.map_while(|word| word.parse().ok()).collect();
    Some((ticks.iter().take(8).sum(), ticks.get(3)? + ticks.get(4)?, cpus))
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

/// The version of a peer, as the lock file of the workspace names it. A package that was published has no lock file, so
/// there it is unknown.
fn peer(name: &str) -> Option<&'static str> {
    let mut known = env!("BOMBYX_PEERS").split(' ').filter_map(|peer| peer.split_once('='));
    cfg!(feature = "peers").then_some(())?;
    known.find(|(known, _)| *known == name).map(|(_, version)| version)
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

/// Keeps all cores busy for a moment. A core that has had nothing to do for a while, for example because the last
/// measurement was serial, is slow at first, or asleep. The next measurement should not pay for that.
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
