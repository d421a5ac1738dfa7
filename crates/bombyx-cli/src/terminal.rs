//! What the user sees while a command works: printing that outlives a closed pipe, colours, widths, progress.
//!
//! Results go to standard output. Progress goes to standard error, and only if that is a terminal. The progress of
//! measurements is redrawn between them, never by a thread, because a thread would take time from what is measured.

use crate::Result;
use crate::table::Style;
use bombyx_lab::progress::{Bar, show_with};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

/// The bar on the screen. Printing hides it meanwhile.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints to standard output. If a reader such as `head` has seen enough, that is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let write = || {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    let bar = SHOWN.lock().ok().and_then(|shown| shown.clone());
    match bar.map_or_else(write, |bar| bar.suspend(write)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a progress bar would be seen.
fn watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether colours would be seen and are wanted (<https://no-color.org>).
pub(crate) fn coloured() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stdout().is_terminal() && !unwanted && !dumb
}

/// How wide lines may be: as wide as `COLUMNS` says, or as the terminal. Unlimited in a pipe or a file.
fn width() -> Option<usize> {
    /// On narrower terminals, lines are too long.
    const NARROWEST: usize = 40;
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    told.or_else(seen).filter(|&columns| columns > 0).map(|columns| columns.max(NARROWEST))
}

/// How text is shown on standard output.
pub(crate) fn style() -> Style {
    Style { coloured: coloured(), width: width() }
}

/// How text is shown on standard error.
pub(crate) fn error_style() -> Style {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
    Style { coloured: false, width: told.or_else(seen) }
}

/// Shows on standard error what takes so long, if that is a terminal. Not for measurements, because it has a thread.
pub(crate) fn spinner(message: String) -> ProgressBar {
    if !watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.set_message(message);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Lets measurements show their progress.
pub(crate) fn show_progress() {
    show_with(|steps| Box::new(Measuring::new(steps)));
}

/// A progress bar that is drawn only when somebody watches.
struct Measuring(ProgressBar);

impl Measuring {
    fn new(steps: usize) -> Self {
        let target = if watched() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{bar:24.cyan/dim} {pos:>3}/{len} {elapsed:>4}  {wide_msg}")
            .expect("the template is well formed");
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style);
        if let Ok(mut shown) = SHOWN.lock() {
            *shown = Some(bar.clone());
        }
        Self(bar)
    }
}

impl Bar for Measuring {
    fn doing(&self, what: String) {
        self.0.set_message(what);
        self.0.tick();
    }

    fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        if let Ok(mut shown) = SHOWN.lock() {
            *shown = None;
        }
    }
}
