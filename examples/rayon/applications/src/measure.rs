//! Runs the two builds in turn and compares what they print, what they write, and what they take.

use crate::{Application, Options};
use cores::process::{self, Run, median};
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
const BUILDS: [&str; 2] = ["bombyx", "upstream"];

/// Prints one line for each application and number of threads. Returns false if an output differs.
pub(crate) fn compare(options: &Options<'_>) -> Result<bool, String> {
    for build in BUILDS {
        for application in &options.applications {
            check_core(options.folder, build, application)?;
        }
    }
    println!(
        "bombyx / upstream: medians of the ratios of {} pairs, and the most threads at a time\n",
        options.pairs
    );
    println!(
        "| application | threads | upstream ms | bombyx ms | time | CPU | memory | threads of upstream | of bombyx | output |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|");
    let mut all_same = true;
    let mut ratios: Vec<[f64; 3]> = Vec::new();
    for application in &options.applications {
        for &threads in &options.threads {
            let case = Case { folder: options.folder, application, threads };
            let [ours, theirs] = [case.run(0, true)?, case.run(1, true)?];
            let mut same = ours.output == theirs.output;
            let counts = [theirs.run.threads, ours.run.threads].map(Option::unwrap_or_default);
            let mut pairs = Vec::new();
            for round in 0..options.pairs {
                let mut pair = [None, None];
                for side in [round % 2, 1 - round % 2] {
                    pair[side] = Some(case.run(side, false)?);
                }
                let [Some(ours), Some(theirs)] = pair else { unreachable!("both have run") };
                same &= ours.output == theirs.output;
                pairs.push((ours.run, theirs.run));
            }
            let of = |figure: fn(&Run, &Run) -> f64| {
                median(&mut pairs.iter().map(|(ours, theirs)| figure(ours, theirs)).collect::<Vec<_>>())
            };
            let found = [
                of(|ours, theirs| ours.wall.as_secs_f64() / theirs.wall.as_secs_f64()),
                of(|ours, theirs| ours.cpu.as_secs_f64() / theirs.cpu.as_secs_f64().max(1e-6)),
                of(|ours, theirs| ours.peak as f64 / theirs.peak.max(1) as f64),
            ];
            println!(
                "| {} | {threads} | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {} | {} | {} |",
                application.name,
                of(|_, theirs| theirs.wall.as_secs_f64() * 1e3),
                of(|ours, _| ours.wall.as_secs_f64() * 1e3),
                found[0],
                found[1],
                found[2],
                counts[0],
                counts[1],
                if same { "same" } else { "DIFFERS" },
            );
            ratios.push(found);
            all_same &= same;
        }
    }
    let mean = |figure: usize| {
        (ratios.iter().map(|ratio| ratio[figure].ln()).sum::<f64>() / ratios.len() as f64).exp()
    };
    println!("\ngeometric means: time {:.3}, CPU {:.3}, memory {:.3}", mean(0), mean(1), mean(2));
    Ok(all_same)
}

/// Makes sure that a build is linked with the intended core. The source files that its panics name show which one it
/// is.
fn check_core(folder: &Path, build: &str, application: &Application) -> Result<(), String> {
    let path = folder.join(build).join("bin").join(application.program);
    let names = |text| contains(&path, text).map_err(|error| format!("{}: {error}", path.display()));
    match (build, names(b"crates/bombyx-core/src/")?, names(b"rayon-core-1.")?) {
        ("bombyx", true, false) | ("upstream", false, true) => Ok(()),
        (_, bombyx, original) => {
            Err(format!("{}: linked with Bombyx: {bombyx}, with the original: {original}", path.display()))
        }
    }
}

/// Reads a file in pieces: what this process has once used counts for the peak memory of the programs that it starts.
fn pieces(path: &Path, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let (mut file, mut piece) = (File::open(path)?, [0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            read => each(&piece[..read]),
        }
    }
}

/// Whether a file contains `text`. Reads it in pieces, too.
fn contains(path: &Path, text: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let (mut piece, mut kept) = ([0; 1 << 16], 0);
    loop {
        let read = file.read(&mut piece[kept..])?;
        if read == 0 {
            return Ok(false);
        }
        let end = kept + read;
        if piece[..end].windows(text.len()).any(|window| window == text) {
            return Ok(true);
        }
        // The text may lie across the border of two pieces.
        kept = end.min(text.len() - 1);
        piece.copy_within(end - kept..end, 0);
    }
}

struct Case<'a> {
    folder: &'a Path,
    application: &'a Application,
    threads: usize,
}

struct Ran {
    run: Run,
    /// A digest of what it printed and wrote.
    output: u64,
}

impl Case<'_> {
    fn run(&self, side: usize, count_threads: bool) -> Result<Ran, String> {
        let output = self.folder.join("output");
        if output.exists() {
            fs::remove_dir_all(&output).map_err(|error| error.to_string())?;
        }
        fs::create_dir(&output).map_err(|error| error.to_string())?;
        let [inputs, written] = [&self.folder.join("inputs"), &output].map(|path| path.display().to_string());
        let mut command =
            Command::new(self.folder.join(BUILDS[side]).join("bin").join(self.application.program));
        for argument in self.application.arguments {
            let threads = self.threads.to_string();
            let argument = argument.replace("{threads}", &threads).replace("{inputs}", &inputs);
            let argument = argument.replace("{output}", &written);
            // For programs that want the files themselves.
            if argument.ends_with("/frames") {
                command.args(files(Path::new(&argument))?);
            } else {
                command.arg(argument);
            }
        }
        command.env("RAYON_NUM_THREADS", self.threads.to_string()).stderr(Stdio::null());
        let run = process::run(&mut command, LIMIT, count_threads)?;
        if !run.succeeded() {
            return Err(format!("{command:?} {}", run.ending()));
        }
        let mut digest = DefaultHasher::new();
        for line in run.output.split(|&byte| byte == b'\n') {
            if !self.application.ignored.iter().any(|prefix| line.starts_with(prefix.as_bytes())) {
                line.hash(&mut digest);
            }
        }
        for file in files(&output)? {
            pieces(&file, &mut |piece| digest.write(piece)).map_err(|error| error.to_string())?;
        }
        Ok(Ran { run, output: digest.finish() })
    }
}

/// The files in a folder, sorted.
fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<_> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}
