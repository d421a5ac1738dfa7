//! A small fuzzer for the readers of profiles, dag files and traces. It mutates a corpus, and keeps what makes a reader answer
//! in a new way. It is deterministic from its seed, and needs only stable Rust, so it runs wherever the tests run.
//!
//! It looks for panics, and for accepted inputs with which something that follows goes wrong. Whoever starts it limits
//! its memory (`scripts/fuzz`).

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// A reader under test: reads bytes, uses what it accepts, and says in a few words what happened. Inputs with new
/// answers are kept and mutated further.
pub(crate) struct Target {
    /// Its name, and that of its corpus's file extension.
    pub(crate) extension: &'static str,
    /// Folder of the corpus.
    pub(crate) corpus: PathBuf,
    /// Pieces that mean something to the reader.
    pub(crate) words: &'static [&'static [u8]],
    /// Makes a mutated input plausible, for example with a right checksum.
    pub(crate) repair: fn(&mut Vec<u8>),
    /// Reads and uses.
    pub(crate) read: fn(&[u8]) -> String,
}

/// A running fuzzer.
pub(crate) struct Fuzzer {
    target: Target,
    rng: Rng,
    pool: Vec<Vec<u8>>,
    /// Inputs of the pool that were accepted. Every second mutation starts from one, because most mutations of damaged
    /// inputs stay damaged in the same way.
    good: Vec<usize>,
    answers: HashSet<String>,
    /// Inputs read.
    pub(crate) executions: u64,
    /// How many of them were accepted.
    pub(crate) accepted: u64,
}

/// The most inputs kept, and the longest.
const MOST_KEPT: usize = 4096;
const LONGEST: usize = 1 << 14;

impl Fuzzer {
    /// Starts from the corpus.
    pub(crate) fn new(target: Target, seed: u64) -> Self {
        let mut names: Vec<PathBuf> = std::fs::read_dir(&target.corpus)
            .expect("there is a corpus")
            .map(|entry| entry.expect("it can be listed").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == target.extension))
            .collect();
        names.sort();
        let pool: Vec<Vec<u8>> =
            names.iter().map(|path| std::fs::read(path).expect("it can be read")).collect();
        assert!(!pool.is_empty(), "the corpus in {} is empty", target.corpus.display());
        let mut fuzzer = Self {
            target,
            rng: Rng(seed),
            good: (0..pool.len()).collect(),
            pool,
            answers: HashSet::new(),
            executions: 0,
            accepted: 0,
        };
        for nth in 0..fuzzer.pool.len() {
            let input = fuzzer.pool[nth].clone();
            fuzzer.execute(&input);
        }
        fuzzer
    }

    /// How many different answers there were.
    pub(crate) fn answers(&self) -> usize {
        self.answers.len()
    }

    /// Mutates and reads once.
    ///
    /// # Panics
    /// If the reader does. The input is then in the file that the message names.
    pub(crate) fn step(&mut self) {
        let parent = match self.rng.below(2) {
            0 => self.good[self.rng.below(self.good.len())],
            _ => self.rng.below(self.pool.len()),
        };
        let mut input = self.pool[parent].clone();
        for _ in 0..1 + self.rng.below(4) {
            self.mutate(&mut input);
        }
        input.truncate(LONGEST);
        if self.rng.below(8) > 0 {
            (self.target.repair)(&mut input);
        }
        let accepted = self.accepted;
        if self.execute(&input) && self.pool.len() < MOST_KEPT {
            if self.accepted > accepted {
                self.good.push(self.pool.len());
            }
            self.pool.push(input);
        }
    }

    /// Reads an input. Returns whether the answer is new.
    fn execute(&mut self, input: &[u8]) -> bool {
        self.executions += 1;
        let read = self.target.read;
        let answer = catch_unwind(AssertUnwindSafe(|| read(input))).unwrap_or_else(|_| {
            let name = format!("bombyx-fuzz-{:016x}.{}", self.rng.next(), self.target.extension);
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, input).expect("the input can be kept");
            panic!("the reader panicked on {}", path.display());
        });
        self.accepted += u64::from(answer.starts_with("accepted"));
        self.answers.insert(answer)
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        const EDGES: [u8; 12] = [0, 1, 2, 7, 8, 0x20, 0x7f, 0x80, 0xff, b'0', b'9', b'-'];
        let at = self.rng.below(input.len() + 1);
        let most = 2 << self.rng.below(6);
        let length = 1 + self.rng.below(most);
        let end = (at + length).min(input.len());
        match self.rng.below(14) {
            0 if at < input.len() => input[at] ^= 1 << self.rng.below(8),
            1 if at < input.len() => input[at] = self.rng.next() as u8,
            2 if at < input.len() => input[at] = EDGES[self.rng.below(EDGES.len())],
            3 => drop(input.drain(at..end)),
            4 => {
                let copy = input[at..end].to_vec();
                let to = self.rng.below(input.len() + 1);
                input.splice(to..to, copy);
            }
            5 => {
                let word = self.target.words[self.rng.below(self.target.words.len())];
                input.splice(at..at, word.iter().copied());
            }
            6 => {
                let word = self.target.words[self.rng.below(self.target.words.len())];
                input.splice(at..end, word.iter().copied());
            }
            7 => {
                // The beginning of this with the end of another.
                let other = &self.pool[self.rng.below(self.pool.len())];
                let from = other.len().min(at);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            8 => input.truncate(at),
            9..=11 => self.change_number(input, at),
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = byte.wrapping_add(if self.rng.below(2) == 0 { 1 } else { 255 });
                }
            }
        }
    }
}

impl Fuzzer {
    /// Replaces the next number that is spelled in digits, so that texts stay well formed.
    fn change_number(&mut self, input: &mut Vec<u8>, at: usize) {
        const NUMBERS: [&[u8]; 12] = [
            b"0",
            b"1",
            b"2",
            b"7",
            b"99",
            b"1000",
            b"123456",
            b"4294967295",
            b"4294967296",
            b"1152921504606846976",
            b"1152921504606846977",
            b"18446744073709551615",
        ];
        let Some(begin) = input[at..].iter().position(u8::is_ascii_digit).map(|nth| at + nth) else { return };
        let length = input[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        input.splice(begin..begin + length, NUMBERS[self.rng.below(NUMBERS.len())].iter().copied());
    }
}

/// The reader of profiles.
pub(crate) fn profiles() -> Target {
    Target {
        extension: "json",
        corpus: Path::new(env!("CARGO_MANIFEST_DIR")).join("../bombyx-profile/corpus"),
        words: &[
            b"0",
            b"1",
            b"-1",
            b"18446744073709551615",
            b"18446744073709551616",
            b"1152921504606846976",
            b"1e308",
            b"1e999",
            b"NaN",
            b"null",
            b"true",
            b"\"\"",
            b"\"\\u0000\"",
            b"\"\\ud800\"",
            b"[]",
            b"{}",
            b"[[",
            b",",
            b":",
            b"\"sites\":",
            b"\"span_ns\":0,",
            b"\"bombyx_profile\":1,",
            b"\xff",
            b"\"work_ns\"",
            b"</script><script>",
        ],
        repair: |_| (),
        read: |bytes| match bombyx_profile::read(bytes) {
            Err(error) => error.to_string().chars().filter(|c| !c.is_ascii_digit()).collect(),
            Ok(profile) => {
                for processors in [1, 2, 1000, u32::MAX] {
                    let scaling = bombyx_profile::Scaling::of(&profile);
                    let band = scaling.predict(processors).band;
                    assert!(0.0 < band.from && band.from <= band.likely && band.likely <= band.to);
                    assert!(!scaling.explain(processors).is_empty());
                }
                let advice = bombyx_profile::advise(&profile, 8);
                assert!(!advice[0].text.is_empty());
                let csv = bombyx_profile::cilkscale_csv(
                    &profile.program,
                    &bombyx_profile::Scaling::of(&profile),
                    &[],
                );
                assert_eq!(csv.lines().count(), 2);
                assert!(
                    profile
                        .share_of_time(|times| times.busy_ns)
                        .is_none_or(|share| (0.0..=1.0).contains(&share))
                );
                assert!(profile.sites.iter().all(|site| profile.share_of_span(site.span_ns) <= 1.0));
                let again = bombyx_profile::read(profile.to_json().as_bytes())
                    .expect("what was read can be read again");
                assert_eq!(again, profile);
                format!("accepted, {} sites, {:?}", profile.sites.len(), advice[0].rule)
            }
        },
    }
}

/// The reader of dag files.
pub(crate) fn dags() -> Target {
    Target {
        extension: "dag",
        corpus: Path::new(env!("CARGO_MANIFEST_DIR")).join("../bombyx-dag/corpus"),
        words: &[
            b"\0\x01",
            b"\x01\0\x01\x02",
            b"\x01",
            b"\x02",
            b"\x20\x01\x01\x01",
            b"\x20\x01\x02\x01\x02",
            b"\x08\x01\x10",
            b"\x18\x01\x10\x10",
            b"\x11\0",
            b"\x19\x10\0",
            b"\x03\x01x",
            b"\x04\x01k\x01v",
            b"\x05\x63\x02ab",
            b"\x06\x01",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x80\0",
            b"\x03\x08<script>",
        ],
        repair: sealed,
        read: |bytes| match bombyx_dag::format::read_at_most(1 << 16, bytes) {
            Err(error) => error.to_string().chars().filter(|c| !c.is_ascii_digit()).collect(),
            Ok(computation) => {
                use bombyx_dag::{Measures, SiteId, Sites, format};
                let measures = Measures::of(&computation);
                assert!(measures.span <= measures.work);
                let sites = Sites::of(&computation);
                let rows = sites.measures(&computation);
                assert_eq!(rows.iter().map(|row| row.span).sum::<u64>(), measures.span);
                assert_eq!(rows.iter().map(|row| row.work).sum::<u64>(), measures.work);
                if !computation.site_names().is_empty() {
                    let faster = sites.faster(&computation, &[(SiteId(0), 2.0)]).expect("faster is less");
                    assert!(Measures::of(&faster).work <= measures.work);
                }
                let file = format::write(&computation, Vec::new()).expect("a vector takes all bytes");
                assert_eq!(format::read(&file[..]).expect("what was read can be read again"), computation);
                let size = computation.strand_count().ilog2();
                format!("accepted, {size}, {}, {} sites", computation.class(), rows.len())
            }
        },
    }
}

/// The reader of traces.
pub(crate) fn traces() -> Target {
    Target {
        extension: "trace",
        corpus: Path::new(env!("CARGO_MANIFEST_DIR")).join("../bombyx-trace/corpus"),
        words: &[
            b"\x01\0\0\0",
            b"\x02\0\0\0",
            b"\x07\0\0\0",
            b"\xff\xff\xff\xff",
            b"\0\0\0\0\0\0\0\0",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x20\0\0\0\0\0\0\0",
            b"ns_per_tick",
            b"NaN",
            b"1e300",
            b"bombyx trace v2\n",
            b"<script>",
        ],
        repair: |file| sealed_trace(file),
        read: |bytes| match bombyx_trace::read(bytes) {
            Err(error) => error.to_string().chars().filter(|c| !c.is_ascii_digit()).collect(),
            Ok(trace) => {
                let timeline = bombyx_trace::Timeline::of(&trace);
                let slices: usize = timeline.tracks.iter().map(|track| track.slices.len()).sum();
                assert!(!bombyx_trace::perfetto::encode(&timeline).is_empty());
                let json = bombyx_trace::chrome::encode(&timeline);
                serde_json::from_str::<serde::de::IgnoredAny>(&json).expect("this is JSON");
                format!(
                    "accepted, {} tracks, {} slices",
                    timeline.tracks.len(),
                    slices.checked_ilog2().unwrap_or(0)
                )
            }
        },
    }
}

/// Makes the checksum of a trace right, if its last section is there.
fn sealed_trace(file: &mut [u8]) {
    let Some(end) = file.len().checked_sub(16) else { return };
    let mut crc = bombyx_base::Crc::new();
    crc.add(&file[..end]);
    file[end + 12..].copy_from_slice(&crc.value().to_le_bytes());
}

/// Makes the end of a dag file right: counts and checksum. A file that is only a head stays as it is.
fn sealed(file: &mut Vec<u8>) {
    let mut counts = None;
    if file.len() > 12 {
        // This needs no separate reader. The reader under test says where it stops to understand, and everything up to
        // its last record is written again.
        let mut reader = match bombyx_dag::format::Reader::new(&file[..]) {
            Ok(reader) => reader,
            Err(_) => return,
        };
        let (mut strands, mut threads, mut joins, mut end) = (0_u64, 1_u64, 0_u64, reader.offset());
        while let Ok(Some(record)) = reader.next() {
            match record {
                bombyx_dag::format::Record::Strand { .. } => {
                    strands += 1;
                    joins += reader.waits().len() as u64;
                }
                bombyx_dag::format::Record::Spawn { .. } => threads += 1,
                _ => {}
            }
            end = reader.offset();
        }
        counts = Some(([strands, threads, joins], end));
    }
    let Some((counts, end)) = counts else { return };
    file.truncate(end as usize);
    file.push(7);
    for mut count in counts {
        while count >= 0x80 {
            file.push(count as u8 | 0x80);
            count >>= 7;
        }
        file.push(count as u8);
    }
    let mut crc = bombyx_base::Crc::new();
    crc.add(file);
    file.extend(crc.value().to_le_bytes());
}
