//! Fork sites in profiles are where the program calls this crate, not lines of this crate.

use std::process::Command;

/// Not a test: the program that is profiled.
#[test]
#[ignore = "part of another test"]
fn program() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        rayon_core::join(|| (), || ());
        rayon_core::join_context(|_| (), |_| ());
        rayon_core::scope(|s| s.spawn(|_| ()));
        rayon_core::scope_fifo(|s| s.spawn_fifo(|_| ()));
        rayon_core::in_place_scope(|s| s.spawn(|_| ()));
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.spawn(move || sender.send(()).unwrap());
    receiver.recv().unwrap();
}

#[test]
fn sites_are_the_callers() {
    let file = std::env::temp_dir().join(format!("rayon-core-sites-{}.json", std::process::id()));
    let program = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "program"])
        .env("BOMBYX_PROFILE", &file)
        .output()
        .unwrap();
    let profile = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert!(program.status.success());
    let profile = profile.unwrap();
    let sites: Vec<&str> = profile.split("\"file\":\"").skip(1).collect();
    assert!(sites.len() >= 9, "{profile}");
    for site in sites {
        assert!(site.split('"').next().unwrap().ends_with("tests/sites.rs"), "{site}");
    }
}
