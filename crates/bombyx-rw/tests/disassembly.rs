//! Takes the optimised `examples/worker_loop.rs` apart and walks the whole worker loop of `WsJr`, from its entry. No
//! function that it calls contains a lock prefix, an exchange with memory or a fence. The loop calls the body of a
//! thread through a register, at one place, and the entries of all bodies are walked as well. A jump through a register
//! must be the jump of a table that stays in its function. Any other call or jump through a register is refused.
//!
//! For x86-64 on Linux, where the encoding of an instruction shows whether it is one of these.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64 {
    use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
    use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
    use std::collections::{BTreeMap, HashMap, HashSet};
    use std::path::Path;
    use std::process::Command;

    /// What the loop may call outside the program: the kernel, and copies of memory.
    const SYSTEM: &[&str] = &[
        "mmap",
        "mmap64",
        "munmap",
        "sched_yield",
        "usleep",
        "abort",
        "memcpy",
        "memmove",
        "memset",
        "_Unwind_Resume",
    ];

    /// Ends of the program, not paths through it.
    const ENDS: &[&str] = &[
        "core::panicking::",
        "core::option::",
        "core::result::",
        "std::panicking::",
        "bombyx_rw::worker::rounds_used_up",
    ];

    /// The only function that may call through a register, and at one place: it calls the body of a thread.
    const CALLS_BODIES: &str = "<bombyx_rw::worker::Worker<bombyx_rw::discipline::WsJr>>::work";

    struct Program {
        text: Vec<u8>,
        text_address: u64,
        functions: BTreeMap<u64, (u64, String)>,
        imports: HashMap<u64, String>,
        /// Constants, and where they lie.
        constants: (u64, Vec<u8>),
    }

    fn program() -> Program {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("disassembly");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package", "bombyx-rw", "--example", "worker_loop"])
            .arg("--target-dir")
            .arg(&directory)
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            // The other mangling does not tell the types of generic functions.
            .env("RUSTFLAGS", "-C symbol-mangling-version=v0")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the example is built");
        let bytes =
            std::fs::read(directory.join("release/examples/worker_loop")).expect("the example was built");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let text = file.section_by_name(".text").expect("a program has code");
        let functions = file
            .symbols()
            .filter(|symbol| symbol.is_definition() && symbol.size() > 0)
            .map(|symbol| {
                let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default()));
                (symbol.address(), (symbol.size(), name))
            })
            .collect();
        let names: HashMap<_, _> =
            file.dynamic_symbols().map(|s| (s.index(), s.name().unwrap_or_default().to_owned())).collect();
        let mut imports = HashMap::new();
        for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let target = match relocation.target() {
                RelocationTarget::Symbol(index) => names.get(&index).cloned(),
                RelocationTarget::Absolute => Some(format!("{:x}", relocation.addend())),
                _ => None,
            };
            imports.extend(target.map(|target| (slot, target)));
        }
        // Stubs that jump through a slot stand for what the slot stands for.
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
            text: text.data().expect("code").to_vec(),
            functions,
            imports,
            constants: file
                .section_by_name(".rodata")
                .map(|section| (section.address(), section.data().expect("constants").to_vec()))
                .unwrap_or_default(),
        }
    }

    impl Program {
        /// What is wrong in the functions whose names `wanted` accepts, and in everything that they call. Also how many
        /// functions there are.
        fn walk(&self, wanted: impl Fn(&str) -> bool) -> (usize, Vec<String>) {
            let mut open: Vec<u64> = self
                .functions
                .iter()
                .filter(|(_, (_, name))| wanted(name))
                .map(|(&start, _)| start)
                .collect();
            assert!(!open.is_empty(), "the program has no such function");
            let (mut seen, mut wrong) = (HashSet::new(), Vec::new());
            while let Some(address) = open.pop() {
                let Some((&start, (size, name))) = self
                    .functions
                    .range(..=address)
                    .next_back()
                    .filter(|(start, (size, _))| address < *start + size)
                else {
                    wrong.push(format!("no function at {address:x}"));
                    continue;
                };
                if !seen.insert(start) || ENDS.iter().any(|end| name.contains(end)) {
                    continue;
                }
                let from = (start - self.text_address) as usize;
                let code = &self.text[from..from + *size as usize];
                let code: Vec<_> = Decoder::with_ip(64, code, start, DecoderOptions::NONE).iter().collect();
                let mut bodies = 0;
                for (nth, instruction) in code.iter().enumerate() {
                    if let Some(what) = forbidden(instruction) {
                        wrong.push(format!("{what} at {:x} in {name}", instruction.ip()));
                    }
                    match instruction.flow_control() {
                        FlowControl::Call
                        | FlowControl::UnconditionalBranch
                        | FlowControl::ConditionalBranch => {
                            let target = instruction.near_branch_target();
                            match self.imports.get(&target) {
                                Some(import) if SYSTEM.contains(&import.as_str()) => {}
                                Some(import) => wrong.push(format!("a call of {import} in {name}")),
                                None if !(start..start + size).contains(&target) => open.push(target),
                                None => {}
                            }
                        }
                        FlowControl::IndirectCall | FlowControl::IndirectBranch
                            if instruction.is_ip_rel_memory_operand() =>
                        {
                            match self.imports.get(&instruction.ip_rel_memory_address()).map(String::as_str) {
                                Some(import) if SYSTEM.contains(&import) => {}
                                Some(import) => match u64::from_str_radix(import, 16) {
                                    Ok(address) => open.push(address),
                                    Err(_) => wrong.push(format!("a call of {import} in {name}")),
                                },
                                None => wrong.push(format!("a call through an unknown slot in {name}")),
                            }
                        }
                        FlowControl::IndirectCall if name == CALLS_BODIES && bodies == 0 => bodies += 1,
                        FlowControl::IndirectBranch
                            if self.is_jump_table(&code[..=nth], start..start + size) => {}
                        FlowControl::IndirectCall | FlowControl::IndirectBranch => {
                            let at = instruction.ip();
                            wrong.push(format!("a call or jump through a register at {at:x} in {name}"));
                        }
                        _ => {}
                    }
                }
            }
            (seen.len(), wrong)
        }
    }

    impl Program {
        /// Whether the last of these instructions jumps by a table of offsets, all within the function: `lea table`, `movsxd`
        /// from it, `add table`, `jmp`.
        fn is_jump_table(&self, code: &[Instruction], function: std::ops::Range<u64>) -> bool {
            let Some((jump, before)) = code.split_last() else { return false };
            if jump.op0_kind() != OpKind::Register {
                return false;
            }
            let to = jump.op0_register();
            let nearest = |wanted: &dyn Fn(&Instruction) -> bool| before.iter().rev().find(|i| wanted(i));
            let writes = |i: &Instruction, register| i.op_count() > 0 && i.op0_register() == register;
            let [Some(add), Some(load)] = [Mnemonic::Add, Mnemonic::Movsxd].map(|mnemonic| {
                before.iter().rev().take(6).find(|i| i.mnemonic() == mnemonic && writes(i, to))
            }) else {
                return false;
            };
            let base = load.memory_base();
            let is_lea = |i: &Instruction| i.mnemonic() == Mnemonic::Lea && writes(i, base);
            let Some(lea) = nearest(&is_lea).filter(|lea| lea.is_ip_rel_memory_operand()) else {
                return false;
            };
            if add.op1_register() != base || load.memory_index_scale() != 4 {
                return false;
            }
            let table = lea.ip_rel_memory_address();
            let (address, constants) = &self.constants;
            let Some(offsets) = table.checked_sub(*address).and_then(|at| constants.get(at as usize..))
            else {
                return false;
            };
            let (words, _) = offsets.as_chunks::<4>();
            let targets =
                words.iter().map(|word| table.wrapping_add_signed(i32::from_le_bytes(*word).into()));
            targets.take_while(|target| function.contains(target)).count() >= 2
        }
    }

    fn forbidden(instruction: &Instruction) -> Option<&'static str> {
        let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
        match instruction.mnemonic() {
            _ if instruction.has_lock_prefix() => Some("a lock prefix"),
            Mnemonic::Xchg if memory => Some("an xchg with memory"),
            Mnemonic::Mfence | Mnemonic::Lfence | Mnemonic::Sfence => Some("a fence"),
            _ => None,
        }
    }

    #[test]
    fn the_worker_loop_has_no_locked_instruction() {
        let program = program();
        let of = |discipline: &'static str| {
            move |name: &str| {
                let worker = format!("<bombyx_rw::worker::Worker<bombyx_rw::discipline::{discipline}>>");
                let body = name.starts_with("bombyx_rw::task::run_");
                name.starts_with(&worker) || body && name.contains(&format!("discipline::{discipline}>"))
            }
        };
        let (functions, wrong) = program.walk(of("WsJr"));
        println!("{functions} functions walked");
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(functions >= 5, "only {functions} functions");

        // The same loop with joins by fetch-and-add has one.
        let (_, wrong) = program.walk(of("Ws"));
        assert!(wrong.iter().any(|text| text.contains("lock")), "{wrong:?}");
        for (planted, what) in [
            ("planted_fetch_and_add", "lock"),
            ("planted_exchange", "xchg"),
            ("planted_fence", "fence"),
            ("planted_pointer", "register"),
            ("planted_jump", "register"),
        ] {
            let (_, wrong) = program.walk(|name| name.ends_with(planted));
            assert!(wrong.iter().any(|text| text.contains(what)), "{planted}: {wrong:?}");
        }
    }
}
