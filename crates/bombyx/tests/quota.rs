//! A pool follows the CPU quota of its control group. The test makes such a group, which only the superuser may.

#![cfg(target_os = "linux")]

use bombyx::{Pool, share};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, io, thread};

/// A control group, until this is dropped.
struct Group {
    folder: PathBuf,
    /// The file with the quota, and how it says "so many CPUs" and "no limit".
    file: &'static str,
    quota: fn(Option<u32>) -> String,
}

impl Group {
    /// In the first hierarchy that has the controller of CPU time: version 2, or 1.
    fn new() -> io::Result<Group> {
        let name = format!("bombyx-test-{}", std::process::id());
        let second = |cpus: Option<u32>| {
            cpus.map_or("max 100000".to_owned(), |cpus| format!("{} 100000", cpus * 100_000))
        };
        let first = |cpus: Option<u32>| cpus.map_or("-1".to_owned(), |cpus| (cpus * 100_000).to_string());
        let root = Path::new("/sys/fs/cgroup");
        let group = if fs::read_to_string(root.join("cgroup.subtree_control"))
            .is_ok_and(|controllers| controllers.split_whitespace().any(|one| one == "cpu"))
        {
            Group { folder: root.join(name), file: "cpu.max", quota: second }
        } else {
            Group { folder: root.join("cpu").join(name), file: "cpu.cfs_quota_us", quota: first }
        };
        fs::create_dir(&group.folder)?;
        group.allow(None)?;
        Ok(group)
    }

    fn allow(&self, cpus: Option<u32>) -> io::Result<()> {
        fs::write(self.folder.join(self.file), (self.quota)(cpus))
    }

    fn take_in(&self, process: u32) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), process.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It can be removed when its last process has ended, a moment after its parent has seen that.
        for _ in 0..1000 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_pool_follows_the_quota_of_its_control_group() {
    let cpus = thread::available_parallelism().unwrap().get();
    let group = match Group::new() {
        Ok(group) if cpus >= 2 => group,
        Ok(_) => return eprintln!("skipped: there is only one CPU"),
        Err(error) => return eprintln!("skipped: cannot make a control group: {error}"),
    };
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
        .env("BOMBYX_TEST_QUOTA", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    group.take_in(child.id()).unwrap();
    let mut go_on = child.stdin.take().unwrap();
    go_on.write_all(b"\n").unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = |processors: usize| {
        let wanted = format!("processors {processors}");
        while lines.next().expect("the child says what it sees").unwrap() != wanted {}
    };
    expect(cpus);
    for _ in 0..3 {
        group.allow(Some(1)).unwrap();
        expect(1);
        group.allow(None).unwrap();
        expect(cpus);
    }
    drop(go_on);
    assert!(child.wait().unwrap().success());
}

/// Runs in its own process, in the group. Says how large the pool is whenever that changes, until its input ends.
#[test]
fn child() {
    if env::var_os("BOMBYX_TEST_QUOTA").is_none() {
        return;
    }
    io::stdin().lines().next();
    let pool = Pool::builder().processors(1).max_processors(256).build().unwrap();
    let _follower = share::follow_cpus(&pool.handle(), Duration::from_millis(1)).unwrap();
    let input = thread::spawn(|| io::stdin().lines().for_each(drop));
    let mut last = 0;
    while !input.is_finished() {
        if pool.processors() != last {
            last = pool.processors();
            println!("\nprocessors {last}");
            assert_eq!(pool.run(|| bombyx::join(|| 1, || 2)), (1, 2));
        }
        thread::sleep(Duration::from_millis(1));
    }
}
