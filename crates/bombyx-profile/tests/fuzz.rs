//! The fuzzer of `scripts/fuzz` for a moment, from a fixed seed: readers answer, they do not panic.

#[path = "../fuzz/mod.rs"]
mod fuzz;

use fuzz::Fuzzer;

#[test]
fn readers_survive_a_few_thousand_mutations() {
    for (target, seed) in [(fuzz::profiles(), 1), (fuzz::dags(), 2), (fuzz::traces(), 3)] {
        let name = target.extension;
        let mut fuzzer = Fuzzer::new(target, seed);
        (0..4000).for_each(|_| fuzzer.step());
        println!("{name}: seed {seed}, {} answers, {} accepted", fuzzer.answers(), fuzzer.accepted);
        assert!(fuzzer.answers() > 20, "mutations of {name} files do not reach far: {}", fuzzer.answers());
        assert!(fuzzer.accepted > 50, "too few mutations of {name} files are accepted: {}", fuzzer.accepted);
    }
}

/// A reader that panics on something that the corpus does not have must be found.
#[test]
fn a_planted_bug_is_found() {
    let mut target = fuzz::profiles();
    target.read = |bytes| match bombyx_profile::read(bytes) {
        Ok(profile) if profile.processors > 100 => panic!("planted"),
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut fuzzer = Fuzzer::new(target, 1);
    let found = (0..200_000)
        .find_map(|_| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fuzzer.step())).err());
    std::panic::set_hook(hook);
    let message = *found.expect("the bug is found").downcast::<String>().expect("it says where");
    let path = message.rsplit(' ').next().expect("a path");
    let bytes = std::fs::read(path).expect("the input was kept");
    std::fs::remove_file(path).expect("and can be removed");
    assert!(bombyx_profile::read(&bytes[..]).is_ok_and(|profile| profile.processors > 100));
}
