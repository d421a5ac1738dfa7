//! What the user sees while a command works: printing that outlives a closed pipe, colours, widths, progress.
//!
//! Results go to standard output. Progress goes to standard error, and only if that is a terminal. The progress of
//! measurements is redrawn between them, never by a thread, because a thread would take time from what is measured.

use crate::Result;
use crate::table::Style;
use crate::text::wrapped;
use bombyx_lab::progress::{Bar, show_with};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
#[cfg(all(unix, not(target_os = "linux")))]
use std::os::fd::AsFd as Screen;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
#[cfg(windows)]
use std::os::windows::io::AsHandle as Screen;
use std::sync::Mutex;
use std::time::Duration;

/// The bar on the screen. Printing hides it meanwhile.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints to standard output. If a reader such as `head` has seen enough, that is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// The same for what is no text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
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
    told.or_else(|| columns(&io::stdout()))
        .filter(|&columns| columns > 0)
        .map(|columns| columns.max(NARROWEST))
}

/// How many columns a terminal has. Some terminals do not say how many rows they have, and are believed all the same.
#[cfg(target_os = "linux")]
fn columns(screen: &impl AsRawFd) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: this request writes one `winsize`, and `size` lives until the call returns.
    let told = unsafe { libc::ioctl(screen.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (told == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// How many columns a terminal has.
#[cfg(not(target_os = "linux"))]
fn columns(screen: &impl Screen) -> Option<usize> {
    terminal_size::terminal_size_of(screen).map(|(width, _)| usize::from(width.0))
}

/// How text is shown on standard output.
pub(crate) fn style() -> Style {
    Style { coloured: coloured(), width: width() }
}

/// How text is shown on standard error.
pub(crate) fn error_style() -> Style {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Style { coloured: false, width: told.or_else(|| columns(&io::stderr())) }
}

/// Lines that are longer than the width are wrapped. If a line has columns, what follows is indented like the last one.
pub(crate) fn fitted(text: &str, style: Style) -> String {
    let Some(width) = style.width else { return text.to_owned() };
    let lines = text.split_inclusive('\n').map(|line| {
        let (bare, end) = line.strip_suffix('\n').map_or((line, ""), |bare| (bare, "\n"));
        match letters(bare) > width {
            true => wrapped(bare, width, hanging(bare, width)) + end,
            false => line.to_owned(),
        }
    });
    lines.collect()
}

/// How many letters of a line are seen. Colours are not.
fn letters(line: &str) -> usize {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().chars().count();
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.chars().count())).sum::<usize>()
}

/// Where the last column of a line begins that leaves half of the width to its text.
fn hanging(line: &str, width: usize) -> usize {
    let letters: Vec<char> = line.chars().collect();
    let lead = letters.iter().take_while(|&&letter| letter == ' ').count();
    let begins = |&at: &usize| letters[at] != ' ' && letters[at - 2..at] == [' ', ' '];
    (lead + 3..letters.len().min(width / 2)).rev().find(begins).unwrap_or(lead + 2)
}

/// Says on standard error what went wrong, or what to know.
pub(crate) fn complain(text: &str) {
    say(&format!("bombyx: {text}\n"));
}

/// Says something on standard error. Nobody may be listening.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(fitted(text, error_style()).as_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_below_their_last_column() {
        let style = Style { coloured: false, width: Some(24) };
        assert_eq!(
            fitted("  fib   what it is for, and more\nnext\n", style),
            "  fib   what it is for,\n        and more\nnext\n"
        );
        assert_eq!(fitted("one sentence without any column", style), "one sentence without any\n  column");
        assert_eq!(fitted("", style), "");
        assert_eq!(letters("\u{1b}[1mfib\u{1b}[0m: n"), 6);
        let long = "x ".repeat(100);
        assert_eq!(fitted(&long, Style::default()), long);
    }
}
