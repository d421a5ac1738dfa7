//! Runs the user's program under `bombyx profile`, `record`, `scale`, `trace` and `top`: its environment, its signals, its end, and a
//! folder for the files that it leaves to this program.
//!
//! Ctrl-C reaches the program itself, because the terminal sends it to both. This program only stays alive, to report
//! what there is. It passes on signals that are sent to it alone.

use crate::Result;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A program with its arguments, and the environment it gets on top of ours.
pub struct Launch<'a> {
    words: &'a [OsString],
    variables: Vec<(&'static str, OsString)>,
    quiet: bool,
    to_errors: bool,
    to_file: Option<&'a fs::File>,
}

/// A program that runs.
pub struct Started {
    child: Child,
    start: Instant,
    /// While this program waits, its signals go to the other one.
    _signals: signals::Passed,
}

/// How it ended.
pub struct Ended {
    pub status: ExitStatus,
    pub elapsed: Duration,
    /// What it wrote to standard error, if it was run quietly.
    pub errors: String,
}

/// Why it could not be started.
#[derive(Debug)]
pub struct CannotStart {
    program: String,
    error: std::io::Error,
}

impl CannotStart {
    /// The status that shells give: 127 if there is no such program, 126 if it cannot be run.
    pub fn code(&self) -> u8 {
        if self.error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

impl std::fmt::Display for CannotStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot start {}: {}", self.program, self.error)?;
        // A name without a folder is searched for in PATH only.
        let bare = self.code() == 127 && !self.program.contains(std::path::MAIN_SEPARATOR);
        let near =
            ["./", "./target/release/", "./target/debug/"].map(|folder| folder.to_owned() + &self.program);
        match near.iter().find(|path| bare && Path::new(path).is_file()) {
            Some(path) => write!(f, "; did you mean `{path}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CannotStart {}

impl<'a> Launch<'a> {
    /// The program and its arguments. It does not get the profile, recording or trace that our own environment asks for.
    pub fn new(words: &'a [OsString]) -> Self {
        Self { words, variables: Vec::new(), quiet: false, to_errors: false, to_file: None }
    }

    /// With a variable in its environment.
    pub fn with(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// On this many processors, whether it uses Bombyx or rayon's interface to it.
    pub fn processors(self, count: Option<usize>) -> Self {
        match count {
            Some(count) => {
                let count = count.to_string();
                self.with("BOMBYX_PROCESSORS", &count).with("RAYON_NUM_THREADS", &count)
            }
            None => self,
        }
    }

    /// With its output on our standard error.
    pub fn output_to_errors(mut self) -> Self {
        self.to_errors = true;
        self
    }

    /// Without input, and with its output discarded.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Without input, and with all that it writes in this file.
    pub fn output_to(mut self, file: &'a fs::File) -> Self {
        self.to_file = Some(file);
        self
    }

    /// Runs it to its end.
    pub fn run(&self) -> Result<Ended> {
        let Started { child, start, _signals } = self.start()?;
        // This also empties the pipe, so that a program with many errors does not wait for a reader.
        let output = child.wait_with_output()?;
        let elapsed = start.elapsed();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Ended { status: output.status, elapsed, errors })
    }

    /// Starts it.
    pub fn start(&self) -> Result<Started> {
        let (program, arguments) = self.words.split_first().ok_or("name the program to run, after `--`")?;
        let mut command = Command::new(program);
        command.args(arguments);
        for variable in ["BOMBYX_PROFILE", "BOMBYX_RECORD", "BOMBYX_TRACE"] {
            command.env_remove(variable);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.quiet {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        }
        if self.to_errors {
            command.stdout(std::io::stderr());
        }
        if let Some(file) = self.to_file {
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
        }
        let signals = signals::Passed::on();
        let start = Instant::now();
        let child = command
            .spawn()
            .map_err(|error| CannotStart { program: program.to_string_lossy().into_owned(), error })?;
        signals.to(child.id());
        Ok(Started { child, start, _signals: signals })
    }
}

impl Started {
    /// The number of the process.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<Ended>> {
        let ended = self.child.try_wait()?;
        Ok(ended.map(|status| Ended { status, elapsed: self.start.elapsed(), errors: String::new() }))
    }

    /// Whether a signal was sent to this process alone, and passed on.
    pub fn was_signalled(&self) -> bool {
        signals::passed_any()
    }

    /// Interrupts it, as Ctrl-C does.
    #[cfg(unix)]
    pub fn interrupt(&self) {
        // SAFETY: the call has no memory effects. Nobody has waited for the process, so the number is still its own.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
    }
}

impl Ended {
    /// The exit status for this process: the program's own, or 128 plus its signal, as in shells.
    pub fn code(&self) -> u8 {
        self.status.code().map_or_else(|| 128 + self.signal().unwrap_or(0), |code| code as u8)
    }

    /// The same for `main`.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<u8> {
        #[cfg(unix)]
        {
            std::os::unix::process::ExitStatusExt::signal(&self.status).map(|signal| signal as u8)
        }
        #[cfg(not(unix))]
        {
            None
        }
    }

    /// How it ended, if it did not end well.
    pub fn complaint(&self) -> Option<String> {
        match (self.status.success(), self.signal()) {
            (true, _) => None,
            (false, Some(signal)) if Some(signal) == signals::INTERRUPT => Some("was interrupted".to_owned()),
            (false, Some(signal)) => Some(format!("was ended by signal {signal}")),
            (false, None) => Some(format!("ended with status {}", self.code())),
        }
    }
}

/// A program that did not end well where nothing can be shown without it.
#[derive(Debug)]
pub struct Failed {
    what: String,
    interrupted: bool,
}

impl Failed {
    /// `what` tells how it ended, and what it said.
    pub fn new(what: String, ended: &Ended) -> Self {
        Self { what, interrupted: ended.signal().is_some() && ended.signal() == signals::INTERRUPT }
    }

    /// 1; or 130, as in shells, if the program was interrupted, because that was no failure.
    pub fn code(&self) -> u8 {
        if self.interrupted { 130 } else { 1 }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failed {}

/// A folder for this process, readable by nobody else, that disappears with this value.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes such a folder.
    pub fn new() -> Result<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("bombyx-{}-{}", std::process::id(), since.as_nanos());
        let path = std::env::temp_dir().join(name);
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing better can be done with a folder that cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The message for a user whose program wrote no file.
pub fn wrote_nothing(program: &Path, what: &str, complaint: Option<&str>) -> String {
    let program = program.display();
    match complaint {
        Some(complaint) => {
            format!(
                "{program} {complaint}, before it wrote a {what}; a {what} contains only runs in pools that have ended"
            )
        }
        None => format!(
            "{program} wrote no {what}: it does not use Bombyx, or never entered a pool. Let it depend on the crate \
             `bombyx`; if it uses rayon, patch rayon-core as docs/rayon.md says; `bombyx doctor` says which one \
             it links"
        ),
    }
}

#[cfg(unix)]
mod signals {
    //! Signals for the program that we wait for.
    //!
    //! The handler touches only atomics and `kill`, which is async-signal-safe (signal-safety(7)). A signal that comes
    //! before the program's id is known is kept. Either the handler stores it and has seen no id, or `to` stores the id
    //! and sees the signal, because both are sequentially consistent.

    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};

    pub(super) const INTERRUPT: Option<u8> = Some(libc::SIGINT as u8);
    const PASSED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

    /// The program that gets our signals, or 0.
    static TO: AtomicI32 = AtomicI32::new(0);
    /// A signal that came before there was a program, or 0.
    static EARLY: AtomicI32 = AtomicI32::new(0);
    /// Whether any was sent to us alone.
    static ANY: AtomicBool = AtomicBool::new(false);

    pub(super) fn passed_any() -> bool {
        ANY.load(SeqCst)
    }

    extern "C" fn pass(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the kernel passes a pointer to a filled-in structure.
        let from_terminal = unsafe { (*info).si_code } > 0;
        if !from_terminal {
            ANY.store(true, SeqCst);
            EARLY.store(signal, SeqCst);
            pass_early();
        }
    }

    /// Sends the kept signal, if there is one and a program to send it to.
    fn pass_early() {
        let to = TO.load(SeqCst);
        if to > 0 {
            let signal = EARLY.swap(0, SeqCst);
            if signal > 0 {
                // SAFETY: kill has no memory effects. The id belongs to the program until we have waited for it, and is
                // forgotten right after.
                unsafe { libc::kill(to, signal) };
            }
        }
    }

    /// While this lives, signals do not end this program.
    pub(super) struct Passed([libc::sigaction; 4]);

    impl Passed {
        pub(super) fn on() -> Self {
            Self(PASSED.map(|signal| {
                // SAFETY: all zeros are a valid sigaction. The handler and flags are set before it is used, and both
                // pointers are to structures that outlive the call. A handler, unlike SIG_IGN, is not inherited by the
                // program that is started.
                unsafe {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = pass as *const () as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                    let mut before: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, &action, &mut before);
                    before
                }
            }))
        }

        pub(super) fn to(&self, program: u32) {
            TO.store(program as i32, SeqCst);
            pass_early();
        }
    }

    impl Drop for Passed {
        fn drop(&mut self) {
            TO.store(0, SeqCst);
            for (signal, before) in PASSED.into_iter().zip(&self.0) {
                // SAFETY: `before` is what the same call returned.
                unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
            }
        }
    }
}

#[cfg(not(unix))]
mod signals {
    //! Systems without signals: there is nothing to pass on.

    pub(super) const INTERRUPT: Option<u8> = None;

    pub(super) fn passed_any() -> bool {
        false
    }

    pub(super) struct Passed;

    impl Passed {
        pub(super) fn on() -> Self {
            Self
        }

        pub(super) fn to(&self, _program: u32) {}
    }
}
