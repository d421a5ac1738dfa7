//! Many short looks at a board, and what they say about a time: the share that each processor spends busy, searching,
//! resting, and so on; what is counted per second; and which closures run, from which fork sites.
//!
//! Shares are estimates: the share of the looks that found a processor in a state. The program takes no part in that.

use super::board::{Board, Doing, Pool, Running};
use super::names::Names;
use super::process::{CannotLook, Process};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// What the looks since the last reading say.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The process.
    pub process: u32,
    /// The program that it runs.
    pub program: String,
    /// Seconds since the watch began.
    pub seconds: f64,
    /// How many looks there were since the last reading.
    pub looks: u64,
    /// The pools that exist now.
    pub pools: Vec<PoolReading>,
    /// How many pools had no room on the board.
    pub left_out: u64,
}

/// A pool.
#[derive(Clone, Debug, Serialize)]
pub struct PoolReading {
    /// Its number in the process, from 1 on.
    pub pool: u64,
    /// Its scheduler.
    pub scheduler: String,
    /// Whether its threads are fixed.
    pub fixed_threads: bool,
    /// What waits in its queue.
    pub queue: u64,
    /// Its carriers.
    pub carriers: u64,
    /// The threads that are in `blocking`.
    pub blocked_threads: u64,
    /// How many of its processors, the first ones, are in service.
    pub in_service: u64,
    /// Steals per second, of all processors together.
    pub steals_per_second: f64,
    /// Hand-overs per second.
    pub hand_overs_per_second: f64,
    /// How often a processor came to rest, per second.
    pub sleeps_per_second: f64,
    /// The processors.
    pub processors: Vec<ProcessorReading>,
    /// The closures that ran, by the share of the busy time. A closure has a name if it was stolen, spawned or queued, or if
    /// it entered the pool. What it forks counts as part of it until somebody steals it.
    pub closures: Vec<ClosureReading>,
}

/// A processor.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessorReading {
    /// What it did at the last look.
    pub now: Doing,
    /// The closure that it ran then, if that is known.
    pub closure: Option<String>,
    /// Where that closure was forked, spawned or called: file and line, if that is known.
    pub site: Option<String>,
    /// The share of the looks that found it busy, helping and so on, in the order of [`Doing::ALL`].
    #[serde(serialize_with = "by_name")]
    pub shares: [f64; 6],
    /// Steals per second.
    pub steals_per_second: f64,
    /// Hand-overs per second.
    pub hand_overs_per_second: f64,
}

impl ProcessorReading {
    /// The share of the looks that found it doing this.
    pub fn share(&self, doing: Doing) -> f64 {
        self.shares[doing as usize]
    }

    /// The share of the looks that found it running something.
    pub fn runs(&self) -> f64 {
        self.share(Doing::Busy) + self.share(Doing::Helping)
    }
}

fn by_name<S: Serializer>(shares: &[f64; 6], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(Doing::ALL.iter().map(|doing| doing.name()).zip(shares))
}

/// A closure.
#[derive(Clone, Debug, Serialize)]
pub struct ClosureReading {
    /// Its name; none if it is not known.
    pub name: Option<String>,
    /// Where it is forked, spawned or called: file and line; none if it is not known.
    pub site: Option<String>,
    /// The share of the busy time that it had.
    pub share: f64,
}

/// What is counted per second.
const COUNTED: [&str; 3] = ["steals", "hand_overs", "sleeps"];

/// What the looks at a pool have found since the last reading.
struct Found {
    pool: Pool,
    /// The looks at each processor, by what it did.
    looks: Vec<[u64; 6]>,
    /// The looks that found a closure running.
    closures: HashMap<Running, u64>,
    /// The counters at the last reading, and when that was.
    counted: Vec<[u64; 3]>,
    since: Instant,
}

/// See the module text.
pub struct Watch {
    process: Process,
    board: Board,
    names: Names,
    began: Instant,
    looks: u64,
    found: BTreeMap<u64, Found>,
}

impl Watch {
    /// Begins to watch a process, or the nearest descendant that has pools.
    pub fn begin(process: Process) -> Result<Self, CannotLook> {
        let (process, board) = process.board()?;
        let names = Names::of(process.number());
        let found = BTreeMap::new();
        let mut watch = Self { process, board, names, began: Instant::now(), looks: 0, found };
        watch.look();
        Ok(watch)
    }

    /// The process that is watched.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Looks once.
    pub fn look(&mut self) {
        self.looks += 1;
        let board = &self.board;
        for pool in board.pools() {
            let found = self.found.entry(pool.number).or_insert_with(|| Found {
                looks: vec![[0; 6]; pool.processors],
                closures: HashMap::new(),
                counted: counted(board, &pool),
                since: Instant::now(),
                pool: pool.clone(),
            });
            // The number of its processors may be torn, if the pool has just begun.
            for (index, looks) in found.looks.iter_mut().enumerate() {
                let (doing, running) = board.processor(&found.pool, index);
                looks[doing as usize] += 1;
                if matches!(doing, Doing::Busy | Doing::Helping) {
                    *found.closures.entry(running).or_default() += 1;
                }
            }
        }
        self.found.retain(|_, found| board.has(&found.pool));
    }

    /// What the looks since the last reading say. Then begins anew.
    pub fn reading(&mut self) -> Reading {
        self.look();
        let now = Instant::now();
        let (board, names) = (&self.board, &mut self.names);
        let mut pools = Vec::new();
        for found in self.found.values_mut() {
            let reading = found.reading(board, names, now);
            // If the pool ended meanwhile, the figures may be those of another one.
            if board.has(&found.pool) {
                pools.push(reading);
            }
        }
        Reading {
            process: self.process.number(),
            program: self.process.name().to_owned(),
            seconds: self.began.elapsed().as_secs_f64(),
            looks: std::mem::take(&mut self.looks),
            pools,
            left_out: board.left_out(),
        }
    }
}

impl Found {
    fn reading(&mut self, board: &Board, names: &mut Names, now: Instant) -> PoolReading {
        let after = counted(board, &self.pool);
        let seconds = now.saturating_duration_since(self.since).as_secs_f64().max(1e-6);
        let rate = |index: usize, which: usize| {
            after[index][which].wrapping_sub(self.counted[index][which]) as f64 / seconds
        };
        let processor = |index: usize| {
            let (doing, running) = board.processor(&self.pool, index);
            let total = self.looks[index].iter().sum::<u64>().max(1) as f64;
            ProcessorReading {
                now: doing,
                closure: names.name(running.name),
                site: board.site(running.code).and_then(|site| names.site(site)),
                shares: self.looks[index].map(|looks| looks as f64 / total),
                steals_per_second: rate(index, 0),
                hand_overs_per_second: rate(index, 1),
            }
        };
        let processors: Vec<_> = (0..self.looks.len()).map(processor).collect();
        let all = |which: usize| (0..after.len()).map(|index| rate(index, which)).sum();
        let [queue, carriers, blocked_threads, in_service] = board.figures(&self.pool);
        let reading = PoolReading {
            pool: self.pool.number,
            scheduler: self.pool.scheduler.clone(),
            fixed_threads: self.pool.fixed,
            queue,
            carriers,
            blocked_threads,
            in_service,
            steals_per_second: all(0),
            hand_overs_per_second: all(1),
            sleeps_per_second: all(2),
            processors,
            closures: ranked(&self.closures, board, names),
        };
        self.looks.fill([0; 6]);
        self.closures.clear();
        (self.counted, self.since) = (after, now);
        reading
    }
}

/// The closures with their names and sites, the most frequent first.
fn ranked(closures: &HashMap<Running, u64>, board: &Board, names: &mut Names) -> Vec<ClosureReading> {
    let total = closures.values().sum::<u64>().max(1) as f64;
    let mut shares: BTreeMap<(Option<String>, Option<String>), u64> = BTreeMap::new();
    for (running, looks) in closures {
        let site = board.site(running.code).and_then(|site| names.site(site));
        *shares.entry((site, names.name(running.name))).or_default() += looks;
    }
    let reading = |((site, name), looks)| ClosureReading { name, site, share: looks as f64 / total };
    let mut readings: Vec<_> = shares.into_iter().map(reading).collect();
    // Equal shares stay in the order of their sites and names.
    readings.sort_by(|a, b| b.share.total_cmp(&a.share));
    readings
}

fn counted(board: &Board, pool: &Pool) -> Vec<[u64; 3]> {
    let of = |index| COUNTED.map(|name| board.counter(pool, index, name).unwrap_or(0));
    (0..pool.processors).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// This process looks at itself.
    #[test]
    fn a_watch_sees_pools_come_and_go() {
        let pool = bombyx::Pool::builder().processors(3).build().unwrap();
        let mut watch = Watch::begin(Process::find(std::process::id()).unwrap()).unwrap();
        let has = |reading: &Reading, processors| {
            reading.pools.iter().filter(|pool| pool.processors.len() == processors).count()
        };
        assert!(has(&watch.reading(), 3) >= 1);
        let line = line!() + 1;
        let busy = pool.run(|| {
            (0..10).for_each(|_| watch.look());
            watch.reading()
        });
        let seen = busy.pools.iter().find(|pool| {
            pool.processors.iter().any(|processor| processor.now == Doing::Busy)
                && pool.closures.iter().any(|closure| {
                    closure
                        .name
                        .as_deref()
                        .is_some_and(|name| name.contains("a_watch_sees_pools_come_and_go"))
                })
        });
        let seen = seen.unwrap_or_else(|| panic!("{busy:?}"));
        let here = |line| Some(format!("{}:{line}", file!()));
        assert!(seen.closures.iter().any(|closure| closure.site == here(line)), "{seen:?}");
        for processor in &seen.processors {
            assert!((processor.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let number = seen.pool;
        drop(pool);
        assert!(watch.reading().pools.iter().all(|pool| pool.pool != number));
    }

    /// The halves of the join run at the same time, so one of them is stolen. The program shows its site before anybody can
    /// steal it. The spawned closure runs on its spawner's processor, whose first spawn has attended.
    #[test]
    fn closures_that_run_have_their_fork_sites() {
        let pool = bombyx::Pool::builder().processors(2).build().unwrap();
        let mut watch = Watch::begin(Process::find(std::process::id()).unwrap()).unwrap();
        let sites = |watch: &mut Watch| {
            (0..10).for_each(|_| watch.look());
            let reading = watch.reading();
            let closures = reading.pools.into_iter().flat_map(|pool| pool.closures);
            closures.filter_map(|closure| closure.site).collect::<Vec<_>>()
        };
        let both = Barrier::new(2);
        let first = || {
            both.wait();
            let seen = sites(&mut watch);
            both.wait();
            seen
        };
        let second = || {
            both.wait();
            both.wait();
        };
        let line = line!() + 1;
        let (seen, ()) = pool.run(|| bombyx::join(first, second));
        assert!(seen.contains(&format!("{}:{line}", file!())), "{seen:?}");
        let mut seen = Vec::new();
        pool.run(|| bombyx::scope(|s| s.spawn(|_| seen = sites(&mut watch))));
        let line = line!() - 1;
        assert!(seen.contains(&format!("{}:{line}", file!())), "{seen:?}");
    }
}
