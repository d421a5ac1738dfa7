//! Reads traces. The real reader is in `bombyx-trace`; here only what the runtime promises counts.

use bombyx_base::Crc;
use bombyx_base::trace::{Event, Kind, MAGIC, section};
use std::collections::HashMap;

/// What the file says.
pub(crate) struct Trace {
    pub(crate) notes: HashMap<String, String>,
    pub(crate) texts: Vec<String>,
    pub(crate) places: HashMap<u64, String>,
    pub(crate) codes: HashMap<u64, String>,
    /// The events of each thread.
    pub(crate) threads: Vec<Vec<Event>>,
    pub(crate) rings: usize,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The text at the front, and the rest.
fn text(bytes: &[u8]) -> (String, &[u8]) {
    let (text, rest) = bytes[4..].split_at(u32_at(bytes, 0) as usize);
    (String::from_utf8(text.to_vec()).unwrap(), rest)
}

impl Trace {
    pub(crate) fn read(bytes: &[u8]) -> Trace {
        assert!(bytes.starts_with(MAGIC));
        let mut trace = Trace {
            notes: HashMap::new(),
            texts: Vec::new(),
            places: HashMap::new(),
            codes: HashMap::new(),
            threads: Vec::new(),
            rings: 0,
        };
        let (mut at, mut owners) = (MAGIC.len(), Vec::new());
        loop {
            let (tag, length) = (u32_at(bytes, at), u64_at(bytes, at + 4) as usize);
            let body = &bytes[at + 12..at + 12 + length];
            match tag {
                section::NOTES => {
                    let mut rest = body;
                    while !rest.is_empty() {
                        let (name, after) = text(rest);
                        let (value, after) = text(after);
                        trace.notes.insert(name, value);
                        rest = after;
                    }
                }
                section::TEXT => trace.texts.push(text(&body[4..]).0),
                section::PLACE => drop(trace.places.insert(u64_at(body, 0), text(&body[16..]).0)),
                section::CODE => drop(trace.codes.insert(u64_at(body, 0), text(&body[8..]).0)),
                section::THREAD => owners.push((u32_at(body, 0), u64_at(body, 4))),
                section::EVENTS => {
                    let (ring, lost) = (u32_at(body, 0), u64_at(body, 4));
                    let mut events: Vec<_> = body[12..]
                        .chunks_exact(32)
                        .map(|event| [0, 8, 16, 24].map(|word| u64_at(event, word)))
                        .map(|words| Event::from_words(words).expect("only known events"))
                        .collect();
                    // From the last thread that had the ring to the first.
                    for &(_, first) in owners.iter().rev().filter(|owner| owner.0 == ring) {
                        let begin = first.saturating_sub(lost) as usize;
                        trace.threads.push(events.split_off(begin.min(events.len())));
                    }
                    assert!(events.is_empty(), "every event has a thread");
                    trace.rings += 1;
                }
                section::END => {
                    let mut crc = Crc::new();
                    crc.add(&bytes[..at]);
                    assert_eq!((u32_at(body, 0), at + 12 + length), (crc.value(), bytes.len()));
                    return trace;
                }
                _ => {}
            }
            at += 12 + length;
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Event> {
        self.threads.iter().flatten()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.all().filter(|event| event.kind == kind).count()
    }
}

/// What every trace keeps: each thread's events are in order of time, a thread lets go only of a processor that it holds, and
/// what begins on a thread ends there, innermost first.
pub(crate) fn check(trace: &Trace) {
    for thread in &trace.threads {
        assert!(thread.windows(2).all(|pair| pair[0].time <= pair[1].time), "time goes on");
        let mut held = None;
        let mut open = Vec::new();
        for event in thread {
            match event.kind {
                Kind::TakesHold => {
                    assert_eq!(held.replace((event.pool, event.processor)), None);
                }
                Kind::LetsGo => assert_eq!(held.take(), Some((event.pool, event.processor))),
                Kind::Begins => open.push((Kind::Ends, event.a)),
                Kind::Waits => open.push((Kind::GoesOn, 0)),
                Kind::Blocks => open.push((Kind::Unblocks, 0)),
                Kind::Enters => open.push((Kind::Leaves, 0)),
                Kind::Opens => open.push((Kind::Closes, event.a)),
                Kind::Ends | Kind::GoesOn | Kind::Unblocks | Kind::Leaves | Kind::Closes => {
                    assert_eq!(open.pop(), Some((event.kind, event.a)), "{event:?}");
                }
                _ => {}
            }
        }
        assert!(held.is_none() && open.is_empty(), "everything has ended: {open:?}");
    }
}
