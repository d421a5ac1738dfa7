//! `bombyx top`: what the processors of a running program do now.
//!
//! **Not here:** the looks themselves (`bombyx_lab::live`).
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the command: whom to look at, and until when |
//! | `screen.rs` | what the screen shows, and what keys do |
//! | `table.rs` | the rows of the screen |

mod screen;
mod table;

use crate::args::{Pools, seconds};
use crate::launch::{Ended, Launch, Scratch, Started};
use crate::output::Lines;
use crate::{Result, Usage, terminal};
use bombyx_lab::live::{self, CannotLook, Process, Watch};
use clap::ValueHint;
use ratatui::crossterm::event;
use screen::{Screen, Step};
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Show what the processors of a running program do now.
///
/// The screen has one row for each processor. It says whether the processor is busy, helping, searching, waiting, blocked or
/// resting, what it did before, how often it steals and hands over per second, and which closure it runs. The program must
/// use Bombyx, or rayon on Bombyx. You need not compile it again or start it in a special way, and a look does not disturb
/// it. Only root and the user who runs the program may look.
///
/// Without a number or a program, this looks at the only program that you can look at. If there are several, it lists them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx top 1234                     a program that runs
  bombyx top -- ./sort 10000000       start one; you see its output when you leave the screen
  bombyx top --json 1234              a line of JSON per second, for programs
  bombyx top --json --count 1 1234    one line

Keys: q leaves, p pauses, s sorts, ? explains. Ctrl-C leaves, and interrupts the program if `bombyx top` has started it.
If `bombyx top` has started the program, the exit status is the program's own.")]
pub(crate) struct Args {
    /// The number of the process that runs the program
    #[arg(value_name = "PID", value_parser = process)]
    process: Option<u32>,

    /// A program to start, and its arguments
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments, conflicts_with = "process")]
    program: Vec<OsString>,

    #[command(flatten)]
    pools: Pools,

    /// Seconds from one reading to the next
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: f64,

    /// Print a line of JSON for each reading, instead of a screen; `record` in the first line has command, host and versions
    ///
    /// The lines go to standard output, each as soon as it is known. To keep them, redirect standard output to a file.
    #[arg(long)]
    json: bool,

    /// Leave after so many readings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// The time between two looks. It decides how exact the shares are, and how fast keys work.
const LOOKS: Duration = Duration::from_millis(5);

/// How often to ask whether the program still runs.
const ASKS: Duration = Duration::from_millis(50);

/// Whom to look at.
struct Target {
    /// The program that was started, if one was.
    started: Option<Started>,
    ended: Option<Ended>,
    watch: Option<Watch>,
    asked: Option<Instant>,
}

impl Target {
    fn process(number: u32) -> Result<Self> {
        let watch = Watch::begin(Process::find(number)?)?;
        Ok(Self { started: None, ended: None, watch: Some(watch), asked: None })
    }

    fn program(launch: &Launch) -> Result<Self> {
        Ok(Self { started: Some(launch.start()?), ended: None, watch: None, asked: None })
    }

    /// Looks once. A program that has just been started may have no pools yet.
    fn look(&mut self) -> Result<()> {
        if let Some(watch) = &mut self.watch {
            watch.look();
            return Ok(());
        }
        let Some(started) = &self.started else { return Ok(()) };
        match Process::find(started.number()).and_then(Watch::begin) {
            Ok(watch) => self.watch = Some(watch),
            Err(CannotLook::NoBoard { .. } | CannotLook::NoProcess(_) | CannotLook::Ended(_)) => {}
            // An error in the first look does not count, because the program has only just begun.
            Err(error) if self.asked.is_some() => return Err(error.into()),
            Err(_) => {}
        }
        Ok(())
    }

    /// How the program ended, in words, if it has ended.
    fn ended(&mut self) -> Result<Option<String>> {
        if self.asked.is_some_and(|asked| asked.elapsed() < ASKS) {
            return Ok(None);
        }
        self.asked = Some(Instant::now());
        if let Some(started) = &mut self.started {
            self.ended = match self.ended.take() {
                None => started.ended()?,
                ended => ended,
            };
            let words = |ended: &Ended| ended.complaint().unwrap_or_else(|| "has ended well".to_owned());
            return Ok(self.ended.as_ref().map(|ended| format!("the program {}", words(ended))));
        }
        let Some(watch) = &self.watch else { return Ok(None) };
        let process = watch.process();
        Ok((!process.lives()).then(|| {
            format!("process {} ({}) has ended; its parent knows how", process.number(), process.name())
        }))
    }
}

/// The number of a process.
fn process(text: &str) -> std::result::Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not the number of a process"))
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if !args.json && !io::stdout().is_terminal() {
        let why = "standard output is no terminal. Use `bombyx top --json`, which writes lines for programs";
        return Err(Usage(why.to_owned()).into());
    }
    let processors = args.pools.one("top")?;
    if args.program.is_empty() {
        if processors.is_some() {
            let why = "the program runs already, so `-p` has no effect. Leave it out";
            return Err(Usage(why.to_owned()).into());
        }
        let mut target = Target::process(args.process.map_or_else(only_one, Ok)?)?;
        let said = show(args, &mut target)?;
        if let Some(said) = said {
            eprintln!("bombyx: {said}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let launch = Launch::new(&args.program).with("BOMBYX_LIVE", "1").processors(processors);
    let scratch = Scratch::new()?;
    let file = File::options().create_new(true).append(true).open(scratch.file("output"))?;
    let launch = if args.json { launch.output_to_errors() } else { launch.output_to(&file) };
    let mut target = Target::program(&launch)?;
    let said = show(args, &mut target)?;
    let never_seen = target.watch.is_none();
    let mut output = File::open(scratch.file("output"))?;
    let ended = loop {
        pass_on(&mut output)?;
        let Some(started) = &mut target.started else { unreachable!("a program was started") };
        let ended = match target.ended.take() {
            None => started.ended()?,
            ended => ended,
        };
        match ended {
            Some(ended) => break ended,
            None => std::thread::sleep(ASKS),
        }
    };
    pass_on(&mut output)?;
    if let Some(said) = said.or_else(|| ended.complaint().map(|complaint| format!("the program {complaint}")))
    {
        eprintln!("bombyx: {said}");
    }
    if never_seen {
        eprintln!(
            "bombyx: the program has shown no pool: it does not use Bombyx, or it ended before anybody could look"
        );
    }
    Ok(ended.exit_code())
}

/// The number of the only process that can be looked at.
fn only_one() -> Result<u32> {
    let list = |all: &[Process]| {
        let lines = all.iter().map(|process| format!("\n  {:>8}  {}", process.number(), process.name()));
        lines.collect::<String>()
    };
    match &live::with_boards()[..] {
        [one] => Ok(one.number()),
        [] => Err(
            "no running program shows pools to you. Name one: `bombyx top PID` or `bombyx top -- PROGRAM`"
                .into(),
        ),
        all => Err(Usage(format!("there are several programs to look at. Choose one:{}", list(all))).into()),
    }
}

/// Passes on what the program has written since the last call.
fn pass_on(output: &mut File) -> Result<()> {
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    match io::stdout().lock().write_all(&bytes) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Shows the target until the user has seen enough, or until it has ended. Then says how it ended.
fn show(args: &Args, target: &mut Target) -> Result<Option<String>> {
    signals::watch();
    if args.json { lines(args, target) } else { on_screen(args, target) }
}

fn lines(args: &Args, target: &mut Target) -> Result<Option<String>> {
    let interval = Duration::from_secs_f64(args.interval);
    let (mut shown, mut next) = (0, Instant::now() + interval);
    let mut lines = Lines::default();
    loop {
        std::thread::sleep(LOOKS);
        target.look()?;
        let ended = target.ended()?;
        if let Some(watch) = &mut target.watch
            && ended.is_none()
            && Instant::now() >= next
        {
            lines.print(serde_json::to_value(watch.reading())?)?;
            next = Instant::now() + interval;
            shown += 1;
        }
        if let Some(ended) = ended {
            lines.print(json!({ "ended": ended }))?;
            return Ok(None);
        }
        if args.count == Some(shown) || signals::came() {
            return Ok(None);
        }
    }
}

fn on_screen(args: &Args, target: &mut Target) -> Result<Option<String>> {
    /// Leaves the terminal as it was, whatever happens.
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            ratatui::restore();
        }
    }
    let _restore = Restore;
    let mut terminal = ratatui::try_init()?;
    let mut screen = Screen::new(terminal::coloured());
    let (mut shown, mut next, mut changed) = (0, Instant::now(), true);
    loop {
        if changed {
            terminal.draw(|frame| screen.draw(frame))?;
        }
        changed = false;
        std::thread::sleep(LOOKS);
        if signals::terminal_is_gone() {
            return Ok(screen.ended);
        }
        if event::poll(Duration::ZERO)? {
            changed = true;
            match screen.event(&event::read()?) {
                Step::Stay => {}
                Step::Leave => return Ok(screen.ended),
                Step::Interrupt => {
                    if let Some(started) = target.started.as_ref().filter(|_| target.ended.is_none()) {
                        started.interrupt();
                    }
                    return Ok(screen.ended);
                }
            }
        }
        if signals::came() || target.started.as_ref().is_some_and(Started::was_signalled) {
            return Ok(screen.ended);
        }
        if screen.ended.is_some() {
            continue;
        }
        target.look()?;
        if let Some(ended) = target.ended()? {
            screen.ended = Some(ended);
            changed = true;
        } else if Instant::now() >= next {
            next = Instant::now() + Duration::from_secs_f64(args.interval);
            if let Some(watch) = &mut target.watch {
                screen.take(watch.reading());
                shown += 1;
            }
            changed = true;
        }
        if args.count == Some(shown) {
            return Ok(screen.ended);
        }
    }
}

mod signals {
    //! Signals that ask `bombyx top` to end. Before it ends, it restores the terminal. If it has started a program, it passes
    //! the signals on to that program instead (`bombyx_lab::launch`).

    use super::{AtomicI32, Relaxed};

    static CAME: AtomicI32 = AtomicI32::new(0);

    extern "C" fn note(signal: libc::c_int) {
        if signal == libc::SIGHUP && terminal_is_gone() {
            // Crossterm may be reading, and would read the end of the input for ever. There is no screen to put in order.
            // SAFETY: a signal handler may call this.
            unsafe { libc::_exit(128 + signal) };
        }
        CAME.store(signal, Relaxed);
    }

    /// Whether nobody can see the screen any more.
    pub(super) fn terminal_is_gone() -> bool {
        let mut screen = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
        // SAFETY: there is one structure, and a signal handler may call this.
        let told = unsafe { libc::poll(&raw mut screen, 1, 0) };
        told > 0 && screen.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }

    /// From now on, signals are noted, except those that have a handler already.
    pub(super) fn watch() {
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
            // SAFETY: all zeros are a valid sigaction, and both structures outlive the calls. The handler only stores
            // to an atomic.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut action);
                if action.sa_sigaction == libc::SIG_DFL {
                    action.sa_sigaction = note as *const () as usize;
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
            }
        }
    }

    /// Whether a signal came.
    pub(super) fn came() -> bool {
        CAME.load(Relaxed) != 0
    }
}
