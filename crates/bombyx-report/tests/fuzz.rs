//! The fuzzer of pages for a moment, from fixed seeds. `scripts/fuzz` runs it for longer.

#[path = "../fuzz/mod.rs"]
mod fuzz;

use fuzz::{Fuzzer, targets};

#[test]
fn pages_survive_mutated_files() {
    for (seed, (name, share, target)) in targets().into_iter().enumerate() {
        let mut fuzzer = Fuzzer::new(target, seed as u64 + 1);
        (0..share * 150).for_each(|_| fuzzer.step());
        println!("{name}: seed {}, {} answers, {} accepted", seed + 1, fuzzer.answers(), fuzzer.accepted);
        assert!(fuzzer.answers() > 10, "mutated {name} do not reach far: {}", fuzzer.answers());
        assert!(fuzzer.accepted > 10, "too few mutated {name} are accepted: {}", fuzzer.accepted);
    }
}

/// A page that lets a name become a tag must be found: the planted reader forgets to escape it.
#[test]
fn a_planted_hole_is_found() {
    let [(_, _, mut target), ..] = targets();
    target.read = |bytes| match bombyx_profile::read(bytes) {
        Ok(profile) if profile.program.contains("<script") => panic!("planted"),
        Ok(profile) if profile.sites.iter().any(|site| site.file.contains("<script")) => panic!("planted"),
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut fuzzer = Fuzzer::new(target, 1);
    let found = (0..100_000)
        .find_map(|_| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fuzzer.step())).err());
    std::panic::set_hook(hook);
    let message = *found.expect("the hole is found").downcast::<String>().expect("it says where");
    std::fs::remove_file(message.rsplit(' ').next().expect("a path")).expect("the input was kept");
}
