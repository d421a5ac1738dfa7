//! The engine `processes`: workers are child processes of this one, and run the same program.
//!
//! It is for tests of crashes, and for use without Dask. Kept results stay in this process. A worker fetches them when
//! it needs them, so no crash of a worker loses them.
//!
//! One thread, the keeper, starts, watches and ends all workers. It lives as long as the engine, because the kernel
//! ends a worker when the *thread* that started it ends. If a worker does not answer within the keeper's patience, the
//! keeper kills it.

use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::hosted::{Host, Hosted};
use crate::key::Key;
use crate::ledger::{Ledger, Node, NodeId};
use crate::link::reply_frame;
use crate::outcome::{Reply, Tagged};
use crate::pipe::{self, Frames};
use crate::settings::Settings;
use crate::wire::{self, Frame, Header, PROTOCOL};
use crate::{build, profile};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the keeper looks after its workers.
const ROUND: Duration = Duration::from_millis(250);
/// How long a worker has to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How many workers in a row may end by themselves before they are ready.
const FALSE_STARTS: u32 = 5;
/// How long to try when no worker can be started and none is left.
const DROUGHT: Duration = Duration::from_secs(5);
/// Signals by which others end a process. All others are the process's own doing.
const FROM_OUTSIDE: [i32; 5] = [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Lends child processes.
pub(crate) struct Processes {
    orders: Sender<Order>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    pids: Arc<Mutex<BTreeMap<NodeId, u32>>>,
}

/// What the keeper is told.
enum Order {
    Resize(usize),
    Heard(NodeId),
    Ready(NodeId),
    /// The socket of a worker ended, or nobody wants its work.
    End(NodeId, &'static str),
    Close,
}

impl Processes {
    pub(crate) fn start(
        workers: usize,
        threads: usize,
        settings: &Settings,
    ) -> Result<Arc<dyn Engine>, Error> {
        let ledger = Arc::new(Ledger::new(settings.allowed_failures));
        let (orders, inbox) = channel();
        let pids = Arc::new(Mutex::new(BTreeMap::new()));
        let keeper = Keeper {
            ledger: ledger.clone(),
            orders: orders.clone(),
            pids: pids.clone(),
            workers: HashMap::new(),
            wanted: workers,
            threads,
            patience: settings.patience,
            next: 0,
            false_starts: 0,
            drought: None,
        };
        let thread = std::thread::Builder::new()
            .name("bombyx-cluster-keeper".to_owned())
            .spawn(move || keeper.run(&inbox))
            .map_err(|error| Error::Start(error.to_string()))?;
        let host = Processes { orders, keeper: Mutex::new(Some(thread)), pids };
        Ok(Arc::new(Hosted { ledger, host }))
    }

    fn order(&self, order: Order) {
        // If the keeper has ended, there is nothing to keep.
        let _ = self.orders.send(order);
    }
}

impl Host for Processes {
    /// No call runs in this process.
    fn pause(&self, _: &Ledger) -> bool {
        false
    }

    fn resume(&self, _: &Ledger) {}

    fn resize(&self, workers: usize) -> Result<(), Error> {
        if workers == 0 {
            return Err(Error::Unsupported("a cluster needs at least one worker".to_owned()));
        }
        self.order(Order::Resize(workers));
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        self.pids.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }

    fn close(&self) {
        self.order(Order::Close);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            // The keeper panicked. Then its workers end because their sockets do.
            let _ = keeper.join();
        }
    }
}

struct Keeper {
    ledger: Arc<Ledger>,
    orders: Sender<Order>,
    pids: Arc<Mutex<BTreeMap<NodeId, u32>>>,
    workers: HashMap<NodeId, Worker>,
    wanted: usize,
    threads: usize,
    patience: Duration,
    next: u64,
    false_starts: u32,
    /// Since when no worker could be started while there was none.
    drought: Option<Instant>,
}

struct Worker {
    child: Child,
    to: Sender<Frame>,
    heard: Instant,
    ready: bool,
    leaving: bool,
}

impl Keeper {
    fn run(mut self, inbox: &Receiver<Order>) {
        self.fill();
        let mut last = Instant::now();
        loop {
            match inbox.recv_timeout(ROUND.saturating_sub(last.elapsed())) {
                Ok(Order::Resize(wanted)) => {
                    self.wanted = wanted;
                    self.shrink();
                    self.fill();
                }
                Ok(Order::Heard(id)) => {
                    if let Some(worker) = self.workers.get_mut(&id) {
                        worker.heard = Instant::now();
                    }
                }
                Ok(Order::Ready(id)) => {
                    self.false_starts = 0;
                    if let Some(worker) = self.workers.get_mut(&id) {
                        worker.ready = true;
                    }
                }
                Ok(Order::End(id, reason)) => self.bury(id, reason),
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => return self.close(),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if last.elapsed() >= ROUND {
                self.look_after(last.elapsed());
                last = Instant::now();
            }
        }
    }

    /// Starts workers until there are enough. If one cannot be started, because the machine has no room for a process
    /// or for its files, there may be room in the next round. The keeper gives up only if no worker is left meanwhile.
    fn fill(&mut self) {
        while self.workers.values().filter(|worker| !worker.leaving).count() < self.wanted {
            let Err(error) = self.hire() else { continue };
            let since = *self.drought.get_or_insert_with(Instant::now);
            if !self.workers.is_empty() {
                self.drought = None;
            } else if since.elapsed() > DROUGHT {
                self.ledger.give_up(&Error::Start(format!("a worker cannot be started: {error}")));
            }
            return;
        }
        self.drought = None;
    }

    fn hire(&mut self) -> std::io::Result<()> {
        let id = NodeId(self.next);
        self.next += 1;
        let mut command = Command::new(build::program()?);
        command.stdin(Stdio::null()).env("BOMBYX_PROCESSORS", self.threads.to_string());
        profile::hand_down(&mut command, id.0);
        let (mut child, to, frames) = pipe::spawn(&mut command)?;
        self.pids.lock().unwrap_or_else(PoisonError::into_inner).insert(id, child.id());
        let post =
            Arc::new(Post { id, to: to.clone(), orders: self.orders.clone(), calls: Mutex::default() });
        let (ledger, slots) = (self.ledger.clone(), self.threads);
        let listener = std::thread::Builder::new().name("bombyx-cluster-in".to_owned());
        if let Err(error) = listener.spawn(move || post.listen(&ledger, frames, slots)) {
            self.pids.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        let worker = Worker { child, to, heard: Instant::now(), ready: false, leaving: false };
        self.workers.insert(id, worker);
        Ok(())
    }

    /// Asks the newest workers to leave until there are not too many.
    fn shrink(&mut self) {
        let mut staying: Vec<NodeId> =
            self.workers.iter().filter(|(_, worker)| !worker.leaving).map(|(&id, _)| id).collect();
        staying.sort();
        for id in staying.into_iter().skip(self.wanted) {
            self.workers.get_mut(&id).expect("found just now").leaving = true;
        }
    }

    /// Pings all workers, gives up those that have not answered for long, and lets those go that leave and are done.
    fn look_after(&mut self, since: Duration) {
        // If this process itself stood still, it could not hear anybody.
        let stood_still = since > self.patience / 2 + ROUND;
        for (&id, worker) in &mut self.workers {
            let _ = worker.to.send(Header::Ping.into());
            if stood_still {
                worker.heard = Instant::now();
            }
            if worker.leaving && self.ledger.leave(id) {
                let _ = worker.to.send(Header::Bye.into());
            }
            if worker.heard.elapsed() > self.patience {
                let _ = self.orders.send(Order::End(id, "did not answer"));
            }
        }
        self.fill();
    }

    /// Ends a worker, lets its calls run elsewhere, and starts another one.
    fn bury(&mut self, id: NodeId, reason: &str) {
        let Some(mut worker) = self.workers.remove(&id) else {
            // The worker's last frames may have reached the ledger after it was buried.
            return self.ledger.died(id, reason);
        };
        self.pids.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        // The worker has ended by itself, or ends now: nothing survives this signal.
        let _ = worker.child.kill();
        let status = worker.child.wait();
        let by_signal = status.as_ref().ok().and_then(|status| status.signal());
        let from_outside =
            reason.is_empty() && by_signal.is_some_and(|signal| FROM_OUTSIDE.contains(&signal));
        let reason = match status.as_ref().map(|status| (status.code(), status.signal())) {
            _ if !reason.is_empty() => reason.to_owned(),
            Ok((Some(code), _)) => format!("ended with status {code}"),
            Ok((_, Some(signal))) => format!("was ended by signal {signal}"),
            _ => "ended".to_owned(),
        };
        if !worker.ready && !worker.leaving && !from_outside {
            self.false_starts += 1;
        }
        self.ledger.died(id, &reason);
        if self.false_starts > FALSE_STARTS {
            let error = format!(
                "a worker {reason} before it was ready: does `main` call bombyx_cluster::start first?"
            );
            return self.ledger.give_up(&Error::Start(error));
        }
        self.fill();
    }

    fn close(mut self) {
        for worker in self.workers.values() {
            let _ = worker.to.send(Header::Bye.into());
        }
        let end = Instant::now() + GRACE;
        while Instant::now() < end
            && self.workers.values_mut().any(|worker| matches!(worker.child.try_wait(), Ok(None)))
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        for worker in self.workers.values_mut() {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
        self.pids.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A worker, as the ledger sees it.
struct Post {
    id: NodeId,
    to: Sender<Frame>,
    orders: Sender<Order>,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    keys: HashMap<u64, Key>,
}

impl Node for Post {
    fn start(&self, call: Arc<Call>) {
        let number = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let number = calls.next;
            calls.next += 1;
            calls.keys.insert(number, call.key.clone());
            number
        };
        let header = Header::Call { call: number, function: call.function.clone(), depth: call.depth };
        let _ = self.to.send(Frame { header, body: call.argument.clone() });
    }

    fn is_expendable(&self) -> bool {
        true
    }

    fn abandon(&self) {
        let _ = self.orders.send(Order::End(self.id, "was not wanted any more"));
    }
}

impl Post {
    /// Listens to the worker until its end.
    fn listen(self: Arc<Post>, ledger: &Ledger, mut frames: Frames, slots: usize) {
        let reason = loop {
            match wire::read(&mut frames) {
                Ok(Some(frame)) => {
                    let _ = self.orders.send(Order::Heard(self.id));
                    if self.take(ledger, frame, slots).is_none() {
                        break "broke the protocol";
                    }
                }
                Ok(None) | Err(_) => break "",
            }
        };
        let _ = self.orders.send(Order::End(self.id, reason));
    }

    /// Takes a frame. `None` if it makes no sense.
    fn take(self: &Arc<Post>, ledger: &Ledger, Frame { header, body }: Frame, slots: usize) -> Option<()> {
        let origin = Some(self.id);
        let call = |key: String, function, needs: Vec<String>, depth, place| Call {
            key: Key::from(&*key),
            function,
            argument: Vec::new(),
            needs: needs.iter().map(|need| Key::from(&**need)).collect(),
            depth,
            place,
        };
        match header {
            Header::Hello { protocol, .. } if protocol == PROTOCOL => {
                let _ = self.orders.send(Order::Ready(self.id));
                ledger.join(self.id, self.clone(), slots);
            }
            Header::Done { call } => {
                let key = self.calls.lock().unwrap_or_else(PoisonError::into_inner).keys.remove(&call)?;
                ledger.done(self.id, &key, Tagged::from_bytes(body).ok()?);
            }
            Header::Pong => {}
            Header::Pause => ledger.pause(self.id),
            Header::Resume => ledger.resume(self.id),
            Header::Submit { id, key, function, needs, depth, place } => {
                let call = Call { argument: body, ..call(key, function, needs, depth, place) };
                ledger.submit(call, Some(self.reply(id)), origin);
            }
            Header::Keep { key, function, needs, depth, place } => {
                ledger.submit(
                    Call { argument: body, ..call(key, function, needs, depth, place) },
                    None,
                    origin,
                );
            }
            Header::Put { key } => ledger.put(&Key::from(&*key), Tagged::from_bytes(body).ok()?, origin),
            Header::Fetch { id, key } => ledger.fetch(&Key::from(&*key), self.reply(id)),
            Header::Release { key } => ledger.release(&Key::from(&*key)),
            Header::Cancel { key } => ledger.cancel(&Key::from(&*key)),
            _ => return None,
        }
        Some(())
    }

    fn reply(&self, id: u64) -> Reply {
        let to = self.to.clone();
        Box::new(move |outcome| {
            let _ = to.send(reply_frame(id, outcome));
        })
    }
}
