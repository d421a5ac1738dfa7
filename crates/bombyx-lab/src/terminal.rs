//! What the user sees while a command works: printing that outlives a closed pipe, colours, progress.
//!
//! Results go to standard output, progress to standard error and only if that is a terminal. The
//! progress of measurements is redrawn between them, never by a thread of its own, which would take time from what
//! is being measured.

use crate::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Prints to standard output; a reader that has seen enough, such as `head`, is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a progress bar would be seen.
fn watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether colours would be seen and are wanted (<https://no-color.org>).
pub fn coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Says on standard error what takes so long, if that is a terminal. Not for measurements: it has a thread of its own.
pub fn spinner(message: String) -> ProgressBar {
    if !watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.set_message(message);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// A progress bar that is drawn only when somebody watches.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar for `steps` measurements.
    pub fn new(steps: usize) -> Self {
        let target = if watched() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{bar:24.cyan/dim} {pos:>3}/{len} {elapsed:>4}  {wide_msg}")
            .expect("the template is well-formed");
        Self(ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style))
    }

    /// Says what is measured next.
    pub fn doing(&self, what: impl Into<std::borrow::Cow<'static, str>>) {
        self.0.set_message(what);
        self.0.tick();
    }

    /// One measurement is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Prints a result while the bar steps aside.
    pub fn print(&self, text: &str) -> Result<()> {
        self.0.suspend(|| print(text))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
