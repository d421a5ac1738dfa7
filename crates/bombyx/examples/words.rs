//! Counts the words of files: smol reads the files, the pool counts. Reading and counting overlap, and the thread of the
//! executor never waits for either.
//!
//! `cargo run --release -p bombyx --example words -- README.md docs/*.md`

use bombyx::{Reducer, prelude::*, reducers::Merge};
use smol::stream::StreamExt as _;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Counts = BTreeMap<String, usize>;

/// How often each word is in the text, in parallel over its lines.
pub fn count(text: &str) -> Counts {
    let counts = Reducer::new(Merge::<Counts, _>::new(|count, more| *count += more));
    text.par_lines().for_each(|line| {
        for word in line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            counts.with(|counts| *counts.entry(word.to_lowercase()).or_insert(0) += 1);
        }
    });
    counts.into_inner()
}

/// How often each word is in the files.
pub async fn count_files(paths: Vec<PathBuf>) -> std::io::Result<Counts> {
    let tasks = smol::stream::iter(paths).then(async |path| {
        let text = smol::fs::read_to_string(path).await?;
        // The task counts while the next file is read.
        Ok::<_, std::io::Error>(bombyx::spawn(move || count(&text)))
    });
    let tasks: Vec<_> = tasks.try_collect().await?;
    let mut all = Counts::new();
    for task in tasks {
        for (word, count) in task.await.expect("counting does not panic") {
            *all.entry(word).or_insert(0) += count;
        }
    }
    Ok(all)
}

#[allow(dead_code, reason = "the test of this example has a main of its own")]
fn main() -> std::io::Result<()> {
    let paths = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let counts = smol::block_on(count_files(paths))?;
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().take(20).for_each(|(word, count)| println!("{count:6} {word}"));
    Ok(())
}
