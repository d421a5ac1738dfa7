//! Takes the optimised `examples/read_write_paths.rs` apart and walks every function that is called on the steal,
//! serve, join and watch paths of `read-write`, and on the steal and serve paths of `read-write-steals`. None of them
//! contains a locked instruction, an exchange with memory or a fence. The walk stops at the named ways into the kernel
//! ([`KERNEL`]) and at the ends of the program ([`PANICS`]). A function that is called through a pointer is the user's
//! closure, or is listed as an entry point itself. Planted functions show that the walk would find what it looks for.
//!
//! For x86-64 on Linux, where the encoding of an instruction shows whether it is one of these.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[test]
fn no_locked_instruction() {
    println!("skipped: this test reads x86-64 machine code in ELF files");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64 {
    use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
    use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
    use std::collections::{BTreeMap, HashMap, HashSet};
    use std::path::Path;
    use std::process::Command;

    /// A method of the scheduler with private deques, over this channel.
    macro_rules! strategy {
        ($channel:literal, $method:literal) => {
            concat!(
                "<bombyx_core::scheduler::private_deques::PrivateDeques<bombyx_core::scheduler::private_deques::read_write::",
                $channel,
                "> as bombyx_core::machine::strategy::Strategy>::",
                $method
            )
        };
    }

    /// The entry points of the steal, serve, join and watch paths of `read-write`.
    const READ_WRITE: &[&str] = &[
        strategy!("StealsAndJoins", "attend"),
        strategy!("StealsAndJoins", "cease"),
        strategy!("StealsAndJoins", "search"),
        strategy!("StealsAndJoins", "wait"),
        strategy!("StealsAndJoins", "lets_go"),
        strategy!("StealsAndJoins", "start_search"),
        strategy!("StealsAndJoins", "take_own"),
        strategy!("StealsAndJoins", "searchers"),
        strategy!("StealsAndJoins", "wait_for_branch"),
        strategy!("StealsAndJoins", "end_branch"),
        "bombyx_core::scheduler::private_deques::join_resolution::leave",
        // Called through a pointer, from `wait`.
        "bombyx_core::scheduler::private_deques::join_resolution::stay_until_ended::{closure#0}",
    ];

    /// The entry points of the steal and serve paths of `read-write-steals`.
    const READ_WRITE_STEALS: &[&str] = &[
        strategy!("Steals", "attend"),
        strategy!("Steals", "cease"),
        strategy!("Steals", "search"),
        strategy!("Steals", "wait"),
        strategy!("Steals", "lets_go"),
        strategy!("Steals", "start_search"),
        strategy!("Steals", "take_own"),
        strategy!("Steals", "searchers"),
    ];

    /// Where the walk stops, and why.
    const KERNEL: &[(&str, &str)] = &[
        ("bombyx_core::scheduler::private_deques::rouse", "wakes a sleeper"),
        ("bombyx_core::scheduler::private_deques::flush", "gives the processor to another OS thread"),
        ("bombyx_core::scheduler::private_deques::open_gift", "has been woken"),
        ("bombyx_core::scheduler::private_deques::take_queued", "what came from outside of the pool"),
        ("bombyx_core::scheduler::private_deques::take_private", "broadcasts"),
        ("bombyx_core::scheduler::private_deques::attend_always", "the kernel has no membarrier"),
        (
            "bombyx_core::scheduler::private_deques::read_write::fence_for_want_of_membarrier",
            "the kernel has no membarrier",
        ),
        (
            "bombyx_core::machine::processor::Processor::change_barrier",
            "begins or ceases to rely on membarrier",
        ),
        ("bombyx_core::protocol::query::Queries::withdraw", "on its way to sleep"),
        (
            "bombyx_core::scheduler::private_deques::join_resolution::leave_to_spare",
            "gives the processor to another OS thread",
        ),
        (
            "bombyx_core::scheduler::private_deques::join_resolution::make_way",
            "gives the processor to another OS thread",
        ),
        ("bombyx_core::scheduler::private_deques::join_resolution::retire", "on its way to sleep"),
        (
            "bombyx_core::protocol::resolution::Resolution::leave_unanswered",
            "gives the processor to another OS thread",
        ),
        ("bombyx_core::protocol::resolution::new_cells", "allocates"),
        ("bombyx_core::protocol::deque::private::Owner::make_room", "allocates"),
        ("bombyx_core::protocol::deque::Deque::change_root", "of deques that are not private; not reached"),
        (
            "bombyx_core::machine::pool::PoolCore::rouse",
            "of pools with fixed threads, which have another scheduler; not reached",
        ),
        (
            "bombyx_core::machine::wait::return_stock",
            "closures of a scope ran, and scopes count with atomics",
        ),
        ("bombyx_core::machine::current::visitor", "a thread that no pool started becomes a carrier"),
        ("bombyx_core::machine::handlers::Handlers::call_handler", "the program's own handler of events"),
        ("std::time::Instant::now", "the clock"),
        ("bombyx_core::scheduler::private_deques::clock", "the clock"),
    ];

    /// What the walked functions may call outside the program: the kernel, copies of memory, and the unwinder, which
    /// passes a panic on.
    const SYSTEM: &[&str] =
        &["sched_yield", "clock_gettime", "memcpy", "memmove", "memset", "_Unwind_Resume"];

    /// Functions that never return are ends of the program, not paths through it.
    const PANICS: &[&str] = &[
        "core::panicking::",
        "core::option::expect_failed",
        "core::option::unwrap_failed",
        "core::result::unwrap_failed",
        "std::panicking::",
        "std::process::abort",
        "alloc::alloc::handle_alloc_error",
        "bombyx_core::system::guard::abort",
        "bombyx_core::system::guard::unwound",
        "bombyx_core::system::process::lost",
    ];

    #[test]
    fn no_locked_instruction() {
        let program = Program::build();
        for (scheduler, entries) in [("read-write", READ_WRITE), ("read-write-steals", READ_WRITE_STEALS)] {
            let walk = program.walk(entries);
            println!("{scheduler}: {} functions walked", walk.functions.len());
            for function in &walk.functions {
                println!("  {function}");
            }
            assert!(walk.violations.is_empty(), "{scheduler}: {:#?}", walk.violations);
            assert!(walk.functions.len() >= entries.len());
        }
        for (function, reason) in KERNEL {
            println!("not walked: {function} ({reason})");
        }
    }

    #[test]
    fn planted_instructions_are_found() {
        let program = Program::build();
        for (planted, instruction) in [
            ("read_write_paths::planted_fetch_and_add", "lock"),
            ("read_write_paths::planted_exchange", "xchg"),
            ("read_write_paths::planted_fence", "fence"),
        ] {
            let violations = program.walk(&[planted]).violations;
            assert!(
                violations.iter().any(|violation| violation.contains(instruction)),
                "{planted}: {violations:?}"
            );
        }
    }

    /// `<a::Type>::function` as `a::Type::function`.
    fn plain(name: &str) -> String {
        match name.strip_prefix('<').and_then(|rest| rest.split_once(">::")) {
            Some((path, function)) if !path.contains(" as ") => format!("{path}::{function}"),
            _ => name.to_owned(),
        }
    }

    /// A name without the hash of legacy mangling, with or without generic arguments.
    fn matches(known: &str, name: &str) -> bool {
        known == name
            || known.strip_prefix(name).is_some_and(|rest| rest.starts_with("::<") || rest.starts_with('<'))
    }

    struct Program {
        text: Vec<u8>,
        text_address: u64,
        /// Address to (size, name).
        functions: BTreeMap<u64, (u64, String)>,
        names: HashMap<String, u64>,
        /// What the slots of the global offset table, and the stubs that jump there, stand for.
        imports: HashMap<u64, String>,
    }

    struct Walk {
        functions: Vec<String>,
        violations: Vec<String>,
    }

    impl Program {
        /// Builds the example with optimisation, beside the other files of this test, and reads it.
        fn build() -> Program {
            let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("disassembly");
            let status = Command::new(env!("CARGO"))
                .args([
                    "build",
                    "--quiet",
                    "--release",
                    "--package",
                    "bombyx-core",
                    "--example",
                    "read_write_paths",
                ])
                .arg("--target-dir")
                .arg(&directory)
                .arg("--manifest-path")
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
                // Names with their generic arguments.
                .env("RUSTFLAGS", "-Csymbol-mangling-version=v0")
                .env_remove("CARGO_ENCODED_RUSTFLAGS")
                .status()
                .expect("cargo runs");
            assert!(status.success(), "the example is built");
            Program::read(&directory.join("release/examples/read_write_paths"))
        }

        fn read(path: &Path) -> Program {
            let bytes = std::fs::read(path).expect("the example was built");
            let file = object::File::parse(&*bytes).expect("an ELF file");
            let text = file.section_by_name(".text").expect("a program has code");
            let mut functions = BTreeMap::new();
            let mut names = HashMap::new();
            for symbol in file.symbols().filter(|symbol| symbol.is_definition() && symbol.size() > 0) {
                let name =
                    plain(&format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default())));
                names.insert(name.clone(), symbol.address());
                functions.insert(symbol.address(), (symbol.size(), name));
            }
            let symbols: HashMap<_, _> = file
                .dynamic_symbols()
                .map(|symbol| (symbol.index(), symbol.name().unwrap_or_default().to_owned()))
                .collect();
            let mut imports = HashMap::new();
            for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
                let target = match relocation.target() {
                    RelocationTarget::Symbol(index) => symbols.get(&index).cloned(),
                    // A function of this program, through the table.
                    RelocationTarget::Absolute => Some(format!("{:x}", relocation.addend())),
                    _ => None,
                };
                imports.extend(target.map(|target| (slot, target)));
            }
            if let Some(stubs) = file.section_by_name(".plt") {
                let code = stubs.data().expect("code is in the file");
                for jump in Decoder::with_ip(64, code, stubs.address(), DecoderOptions::NONE).iter() {
                    if jump.flow_control() == FlowControl::IndirectBranch
                        && let Some(import) = imports.get(&jump.ip_rel_memory_address()).cloned()
                    {
                        imports.insert(jump.ip(), import);
                    }
                }
            }
            Program {
                text_address: text.address(),
                text: text.data().expect("code is in the file").to_vec(),
                functions,
                names,
                imports,
            }
        }

        fn function_at(&self, address: u64) -> (u64, u64, &str) {
            let (&start, (size, name)) = self
                .functions
                .range(..=address)
                .next_back()
                .filter(|&(&start, (size, _))| address < start + size)
                .unwrap_or_else(|| panic!("no function at {address:x}"));
            (start, *size, name)
        }

        fn walk(&self, entries: &[&str]) -> Walk {
            let mut walk = Walk { functions: Vec::new(), violations: Vec::new() };
            let mut seen = HashSet::new();
            let mut open: Vec<u64> = Vec::new();
            for entry in entries {
                let found: Vec<u64> = self
                    .names
                    .iter()
                    .filter_map(|(name, &address)| matches(name, entry).then_some(address))
                    .collect();
                assert!(!found.is_empty(), "the program has no function {entry}");
                open.extend(found);
            }
            while let Some(address) = open.pop() {
                let (start, size, name) = self.function_at(address);
                if !seen.insert(start)
                    || KERNEL.iter().any(|(stop, _)| matches(name, stop))
                    || PANICS.iter().any(|prefix| name.starts_with(prefix))
                {
                    continue;
                }
                walk.functions.push(name.to_owned());
                self.walk_function(start, size, name, &mut open, &mut walk.violations);
            }
            walk
        }

        fn walk_function(
            &self,
            start: u64,
            size: u64,
            name: &str,
            open: &mut Vec<u64>,
            violations: &mut Vec<String>,
        ) {
            let from = (start - self.text_address) as usize;
            let code = &self.text[from..from + size as usize];
            for instruction in Decoder::with_ip(64, code, start, DecoderOptions::NONE).iter() {
                if let Some(what) = forbidden(&instruction) {
                    violations.push(format!("{what} at {:x} in {name}", instruction.ip()));
                }
                match instruction.flow_control() {
                    FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                        let target = instruction.near_branch_target();
                        if self.imports.contains_key(&target) {
                            self.walk_import(target, name, open, violations);
                        } else if !(start..start + size).contains(&target) {
                            open.push(target);
                        }
                    }
                    FlowControl::IndirectCall | FlowControl::IndirectBranch
                        if instruction.is_ip_rel_memory_operand() =>
                    {
                        self.walk_import(instruction.ip_rel_memory_address(), name, open, violations);
                    }
                    _ => {}
                }
            }
        }
    }

    impl Program {
        /// A call through a slot of the global offset table.
        fn walk_import(&self, slot: u64, name: &str, open: &mut Vec<u64>, violations: &mut Vec<String>) {
            match self.imports.get(&slot).map(String::as_str) {
                Some(import) if SYSTEM.contains(&import) => {}
                Some(import) => match u64::from_str_radix(import, 16) {
                    Ok(address) => open.push(address),
                    Err(_) => violations.push(format!("a call of {import} in {name}")),
                },
                None => violations.push(format!("a call through {slot:x} in {name}")),
            }
        }
    }

    /// What is wrong with the instruction, if something is.
    fn forbidden(instruction: &Instruction) -> Option<&'static str> {
        let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
        match instruction.mnemonic() {
            _ if instruction.has_lock_prefix() => Some("a lock prefix"),
            Mnemonic::Xchg if memory => Some("an xchg with memory"),
            Mnemonic::Mfence | Mnemonic::Lfence | Mnemonic::Sfence => Some("a fence"),
            _ => None,
        }
    }
}
