//! Methods that the drop-in needs, as extension traits of the ordinary types.

use super::broadcast::{Broadcast, broadcast};
use crate::api::builder::Builder;
use crate::api::enter;
use crate::api::error::Error;
use crate::api::handle::Handle;
use crate::api::pool::Pool;
use crate::api::scope::{Scope, in_place};
use crate::machine::current;
use crate::machine::new_carrier::NewCarrier;
use crate::profile::{Kind, Site};
use crate::protocol::tickets::Tickets;
use crate::system::process;
use std::io;
use std::sync::{Arc, Mutex};

/// How the threads of a pool begin and end, for [`Builder`].
pub trait BuilderExt: Sized {
    /// Called by every carrier before it runs anything, with a number below the number of processors.
    ///
    /// The carriers that the pool starts with get different numbers. Carriers that start later, when waiting carriers
    /// hand their processors over, reuse these numbers. If the handler panics, the panic goes to [`Builder::on_panic`].
    ///
    /// The handler may use the pool.
    ///
    /// ```
    /// # use bombyx::dropin::BuilderExt as _;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// static STARTED: AtomicUsize = AtomicUsize::new(0);
    /// let pool = bombyx::Pool::builder()
    ///     .processors(2)
    ///     .on_start(|_| { STARTED.fetch_add(1, Ordering::Relaxed); })
    ///     .build()?;
    /// drop(pool);
    /// assert!(STARTED.load(Ordering::Relaxed) >= 2);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    fn on_start(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Builder;

    /// Called by every carrier when it has nothing left to run, with the number that it started with.
    fn on_exit(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Builder;

    /// Makes the calling thread the first carrier of the pool, for the rest of the thread's life. From then on the
    /// thread holds processor 0, and its joins and scopes use this pool. The pool's memory is never freed.
    ///
    /// The thread does not run the pool's work unless it waits for something in it, or [yields](super::yield_now).
    fn use_current_thread(self) -> Builder;

    /// Builds the pool with carriers that `start` starts. `start` is called once for each processor, and must make sure
    /// that [`NewCarrier::run`] is called on a separate thread.
    ///
    /// Unless [`Builder::max_carriers`] says otherwise, the pool starts no further carriers. A waiting carrier that
    /// would need another carrier to hand its processor to runs whatever work there is on its own stack.
    ///
    /// ```
    /// # use bombyx::dropin::BuilderExt as _;
    /// std::thread::scope(|threads| {
    ///     let pool = bombyx::Pool::builder().processors(2).build_with(|carrier| {
    ///         threads.spawn(|| carrier.run());
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(pool.run(|| bombyx::join(|| 1, || 2)), (1, 2));
    ///     Ok::<(), bombyx::Error>(())
    /// })?;
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`], and if `start` fails. The carriers that were started before then end.
    fn build_with(self, start: impl FnMut(NewCarrier) -> io::Result<()>) -> Result<Pool, Error>;

    /// Names each carrier when it starts: the name is the one at the carrier's number in `names`, if there is one and
    /// it contains no null character. For the drop-in core, which is asked for names while carriers start.
    fn thread_names(self, names: Arc<Mutex<Vec<String>>>) -> Builder;
}

impl BuilderExt for Builder {
    fn on_start(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Builder {
        self.handlers.start = Some(Box::new(handler));
        self
    }

    fn on_exit(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Builder {
        self.handlers.exit = Some(Box::new(handler));
        self
    }

    fn use_current_thread(mut self) -> Builder {
        self.use_current_thread = true;
        self
    }

    fn build_with(mut self, start: impl FnMut(NewCarrier) -> io::Result<()>) -> Result<Pool, Error> {
        self.limited = true;
        self.assemble(start)
    }

    fn thread_names(mut self, names: Arc<Mutex<Vec<String>>>) -> Builder {
        self.names = Some(names);
        self
    }
}

/// Order of arrival, broadcasts, and scopes in place, for [`Handle`].
pub trait HandleExt {
    /// Like [`Handle::spawn`], for a closure whose end nobody waits for. A panic goes to [`Builder::on_panic`].
    #[track_caller]
    fn spawn_detached<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static;

    /// Like [`HandleExt::spawn_detached`], but closures that this method spawns on one processor start in the order of
    /// their spawns. From outside the pool there is no difference.
    ///
    /// ```
    /// # use bombyx::dropin::HandleExt as _;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = bombyx::Pool::builder().processors(1).build()?;
    /// let handle = pool.handle();
    /// pool.run(move || for i in 0..3 {
    ///     let sender = sender.clone();
    ///     handle.spawn_fifo(move || sender.send(i).unwrap());
    /// });
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    fn spawn_fifo<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static;

    /// Calls `f` once on every processor. Returns the results in the order of the processors.
    ///
    /// Each call begins when its processor has nothing else to do. Earlier broadcasts go first.
    ///
    /// # Panics
    /// If a call panics, `broadcast` resumes its panic when all calls have ended. If several panic, it resumes that of the
    /// first processor, and drops the results and panics of the others. If a destructor panics then, only the panic hook
    /// sees it.
    #[track_caller]
    fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(Broadcast) -> R + Sync,
        R: Send;

    /// Like [`HandleExt::broadcast`], but returns at once.
    #[track_caller]
    fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(Broadcast) + Send + Sync + 'static;

    /// Like [`crate::scope`], but calls `f` on the calling thread, whatever thread that is. Closures that are spawned
    /// in the scope run in this pool.
    ///
    /// ```
    /// # use bombyx::dropin::HandleExt as _;
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// let here = std::thread::current().id();
    /// pool.handle().in_place_scope(|s| {
    ///     s.spawn(move |_| assert_ne!(std::thread::current().id(), here));
    ///     assert_eq!(std::thread::current().id(), here);
    /// });
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    fn in_place_scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R;
}

impl HandleExt for Handle {
    #[track_caller]
    fn spawn_detached<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.pool.submit(enter::detached(&self.pool, Site::here(Kind::Run), f), &[]);
    }

    #[track_caller]
    fn spawn_fifo<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let entry = enter::detached(&self.pool, Site::here(Kind::Run), f);
        match current::processor().filter(|_| self.is_current()) {
            Some(processor) => self.pool.submit(processor.tickets.push(entry), &[]),
            None => self.pool.inject(entry),
        }
    }

    #[track_caller]
    fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(Broadcast) -> R + Sync,
        R: Send,
    {
        let _guest = self.guest();
        broadcast(&self.pool, Site::here(Kind::Broadcast), f)
    }

    #[track_caller]
    fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(Broadcast) + Send + Sync + 'static,
    {
        let site = Site::here(Kind::Broadcast);
        let f = Arc::new(f);
        let processors = self.processors();
        process::assert_current(self.pool.generation());
        for (index, processor) in self.pool.processors().iter().enumerate().take(processors) {
            let f = Arc::clone(&f);
            let part = move || f(Broadcast { index, processors });
            processor.private.post(enter::detached(&self.pool, site, part));
        }
        self.pool.wake_private();
    }

    #[track_caller]
    fn in_place_scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        let _guest = self.guest();
        in_place(&self.pool, Site::here(Kind::Scope), f)
    }
}

/// Order of arrival, and broadcasts, for [`Scope`].
pub trait ScopeExt<'scope> {
    /// Like [`Scope::defer`], but closures that are spawned like this in one scope on one processor start in the order
    /// of their spawns.
    ///
    /// ```
    /// # use bombyx::dropin::ScopeExt as _;
    /// let order = std::sync::Mutex::new(Vec::new());
    /// let order = &order;
    /// let pool = bombyx::Pool::builder().processors(1).build()?;
    /// pool.run(|| bombyx::scope(|s| {
    ///     for i in 0..4 {
    ///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
    ///     }
    /// }));
    /// assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    fn spawn_fifo<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope;

    /// Calls `f` once on every processor before the scope ends ([`HandleExt::broadcast`]).
    ///
    /// ```
    /// # use bombyx::dropin::ScopeExt as _;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// let pool = bombyx::Pool::builder().processors(4).build()?;
    /// pool.run(|| bombyx::scope(|s| s.spawn_broadcast(|_, place| {
    ///     sum.fetch_add(place.index(), Ordering::Relaxed);
    /// })));
    /// assert_eq!(sum.into_inner(), 0 + 1 + 2 + 3);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(&Scope<'scope>, Broadcast) + Send + Sync + 'scope;
}

impl<'scope> ScopeExt<'scope> for Scope<'scope> {
    #[track_caller]
    fn spawn_fifo<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let (here, pool) = (self.spawner(), self.pool());
        let entry = self.entry(here, Site::here(Kind::Spawn), f);
        match here {
            Some(processor) => {
                let tickets = self
                    .tickets
                    .get_or_init(|| pool.processors().iter().map(|_| Tickets::new(self.root())).collect());
                processor.submit_under(tickets[processor.index].push(entry), &self.roots());
            }
            None => pool.inject(entry),
        }
    }

    #[track_caller]
    fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(&Scope<'scope>, Broadcast) + Send + Sync + 'scope,
    {
        let site = Site::here(Kind::Broadcast);
        let f = Arc::new(f);
        let here = self.spawner();
        let processors = &self.pool().processors()[..self.pool().in_service()];
        for (index, processor) in processors.iter().enumerate() {
            let f = Arc::clone(&f);
            let place = Broadcast { index, processors: processors.len() };
            processor.private.post(self.entry(here, site, move |scope: &Scope<'scope>| f(scope, place)));
        }
        self.pool().wake_private();
    }
}
