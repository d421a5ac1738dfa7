//! Writes recorded runs as a dag file (`docs/dag-format.md`, version 1): the serial depth-first execution, record by record.
//!
//! A fork makes its first half a child of the thread that forks. The second half continues in that thread, so the file
//! has the serial order, the first half and then the second. A simulated thief takes what a real one does. If the
//! fork's site is not the site of the closure around it, the second half is a child as well. A thread has one site for
//! all its strands, so this attributes work to sites exactly. It costs two strands of one nanosecond. A spawned closure
//! is a child of the thread that spawns it, joined at the end of its scope. The body of a scope is part of the thread
//! around it.
//!
//! The format has no empty strands. A strand that measured less than a nanosecond is written as one nanosecond, and the
//! excess is subtracted from the strands after it. So the work is right, and the span is wrong by at most one
//! nanosecond per strand on it.
//!
//! A strand allocates the most it had in use when it begins, and frees the rest when it ends ([`Heap`]). Memory that
//! was allocated outside the runs and freed inside is not in the file, because a file must not free more than it
//! allocates.

use super::heap::Heap;
use super::record::{Ended, Event, Log, Recorder};
use super::sites;
use bombyx_base::Crc;
use std::io::{self, Write};

const MAGIC: [u8; 8] = *b"\x89DAG\r\n\x1a\n";
const VERSION: u64 = 1;
/// Frames are counted, not measured.
const FRAME: u64 = 1;
const NANOSECONDS: u64 = 1;

const STRAND: u8 = 0;
const SPAWN: u8 = 1;
const END: u8 = 2;
const SITE: u8 = 3;
const NOTE: u8 = 4;
const UNIT: u8 = 6;
const FINISH: u8 = 7;
const ALLOCATES: u8 = 8;
const FREES: u8 = 16;
const WAITS: u8 = 32;
const HAS_SITE: u8 = 16;
const HAS_FRAME: u8 = 8;

/// Writes what `recorder` has, with these notes. One tick takes `ns_per_tick`.
pub(crate) fn write(
    recorder: &Recorder,
    ns_per_tick: f64,
    notes: &[(&str, String)],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut out = Output { out, crc: Crc::new(), strands: 0, threads: 1, joins: 0, held: 0, allocated: 0 };
    out.bytes(&MAGIC)?;
    out.number(VERSION)?;
    out.number(FRAME)?;
    out.byte(UNIT)?;
    out.number(NANOSECONDS)?;
    for (key, value) in notes {
        out.byte(NOTE)?;
        out.text(key)?;
        out.text(value)?;
    }
    for site in sites::all() {
        out.byte(SITE)?;
        out.text(&site.to_string())?;
    }
    recorder.with_ended(|ended| Walk::new(ended, ns_per_tick, &mut out).run())?;
    out.finish()
}

/// The file so far.
struct Output<'a, W> {
    out: &'a mut W,
    crc: Crc,
    strands: u64,
    threads: u64,
    joins: u64,
    /// Bytes that are allocated and not freed.
    held: u64,
    /// Bytes that were ever allocated.
    allocated: u64,
}

impl<W: Write> Output<'_, W> {
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.add(bytes);
        self.out.write_all(bytes)
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.bytes(&[byte])
    }

    fn number(&mut self, mut number: u64) -> io::Result<()> {
        let mut bytes = [0; 10];
        let mut length = 0;
        loop {
            bytes[length] = number as u8 & 0x7f;
            number >>= 7;
            length += 1;
            if number == 0 {
                return self.bytes(&bytes[..length]);
            }
            bytes[length - 1] |= 0x80;
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        const LONGEST: usize = 65_536;
        let end = (0..=text.len().min(LONGEST)).rev().find(|&end| text.is_char_boundary(end));
        let text = &text[..end.unwrap_or(0)];
        self.number(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    /// A strand, after the ends of those with the numbers in `sources`. Returns its number.
    fn strand(&mut self, weight: u64, heap: Heap, sources: &[u64]) -> io::Result<u64> {
        let strand = self.strands;
        // The file's sums must fit in 64 bits.
        let allocated = (heap.high.max(0) as u64).min((u64::MAX / 4).saturating_sub(self.allocated));
        let freed = (heap.freed().max(0) as u64).min(self.held + allocated);
        self.allocated += allocated;
        self.held = self.held + allocated - freed;
        let flags = [(allocated > 0, ALLOCATES), (freed > 0, FREES), (!sources.is_empty(), WAITS)];
        self.byte(flags.into_iter().filter(|flag| flag.0).fold(STRAND, |kind, flag| kind | flag.1))?;
        self.number(weight)?;
        for bytes in [allocated, freed] {
            if bytes > 0 {
                self.number(bytes)?;
            }
        }
        if !sources.is_empty() {
            self.number(sources.len() as u64)?;
            for source in sources {
                self.number(strand - source)?;
            }
            self.joins += sources.len() as u64;
        }
        self.strands += 1;
        Ok(strand)
    }

    fn spawn(&mut self, site: u64) -> io::Result<()> {
        // The size of the first frame also holds for all others.
        if self.threads == 1 {
            self.byte(SPAWN | HAS_SITE | HAS_FRAME)?;
            self.number(FRAME)?;
        } else {
            self.byte(SPAWN | HAS_SITE)?;
        }
        self.threads += 1;
        self.number(site)
    }

    fn finish(mut self) -> io::Result<()> {
        self.byte(FINISH)?;
        for count in [self.strands, self.threads, self.joins] {
            self.number(count)?;
        }
        self.out.write_all(&self.crc.value().to_le_bytes())
    }
}

/// What is open at the present place of the walk.
enum Open {
    Fork {
        site: u64,
        outer: u64,
        /// The last strand of the first half, once that half has ended.
        first: Option<u64>,
    },
    Scope {
        scope: u64,
        /// The last strands of the scope's closures.
        sources: Vec<u64>,
    },
    /// A spawned closure, whose log ends at this depth of logs.
    Closure { scope: u64, outer: u64 },
}

/// No site.
const NOWHERE: u64 = u64::MAX;

/// A walk through the logs in serial order.
struct Walk<'a, 'b, W> {
    ended: &'a Ended,
    ns_per_tick: f64,
    out: &'a mut Output<'b, W>,
    /// The log that is being read, the place in it, and the logs below it.
    logs: Vec<(&'a Log, usize)>,
    open: Vec<Open>,
    /// The site of the present thread.
    site: u64,
    /// What the present strand has taken so far, in nanoseconds.
    weight: f64,
    /// What the present strand has allocated.
    heap: Heap,
    /// The strands that the present strand waits for before it begins.
    waits: Vec<u64>,
}

impl<'a, 'b, W: Write> Walk<'a, 'b, W> {
    fn new(ended: &'a Ended, ns_per_tick: f64, out: &'a mut Output<'b, W>) -> Walk<'a, 'b, W> {
        let logs = vec![(&ended.runs, 0)];
        Walk {
            ended,
            ns_per_tick,
            out,
            logs,
            open: Vec::new(),
            site: NOWHERE,
            weight: 0.0,
            heap: Heap::NONE,
            waits: Vec::new(),
        }
    }

    fn run(mut self) -> io::Result<()> {
        while let Some(&(log, at)) = self.logs.last() {
            if at < log.bytes.len() {
                self.event()?;
            } else {
                self.logs.pop();
                self.weight += log.pending as f64 * self.ns_per_tick;
                self.heap = self.heap.then(log.pending_heap);
                self.end_of_log()?;
            }
        }
        self.strand().map(drop)
    }

    fn number(&mut self) -> u64 {
        let (log, at) = self.logs.last_mut().expect("a log is read");
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = log.bytes[*at];
            *at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return number;
            }
        }
    }

    /// Writes the present strand, and returns its number.
    fn strand(&mut self) -> io::Result<u64> {
        let weight = self.weight.floor().max(1.0);
        self.weight -= weight;
        let strand = self.out.strand(weight as u64, std::mem::take(&mut self.heap), &self.waits);
        self.waits.clear();
        strand
    }

    fn event(&mut self) -> io::Result<()> {
        let event = self.number();
        self.weight += (event >> 3) as f64 * self.ns_per_tick;
        match Event::from_bits(event & 7) {
            Event::Fork => {
                let site = self.number() - 1;
                self.strand()?;
                self.out.spawn(site)?;
                self.open.push(Open::Fork { site, outer: self.site, first: None });
                self.site = site;
            }
            Event::Scope => {
                self.number();
                let scope = self.number();
                self.open.push(Open::Scope { scope, sources: Vec::new() });
            }
            Event::Heap => {
                let (high, freed) = (self.number() as i64, self.number() as i64);
                self.heap = self.heap.then(Heap { high, net: high.saturating_sub(freed) });
            }
            Event::Middle => self.middle()?,
            Event::Join => self.join()?,
            Event::Spawn => {
                let (site, scope, child) = (self.number() - 1, self.number(), self.number());
                self.strand()?;
                self.out.spawn(site)?;
                self.open.push(Open::Closure { scope, outer: self.site });
                self.site = site;
                match self.ended.children.get(&child) {
                    Some(log) => self.logs.push((log, 0)),
                    None => {
                        let (ticks, heap) = self.ended.strands.get(&child).copied().unwrap_or_default();
                        self.weight += ticks as f64 * self.ns_per_tick;
                        self.heap = self.heap.then(heap);
                        self.end_of_log()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn middle(&mut self) -> io::Result<()> {
        let Some(Open::Fork { site, outer, .. }) = self.open.last() else { return Ok(()) };
        let (site, outer) = (*site, *outer);
        let last = self.strand()?;
        self.out.byte(END)?;
        if let Some(Open::Fork { first, .. }) = self.open.last_mut() {
            *first = Some(last);
        }
        if site != outer {
            self.strand()?;
            self.out.spawn(site)?;
        }
        Ok(())
    }

    fn join(&mut self) -> io::Result<()> {
        match self.open.pop() {
            Some(Open::Fork { site, outer, first }) => {
                let second = self.strand()?;
                self.waits.extend(first);
                if site != outer {
                    self.out.byte(END)?;
                    let waits = std::mem::take(&mut self.waits);
                    self.strand()?;
                    self.waits = waits;
                    self.waits.push(second);
                }
                self.site = outer;
            }
            Some(Open::Scope { sources, .. }) if !sources.is_empty() => {
                self.strand()?;
                self.waits.extend(sources);
            }
            _ => {}
        }
        Ok(())
    }

    /// A spawned closure ends, or the last run does.
    fn end_of_log(&mut self) -> io::Result<()> {
        let Some(Open::Closure { scope, outer }) = self.open.pop() else { return Ok(()) };
        let last = self.strand()?;
        self.out.byte(END)?;
        self.site = outer;
        let joins = self.open.iter_mut().rev().find_map(|open| match open {
            Open::Scope { scope: number, sources } if *number == scope => Some(sources),
            _ => None,
        });
        match joins {
            Some(sources) => sources.push(last),
            // Spawned in a run that is not the scope's. Joined as soon as possible, one strand after its spawn.
            None => {
                self.strand()?;
                self.waits.push(last);
            }
        }
        Ok(())
    }
}
