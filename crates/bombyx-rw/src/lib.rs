#![doc = include_str!("../README.md")]

mod arena;
mod cells;
mod chase_lev;
mod clock;
mod deque;
mod discipline;
mod pool;
pub mod protocol;
mod record;
mod slice;
mod system;
mod task;
mod worker;

pub use cells::Count;
pub use discipline::{ChaseLev, Discipline, Joins, PdCas, PdCasJr, Shaken, Steals, Ws, WsJr};
pub use pool::{Pool, PoolError};
pub use protocol::{Mutation, UnknownMutation};
pub use slice::Slice;
pub use task::{Ended, Task};
