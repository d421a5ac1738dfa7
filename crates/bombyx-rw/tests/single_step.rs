//! Steps through a computation one machine instruction at a time, on both processors, and counts the locked instructions and
//! fences that are executed between its start and its end: none with loads and stores only, some with joins by fetch-and-add.
//!
//! The trap flag of a thread makes the processor raise a signal after every instruction. The handler looks at the next
//! instruction. For x86-64 on Linux.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64 {
    use bombyx_rw::{Count, Discipline, Ended, Pool, Task, Ws, WsJr};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

    static COUNTING: AtomicBool = AtomicBool::new(false);
    static STEPS: AtomicU64 = AtomicU64::new(0);
    static LOCKED: AtomicU64 = AtomicU64::new(0);

    extern "C" fn on_step(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        if !COUNTING.load(Relaxed) {
            return;
        }
        // SAFETY: the kernel passes the context of the interrupted thread, whose next instruction lies in mapped code.
        let code = unsafe {
            let context = &*context.cast::<libc::ucontext_t>();
            let at = context.uc_mcontext.gregs[libc::REG_RIP as usize] as *const u8;
            std::slice::from_raw_parts(at, 15)
        };
        STEPS.fetch_add(1, Relaxed);
        if is_locked(code) {
            LOCKED.fetch_add(1, Relaxed);
        }
    }

    /// A lock prefix, an exchange with memory, or a fence.
    fn is_locked(code: &[u8]) -> bool {
        let mut rest = code;
        while let [prefix, after @ ..] = rest {
            match prefix {
                0xf0 => return true,
                0x66 | 0x67 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0xf2 | 0xf3 | 0x40..=0x4f => {
                    rest = after
                }
                _ => break,
            }
        }
        match rest {
            [0x86 | 0x87, operands, ..] => operands >> 6 != 3,
            [0x0f, 0xae, 0xe8..=0xff, ..] => true,
            _ => false,
        }
    }

    fn step_from_now_on() {
        // SAFETY: sets the trap flag of this thread; its handler is installed.
        unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    }

    /// Sets the trap flag on whichever processors take part.
    fn step<'w, K: Discipline>(task: Task<'w, '_, u64, K>, n: u32) -> Ended<'w> {
        step_from_now_on();
        (0..20).for_each(|_| std::thread::yield_now());
        if n == 0 {
            return task.end(1);
        }
        task.fork(move |task| step(task, n - 1), move |task| step(task, n - 1), |task, a, b| task.end(a + b))
    }

    fn fib<'w, K: Discipline>(task: Task<'w, '_, u64, K>, n: u64) -> Ended<'w> {
        if n < 2 {
            return task.end(n);
        }
        task.fork(move |task| fib(task, n - 1), move |task| fib(task, n - 2), |task, a, b| task.end(a + b))
    }

    /// Steps and locked instructions of a computation, and its steals.
    fn count<K: Discipline>(n: u64) -> [u64; 3] {
        let mut pool = Pool::<K>::new(2).unwrap();
        // Until the other processor steps as well, which shows in a steal.
        for _ in 0..20 {
            pool.run(|task| step(task, 4));
            if pool.counted(Count::Steals) > 0 {
                break;
            }
        }
        let before = pool.counted(Count::Steals);
        [&STEPS, &LOCKED].iter().for_each(|count| count.store(0, Relaxed));
        pool.run(|task| {
            COUNTING.store(true, Relaxed);
            task.call(
                move |task| fib(task, n),
                |task, value| {
                    COUNTING.store(false, Relaxed);
                    assert!(value > 0);
                    task.end(())
                },
            )
        });
        let counts = [STEPS.load(Relaxed), LOCKED.load(Relaxed), pool.counted(Count::Steals) - before];
        // Threads that end block all signals, and a step then would be fatal. So they do not end: the process does.
        std::mem::forget(pool);
        counts
    }

    /// Tells a child process what to step through.
    const STEPPED: &str = "BOMBYX_STEPPED";

    /// In a child process: counts, prints, and ends without ending threads.
    fn child<K: Discipline>() -> ! {
        // SAFETY: installs a handler that touches only the statics above.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_step as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
        }
        let counts = count::<K>(11);
        let text = format!("\ncounts {} {} {}\n", counts[0], counts[1], counts[2]);
        // SAFETY: writes the text and ends the process. Nothing of it is left to do.
        unsafe {
            libc::write(1, text.as_ptr().cast(), text.len());
            libc::_exit(0)
        }
    }

    /// Steps, locked instructions and steals, as counted in a child process.
    fn counted(discipline: &str) -> [u64; 3] {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "x86_64::no_locked_instruction_is_executed", "--nocapture"])
            .env(STEPPED, discipline)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let line = printed.lines().find_map(|line| line.strip_prefix("counts "));
        let line = line.unwrap_or_else(|| panic!("{}: {printed}", output.status));
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        println!("{discipline}: {} instructions, {} locked, {} steals", numbers[0], numbers[1], numbers[2]);
        numbers.try_into().unwrap()
    }

    #[test]
    fn no_locked_instruction_is_executed() {
        match std::env::var(STEPPED).as_deref() {
            Ok("WS+JR") => child::<WsJr>(),
            Ok(_) => child::<Ws>(),
            Err(_) => {}
        }
        let [steps, locked, _] = counted("WS+JR");
        assert!(steps > 10_000, "only {steps} instructions were stepped through");
        assert_eq!(locked, 0);
        // A program that has some, to see that they would be seen.
        let mut found = 0;
        for _ in 0..10 {
            let [_, locked, steals] = counted("WS");
            found += locked;
            assert!(locked > 0 || steals == 0, "a stolen join is counted");
            if found > 0 {
                break;
            }
        }
        assert!(
            is_locked(&[0xf0, 0x48, 0x0f, 0xb1])
                && is_locked(&[0x48, 0x87, 0x03])
                && is_locked(&[0x0f, 0xae, 0xf0])
        );
        assert!(!is_locked(&[0x48, 0x87, 0xc3]) && !is_locked(&[0x48, 0x89, 0x03]));
    }
}
