//! [`Discipline`]: how work is stolen and how joins are resolved. There is one switch for each, fixed at compile time.
//! The lanes of RW §7 are [`WsJr`], [`Ws`], [`PdCas`] and [`ChaseLev`].

use std::fmt;

/// How idle processors get work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steals {
    /// RW Figure 6: queries and reception cells, loads and stores only.
    ReadWrite,
    /// Private deques; a thief claims a victim's request cell by compare-and-swap (Acar, Charguéraud and Rainey, PPoPP 2013,
    /// receiver-initiated).
    PrivateCas,
    /// Concurrent deques: a fence on every pop, a compare-and-swap on every steal.
    ChaseLev,
}

/// How processors decide who runs a join thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Joins {
    /// RW Figure 7: READY, ACK and TRANSFER, loads and stores only.
    ReadWrite,
    /// A counter and fetch-and-add, used only if the two branches ended on different processors (RW §2.2).
    FetchAdd,
}

/// A scheduler of RW §7.
pub trait Discipline: Send + Sync + 'static {
    /// How work is stolen.
    const STEALS: Steals;
    /// How joins are resolved.
    const JOINS: Joins;
    /// The paper's name for it.
    const NAME: &'static str;
    /// Called with a random number before every access to a shared cell. A test may waste time here.
    #[inline(always)]
    fn pause(_random: impl FnOnce() -> u64) {}
}

macro_rules! disciplines {
    ($($(#[$doc:meta])* $type:ident = $steals:ident, $joins:ident, $name:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $type;

            impl Discipline for $type {
                const STEALS: Steals = Steals::$steals;
                const JOINS: Joins = Joins::$joins;
                const NAME: &'static str = $name;
            }
        )*
    };
}

disciplines! {
    /// "Our WS+JR": no read-modify-write instruction and no fence at all.
    WsJr = ReadWrite, ReadWrite, "WS+JR";
    /// "Our WS": steals as in WS+JR, joins by fetch-and-add.
    Ws = ReadWrite, FetchAdd, "WS";
    /// "PD/CAS": private deques with compare-and-swap, joins by fetch-and-add.
    PdCas = PrivateCas, FetchAdd, "PD/CAS";
    /// Private deques with compare-and-swap, joins as in WS+JR: the remaining combination of the two switches.
    PdCasJr = PrivateCas, ReadWrite, "PD/CAS+JR";
    /// "Chase Lev": concurrent deques with their fence, joins by fetch-and-add.
    ChaseLev = ChaseLev, FetchAdd, "Chase Lev";
}

/// A discipline with a random delay before every access to a shared cell, for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shaken<K>(std::marker::PhantomData<K>);

impl<K: Discipline> Discipline for Shaken<K> {
    const STEALS: Steals = K::STEALS;
    const JOINS: Joins = K::JOINS;
    const NAME: &'static str = K::NAME;

    #[inline(always)]
    fn pause(random: impl FnOnce() -> u64) {
        let random = random();
        match random % 32 {
            0 => std::thread::yield_now(),
            1..=4 => (0..random >> 32 & 127).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}

impl fmt::Display for Steals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Steals::ReadWrite => "read-write",
            Steals::PrivateCas => "private-cas",
            Steals::ChaseLev => "chase-lev",
        })
    }
}

impl fmt::Display for Joins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Joins::ReadWrite => "read-write",
            Joins::FetchAdd => "fetch-add",
        })
    }
}
