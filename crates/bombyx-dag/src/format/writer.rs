//! [`Writer`]: writes a dag file along with the serial execution. [`write()`] writes a whole computation.

use super::bytes::Sink;
use super::{ALLOCATES, FRAME, FREES, MAGIC, SITE, VERSION, WAITS, kind};
use crate::{Computation, SiteId, StrandId, WeightUnit};
use std::io::{self, Write};

/// Writes a dag file record by record. A recorder of a running program uses this. It does not check the rules of the
/// model; reading the file does.
///
/// ```
/// use bombyx_dag::format::{Writer, read};
/// use bombyx_dag::WeightUnit;
///
/// let mut w = Writer::new(Vec::new(), 96)?;
/// w.unit(WeightUnit::Nanoseconds)?;
/// let here = w.site("src/main.rs:12:5")?;
/// w.strand(1_250, 0, 0, &[])?;
/// w.spawn(96, Some(here))?;
/// let child_end = w.strand(48_000, 0, 0, &[])?;
/// w.end()?;
/// w.strand(51_000, 0, 0, &[])?;
/// w.strand(700, 0, 0, &[child_end])?;
/// let file = w.finish()?;
///
/// let computation = read(file.as_slice())?;
/// assert_eq!(computation.site_names(), ["src/main.rs:12:5"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W> {
    sink: Sink<W>,
    last_frame: u64,
    strands: u32,
    threads: u64,
    joins: u64,
    sites: u32,
}

impl<W: Write> Writer<W> {
    /// Writes the head of a file. The writer buffers, so `to` need not.
    ///
    /// # Errors
    /// If the bytes cannot be written, here as in all methods.
    pub fn new(to: W, root_frame: u64) -> io::Result<Self> {
        let mut sink = Sink::new(to);
        sink.bytes(&MAGIC)?;
        sink.number(VERSION)?;
        sink.number(root_frame)?;
        Ok(Self { sink, last_frame: root_frame, strands: 0, threads: 1, joins: 0, sites: 0 })
    }

    /// The current thread executed a strand that waited for the strands `waits` before it began. Returns its id.
    ///
    /// # Errors
    /// Also if `waits` has a strand that is not before this one, or there are 2^32 strands.
    pub fn strand(
        &mut self,
        weight: u64,
        allocated: u64,
        freed: u64,
        waits: &[StrandId],
    ) -> io::Result<StrandId> {
        let id = StrandId(self.strands);
        let invalid = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        if waits.iter().any(|&from| from >= id) {
            return invalid("a strand can wait for earlier strands only");
        }
        let Some(strands) = self.strands.checked_add(1) else { return invalid("too many strands") };
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(allocated > 0, ALLOCATES) | flag(freed > 0, FREES) | flag(!waits.is_empty(), WAITS);
        self.sink.bytes(&[kind::STRAND | flags])?;
        self.sink.number(weight)?;
        for bytes in [allocated, freed].into_iter().filter(|&bytes| bytes > 0) {
            self.sink.number(bytes)?;
        }
        if !waits.is_empty() {
            self.sink.number(waits.len() as u64)?;
            for from in waits {
                self.sink.number(u64::from(id.0 - from.0))?;
            }
        }
        self.strands = strands;
        self.joins += waits.len() as u64;
        Ok(id)
    }

    /// The strand written last in the current thread spawned a child, which becomes the current thread.
    ///
    /// # Errors
    /// Also if the site was not written before.
    pub fn spawn(&mut self, frame: u64, site: Option<SiteId>) -> io::Result<()> {
        if site.is_some_and(|site| site.0 >= self.sites) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a site must be written before it is used",
            ));
        }
        let frame_flag = if frame == self.last_frame { 0 } else { FRAME };
        let site_flag = if site.is_some() { SITE } else { 0 };
        self.sink.bytes(&[kind::SPAWN | frame_flag | site_flag])?;
        if frame != self.last_frame {
            self.sink.number(frame)?;
        }
        if let Some(site) = site {
            self.sink.number(u64::from(site.0))?;
        }
        self.last_frame = frame;
        self.threads += 1;
        Ok(())
    }

    /// The current thread ended; its parent becomes the current thread.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    pub fn end(&mut self) -> io::Result<()> {
        self.sink.bytes(&[kind::END])
    }

    /// Adds a fork site to the table.
    ///
    /// # Errors
    /// Also if the name is longer than 65,536 bytes.
    pub fn site(&mut self, name: &str) -> io::Result<SiteId> {
        self.sink.bytes(&[kind::SITE])?;
        self.sink.string(name)?;
        self.sites += 1;
        Ok(SiteId(self.sites - 1))
    }

    /// Adds a note.
    ///
    /// # Errors
    /// Also if the key or value is longer than 65,536 bytes.
    pub fn note(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.sink.bytes(&[kind::NOTE])?;
        self.sink.string(key)?;
        self.sink.string(value)
    }

    /// Says what weights count.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    pub fn unit(&mut self, unit: WeightUnit) -> io::Result<()> {
        self.sink.bytes(&[kind::UNIT])?;
        self.sink.number(match unit {
            WeightUnit::Instructions => 0,
            WeightUnit::Nanoseconds => 1,
        })
    }

    /// Ends the root and the file, and returns the writer, flushed.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.bytes(&[kind::FINISH])?;
        for count in [u64::from(self.strands), self.threads, self.joins] {
            self.sink.number(count)?;
        }
        self.sink.finish()
    }
}

/// Writes a whole computation and returns the writer, flushed.
///
/// # Errors
/// If the bytes cannot be written.
pub fn write<W: Write>(c: &Computation, to: W) -> io::Result<W> {
    let mut w = Writer::new(to, c.frame(c.root()))?;
    if c.weight_unit() != WeightUnit::default() {
        w.unit(c.weight_unit())?;
    }
    for (key, value) in c.notes() {
        w.note(key, value)?;
    }
    for name in c.site_names() {
        w.site(name)?;
    }
    let sources = JoinSources::of(c);
    for strand in c.strands() {
        w.strand(c.weight(strand), c.allocated(strand), c.freed(strand), sources.of_strand(strand))?;
        if let Some(child) = c.child(strand) {
            w.spawn(c.frame(child), c.site(child))?;
        }
        // A thread's end is written right after its last strand. Its subtree has been written by then.
        if c.next(strand).is_none() && c.thread_of(strand) != c.root() {
            w.end()?;
        }
    }
    w.finish()
}

/// The join edges grouped by target. The computation has them grouped by source.
struct JoinSources {
    begin: Vec<u32>,
    sources: Vec<StrandId>,
}

impl JoinSources {
    fn of(c: &Computation) -> Self {
        let mut begin = Vec::with_capacity(c.strand_count() + 1);
        let mut total = 0;
        for strand in c.strands() {
            begin.push(total);
            total += c.waits(strand);
        }
        let mut sources = vec![StrandId(0); c.join_count()];
        let mut free = begin.clone();
        for from in c.strands() {
            for to in c.joins_from(from) {
                let slot = &mut free[to.index()];
                sources[*slot as usize] = from;
                *slot += 1;
            }
        }
        begin.push(total);
        Self { begin, sources }
    }

    fn of_strand(&self, strand: StrandId) -> &[StrandId] {
        let at = strand.index();
        &self.sources[self.begin[at] as usize..self.begin[at + 1] as usize]
    }
}
