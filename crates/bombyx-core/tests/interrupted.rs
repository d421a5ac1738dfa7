//! What a program that is ended by a signal leaves behind: a whole profile, with what is known of the run in progress, and
//! a whole recording of the runs that had ended, or none. And the signal does end it.
#![cfg(target_os = "linux")]

use bombyx::{Pool, join};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("bombyx-interrupted-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Not a test: the program that is ended. Makes this many runs, and stays in another one. Reports that when the other one
/// has forked for a while, or at once if it does not fork.
#[test]
#[ignore = "part of another test"]
fn program() {
    let folder = PathBuf::from(std::env::var_os("FOLDER").unwrap());
    let runs: u64 = std::env::var("RUNS").unwrap().parse().unwrap();
    for signal in [INTERRUPT, TERMINATE] {
        // The process that started the tests may ignore signals, as a shell does for background jobs.
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let pool = Pool::builder().processors(2).build().unwrap();
    for _ in 0..runs {
        pool.run(|| join(|| (), || ()));
    }
    let forks = std::env::var_os("FORKS").is_some();
    pool.run(|| {
        for round in 0.. {
            if round == 100 || !forks {
                fs::write(folder.join("ready"), "").unwrap();
            }
            if !forks {
                sleep(Duration::from_secs(3600));
            }
            join(|| sleep(Duration::from_millis(1)), || ());
        }
    });
}

fn start(folder: &Path, runs: u64, forks: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if forks {
        command.env("FORKS", "");
    }
    let child = command
        .args(["--ignored", "--exact", "program"])
        .env("FOLDER", folder)
        .env("RUNS", runs.to_string())
        .env("BOMBYX_PROFILE", folder.join("profile.json"))
        .env("BOMBYX_RECORD", folder.join("run.dag"))
        .spawn()
        .unwrap();
    while !folder.join("ready").exists() {
        sleep(Duration::from_millis(1));
    }
    fs::remove_file(folder.join("ready")).unwrap();
    child
}

fn end(mut child: Child, signal: i32) -> ExitStatus {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap()
}

#[test]
fn the_runs_that_had_ended_are_kept() {
    for signal in [INTERRUPT, TERMINATE] {
        let folder = Folder::new(&format!("kept-{signal}"));
        let status = end(start(&folder.0, 3, true), signal);
        assert_eq!(status.signal(), Some(signal));
        assert_eq!(folder.names(), ["profile.json", "run.dag"]);
        let profile = fs::read_to_string(folder.0.join("profile.json")).unwrap();
        assert!(profile.contains("\"interrupted\":true"), "{profile}");
        assert!(profile.contains("\"runs\":3,") && profile.ends_with("]}\n"), "{profile}");
        let dag = bombyx_dag::format::read(fs::File::open(folder.0.join("run.dag")).unwrap()).unwrap();
        assert_eq!(dag.thread_count(), 7, "two threads for each of three forks");
    }
}

/// Whoever signals a group of processes also signals the parent, which may pass the signal on. Two signals of one kind may
/// become one before the program sees them, so there is a signal of another kind, too.
#[test]
fn a_signal_that_comes_twice_at_once_loses_nothing() {
    for round in 0..5 {
        let folder = Folder::new(&format!("twice-{round}"));
        let mut child = start(&folder.0, 3, true);
        for signal in [INTERRUPT, TERMINATE, INTERRUPT] {
            // SAFETY: the call has no memory effects, and nobody has waited for the child.
            assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
        }
        assert!(child.wait().unwrap().signal().is_some());
        assert_eq!(folder.names(), ["profile.json", "run.dag"]);
    }
}

/// The number of this name.
fn number(json: &str, name: &str) -> u64 {
    let (_, rest) = json.split_once(&format!("\"{name}\":")).unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn what_the_run_in_progress_has_shown_is_kept() {
    let folder = Folder::new("progress");
    let status = end(start(&folder.0, 0, true), INTERRUPT);
    assert_eq!(status.signal(), Some(INTERRUPT));
    assert_eq!(folder.names(), ["profile.json"], "a recording has only runs that have ended");
    let profile = fs::read_to_string(folder.0.join("profile.json")).unwrap();
    assert!(profile.contains("\"interrupted\":true") && profile.contains("\"runs\":0,"), "{profile}");
    assert!(profile.contains("interrupted.rs"), "the place that forks is there: {profile}");
    let [work, span, wall] = ["work_ns", "span_ns", "wall_ns"].map(|name| number(&profile, name));
    // A hundred rounds of a millisecond each; what came last may not have been told.
    assert!(work >= 50_000_000 && span >= 50_000_000 && wall >= span, "{profile}");
}

#[test]
fn a_run_that_has_shown_nothing_leaves_no_files() {
    let folder = Folder::new("none");
    let status = end(start(&folder.0, 0, false), INTERRUPT);
    assert_eq!(status.signal(), Some(INTERRUPT));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// The temporary name of the file may be taken, by a link that somebody else has put there.
#[test]
fn what_lies_beside_the_file_is_left_alone() {
    let folder = Folder::new("links");
    let (secret, profile) = (folder.0.join("secret"), folder.0.join("profile.json"));
    fs::write(&secret, "untouched").unwrap();
    let child = start(&folder.0, 3, true);
    for tried in 0..3 {
        let link = folder.0.join(format!(".profile.json.{}.{tried}.part", child.id()));
        std::os::unix::fs::symlink(&secret, link).unwrap();
    }
    assert_eq!(end(child, TERMINATE).signal(), Some(TERMINATE));
    assert_eq!(fs::read_to_string(&secret).unwrap(), "untouched");
    let written = fs::read_to_string(&profile).unwrap();
    assert!(!profile.is_symlink() && written.contains("\"runs\":3,"), "{written}");
    assert_eq!(folder.names().iter().filter(|name| name.ends_with(".part")).count(), 3, "the links are left");
}

/// A program with more rights than its caller writes nothing that the environment asks for. This test needs the right
/// to make such a program, which root has.
#[test]
fn a_privileged_program_writes_no_files() {
    use std::os::unix::fs::{PermissionsExt, chown};
    const NOBODY: u32 = 65_534;
    let folder = Folder::new("privileged");
    let program = folder.0.join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let made = chown(&program, Some(NOBODY), Some(NOBODY))
        .and_then(|()| chown(&folder.0, Some(NOBODY), Some(NOBODY)))
        .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)));
    if let Err(error) = made {
        println!("left out: this user cannot make a set-user-ID program ({error})");
        return;
    }
    let run = |program: &Path| {
        let profile = folder.0.join("profile.json");
        let status = Command::new(program)
            .args(["--ignored", "--exact", "ends"])
            .env("BOMBYX_PROFILE", &profile)
            .env("BOMBYX_RECORD", folder.0.join("run.dag"))
            .status()
            .unwrap();
        assert!(status.success());
        profile.exists()
    };
    let privileged = |file: &str| folder.0.join(file).exists();
    assert!(!run(&program) && !privileged("run.dag"), "nothing is written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(run(&program) && privileged("run.dag"), "without the rights, everything is");
}

/// Not a test: a program that ends by itself.
#[test]
#[ignore = "part of another test"]
fn ends() {
    Pool::builder().processors(2).build().unwrap().run(|| join(|| (), || ()));
}
