//! `bombyx doctor`: what this machine offers, what would make measurements unreliable now, and which rayon-core a
//! project links.

use crate::host::{busy_elsewhere, cores};
use crate::output::Output;
use crate::text::{counted, wrapped};
use crate::{Result, Usage, output};
use bombyx_base::nearest;
use clap::ValueHint;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Say whether this machine and a project are ready for Bombyx.
///
/// Looks at the cores, the limits on them, and what else runs. Given the folder of a project, also says which
/// rayon-core it links: the original or the one on Bombyx. Exit status 1 if the project links the original.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx doctor                     this machine
  bombyx doctor path/to/project     and which rayon-core a project links
  bombyx doctor . --json            for programs")]
pub(crate) struct Args {
    /// The folder of a cargo project
    #[arg(value_hint = ValueHint::DirPath)]
    project: Option<PathBuf>,

    /// Options for `cargo tree`, such as --config or --target, after `--`
    #[arg(last = true, requires = "project")]
    cargo: Vec<String>,

    #[command(flatten)]
    output: Output,
}

/// How good or bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Note,
    Bad,
}

/// One finding, and how good or bad it is.
struct Finding {
    what: &'static str,
    verdict: Verdict,
    text: String,
}

impl Finding {
    fn new(what: &'static str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self { what, verdict, text: text.into() }
    }

    fn json(&self) -> Value {
        let verdict = match self.verdict {
            Verdict::Good => "good",
            Verdict::Note => "note",
            Verdict::Bad => "bad",
        };
        json!({ "what": self.what, "verdict": verdict, "text": self.text })
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    output::check([args.output.file()])?;
    let mut findings = machine();
    if let Some(project) = &args.project {
        findings.push(core_of(project, &args.cargo)?);
    }
    args.output.show(
        |style| {
            let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
            let lines = findings.iter().map(|finding| {
                let mark = match finding.verdict {
                    Verdict::Good => "ok  ",
                    Verdict::Note => "note",
                    Verdict::Bad => "BAD ",
                };
                let text = finding.text.replace('\n', &format!("\n{}", " ".repeat(width + 8)));
                wrapped(&format!("{mark}  {:width$}  {text}", finding.what), style.prose(), width + 8) + "\n"
            });
            Ok(lines.collect())
        },
        || Ok(json!({ "findings": findings.iter().map(Finding::json).collect::<Vec<_>>() })),
        || Ok(output::csv(&findings.iter().map(Finding::json).collect::<Vec<_>>())),
    )?;
    let bad = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What can be found out about the machine.
fn machine() -> Vec<Finding> {
    [Some(cores_found()), quota(), barrier(), perf(), governor(), load()].into_iter().flatten().collect()
}

fn cores_found() -> Finding {
    let usable = cores();
    let online = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let online = online.lines().filter(|line| line.starts_with("processor")).count().max(usable);
    let processors = counted(usable as u64, "processor");
    let text = match online > usable {
        true => {
            format!("this process may use {usable} of {online}: by default a pool has {processors}")
        }
        false => format!("{usable}: by default a pool has {processors}"),
    };
    let verdict = if usable > 1 { Verdict::Good } else { Verdict::Note };
    let text = if usable > 1 { text } else { text + "; nothing runs in parallel here" };
    Finding::new("cores", verdict, text)
}

/// The limits of control groups on processor time.
fn quota() -> Option<Finding> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let cpus = allowed_cpus(&read(Path::new("/proc/self/status"))?)?;
    Some(quota_found(least_quota(&read(Path::new("/proc/self/cgroup"))?, read), cpus))
}

/// `cpus`: on how many CPUs the process may run.
fn quota_found(quota: Option<f64>, cpus: usize) -> Finding {
    const WHAT: &str = "quota";
    let Some(quota) = quota else {
        return Finding::new(WHAT, Verdict::Good, "no limit on processor time");
    };
    let allowed = format!("control groups allow {quota:.1} CPUs at a time");
    if quota >= cpus as f64 {
        return Finding::new(WHAT, Verdict::Good, format!("{allowed}, and the process may run on {cpus}"));
    }
    let text = format!(
        "{allowed}, fewer than the {cpus} on which the process may run. By default a pool has {}. The system stops programs \
         that use more than they may, so times will vary",
        (quota as usize).max(1)
    );
    Finding::new(WHAT, Verdict::Note, text)
}

/// The smallest quota, in CPUs, of the control groups that a process is in, of their parents too. `groups` is its
/// `/proc/self/cgroup`.
fn least_quota(groups: &str, read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
    let second = |group: &Path| {
        let text = read(&group.join("cpu.max"))?;
        let (quota, period) = text.trim().split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    };
    let first = |group: &Path| {
        let number = |file| read(&group.join(file))?.trim().parse::<f64>().ok();
        // No limit is written as -1.
        let quota = number("cpu.cfs_quota_us").filter(|&quota| quota > 0.0)?;
        Some(quota / number("cpu.cfs_period_us")?)
    };
    let of_line = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        // In a container the path may be the one outside, and then only the root of the hierarchy exists.
        let groups = |root: &'static str| {
            let group = PathBuf::from(root).join(path.trim_start_matches('/'));
            group
                .ancestors()
                .take_while(|group| group.starts_with(root))
                .map(Path::to_owned)
                .collect::<Vec<_>>()
        };
        let quotas: Vec<f64> = match controllers {
            "" => groups("/sys/fs/cgroup").iter().filter_map(|group| second(group)).collect(),
            _ if controllers.split(',').any(|one| one == "cpu") => {
                groups("/sys/fs/cgroup/cpu").iter().filter_map(|group| first(group)).collect()
            }
            _ => Vec::new(),
        };
        quotas.into_iter().reduce(f64::min)
    };
    groups.lines().filter_map(of_line).reduce(f64::min)
}

/// On how many CPUs a process may run, from its `/proc/self/status`.
fn allowed_cpus(status: &str) -> Option<usize> {
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
    let ones = mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum::<u32>();
    Some(ones as usize).filter(|&ones| ones > 0)
}

/// Whether forks can do without fences.
#[cfg(target_os = "linux")]
fn barrier() -> Option<Finding> {
    const QUERY: libc::c_long = 0;
    const EXPEDITED: libc::c_long = 1 << 3;
    // SAFETY: a query takes no pointers and changes nothing.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    Some(match commands >= 0 && commands & EXPEDITED != 0 {
        true => Finding::new("membarrier", Verdict::Good, "the kernel has it: a fork needs no fence"),
        false => Finding::new(
            "membarrier",
            Verdict::Note,
            "the kernel refuses it: every fork needs a fence, which costs some ns",
        ),
    })
}

/// Whether forks can do without fences.
#[cfg(not(target_os = "linux"))]
fn barrier() -> Option<Finding> {
    const WHAT: &str = "barrier";
    Some(match cfg!(windows) {
        true => Finding::new(WHAT, Verdict::Good, "Windows flushes write buffers: a fork needs no fence"),
        false => Finding::new(
            WHAT,
            Verdict::Note,
            "this system has no call that replaces fences: every fork needs one, which costs some ns",
        ),
    })
}

fn perf() -> Option<Finding> {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    let level: i32 = level.trim().parse().ok()?;
    let text = match level {
        ..=1 => format!("perf may count and sample (perf_event_paranoid = {level})"),
        2 => "perf may count what programs do, not the kernel (perf_event_paranoid = 2)".to_owned(),
        _ => {
            format!("perf is not allowed (perf_event_paranoid = {level}); `bombyx profile` does not need it")
        }
    };
    Some(Finding::new("perf", if level <= 2 { Verdict::Good } else { Verdict::Note }, text))
}

fn governor() -> Option<Finding> {
    let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok()?;
    Some(match governor.trim() {
        "performance" => Finding::new("frequency", Verdict::Good, "the governor is `performance`"),
        other => {
            let text = format!(
                "the governor is `{other}`: short runs may meet slow cores; `performance` is steadier"
            );
            Finding::new("frequency", Verdict::Note, text)
        }
    })
}

fn load() -> Option<Finding> {
    let busy = busy_elsewhere()?;
    Some(match busy < 0.15 * cores() as f64 {
        true => Finding::new("load", Verdict::Good, "the machine is quiet"),
        false => {
            let text = format!(
                "other programs keep {busy:.1} cores busy: measured times will be too long and will vary"
            );
            Finding::new("load", Verdict::Note, text)
        }
    })
}

/// Which rayon-core a project links. If the version of a patch does not fit, cargo drops the patch with only a warning,
/// and it keeps what a lock file pins. So this asks cargo itself.
fn core_of(project: &Path, options: &[String]) -> Result<Finding> {
    const WHAT: &str = "rayon-core";
    if !project.join("Cargo.toml").is_file() {
        return Err(Usage(no_project(project)).into());
    }
    let _lock_file = LockFile::of(project);
    let asked = links(project, WHAT, options)?;
    let unused = || -> Result<Finding> {
        let direct = links(project, "bombyx", options)?;
        let direct = String::from_utf8_lossy(&direct.stdout).into_owned();
        Ok(match direct.lines().find(|line| line.starts_with("bombyx ")) {
            Some(line) => Finding::new(WHAT, Verdict::Good, format!("not needed: the project uses {line}")),
            None => Finding::new(WHAT, Verdict::Note, "the project does not use rayon"),
        })
    };
    let (cores, warnings) = (String::from_utf8_lossy(&asked.stdout), String::from_utf8_lossy(&asked.stderr));
    if !asked.status.success() {
        if warnings.contains("did not match any packages") {
            return unused();
        }
        if warnings.contains("because --locked was passed") {
            let text =
                "the lock file lacks the patch, and --locked keeps it so: run `cargo update -p rayon-core`";
            return Ok(Finding::new(WHAT, Verdict::Bad, text));
        }
        return Err(format!("cargo cannot resolve the project:\n{}", warnings.trim_end()).into());
    }
    let Some(core) = cores.lines().find(|line| line.starts_with("rayon-core ")) else {
        return unused();
    };
    let folder = core.split_once('(').and_then(|(_, rest)| rest.split([')', '#']).next());
    let manifest = folder.and_then(|folder| fs::read_to_string(Path::new(folder).join("Cargo.toml")).ok());
    let on_bombyx =
        manifest.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("bombyx")));
    if on_bombyx {
        return Ok(Finding::new(WHAT, Verdict::Good, format!("on Bombyx: {core}")));
    }
    let advice = if warnings.contains("was not used in the crate graph") {
        "there is a patch, but cargo dropped it, because the lock file pins another version: run \
         `cargo update -p rayon-core`. If that changes nothing, `cargo tree --invert rayon-core` shows which package \
         asks for which version"
    } else {
        "add `[patch.crates-io]` to the Cargo.toml at the root of the workspace, and below it \
         `rayon-core = { path = \"path/to/bombyx/crates/rayon-core\" }`, then run `cargo update -p rayon-core`"
    };
    Ok(Finding::new(WHAT, Verdict::Bad, format!("the original: {core}; {advice}")))
}

/// Asks cargo which packages of this name a project links.
fn links(project: &Path, package: &str, options: &[String]) -> Result<std::process::Output> {
    let question = [
        "tree",
        "--workspace",
        "--edges",
        "normal,build,dev",
        "--depth",
        "0",
        "--prefix",
        "none",
        "--invert",
    ];
    let mut cargo = Command::new("cargo");
    cargo.args(question).arg(package).args(options).current_dir(project);
    cargo.output().map_err(|error| format!("cannot ask cargo about {}: {error}", project.display()).into())
}

/// The lock file of a project as it is now. When this is dropped, the file is so again: cargo may change it to answer a
/// question, but who only asks must change nothing.
struct LockFile {
    path: PathBuf,
    /// `None` if there is no such file.
    text: Option<Vec<u8>>,
}

impl LockFile {
    /// `None` if cargo does not say where the file is. Then its next answer tells why.
    fn of(project: &Path) -> Option<Self> {
        let root = ["locate-project", "--workspace", "--message-format", "plain"];
        let told = Command::new("cargo").args(root).current_dir(project).output().ok()?;
        let manifest = String::from_utf8(told.stdout).ok()?;
        let path =
            Path::new(manifest.trim_end()).parent().filter(|_| told.status.success())?.join("Cargo.lock");
        Some(Self { text: fs::read(&path).ok(), path })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if fs::read(&self.path).ok() != self.text {
            // If this fails, the next build makes the file again.
            let _ = match &self.text {
                Some(text) => fs::write(&self.path, text),
                None => fs::remove_file(&self.path),
            };
        }
    }
}

/// There is no project in this folder. Suggests a similar name, in case of a typo.
fn no_project(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let known: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let near = nearest(&name, known.iter().map(String::as_str)).filter(|near| *near != name);
    let near =
        near.map_or(String::new(), |near| format!("; did you mean `{}`?", parent.join(near).display()));
    format!("there is no Cargo.toml in `{}`{near}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota_of(groups: &str, files: &[(&str, &str)]) -> Option<f64> {
        let read = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        least_quota(groups, read)
    }

    #[test]
    fn the_smallest_quota_on_the_way_to_the_root_counts() {
        let second = [
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/cpu.max", "400000 100000\n"),
            ("/sys/fs/cgroup/c/cpu.max", "10000 100000\n"),
        ];
        assert_eq!(quota_of("0::/a/b\n", &second), Some(1.5));
        assert_eq!(quota_of("0::/c\n", &second), Some(0.1));
        assert_eq!(quota_of("0::/elsewhere/in/a/container\n", &second), Some(4.0));
        assert_eq!(quota_of("0::/\n", &[("/sys/fs/cgroup/cpu.max", "max 100000\n")]), None);
        let first = [
            ("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "25000\n"),
            ("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n"),
        ];
        assert_eq!(quota_of("5:memory:/a/b\n4:cpu,cpuacct:/a/b\n0::/\n", &first), Some(0.5));
        assert_eq!(quota_of("5:cpuset:/a/b\n", &first), None);
    }

    #[test]
    fn a_quota_below_the_cpus_is_a_note() {
        assert_eq!(allowed_cpus("Name:\tx\nCpus_allowed:\tf3,0000ff01\nCpus_allowed_list:\t0\n"), Some(15));
        let of = |quota| {
            let found = quota_found(quota, 4);
            (found.verdict == Verdict::Good, found.text)
        };
        assert_eq!(of(None), (true, "no limit on processor time".to_owned()));
        assert!(of(Some(4.0)).0);
        let (good, text) = of(Some(1.5));
        assert!(!good && text.contains("allow 1.5 CPUs") && text.contains("a pool has 1."), "{text}");
        assert!(of(Some(0.4)).1.contains("a pool has 1."));
    }
}
