//! Compares published applications, built with rayon's original core and with the one on Bombyx: the same output, and how
//! much time, CPU, memory and threads they take. `scripts/rayon-applications` builds them.
//!
//! `applications FOLDER` expects the programs in `FOLDER/upstream/bin` and `FOLDER/bombyx/bin`, and makes inputs in
//! `FOLDER/inputs`; with `--inputs-only`, it does nothing else.

mod inputs;
mod measure;

use std::path::Path;
use std::process::{Command, ExitCode};

/// An application, and what it should do.
struct Application {
    /// The name in the table.
    name: &'static str,
    program: &'static str,
    /// Its arguments. `{threads}`, `{inputs}` and `{output}`, an empty folder, are filled in.
    arguments: &'static [&'static str],
    /// Lines of its output that begin like this contain times or names of files, and are not compared.
    ignored: &'static [&'static str],
}

const APPLICATIONS: &[Application] = &[
    Application {
        name: "oxipng, 40 files",
        program: "oxipng",
        arguments: &[
            "-q",
            "-o",
            "2",
            "-t",
            "{threads}",
            "--dir",
            "{output}",
            "-r",
            "{inputs}/small-pictures",
        ],
        ignored: &[],
    },
    Application {
        name: "oxipng, 1 file",
        program: "oxipng",
        arguments: &["-q", "-o", "3", "-t", "{threads}", "--dir", "{output}", "{inputs}/large-picture.png"],
        ignored: &[],
    },
    Application {
        name: "gifski",
        program: "gifski",
        arguments: &["-q", "--fps", "20", "-o", "{output}/film.gif", "{inputs}/frames"],
        ignored: &[],
    },
    Application {
        name: "rav1e",
        program: "rav1e",
        arguments: &[
            "-q",
            "-y",
            "--speed",
            "10",
            "--tiles",
            "4",
            "--threads",
            "{threads}",
            "-o",
            "{output}/film.ivf",
            "{inputs}/film.y4m",
        ],
        ignored: &[],
    },
    Application {
        name: "tokei",
        program: "tokei",
        arguments: &["--sort", "lines", "{inputs}/sources"],
        ignored: &[],
    },
    Application {
        name: "du-dust, small folder",
        program: "dust",
        arguments: &["-c", "-P", "-b", "-s", "-n", "40", "{inputs}/sources/0"],
        ignored: &[],
    },
    Application {
        name: "du-dust",
        program: "dust",
        arguments: &["-c", "-P", "-b", "-s", "-n", "40", "{inputs}"],
        ignored: &[],
    },
    Application {
        name: "parallel-disk-usage",
        program: "pdu",
        arguments: &["--threads", "{threads}", "--quantity", "apparent-size", "--max-depth", "3", "{inputs}"],
        ignored: &[],
    },
    Application {
        name: "fclones",
        program: "fclones",
        arguments: &["--progress=false", "group", "--threads", "{threads}", "{inputs}/sources"],
        ignored: &["# "],
    },
    Application {
        name: "tokenizers",
        program: "libraries",
        arguments: &["tokenize", "{inputs}/sources/0"],
        ignored: &[],
    },
    Application {
        name: "fast_image_resize",
        program: "libraries",
        arguments: &["resize", "1500", "1000"],
        ignored: &[],
    },
];

const USAGE: &str = "usage: FOLDER [--inputs-only] [--pairs 15] [--threads \"1 2 8\"] [APPLICATION…]";

struct Options<'a> {
    folder: &'a Path,
    pairs: usize,
    threads: Vec<usize>,
    applications: Vec<&'static Application>,
}

fn parse(words: &[String]) -> Result<Options<'_>, String> {
    let mut words = words.iter();
    let folder = Path::new(words.next().ok_or(USAGE)?);
    let mut options = Options { folder, pairs: 15, threads: vec![1, 2, 8], applications: Vec::new() };
    while let Some(word) = words.next() {
        let number = |text: &str| text.parse().ok().filter(|&number: &usize| number > 0);
        match word.as_str() {
            "--pairs" => {
                let value = words.next().and_then(|value| number(value));
                options.pairs = value.ok_or("--pairs needs a number above 0")?;
            }
            "--threads" => {
                let values = words.next().map(|values| values.split_whitespace().map(number).collect());
                options.threads = values.flatten().ok_or("--threads needs numbers above 0")?;
            }
            name => {
                let found: Vec<_> =
                    APPLICATIONS.iter().filter(|known| known.name.starts_with(name)).collect();
                if found.is_empty() {
                    let names: Vec<&str> = APPLICATIONS.iter().map(|known| known.name).collect();
                    return Err(format!(
                        "there is no application `{name}`; choose from {}",
                        names.join("; ")
                    ));
                }
                options.applications.extend(found);
            }
        }
    }
    if options.applications.is_empty() {
        options.applications = APPLICATIONS.iter().collect();
    }
    Ok(options)
}

const INPUTS_ONLY: &str = "--inputs-only";

/// Makes the inputs in a process of their own: the memory that this process has ever used counts for the programs that it
/// starts.
fn make_inputs(folder: &Path) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let made = Command::new(this).arg(folder).arg(INPUTS_ONLY).status().map_err(|error| error.to_string())?;
    if made.success() { Ok(()) } else { Err("no inputs".to_string()) }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = if let [folder, option] = &words[..]
        && option == INPUTS_ONLY
    {
        let made = inputs::make(&Path::new(folder).join("inputs"));
        made.map(|()| true).map_err(|error| format!("no inputs: {error}"))
    } else {
        parse(&words).and_then(|options| {
            make_inputs(options.folder)?;
            measure::compare(&options)
        })
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("applications: {error}");
            ExitCode::from(2)
        }
    }
}
