//! Frames between processes: a header in JSON, which the Python shim also reads, and a body of bytes that nobody looks
//! into.
//!
//! `u32 length of the header | u64 length of the body | header | body`, lowest byte first. Both ends of a link are
//! processes of one user on one machine, connected by a socket pair that nobody else can open.

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// The version of this protocol. Both sides say theirs first.
pub(crate) const PROTOCOL: u32 = 1;

/// The longest header.
const MAX_HEADER: u32 = 1 << 20;
/// The longest body: 16 GiB.
const MAX_BODY: u64 = 1 << 34;

/// What one side tells the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Header {
    // The worker, when it begins.
    Hello { protocol: u32, build: String },
    // To the worker.
    Call { call: u64, function: String, depth: u32 },
    Ping,
    Bye,
    // From the worker.
    Done { call: u64 },
    Pong,
    Pause,
    Resume,
    // From whoever makes calls: a worker with nested calls, or the client of Dask.
    Submit { id: u64, key: String, function: String, needs: Vec<String>, depth: u32, place: String },
    Keep { key: String, function: String, needs: Vec<String>, depth: u32, place: String },
    Put { key: String },
    Fetch { id: u64, key: String },
    Release { key: String },
    Cancel { key: String },
    Resize { workers: usize },
    // Back to it.
    Reply { id: u64, outcome: Ending, message: String },
    Slots { slots: usize, processes: Vec<u32> },
    Gone { message: String },
}

/// How a call ended, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ending {
    Done,
    Lost,
    Build,
    Gone,
    Cancelled,
}

/// A header and its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
}

impl From<Header> for Frame {
    fn from(header: Header) -> Frame {
        Frame { header, body: Vec::new() }
    }
}

pub(crate) fn write(to: &mut impl Write, frame: &Frame) -> io::Result<()> {
    let header = serde_json::to_vec(&frame.header)?;
    let mut head = Vec::with_capacity(12 + header.len());
    head.extend((header.len() as u32).to_le_bytes());
    head.extend((frame.body.len() as u64).to_le_bytes());
    head.extend(header);
    to.write_all(&head)?;
    to.write_all(&frame.body)?;
    to.flush()
}

/// The next frame, or `None` at the end of the stream.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut lengths = [0; 12];
    let first = from.read(&mut lengths)?;
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(&mut lengths[first..])?;
    let header = u32::from_le_bytes(lengths[..4].try_into().expect("four bytes"));
    let body = u64::from_le_bytes(lengths[4..].try_into().expect("eight bytes"));
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if header > MAX_HEADER || body > MAX_BODY {
        return Err(invalid(format!("a frame of {header} and {body} bytes")));
    }
    let mut text = vec![0; header as usize];
    from.read_exact(&mut text)?;
    let header = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
    let mut bytes = Vec::new();
    // The buffer grows as bytes arrive, so a false length takes no memory.
    if from.take(body).read_to_end(&mut bytes)? as u64 != body {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Frame { header, body: bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Frame {
        let header = Header::Submit {
            id: 3,
            key: "count-1".into(),
            function: "count".into(),
            needs: vec!["data-2".into()],
            depth: 1,
            place: "item 0 of the map at a.rs:1".into(),
        };
        Frame { header, body: vec![7; 1000] }
    }

    #[test]
    fn frames_arrive_as_they_were() {
        let mut bytes = Vec::new();
        write(&mut bytes, &sample()).unwrap();
        write(&mut bytes, &Header::Ping.into()).unwrap();
        let mut from = &bytes[..];
        assert_eq!(read(&mut from).unwrap(), Some(sample()));
        assert_eq!(read(&mut from).unwrap(), Some(Header::Ping.into()));
        assert_eq!(read(&mut from).unwrap(), None);
    }

    #[test]
    fn every_prefix_is_an_error() {
        let mut bytes = Vec::new();
        write(&mut bytes, &sample()).unwrap();
        for length in 1..bytes.len() {
            assert!(read(&mut &bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn absurd_lengths_are_refused() {
        let mut bytes = [0; 12];
        bytes[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read(&mut &bytes[..]).is_err());
        let mut bytes = [0; 12];
        bytes[4..12].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(read(&mut &bytes[..]).is_err());
    }
}
