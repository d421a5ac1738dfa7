//! The events of a trace, and the file that the runtime writes them to (`BOMBYX_TRACE`). `bombyx-trace` reads it;
//! `docs/trace-format.md` describes it.

/// How a trace file begins. The last character counts the versions.
pub const MAGIC: &[u8; 16] = b"bombyx trace v1\n";

/// The sections of the file.
pub mod section {
    /// Names and values: of the program, the machine, the clock.
    pub const NOTES: u32 = 1;
    /// A pool.
    pub const POOL: u32 = 2;
    /// A thread.
    pub const THREAD: u32 = 3;
    /// The name of the code that a job runs.
    pub const CODE: u32 = 4;
    /// A place in the source.
    pub const PLACE: u32 = 5;
    /// A text that the program gave.
    pub const TEXT: u32 = 6;
    /// The newest events of a ring, which threads that follow one another share.
    pub const EVENTS: u32 = 7;
    /// The checksum of all that came before. The last section.
    pub const END: u32 = 8;
}

/// Stands for no processor, no pool, or nothing else.
pub const NONE: u16 = u16::MAX;

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$each])* $variant = $number,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The one with this number.
            pub fn from_number(number: u64) -> Option<$name> {
                match number {
                    $($number => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

numbered! {
    /// What an event tells. `a`, `b` and `other` are the fields of [`Event`].
    Kind {
        /// The thread takes hold of the processor.
        TakesHold = 1 "takes hold",
        /// The thread lets go of the processor.
        LetsGo = 2 "lets go",
        /// The processor is in the [`State`] `other` from now on.
        State = 3 "state",
        /// The thread begins to run the job `a`, whose code is `b`.
        Begins = 4 "begins",
        /// The thread has run the job `a`.
        Ends = 5 "ends",
        /// The processor took the job or carrier `a` from the processor `other`, or from a list.
        Steals = 6 "steals",
        /// The thread's frame waits for the end of `a`.
        Waits = 7 "waits",
        /// The frame goes on.
        GoesOn = 8 "goes on",
        /// The thread runs code that may block.
        Blocks = 9 "blocks",
        /// The thread has left that code, and has a processor again.
        Unblocks = 10 "unblocks",
        /// The thread wakes the processor, which was idle.
        Wakes = 11 "wakes",
        /// The thread puts the job `a` into the queue of the pool.
        Queues = 12 "queues",
        /// The processor exchanges CPUs with the processor `other`.
        Mugs = 13 "mugs",
        /// The thread enters the [`Region`] `other` at the place `a`.
        Enters = 14 "enters",
        /// The thread leaves a region.
        Leaves = 15 "leaves",
        /// The program marks this moment with the text `a`.
        Mark = 16 "mark",
        /// The program begins a phase with the text `a`.
        Opens = 17 "opens",
        /// The program ends a phase with the text `a`.
        Closes = 18 "closes",
        /// A long strand ends, which began at the time `b`. Its fork site is the place `a`, or 0 if that is not known.
        Strand = 19 "strand",
    }
}

numbered! {
    /// What a processor does.
    State {
        /// Nothing: it rests, and has no thread.
        Idle = 0 "idle",
        /// Runs something.
        Busy = 1 "busy",
        /// Looks for something to run.
        Search = 2 "search",
        /// Runs a part of what its carrier waits for.
        Help = 3 "help",
        /// Changes from one thread to another.
        HandOver = 4 "hand-over",
    }
}

numbered! {
    /// A part of the program that the runtime knows.
    Region {
        /// A closure that entered a pool.
        Run = 0 "run",
        /// A call of `scope`.
        Scope = 1 "scope",
        /// A loop.
        Loop = 2 "loop",
        /// A broadcast.
        Broadcast = 3 "broadcast",
    }
}

/// An event. In the ring and in the file, it is four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ticks of the clock.
    pub time: u64,
    /// What happened.
    pub kind: Kind,
    /// The pool, or [`NONE`].
    pub pool: u16,
    /// The processor, or [`NONE`].
    pub processor: u16,
    /// See [`Kind`].
    pub other: u16,
    /// See [`Kind`].
    pub a: u64,
    /// See [`Kind`].
    pub b: u64,
}

impl Event {
    /// The event as words.
    #[inline]
    pub fn to_words(self) -> [u64; 4] {
        let head = self.kind as u64
            | u64::from(self.pool) << 8
            | u64::from(self.processor) << 24
            | u64::from(self.other) << 40;
        [self.time, head, self.a, self.b]
    }

    /// The event with these words. `None` if there is no such kind.
    pub fn from_words([time, head, a, b]: [u64; 4]) -> Option<Event> {
        let kind = Kind::from_number(head & 0xff)?;
        let part = |shift: u32| (head >> shift) as u16;
        (head >> 56 == 0).then_some(Event {
            time,
            kind,
            pool: part(8),
            processor: part(24),
            other: part(40),
            a,
            b,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_from_their_words() {
        for &kind in Kind::ALL {
            let event = Event { time: 7, kind, pool: 1, processor: NONE, other: 0x1234, a: 1 << 63, b: 3 };
            assert_eq!(Event::from_words(event.to_words()), Some(event));
            assert_eq!(Kind::from_number(kind as u64), Some(kind));
        }
        assert_eq!(Event::from_words([0, 0, 0, 0]), None, "an empty slot is no event");
        assert_eq!(Event::from_words([0, 1 | 1 << 56, 0, 0]), None);
    }
}
