//! [`Builder`]: makes a computation from its serial execution.
//!
//! Tell the builder what one processor does, in order: execute a strand, spawn a child and go on in it, end the child
//! and return to the parent. Generators and recorders see a program this way. It makes the spawn tree a tree and the
//! dag acyclic by construction; what else can go wrong is checked here. Methods never fail: the builder keeps the first
//! broken rule, and [`Builder::build`] returns it.

use crate::computation::{NONE, Strand, Thread};
use crate::measures::path_lengths;
use crate::{BuildError, Class, Computation, SiteId, StrandId, ThreadId, WeightUnit};

/// A thread that has not ended yet.
struct Open {
    thread: u32,
    last: u32,
    last_spawned: bool,
}

/// Makes a [`Computation`] from its serial execution; see the example there.
pub struct Builder {
    strands: Vec<Strand>,
    threads: Vec<Thread>,
    /// Join edges in the order of their targets.
    joins: Vec<(u32, u32)>,
    allocated: Vec<u64>,
    freed: Vec<u64>,
    /// The path from the root to the current thread.
    open: Vec<Open>,
    work: u64,
    /// The sum of all frames and allocations.
    bytes: u64,
    unit: WeightUnit,
    sites: Vec<String>,
    notes: Vec<(String, String)>,
    error: Option<BuildError>,
}

impl Builder {
    /// Begins the root thread, with a frame of `frame` bytes.
    pub fn new(frame: u64) -> Self {
        let mut builder = Self {
            strands: Vec::new(),
            threads: Vec::new(),
            joins: Vec::new(),
            allocated: Vec::new(),
            freed: Vec::new(),
            open: Vec::new(),
            work: 0,
            bytes: 0,
            unit: WeightUnit::default(),
            sites: Vec::new(),
            notes: Vec::new(),
            error: None,
        };
        builder.begin(frame, NONE);
        builder
    }

    /// The first rule broken so far. Readers of long inputs look here to stop early.
    pub fn error(&self) -> Option<&BuildError> {
        self.error.as_ref()
    }

    /// The id that the next strand will get.
    pub fn upcoming(&self) -> StrandId {
        StrandId(self.strands.len() as u32)
    }

    /// The current thread: the one that began last and has not ended.
    pub fn current(&self) -> ThreadId {
        ThreadId(self.here().thread)
    }

    /// Executes a strand of `weight` instructions in the current thread.
    pub fn strand(&mut self, weight: u64) -> StrandId {
        let id = self.strands.len() as u32;
        if self.error.is_some() {
            return StrandId(id.saturating_sub(1));
        }
        if id >= NONE - 1 {
            self.fail(BuildError::TooLarge);
            return StrandId(id - 1);
        }
        if weight == 0 {
            self.fail(BuildError::ZeroWeight(StrandId(id)));
        }
        match self.work.checked_add(weight) {
            Some(work) => self.work = work,
            None => self.fail(BuildError::Overflow),
        }
        let here = self.open.last_mut().expect("the root stays open until it is built");
        if here.last == NONE {
            self.threads[here.thread as usize].first = id;
        } else {
            self.strands[here.last as usize].next = id;
        }
        here.last = id;
        here.last_spawned = false;
        let thread = here.thread;
        self.strands.push(Strand { weight, next: NONE, thread, joins_begin: 0, waits: 0 });
        StrandId(id)
    }

    /// Spawns a child with a frame of `frame` bytes at the current thread's last strand and goes on in the child.
    pub fn spawn(&mut self, frame: u64) -> ThreadId {
        let here = self.here();
        let (thread, last, spawned) = (here.thread, here.last, here.last_spawned);
        if last == NONE {
            self.fail(BuildError::SpawnWithoutStrand(ThreadId(thread)));
        } else if spawned {
            self.fail(BuildError::SecondSpawn(StrandId(last)));
        } else {
            self.open.last_mut().expect("the root is open").last_spawned = true;
        }
        self.begin(frame, last)
    }

    /// Like [`spawn`](Self::spawn), at a known place of the program.
    pub fn spawn_at(&mut self, site: SiteId, frame: u64) -> ThreadId {
        if site.index() >= self.sites.len() {
            self.fail(BuildError::UnknownSite(site));
        }
        let child = self.spawn(frame);
        self.threads[child.index()].site = site.0;
        child
    }

    /// Ends the current thread and returns to its parent. Returns the thread's last strand, for
    /// [`wait_for`](Self::wait_for).
    pub fn end(&mut self) -> StrandId {
        if self.open.len() == 1 {
            self.fail(BuildError::EndOfRoot);
            return StrandId(self.open[0].last);
        }
        self.close()
    }

    /// Adds a join edge from an earlier strand to the current thread's latest strand.
    pub fn wait_for(&mut self, from: StrandId) {
        if self.error.is_some() {
            return;
        }
        let here = self.here();
        let (thread, to) = (here.thread, here.last);
        if to == NONE {
            return self.fail(BuildError::WaitWithoutStrand(ThreadId(thread)));
        }
        let edge = (from, StrandId(to));
        if from.index() >= self.strands.len() {
            return self.fail(BuildError::UnknownStrand(from));
        }
        if self.strands[from.index()].thread == thread {
            return self.fail(BuildError::JoinWithinThread { from: edge.0, to: edge.1 });
        }
        if from.0 >= to {
            return self.fail(BuildError::JoinBackwards { from: edge.0, to: edge.1 });
        }
        if self.follows_spawn(to) {
            return self.fail(BuildError::JoinAfterSpawn { from: edge.0, to: edge.1 });
        }
        if self.joins.len() >= NONE as usize - 1 {
            return self.fail(BuildError::TooLarge);
        }
        self.joins.push((from.0, to));
        self.strands[to as usize].waits += 1;
    }

    /// Whether the current thread's latest strand already waits for `from`.
    pub fn waits_for(&self, from: StrandId) -> bool {
        let to = self.here().last;
        self.joins.iter().rev().take_while(|&&(_, target)| target == to).any(|&(source, _)| source == from.0)
    }

    /// The current thread's latest strand allocates `bytes` of heap memory when it begins.
    pub fn allocate(&mut self, bytes: u64) {
        if let Some(strand) = self.heap_strand() {
            match self.bytes.checked_add(bytes) {
                Some(total) => self.bytes = total,
                None => return self.fail(BuildError::Overflow),
            }
            self.allocated[strand] += bytes;
        }
    }

    /// The current thread's latest strand frees `bytes` of heap memory when it ends.
    pub fn free(&mut self, bytes: u64) {
        if let Some(strand) = self.heap_strand() {
            match self.freed[strand].checked_add(bytes) {
                Some(total) => self.freed[strand] = total,
                None => self.fail(BuildError::Overflow),
            }
        }
    }

    /// Declares what weights count. Default: instructions.
    pub fn weight_unit(&mut self, unit: WeightUnit) {
        self.unit = unit;
    }

    /// Adds a fork site, for example a source location, for [`spawn_at`](Self::spawn_at).
    pub fn site(&mut self, name: impl Into<String>) -> SiteId {
        self.sites.push(name.into());
        SiteId::new(self.sites.len() - 1)
    }

    /// Adds a note, for example `("program", "cilksort")`.
    pub fn note(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.notes.push((key.into(), value.into()));
    }

    /// Ends the root thread, checks what only the whole computation shows, and makes it.
    ///
    /// # Errors
    /// The first rule of the model that was broken.
    pub fn build(mut self) -> Result<Computation, BuildError> {
        if self.open.len() > 1 {
            let unfinished = self.current();
            self.fail(BuildError::Unfinished(unfinished));
        }
        self.close();
        if let Some(error) = self.error {
            return Err(error);
        }
        let join_targets = self.group_joins()?;
        if self.allocated.iter().chain(&self.freed).all(|&bytes| bytes == 0) {
            self.allocated = Vec::new();
            self.freed = Vec::new();
        } else {
            self.allocated.resize(self.strands.len(), 0);
            self.freed.resize(self.strands.len(), 0);
            self.check_heap()?;
        }
        let mut computation = Computation {
            strands: self.strands,
            threads: self.threads,
            join_targets,
            allocated: self.allocated,
            freed: self.freed,
            class: Class::General,
            span: 0,
            unit: self.unit,
            sites: self.sites,
            notes: self.notes,
        };
        if let Some(thread) = computation
            .threads()
            .skip(1)
            .find(|&t| computation.joins_from(computation.last_strand(t)).is_empty())
        {
            return Err(BuildError::Detached(thread));
        }
        computation.class = Class::of(&computation);
        computation.span = path_lengths(&computation).into_iter().max().expect("a computation has a strand");
        Ok(computation)
    }

    fn here(&self) -> &Open {
        self.open.last().expect("the root stays open until it is built")
    }

    fn fail(&mut self, error: BuildError) {
        self.error.get_or_insert(error);
    }

    fn begin(&mut self, frame: u64, spawner: u32) -> ThreadId {
        let thread = self.threads.len() as u32;
        match self.bytes.checked_add(frame) {
            Some(total) => self.bytes = total,
            None => self.fail(BuildError::Overflow),
        }
        let depth = self.open.len() as u32;
        self.threads.push(Thread { frame, first: NONE, last: NONE, spawner, depth, site: NONE });
        self.open.push(Open { thread, last: NONE, last_spawned: false });
        ThreadId(thread)
    }

    fn close(&mut self) -> StrandId {
        let ended = self.open.pop().expect("only open threads are closed");
        if ended.last == NONE {
            self.fail(BuildError::EmptyThread(ThreadId(ended.thread)));
        } else if ended.last_spawned {
            self.fail(BuildError::SpawnAtEnd(StrandId(ended.last)));
        }
        self.threads[ended.thread as usize].last = ended.last;
        StrandId(ended.last)
    }

    /// Whether the strand before `strand` in its thread spawns. `strand` is the last of the current thread. So it
    /// follows a spawn exactly when the id before it belongs to another thread, which is then in the child's subtree.
    fn follows_spawn(&self, strand: u32) -> bool {
        let thread = self.strands[strand as usize].thread;
        self.threads[thread as usize].first != strand && self.strands[strand as usize - 1].thread != thread
    }

    fn heap_strand(&mut self) -> Option<usize> {
        if self.error.is_some() {
            return None;
        }
        let strand = self.here().last;
        if strand == NONE {
            let thread = self.current();
            self.fail(BuildError::EmptyThread(thread));
            return None;
        }
        let strand = strand as usize;
        if self.allocated.len() <= strand {
            self.allocated.resize(self.strands.len(), 0);
            self.freed.resize(self.strands.len(), 0);
        }
        Some(strand)
    }

    fn check_heap(&self) -> Result<(), BuildError> {
        let mut held = 0_u64;
        for (strand, (allocated, freed)) in self.allocated.iter().zip(&self.freed).enumerate() {
            held = (held + allocated)
                .checked_sub(*freed)
                .ok_or_else(|| BuildError::FreesTooMuch(StrandId::new(strand)))?;
        }
        Ok(())
    }

    /// Groups the join edges by source with one counting pass.
    fn group_joins(&mut self) -> Result<Vec<StrandId>, BuildError> {
        let joins = std::mem::take(&mut self.joins);
        for &(from, _) in &joins {
            self.strands[from as usize].joins_begin += 1;
        }
        let mut begin = 0;
        for strand in &mut self.strands {
            begin += std::mem::replace(&mut strand.joins_begin, begin);
        }
        let mut targets = vec![StrandId(NONE); joins.len()];
        for &(from, to) in &joins {
            let slot = &mut self.strands[from as usize].joins_begin;
            targets[*slot as usize] = StrandId(to);
            *slot += 1;
        }
        // Each `joins_begin` has advanced to where the next strand's group begins, so shift them back.
        let mut begin = 0;
        for (from, strand) in self.strands.iter_mut().enumerate() {
            let end = std::mem::replace(&mut strand.joins_begin, begin);
            let group = &mut targets[begin as usize..end as usize];
            group.sort_unstable();
            if let Some(twice) = group.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(BuildError::DuplicateJoin { from: StrandId::new(from), to: twice[0] });
            }
            begin = end;
        }
        Ok(targets)
    }
}
