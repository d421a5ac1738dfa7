//! The reachable states in little memory: 16 bytes for a state, 4 for its parent, 4 for each transition.
//!
//! A state is stored as the numbers of its parts. Each processor's [`Local`] and the [`Memory`] are interned. So a
//! state of P processors is P + 1 small numbers packed into 128 bits, without loss: two states are equal exactly when
//! their keys are (collapse compression, as in SPIN).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::state::{Local, Memory, State};

/// A state's number, in the order of discovery.
pub(super) type Id = u32;

/// The multiply-and-rotate hash of Firefox and rustc. The tables hold trusted data, so only speed matters.
#[derive(Default)]
struct FxHasher(u64);

impl FxHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FxHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.add(u64::from(n));
    }

    fn write_u16(&mut self, n: u16) {
        self.add(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.add(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

struct Interner<T> {
    numbers: HashMap<T, u32, BuildHasherDefault<FxHasher>>,
    items: Vec<T>,
}

impl<T: Copy + Eq + Hash> Interner<T> {
    fn new() -> Interner<T> {
        Interner { numbers: HashMap::default(), items: Vec::new() }
    }

    fn number(&mut self, item: &T) -> u32 {
        if let Some(&n) = self.numbers.get(item) {
            return n;
        }
        let n = self.items.len() as u32;
        self.items.push(*item);
        self.numbers.insert(*item, n);
        n
    }

    fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.numbers.capacity() * (size_of::<T>() + 5)
    }
}

/// Most processors whose states fit a key.
pub(super) const MAX_EXPLORED: usize = 4;

/// The set of reachable states, numbered, with one parent each and, if wanted, all transitions.
pub(super) struct Graph {
    processors: usize,
    bits: u32,
    locals: Interner<Local>,
    memories: Interner<Memory>,
    keys: Vec<u128>,
    parents: Vec<Id>,
    table: Vec<Id>,
    edges: Vec<Id>,
    offsets: Vec<u64>,
}

const EMPTY: Id = Id::MAX;

/// A part of a state has outgrown its share of the key, or there are too many states to number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Graph {
    pub(super) fn new(processors: usize) -> Graph {
        Graph {
            processors,
            bits: (128 / (processors as u32 + 1)).min(32),
            locals: Interner::new(),
            memories: Interner::new(),
            keys: Vec::new(),
            parents: Vec::new(),
            table: vec![EMPTY; 1 << 12],
            edges: Vec::new(),
            offsets: vec![0],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * 16
            + (self.parents.capacity() + self.table.capacity() + self.edges.capacity()) * 4
            + self.offsets.capacity() * 8
            + self.locals.bytes()
            + self.memories.bytes()
    }

    /// Makes `s` the state with number 0.
    pub(super) fn insert_initial(&mut self, s: &State) -> Result<(), Full> {
        let key = self.key(s)?;
        self.insert_key(key, 0).map(|_| ())
    }

    /// The number of `s`, to which a move of the state `from` leads, and whether it is new.
    pub(super) fn insert(&mut self, s: &State, from: &State, parent: Id) -> Result<(Id, bool), Full> {
        let key = self.successor_key(s, from, self.keys[parent as usize])?;
        self.insert_key(key, parent)
    }

    fn insert_key(&mut self, key: u128, parent: Id) -> Result<(Id, bool), Full> {
        if (self.len() + 1) * 2 > self.table.len() {
            self.grow();
        }
        let slot = self.slot(key);
        match self.table[slot] {
            EMPTY if self.len() >= EMPTY as usize => Err(Full),
            EMPTY => {
                let id = self.len() as Id;
                self.table[slot] = id;
                self.keys.push(key);
                self.parents.push(parent);
                Ok((id, true))
            }
            id => Ok((id, false)),
        }
    }

    fn key(&mut self, s: &State) -> Result<u128, Full> {
        let mut key = u128::from(self.memories.number(&s.memory));
        for local in s.locals() {
            key = key << self.bits | u128::from(self.locals.number(local));
        }
        self.fits(key)
    }

    /// Most moves change one or two parts of a state. The others keep their numbers.
    fn successor_key(&mut self, s: &State, from: &State, from_key: u128) -> Result<u128, Full> {
        let mask = (1u128 << self.bits) - 1;
        let mut key = from_key >> (self.bits * self.processors as u32);
        if s.memory != from.memory {
            key = u128::from(self.memories.number(&s.memory));
        }
        for (p, (local, before)) in s.locals().iter().zip(from.locals()).enumerate() {
            let part = match local == before {
                true => from_key >> (self.bits * (self.processors - 1 - p) as u32) & mask,
                false => u128::from(self.locals.number(local)),
            };
            key = key << self.bits | part;
        }
        self.fits(key)
    }

    fn fits(&self, key: u128) -> Result<u128, Full> {
        let widest = self.locals.items.len().max(self.memories.items.len()) as u64;
        if widest >> self.bits == 0 { Ok(key) } else { Err(Full) }
    }

    fn slot(&self, key: u128) -> usize {
        let mask = self.table.len() - 1;
        let mixed = (key as u64 ^ ((key >> 64) as u64).rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) as usize >> 20 & mask;
        while self.table[slot] != EMPTY && self.keys[self.table[slot] as usize] != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.table = vec![EMPTY; 2 * self.table.len()];
        for id in 0..self.len() {
            let slot = self.slot(self.keys[id]);
            self.table[slot] = id as Id;
        }
    }

    /// Notes a transition of the state after the last one closed by [`Graph::close_state`].
    pub(super) fn add_edge(&mut self, to: Id) {
        self.edges.push(to);
    }

    /// Ends the transitions of the next state in order.
    pub(super) fn close_state(&mut self) {
        self.offsets.push(self.edges.len() as u64);
    }

    pub(super) fn edges(&self, id: Id) -> &[Id] {
        let at = id as usize;
        &self.edges[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    pub(super) fn state(&self, id: Id) -> State {
        let mut s = State::initial(self.processors);
        for (p, local) in s.locals[..self.processors].iter_mut().enumerate() {
            *local = *self.local(id, p);
        }
        s.memory = *self.memory(id);
        s
    }

    /// The part of the state that belongs to processor `p`.
    pub(super) fn local(&self, id: Id, p: usize) -> &Local {
        let mask = (1u128 << self.bits) - 1;
        let part = self.keys[id as usize] >> (self.bits * (self.processors - 1 - p) as u32) & mask;
        &self.locals.items[part as usize]
    }

    /// The part of the state that is main memory.
    pub(super) fn memory(&self, id: Id) -> &Memory {
        &self.memories.items[(self.keys[id as usize] >> (self.bits * self.processors as u32)) as usize]
    }

    /// The numbers of the states on the path from the initial state to `id`, both included.
    pub(super) fn path(&self, id: Id) -> Vec<Id> {
        let mut path = vec![id];
        while let Some(&last) = path.last().filter(|&&last| last != 0) {
            path.push(self.parents[last as usize]);
        }
        path.reverse();
        path
    }
}
