//! GNU make's jobserver: as many processors as make grants.
//!
//! `make -j N` gives the programs that it starts a pipe with job tokens (GNU make manual, "Sharing Job Slots with GNU make"). A
//! program may run one job without a token. For each further job it takes a token out of the pipe, and puts the token back
//! afterwards.
//!
//! A pool needs a token for each processor but the first. A thread looks at the pool about every millisecond, or every ten
//! while the pool does nothing. If no processor rests and work waits, the thread takes a token, if there is one, and *then*
//! puts another processor into service. If processors have rested for some looks in a row, it takes one out of service. A
//! processor that is out of service still needs its token until it has finished what it had begun. Then the thread gives the
//! token back. So at any time
//!
//! > tokens ≥ processors in service + surplus processors that have not finished − 1.
//!
//! Only this thread changes the number of processors in service. The number of surplus processors that have not finished can only
//! fall between two looks, with one exception. If parts of a broadcast were posted to a processor before it went out of service,
//! they run on that processor, perhaps after its token went back.

use super::ticker::Ticker;
use bombyx_core::{Handle, Metrics};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt, thread};

/// The tokens of GNU make.
///
/// ```no_run
/// let pool = bombyx::Pool::builder().processors(1).max_processors(16).build()?;
/// let sharing = match bombyx::share::Jobserver::from_env() {
///     Some(jobserver) => Some(jobserver?.share(&pool.handle())?),
///     None => {
///         // Not called by make: use the whole machine.
///         pool.set_processors(std::thread::available_parallelism()?.get().min(16))?;
///         None
///     }
/// };
/// pool.run(|| { /* … */ });
/// drop(sharing); // gives all tokens back
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Jobserver {
    take: File,
    give: File,
}

impl Jobserver {
    /// The jobserver that `MAKEFLAGS` names, if it names one. If the jobserver is a plain pipe, make hides it from most programs:
    /// a recipe sees it only if its line begins with `+` or contains `$(MAKE)`.
    ///
    /// # Errors
    /// If `MAKEFLAGS` names a jobserver that cannot be used.
    pub fn from_env() -> Option<io::Result<Jobserver>> {
        // Variables that the caller of make sets are in there, too, and may be any bytes.
        Jobserver::named_in(&env::var_os("MAKEFLAGS")?.to_string_lossy())
    }

    fn named_in(flags: &str) -> Option<io::Result<Jobserver>> {
        let prefixes = ["--jobserver-auth=", "--jobserver-fds="];
        let named = |word| prefixes.into_iter().find_map(|prefix| str::strip_prefix(word, prefix));
        // Behind `--` are variables. If there are several jobservers, the last one counts.
        let named = flags.split(' ').take_while(|&word| word != "--").filter_map(named).last()?;
        Some(Jobserver::named(named))
    }

    fn named(name: &str) -> io::Result<Jobserver> {
        if let Some(path) = name.strip_prefix("fifo:") {
            return Jobserver::open(Path::new(path), Path::new(path)).map_err(|error| unusable(name, &error));
        }
        let opened = |number: &str| {
            let number = number.parse::<u32>().map_err(|error| unusable(name, &error))?;
            Ok::<_, io::Error>(PathBuf::from(format!("/proc/self/fd/{number}")))
        };
        let Some((take, give)) = name.split_once(',') else {
            return Err(unusable(name, &"it is neither `fifo:PATH` nor two numbers"));
        };
        Jobserver::open(&opened(take)?, &opened(give)?).map_err(|error| unusable(name, &error))
    }

    /// Opens the pipe again, so that only we read without waiting. With the inherited descriptors, all other readers would, too.
    ///
    /// If make has closed the pipe, other files of the program may have its numbers. Those are left alone.
    fn open(take: &Path, give: &Path) -> io::Result<Jobserver> {
        let is_pipe = |path| fs::metadata(path).map(|metadata| metadata.file_type().is_fifo());
        if !(is_pipe(take)? && is_pipe(give)?) {
            return Err(io::Error::other("it is no pipe"));
        }
        // A pipe that nobody reads would make the second one wait.
        let open = |options: &mut OpenOptions, path| options.custom_flags(libc::O_NONBLOCK).open(path);
        let take = open(OpenOptions::new().read(true), take)?;
        let give = open(OpenOptions::new().write(true), give)?;
        Ok(Jobserver { take, give })
    }

    /// Takes a token if there is one.
    fn token(&mut self) -> Option<u8> {
        let mut token = [0];
        // Whatever goes wrong, there is no token.
        matches!(self.take.read(&mut token), Ok(1)).then_some(token[0])
    }

    /// Gives the pool one processor, and one more for each token that make grants, until you drop the result. Dropping it leaves
    /// the pool with one processor, waits until the others have finished what they had begun, and gives all tokens back. Drop
    /// it before the program ends. Otherwise its tokens are lost for all programs below the same make.
    ///
    /// Do not resize the pool yourself meanwhile.
    ///
    /// # Errors
    /// If the pool cannot be resized, or a thread cannot be started.
    pub fn share(self, pool: &Handle) -> io::Result<Sharing> {
        pool.set_processors(1).map_err(io::Error::other)?;
        let state = State { pool: pool.clone(), jobserver: self, tokens: Vec::new(), idle_looks: 0 };
        Ok(Sharing { _ticker: Ticker::start("bombyx-make", state, State::look, State::end)? })
    }
}

fn unusable(name: &str, why: &dyn fmt::Display) -> io::Error {
    let what = format!(
        "the jobserver `{name}` in MAKEFLAGS cannot be used: {why}; begin the recipe with `+`, or unset MAKEFLAGS"
    );
    io::Error::new(ErrorKind::InvalidInput, what)
}

/// Gives a pool as many processors as GNU make grants, until this is dropped. [`Jobserver::share`] returns it.
pub struct Sharing {
    _ticker: Ticker,
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").finish_non_exhaustive()
    }
}

/// The time between two looks, if the pool works or has tokens …
const SOON: Duration = Duration::from_millis(1);
/// … and otherwise.
const LATER: Duration = Duration::from_millis(10);
/// If more than so many looks in a row find a processor that rests, one processor goes out of service.
const PATIENCE: u32 = 5;

struct State {
    pool: Handle,
    jobserver: Jobserver,
    tokens: Vec<u8>,
    idle_looks: u32,
}

impl State {
    /// Looks at the pool, and takes or gives back tokens. Returns how long to wait for the next look.
    fn look(&mut self) -> Duration {
        let now = self.pool.metrics();
        self.give_back(&now);
        self.idle_looks = if now.resting > 0 { self.idle_looks + 1 } else { 0 };
        if self.idle_looks > PATIENCE && now.processors > 1 {
            self.idle_looks = 0;
            self.resize(now.processors - 1);
        } else if now.resting == 0 && now.queued + now.ready > 0 {
            self.grow(&now);
        }
        if now.busy == 0 && self.tokens.is_empty() { LATER } else { SOON }
    }

    /// Puts one more processor into service, if there is a token for it.
    fn grow(&mut self, now: &Metrics) {
        if now.processors == self.pool.max_processors() {
            return;
        }
        if self.tokens.len() < now.processors + now.finishing {
            let Some(token) = self.jobserver.token() else { return };
            self.tokens.push(token);
        }
        self.resize(now.processors + 1);
    }

    fn resize(&self, processors: usize) {
        // The pool was resized before, so it can be resized, and the number is in range.
        let _ = self.pool.set_processors(processors);
    }

    /// Gives back the tokens that no processor needs any more.
    fn give_back(&mut self, now: &Metrics) {
        let needed = now.processors + now.finishing - 1;
        while self.tokens.len() > needed {
            match self.jobserver.give.write(&self.tokens[needed..needed + 1]) {
                // The pipe is full, or a signal came. The next look tries again.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return;
                }
                // If make has ended, nobody misses the token.
                _ => drop(self.tokens.remove(needed)),
            }
        }
    }

    fn end(mut self) {
        self.resize(1);
        loop {
            self.give_back(&self.pool.metrics());
            if self.tokens.is_empty() {
                return;
            }
            thread::sleep(SOON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn what_make_does_not_grant_cannot_be_used() {
        for name in ["-2,-2", "fifo:/nonexistent/pipe", "3", "3,x"] {
            let error = Jobserver::named(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("begin the recipe with `+`"), "{error}");
        }
    }

    /// Make closed its pipe, and the program has opened other files since. No byte of theirs becomes a token.
    #[test]
    fn files_of_the_program_are_no_jobserver() {
        let file = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let name = format!("{0},{0}", file.as_raw_fd());
        let error = Jobserver::named(&name).unwrap_err().to_string();
        assert!(error.contains("it is no pipe"), "{error}");
    }

    /// Tokens in a pipe, and one that is taken.
    #[test]
    fn tokens_come_back_as_they_were() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let name = format!("{},{}", reader.as_raw_fd(), writer.as_raw_fd());
        let mut jobserver = Jobserver::named(&name).unwrap();
        assert_eq!(jobserver.token(), None);
        writer.write_all(b"x").unwrap();
        assert_eq!((jobserver.token(), jobserver.token()), (Some(b'x'), None));
        let pool = bombyx_core::Pool::builder().processors(1).build().unwrap();
        let mut state = State { pool: pool.handle(), jobserver, tokens: vec![b'x'], idle_looks: 0 };
        // A full pipe: the token waits for room.
        let full = vec![b'+'; 1 << 16];
        writer.write_all(&full).unwrap();
        state.give_back(&pool.metrics());
        assert_eq!(state.tokens, [b'x']);
        reader.read_exact(&mut vec![0; 1 << 16]).unwrap();
        state.end();
        let mut token = [0];
        reader.read_exact(&mut token).unwrap();
        assert_eq!(token, [b'x']);
    }

    #[test]
    fn the_last_jobserver_counts() {
        assert!(Jobserver::named_in("-j8 --no-print-directory").is_none());
        let flags =
            "--jobserver-fds=3,4 -j --jobserver-auth=fifo:/nonexistent/last -- X=\\ --jobserver-auth=9,9";
        let error = Jobserver::named_in(flags).unwrap().unwrap_err();
        assert!(error.to_string().contains("/nonexistent/last"));
    }
}
