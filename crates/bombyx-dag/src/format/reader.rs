//! [`Reader`]: reads the records of a dag file one by one, in memory that does not depend on the file's length.
//! [`read`] makes a computation from them.

use super::bytes::Source;
use super::{ALLOCATES, FRAME, FREES, KIND, MAGIC, ReadError, SITE, VERSION, WAITS, kind};
use crate::{Builder, Computation, SiteId, StrandId, WeightUnit};
use std::io::Read;

/// How many strands [`read`] accepts. Their tables take 6 GiB.
pub const DEFAULT_STRAND_LIMIT: u64 = 1 << 28;

/// The most sites and notes together that a file may have.
const MAX_NAMES: usize = 1 << 20;

/// One step of the serial execution, or a statement about it. The documentation of the [module](super) gives their
/// meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The current thread executes a strand; [`Reader::waits`] has the sources of its join edges.
    Strand {
        /// Its weight.
        weight: u64,
        /// Heap bytes allocated when it begins.
        allocated: u64,
        /// Heap bytes freed when it ends.
        freed: u64,
    },
    /// The last strand spawns a child, which becomes the current thread.
    Spawn {
        /// The child's frame in bytes.
        frame: u64,
        /// Where in the program.
        site: Option<SiteId>,
    },
    /// The current thread ends; its parent becomes the current thread.
    End,
    /// The next entry of the site table.
    Site(String),
    /// A note.
    Note {
        /// What it is about.
        key: String,
        /// What it says.
        value: String,
    },
    /// What weights count.
    Unit(WeightUnit),
}

/// Reads the records of a dag file. It checks the encoding, the counts and the checksum. [`Builder`] decides whether
/// the records are a computation.
///
/// ```
/// use bombyx_dag::format::{Reader, Record, write};
/// use bombyx_dag::generate::figure1;
///
/// let file = write(&figure1(1), Vec::new())?;
/// let mut reader = Reader::new(file.as_slice())?;
/// let mut work = 0;
/// while let Some(record) = reader.next()? {
///     if let Record::Strand { weight, .. } = record {
///         work += weight;
///     }
/// }
/// assert_eq!(work, 23);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<R> {
    source: Source<R>,
    root_frame: u64,
    last_frame: u64,
    strands: u64,
    threads: u64,
    joins: u64,
    waits: Vec<StrandId>,
    finished: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the head of a file. The reader buffers, so `from` need not.
    ///
    /// # Errors
    /// If it is not a dag file of a known version.
    pub fn new(from: R) -> Result<Self, ReadError> {
        let mut source = Source::new(from);
        for expected in MAGIC {
            match source.byte() {
                Ok(byte) if byte == expected => {}
                Ok(_) | Err(ReadError::Truncated { .. }) => return Err(ReadError::NotADagFile),
                Err(error) => return Err(error),
            }
        }
        let version = source.number()?;
        if version != VERSION {
            return Err(ReadError::Version(version));
        }
        let root_frame = source.number()?;
        Ok(Self {
            source,
            root_frame,
            last_frame: root_frame,
            strands: 0,
            threads: 1,
            joins: 0,
            waits: Vec::new(),
            finished: false,
        })
    }

    /// The root thread's frame in bytes.
    pub fn root_frame(&self) -> u64 {
        self.root_frame
    }

    /// How many bytes of the file have been used.
    pub fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// The strands that the strand read last waits for.
    pub fn waits(&self) -> &[StrandId] {
        &self.waits
    }

    /// The next record, or `None` after the last.
    ///
    /// # Errors
    /// If the file is damaged.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not lend the join edges")]
    pub fn next(&mut self) -> Result<Option<Record>, ReadError> {
        if self.finished {
            return Ok(None);
        }
        loop {
            let offset = self.source.offset();
            let byte = self.source.byte()?;
            let (kind, flags) = (byte & KIND, byte & !KIND);
            let allowed = match kind {
                kind::STRAND => ALLOCATES | FREES | WAITS,
                kind::SPAWN => FRAME | SITE,
                _ => 0,
            };
            if flags & !allowed != 0 {
                return Err(ReadError::BadRecord { offset, byte });
            }
            let record = match kind {
                kind::STRAND => self.strand(flags)?,
                kind::SPAWN => self.spawn(flags)?,
                kind::END => Record::End,
                kind::SITE => Record::Site(self.source.string()?),
                kind::NOTE => Record::Note { key: self.source.string()?, value: self.source.string()? },
                kind::UNIT => match self.source.number()? {
                    0 => Record::Unit(WeightUnit::Instructions),
                    1 => Record::Unit(WeightUnit::Nanoseconds),
                    unit => return Err(ReadError::UnknownUnit { offset, unit }),
                },
                kind::FINISH => {
                    self.finish()?;
                    return Ok(None);
                }
                _ => {
                    self.skip_extension()?;
                    continue;
                }
            };
            return Ok(Some(record));
        }
    }

    fn strand(&mut self, flags: u8) -> Result<Record, ReadError> {
        let weight = self.source.number()?;
        let allocated = if flags & ALLOCATES != 0 { self.source.number()? } else { 0 };
        let freed = if flags & FREES != 0 { self.source.number()? } else { 0 };
        self.waits.clear();
        if flags & WAITS != 0 {
            let offset = self.source.offset();
            let count = self.source.number()?;
            if count == 0 {
                return Err(ReadError::BadJoin { offset });
            }
            for _ in 0..count {
                let offset = self.source.offset();
                let back = self.source.number()?;
                let from = self.strands.checked_sub(back).filter(|_| back > 0);
                let from = from.and_then(|from| u32::try_from(from).ok());
                self.waits.push(StrandId(from.ok_or(ReadError::BadJoin { offset })?));
            }
            self.joins += count;
        }
        self.strands += 1;
        Ok(Record::Strand { weight, allocated, freed })
    }

    fn spawn(&mut self, flags: u8) -> Result<Record, ReadError> {
        if flags & FRAME != 0 {
            self.last_frame = self.source.number()?;
        }
        let site = match flags & SITE {
            0 => None,
            _ => Some(SiteId(u32::try_from(self.source.number()?).unwrap_or(u32::MAX))),
        };
        self.threads += 1;
        Ok(Record::Spawn { frame: self.last_frame, site })
    }

    fn skip_extension(&mut self) -> Result<(), ReadError> {
        self.source.number()?;
        for _ in 0..self.source.number()? {
            self.source.byte()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ReadError> {
        let counts = [self.source.number()?, self.source.number()?, self.source.number()?];
        let checksum = self.source.checksum();
        let mut stored = [0; 4];
        for byte in &mut stored {
            *byte = self.source.byte()?;
        }
        if u32::from_le_bytes(stored) != checksum {
            return Err(ReadError::WrongChecksum);
        }
        if counts != [self.strands, self.threads, self.joins] {
            return Err(ReadError::WrongCounts);
        }
        if self.source.more()? {
            return Err(ReadError::TrailingBytes { offset: self.source.offset() });
        }
        self.finished = true;
        Ok(())
    }
}

/// Reads a whole computation of at most [`DEFAULT_STRAND_LIMIT`] strands.
///
/// # Errors
/// If the file is damaged or is not a computation.
pub fn read(from: impl Read) -> Result<Computation, ReadError> {
    read_at_most(DEFAULT_STRAND_LIMIT, from)
}

/// Reads a whole computation of at most `limit` strands.
///
/// # Errors
/// If the file is damaged, is not a computation, or has more strands.
pub fn read_at_most(limit: u64, from: impl Read) -> Result<Computation, ReadError> {
    let mut reader = Reader::new(from)?;
    let mut b = Builder::new(reader.root_frame());
    let mut names = 0;
    while let Some(record) = reader.next()? {
        match record {
            Record::Strand { weight, allocated, freed } => {
                if reader.strands > limit {
                    return Err(ReadError::TooManyStrands { limit });
                }
                b.strand(weight);
                reader.waits().iter().for_each(|&from| b.wait_for(from));
                if allocated > 0 {
                    b.allocate(allocated);
                }
                if freed > 0 {
                    b.free(freed);
                }
            }
            Record::Spawn { frame, site: None } => {
                b.spawn(frame);
            }
            Record::Spawn { frame, site: Some(site) } => {
                b.spawn_at(site, frame);
            }
            Record::End => {
                b.end();
            }
            Record::Site(_) | Record::Note { .. } if names == MAX_NAMES => {
                return Err(ReadError::TooManyNames { offset: reader.offset() });
            }
            Record::Site(name) => {
                b.site(name);
                names += 1;
            }
            Record::Note { key, value } => {
                b.note(key, value);
                names += 1;
            }
            Record::Unit(unit) => b.weight_unit(unit),
        }
        if let Some(error) = b.error() {
            return Err(ReadError::Invalid { offset: reader.offset(), error: error.clone() });
        }
    }
    b.build().map_err(|error| ReadError::Invalid { offset: reader.offset(), error })
}
