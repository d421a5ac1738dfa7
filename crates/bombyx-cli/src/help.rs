//! `bombyx help`, completions for shells, and man pages.

use crate::table::{Cell, Style, Table, Tone};
use crate::text::wrapped;
use crate::{Result, Usage, terminal};
use bombyx_base::{nearest, scheduler};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// Explain a command, or a topic: `bombyx help schedulers`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A command, or `schedulers`
    topic: Option<String>,
}

impl Args {
    /// Prints what was asked for.
    pub(crate) fn run<C: CommandFactory>(&self) -> Result<ExitCode> {
        let mut whole = C::command();
        match self.topic.as_deref() {
            None => explain(&mut whole)?,
            Some("schedulers") => terminal::print(&schedulers(terminal::style()))?,
            Some(topic) => {
                whole.build();
                let Some(command) = whole.find_subcommand_mut(topic) else {
                    return Err(Usage(unknown(&whole, topic)).into());
                };
                explain(command)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the help of a command.
fn explain(command: &mut Command) -> Result<()> {
    let text = command.render_long_help();
    terminal::print(&if terminal::coloured() { text.ansi().to_string() } else { text.to_string() })
}

fn unknown(whole: &Command, topic: &str) -> String {
    if let Some(text) = needs(topic, cfg!(target_os = "linux"), cfg!(unix)) {
        return text;
    }
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = shown.map(Command::get_name).chain(["schedulers"]).collect();
    let near = nearest(topic, names).map_or(String::new(), |near| format!("did you mean `{near}`? "));
    format!("there is no command or topic `{topic}`; {near}`bombyx help` lists the commands")
}

/// Why this program lacks a command that it has on other systems.
fn needs(command: &str, linux: bool, unix: bool) -> Option<String> {
    match command {
        "top" if !linux => Some("`bombyx top` needs Linux; `bombyx trace` works on this system".to_owned()),
        "worker" if !unix => Some("`bombyx worker` needs Linux or another Unix".to_owned()),
        _ => None,
    }
}

/// Says what is wrong with a command line, and ends the process. A guess at what was meant reads as it does everywhere else.
/// Also prints help, which clap treats as an error.
pub(crate) fn refuse<C: CommandFactory>(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let text = guess(&C::command(), error).unwrap_or_else(|| error.render().to_string());
    // It begins as all our messages do.
    terminal::complain(text.trim_end().trim_start_matches("error: "));
    std::process::exit(error.exit_code())
}

/// Our words for a mistyped command, option or value.
fn guess(whole: &Command, error: &clap::Error) -> Option<String> {
    let one = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(several) => several.first().cloned(),
        _ => None,
    };
    let (what, given, meant) = match error.kind() {
        ErrorKind::InvalidSubcommand => return Some(unknown(whole, &one(ContextKind::InvalidSubcommand)?)),
        ErrorKind::UnknownArgument => ("option", ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidValue => ("value", ContextKind::InvalidValue, ContextKind::SuggestedValue),
        _ => return None,
    };
    let (given, meant) = (one(given)?, one(meant)?);
    Some(format!(
        "there is no {what} `{given}`; did you mean `{meant}`? --help after the command lists them all"
    ))
}

/// All schedulers: what each is for, and where it exists.
fn schedulers(style: Style) -> String {
    let bold = if style.coloured { anstyle::Style::new().bold() } else { anstyle::Style::new() };
    let width = scheduler::ALL.iter().map(|entry| entry.spelling.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (title, listed) in [
        ("On threads and in the simulator", [true, true]),
        ("On threads only", [true, false]),
        ("In the simulator only", [false, true]),
    ] {
        out += &format!("{}{bold}{title}{bold:#}\n", if out.is_empty() { "" } else { "\n" });
        for entry in scheduler::ALL.iter().filter(|entry| [entry.on_threads, entry.in_simulator] == listed) {
            let (paper, section) = entry.source;
            let about = format!("  {:width$}  {} ({paper} {section})", entry.spelling, entry.about);
            out += &(wrapped(&about, style.prose(), width + 4) + "\n");
        }
    }
    let words = [
        "K is a number of bytes such as 50000 or 50k, or inf. For dfdeques on threads, auto finds K while the \
         program runs. BETA is a factor of at least 1, such as 2, 1.25 or 4/3.",
        "Programs choose one with `Pool::builder().scheduler(…)` or BOMBYX_SCHEDULER; `run`, `bench` and `check` with -s. \
         If in doubt, use work-stealing. If a program needs much memory, try dfdeques:50k. With fast and slow cores, try \
         heterogeneous:1.25. docs/schedulers.md says more.",
    ];
    for text in words {
        out += &format!("\n{}\n", wrapped(text, style.prose(), 0));
    }
    let table = Table::new(style).words("paper", 5).words("", 70);
    out.push('\n');
    for paper in bombyx_base::Paper::ALL {
        out += &table.line([Cell::new(paper.to_string(), Tone::Strong), paper.about().into()]);
    }
    out
}

/// Print completions for a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx completions bash > ~/.local/share/bash-completion/completions/bombyx
  bombyx completions zsh > ~/.zfunc/_bombyx
  bombyx completions fish > ~/.config/fish/completions/bombyx.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub(crate) fn run<C: CommandFactory>(&self) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut C::command(), "bombyx", &mut script);
        terminal::print(&String::from_utf8(script)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Write man pages, one for each command.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx man | man -l -                        the page of the whole program
  bombyx man -o ~/.local/share/man/man1        all pages")]
pub(crate) struct Man {
    /// The folder for all pages; without it, or with `-`, the main page goes to standard output
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
}

impl Man {
    /// Writes or prints them.
    pub(crate) fn run<C: CommandFactory>(&self) -> Result<ExitCode> {
        let mut whole = C::command();
        whole.build();
        match self.output.as_deref().filter(|path| !crate::output::is_standard(path)) {
            Some(folder) => {
                std::fs::create_dir_all(folder)
                    .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
                clap_mangen::generate_to(whole, folder)?;
            }
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(whole).render(&mut page)?;
                terminal::print(&String::from_utf8(page)?)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_other_systems_is_no_typo() {
        assert!(needs("top", false, true).is_some_and(|text| text.contains("needs Linux")));
        assert!(needs("worker", false, false).is_some());
        assert!(
            [needs("top", true, true), needs("worker", false, true), needs("run", false, false)]
                == [None, None, None]
        );
    }
}
