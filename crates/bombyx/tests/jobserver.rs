//! Under a real `make -j2`, two programs together never use more than two processors, and one of them gets both when
//! the other has ended.

#![cfg(target_os = "linux")]

use bombyx::{CancelToken, Pool, share::Jobserver};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

const ROLE: &str = "BOMBYX_TEST_ROLE";
const FILE: &str = "BOMBYX_TEST_FILE";

/// What the programs share, in a file.
#[repr(C)]
struct Shared {
    /// Programs that have started.
    started: AtomicU32,
    /// Iterations that run now, in both programs.
    running: AtomicU32,
    most: AtomicU32,
}

impl Shared {
    fn map(file: &File) -> &'static Shared {
        let size = size_of::<Shared>();
        // SAFETY: maps a new region. The file is long enough.
        let place = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), size, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(place, libc::MAP_FAILED);
        // SAFETY: mapped above and never unmapped. All bytes are valid, and all accesses are atomic.
        unsafe { &*place.cast() }
    }
}

/// Not a test by itself: what make runs.
#[test]
#[ignore = "make runs this"]
fn child_of_make() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let file = OpenOptions::new().read(true).write(true).open(std::env::var(FILE).unwrap()).unwrap();
    let shared = Shared::map(&file);
    let pool = Pool::builder().processors(1).max_processors(4).build().unwrap();
    let jobserver = Jobserver::from_env().expect("make names its jobserver").unwrap();
    let sharing = jobserver.share(&pool.handle()).unwrap();
    shared.started.fetch_add(1, SeqCst);
    let begin = Instant::now();
    while shared.started.load(SeqCst) < 2 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the other program does not start");
        std::thread::yield_now();
    }
    let (token, here, done) = (CancelToken::new(), AtomicU32::new(0), AtomicU32::new(0));
    let iteration = |_| {
        let running = shared.running.fetch_add(1, SeqCst) + 1;
        shared.most.fetch_max(running, SeqCst);
        let here_now = here.fetch_add(1, SeqCst) + 1;
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(200) {
            std::hint::spin_loop();
        }
        here.fetch_sub(1, SeqCst);
        shared.running.fetch_sub(1, SeqCst);
        let enough = match role.as_str() {
            "short" => done.fetch_add(1, SeqCst) == 200,
            // Both processors at once: the other program has ended.
            _ => here_now == 2,
        };
        assert!(begin.elapsed() < Duration::from_secs(60), "there is no second token");
        if enough {
            token.cancel();
        }
    };
    pool.run(|| token.for_each(0..u64::MAX, iteration)).unwrap_err();
    drop(sharing);
}

#[test]
fn two_programs_share_the_tokens_of_make() {
    let folder = std::env::temp_dir().join(format!("bombyx-make-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("shared");
    fs::write(&file, [0; size_of::<Shared>()]).unwrap();
    let program = std::env::current_exe().unwrap();
    let recipe = |role: &str| {
        format!("{role}:\n\t+{ROLE}={role} {} --exact child_of_make --ignored\n", program.display())
    };
    let makefile = format!("all: short long\n{}{}", recipe("short"), recipe("long"));
    fs::write(folder.join("Makefile"), makefile).unwrap();
    let mut make = Command::new("make");
    make.args(["-j2", "-C"]).arg(&folder).env(FILE, &file);
    // Perhaps make has started this test, too.
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        make.env_remove(name);
    }
    let made = match make.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("left out: make is not installed");
            return;
        }
        made => made.unwrap(),
    };
    let said = format!("{}{}", String::from_utf8_lossy(&made.stdout), String::from_utf8_lossy(&made.stderr));
    assert!(made.status.success(), "{said}");
    assert!(!said.contains("jobserver tokens"), "make misses a token: {said}");
    let shared = Shared::map(&OpenOptions::new().read(true).write(true).open(&file).unwrap());
    assert_eq!(shared.most.load(SeqCst), 2, "{said}");
    fs::remove_dir_all(folder).unwrap();
}
