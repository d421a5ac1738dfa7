//! Reads a trace file, and treats it as hostile: compares every length with the rest of the file, and checks that every
//! number names something.

use crate::error::ReadError;
use bombyx_base::Crc;
use bombyx_base::trace::{Event, MAGIC, section};
use std::collections::HashMap;

/// What a trace file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The program's name.
    pub program: String,
    /// The number of the process.
    pub process: u32,
    /// How many CPUs the process could use.
    pub cpus: u64,
    /// Nanoseconds per tick of the clock.
    pub ns_per_tick: f64,
    /// The tick at which the trace began.
    pub began: u64,
    /// The tick at which the file was written.
    pub ended: u64,
    /// When the trace began, in nanoseconds since 1970.
    pub began_unix_ns: u128,
    /// Events of threads that had no room.
    pub untold: u64,
    /// Whether a signal ended the program.
    pub interrupted: bool,
    /// The pools, by their numbers.
    pub pools: HashMap<u16, Pool>,
    /// The threads with their events.
    pub threads: Vec<Thread>,
    /// The full names of what jobs run, by the address of their code.
    pub codes: HashMap<u64, String>,
    /// The places in the source, by their addresses.
    pub places: HashMap<u64, Place>,
    /// The texts of the program, by their numbers.
    pub texts: HashMap<u64, String>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many processors it has.
    pub processors: u16,
    /// Whether its threads are fixed.
    pub fixed: bool,
    /// Its scheduler.
    pub scheduler: String,
}

/// A thread and what it told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The number that the system gave it.
    pub number: u64,
    /// Its name, if it has one.
    pub name: String,
    /// How many of its events were overwritten.
    pub lost: u64,
    /// Its newest events, from the oldest.
    pub events: Vec<Event>,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The most processors of a pool.
const PROCESSORS: u32 = 1 << 12;
/// The most processors of all pools together. Every one gets a track.
const ALL_PROCESSORS: u32 = 1 << 16;
/// The latest moment of a trace in nanoseconds: thirteen days. Later ones count as this one.
const LATEST: f64 = (1_u64 << 50) as f64;

/// Reads a trace.
///
/// # Errors
/// If it is not a whole trace of a version that this reader knows.
pub fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    check_magic(bytes)?;
    let mut rest = Cursor { bytes, at: MAGIC.len() };
    let mut trace = Trace::default();
    let mut owners = Vec::new();
    let mut rings: HashMap<u32, (u64, Vec<Event>)> = HashMap::new();
    loop {
        let begin = rest.at;
        let tag = rest.u32()?;
        let length = rest.u64()?;
        let mut body = rest.part(length)?;
        match tag {
            section::NOTES => trace.take_notes(&mut body)?,
            section::POOL => {
                let number = u16::from_le_bytes(body.array()?);
                let processors = body.u32()?;
                if processors == 0 || processors > PROCESSORS {
                    return Err(body.absurd(format!("a pool of {processors} processors")));
                }
                let fixed = body.array::<1>()? != [0];
                let pool = Pool { processors: processors as u16, fixed, scheduler: body.text()? };
                trace.pools.insert(number, pool);
                let all: u32 = trace.pools.values().map(|pool| u32::from(pool.processors)).sum();
                if all > ALL_PROCESSORS {
                    return Err(body.absurd(format!("{all} processors in all pools")));
                }
            }
            section::THREAD => {
                let (ring, first, number) = (body.u32()?, body.u64()?, body.u64()?);
                owners.push((ring, first, Thread { number, name: body.text()?, lost: 0, events: vec![] }));
            }
            section::CODE => drop(trace.codes.insert(body.u64()?, body.text()?)),
            section::PLACE => {
                let (address, line, column) = (body.u64()?, body.u32()?, body.u32()?);
                trace.places.insert(address, Place { file: body.text()?, line, column });
            }
            section::TEXT => drop(trace.texts.insert(u64::from(body.u32()?), body.text()?)),
            section::EVENTS => {
                let (ring, lost) = (body.u32()?, body.u64()?);
                if rings.insert(ring, (lost, body.events()?)).is_some() {
                    return Err(body.absurd(format!("ring {ring} comes twice")));
                }
            }
            section::END => {
                let mut crc = Crc::new();
                crc.add(&bytes[..begin]);
                if body.u32()? != crc.value() {
                    return Err(ReadError::Damaged);
                }
                body.end()?;
                rest.end()?;
                break;
            }
            other => return Err(body.absurd(format!("a section of the unknown kind {other}"))),
        }
        body.end()?;
    }
    if !(trace.ns_per_tick.is_finite() && trace.ns_per_tick > 0.0) {
        return Err(rest.absurd("the file does not say how long a tick is".to_owned()));
    }
    trace.deal(owners, rings, &rest)?;
    Ok(trace)
}

fn check_magic(bytes: &[u8]) -> Result<(), ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    if bytes.starts_with(MAGIC) {
        return Ok(());
    }
    let name = &MAGIC[..MAGIC.len() - 2];
    if MAGIC.starts_with(bytes) {
        return Err(ReadError::Truncated);
    }
    Err(match bytes.strip_prefix(name) {
        Some(version) => {
            let end = version.iter().take(8).position(|&byte| byte == b'\n').unwrap_or(1);
            ReadError::Version(String::from_utf8_lossy(&version[..end.min(version.len())]).into_owned())
        }
        None => ReadError::NotATrace,
    })
}

type Rings = HashMap<u32, (u64, Vec<Event>)>;

impl Trace {
    fn take_notes(&mut self, body: &mut Cursor<'_>) -> Result<(), ReadError> {
        while body.at < body.bytes.len() {
            let (name, value) = (body.text()?, body.text()?);
            let wrong = || body.absurd(format!("`{name}` is `{value}`"));
            macro_rules! number {
                () => {
                    value.parse().map_err(|_| wrong())?
                };
            }
            match name.as_str() {
                "program" => self.program = value,
                "process" => self.process = number!(),
                "cpus" => self.cpus = number!(),
                "ns_per_tick" => self.ns_per_tick = number!(),
                "began" => self.began = number!(),
                "ended" => self.ended = number!(),
                "began_unix_ns" => self.began_unix_ns = number!(),
                "untold" => self.untold = number!(),
                "interrupted" => self.interrupted = number!(),
                // What a later runtime may add.
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives each thread its events. `owners` has each ring's threads in the order in which they had it.
    fn deal(
        &mut self,
        owners: Vec<(u32, u64, Thread)>,
        mut rings: Rings,
        end: &Cursor<'_>,
    ) -> Result<(), ReadError> {
        let mut ends: HashMap<u32, u64> = HashMap::new();
        for (ring, first, mut thread) in owners.into_iter().rev() {
            let Some((lost, events)) = rings.get_mut(&ring) else {
                return Err(end.absurd(format!("a thread has the ring {ring}, which is not there")));
            };
            let begin = usize::try_from(first.saturating_sub(*lost)).unwrap_or(usize::MAX);
            thread.events = events.split_off(begin.min(events.len()));
            // Up to where the events of the next thread begin.
            let next = ends.insert(ring, first).unwrap_or(u64::MAX);
            thread.lost = next.min(*lost).saturating_sub(first);
            self.threads.push(thread);
        }
        self.threads.reverse();
        if rings.values().any(|(_, events)| !events.is_empty()) {
            return Err(end.absurd("there are events of no thread".to_owned()));
        }
        let time = |thread: &Thread| thread.events.windows(2).all(|pair| pair[0].time <= pair[1].time);
        if !self.threads.iter().all(time) {
            return Err(end.absurd("the time of a thread goes backwards".to_owned()));
        }
        Ok(())
    }

    /// Nanoseconds from the beginning of the trace to this tick.
    pub fn ns(&self, tick: u64) -> u64 {
        (tick.saturating_sub(self.began) as f64 * self.ns_per_tick).min(LATEST) as u64
    }
}

/// What is left of the file or of a section.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn absurd(&self, reason: String) -> ReadError {
        ReadError::Absurd { at: self.at, reason }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ReadError> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(ReadError::Truncated)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// A section's body, whose places count from the beginning of the file.
    fn part(&mut self, length: u64) -> Result<Cursor<'a>, ReadError> {
        let at = self.at;
        self.take(usize::try_from(length).map_err(|_| ReadError::Truncated)?)?;
        Ok(Cursor { bytes: &self.bytes[..self.at], at })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        Ok(self.take(N)?.try_into().expect("as many bytes as were taken"))
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, ReadError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, ReadError> {
        let length = self.u32()? as usize;
        let at = self.at;
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_owned)
            .map_err(|_| ReadError::Absurd { at, reason: "a text that is not UTF-8".to_owned() })
    }

    /// The events that make up the rest.
    fn events(&mut self) -> Result<Vec<Event>, ReadError> {
        let mut events = Vec::with_capacity((self.bytes.len() - self.at) / 32);
        while self.at < self.bytes.len() {
            let words = [self.u64()?, self.u64()?, self.u64()?, self.u64()?];
            let event = Event::from_words(words);
            events.push(event.ok_or_else(|| self.absurd("an event of an unknown kind".to_owned()))?);
        }
        Ok(events)
    }

    fn end(&self) -> Result<(), ReadError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.absurd("more bytes than belong here".to_owned()))
        }
    }
}
