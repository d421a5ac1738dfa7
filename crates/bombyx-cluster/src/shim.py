"""The Python side of bombyx-cluster. Written into a folder by the program that uses it, and imported as `bombyx_shim`.

Two processes run it. The *client shim* is a child of the Rust program: it takes calls from there and submits them to Dask. A *Dask
worker* has it as a preload: it starts the Rust program as its child and passes tasks on to it. Arguments and results are bytes all
the way; this file never looks into them.

Frames, as in wire.rs: u32 length of the header, u64 length of the body, header in JSON, body.
"""

import asyncio
import collections
import ctypes
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

PROTOCOL = 1
OLDEST = (2026, 8)
LENGTHS = struct.Struct("<IQ")


def fail(message):
    """Ends a process that cannot begin."""
    print(f"bombyx: {message}", file=sys.stderr, flush=True)
    os._exit(1)


try:
    import distributed
    from distributed import Client, Future, KilledWorker, LocalCluster, get_worker, secede
except ImportError as error:
    fail(f"Python at {sys.executable} cannot import `distributed` ({error}): install it with `pip install distributed`, "
         "or name another Python in BOMBYX_PYTHON")


def check_version():
    """Says why the installed version does not do, or returns nothing."""
    numbers = tuple(int(part) for part in distributed.__version__.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return f"distributed {distributed.__version__} at {sys.executable} is older than {oldest}: upgrade it"


class Crashed(Exception):
    """The worker's child ended, or was ended, while it ran a call. Dask runs the call again."""


class WrongBuild(Exception):
    """The worker runs another build of the program than the client."""


class Frames:
    """Frames on a socket. A thread of its own writes, so that nobody waits for the other side."""

    def __init__(self, sock):
        self.sock = sock
        self.stream = sock.makefile("rb", buffering=1 << 16)
        self.out = queue.SimpleQueue()
        threading.Thread(target=self._write, name="bombyx-out", daemon=True).start()

    def send(self, header, body=b""):
        self.out.put((json.dumps(header).encode(), body))

    def flush(self, timeout):
        """Waits until everything so far is written, or the time is over."""
        done = threading.Event()
        self.out.put(done)
        done.wait(timeout)

    def _write(self):
        while True:
            item = self.out.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            header, body = item
            try:
                self.sock.sendall(LENGTHS.pack(len(header), len(body)) + header)
                self.sock.sendall(body)
            except OSError:
                return  # The reader notices the same.

    def read(self):
        """The next frame; None at the end."""
        try:
            head = self._exactly(LENGTHS.size)
            lengths = head and LENGTHS.unpack(head)
            return lengths and (json.loads(self._exactly(lengths[0])), self._exactly(lengths[1]))
        except (OSError, ValueError, TypeError):
            return None

    def _exactly(self, length):
        data = self.stream.read(length)
        return data if len(data) == length else None

    def close(self):
        self.sock.close()


class Caller:
    """Submits calls to Dask for a Rust process, and tells it their outcomes."""

    def __init__(self, client, frames, build, retries, direct=True):
        self.client, self.frames, self.build, self.retries, self.direct = client, frames, build, retries, direct
        self.kept = {}
        self.running = {}

    def take(self, header, body):
        """Handles a frame; says whether it was one about calls."""
        handler = getattr(self, "on_" + header["op"], None)
        if handler:
            handler(header, body)
        return handler is not None

    def start(self, header, body):
        needs = header["needs"]
        futures = [self.kept.get(key) or Future(key, self.client) for key in needs]
        return self.client.submit(
            call, self.build, header["function"], header["depth"], body, needs, *futures,
            key=header["key"], pure=False, retries=self.retries, priority=header["depth"],
        )

    def on_submit(self, header, body):
        future = self.running[header["key"]] = self.start(header, body)
        self.watch(header["id"], future)

    def on_keep(self, header, body):
        self.kept[header["key"]] = self.start(header, body)

    def on_put(self, header, body):
        self.kept[header["key"]] = self.client.submit(hold, body, key=header["key"], pure=False)

    def on_fetch(self, header, body):
        key = header["key"]
        self.watch(header["id"], self.kept.get(key) or Future(key, self.client))

    def on_release(self, header, body):
        future = self.kept.pop(header["key"], None)
        if future:
            future.release()

    def on_cancel(self, header, body):
        future = self.running.pop(header["key"], None)
        if future:
            future.cancel(reason="the caller cancelled it")

    def watch(self, number, future):
        asyncio.run_coroutine_threadsafe(self.answer(number, future), self.client.loop.asyncio_loop)

    async def answer(self, number, future):
        body, outcome, message = b"", "done", ""
        try:
            # Straight from the worker where it can be reached for sure; else through the scheduler, as Dask does by default.
            body = await self.client.gather(future, direct=self.direct, asynchronous=True)
        except KilledWorker as error:
            outcome = "lost"
            message = f"{error.allowed_failures + 1} workers died under it; the last one was {error.last_worker.address}"
        except Crashed as error:
            outcome, message = "lost", f"it failed {self.retries + 1} times; the last time: {error}"
        except WrongBuild as error:
            outcome, message = "build", str(error)
        except asyncio.CancelledError:
            outcome = "cancelled"
            if self.client.status != "running":
                outcome, message = "gone", "the connection to the Dask scheduler is lost"
        except ModuleNotFoundError as error:
            outcome = "gone"
            message = f"a Dask worker without Bombyx took the call ({error}): start workers with `bombyx worker`"
        except Exception as error:  # Whatever else Dask reports.
            outcome, message = "lost", f"{type(error).__name__}: {error}"
        self.running.pop(future.key, None)
        self.frames.send({"op": "reply", "id": number, "outcome": outcome, "message": message}, body)

    def drop(self):
        """Forgets everything that the Rust process asked for."""
        for future in [*self.running.values(), *self.kept.values()]:
            future.release()
        self.running.clear()
        self.kept.clear()


# What Dask runs.


def shipped(function):
    """Has Dask send the function itself, not its name: a scheduler cannot import this file, and reads every task."""
    function.__module__ = "__main__"
    return function


@shipped
def hold(value):
    return value


@shipped
def call(build, function, depth, argument, keys, *values):
    """The task of a call: runs in a thread of a Dask worker."""
    import bombyx_shim
    return bombyx_shim.run(build, function, depth, argument, dict(zip(keys, values)))


def run(build, function, depth, argument, values):
    return keeper(get_worker()).call(build, function, depth, argument, values)


async def describe(dask_worker):
    """What the client asks of every worker before any work. Runs in the worker's event loop, so it must not block."""
    found = keeper(dask_worker)
    while not found.build and not found.closing:
        await asyncio.sleep(0.01)
    return {"build": found.build, "version": distributed.__version__}


def keeper(worker):
    if not hasattr(worker, "bombyx"):
        raise ModuleNotFoundError("the worker has no Bombyx program")
    return worker.bombyx


class Child:
    """The Rust program in worker mode."""

    def __init__(self, process, frames):
        self.process, self.frames = process, frames
        self.heard = time.monotonic()
        self.ready = threading.Event()
        self.dead = None
        self.lock = threading.Lock()
        self.calls = {}
        self.seceded = set()
        self.waiting = 0
        self.cancelled = set()
        self.next = 0

    def kill(self, reason):
        with self.lock:
            self.dead = self.dead or reason
        try:
            self.process.kill()
        except OSError:
            pass

    def balance(self):
        """Has as many calls leave Dask's pool of threads as wait for others. Called with the lock held.

        The child says that *some* call waits, not which: closures that a function forks do not know their call. Any call will do,
        since each thread of Dask only stands for a processor of the child's pool. A call that left does not come back: Dask's
        `rejoin` would block until another call ends. The child's pool sees to it that no more calls compute than it has processors.
        """
        for number, inbox in self.calls.items():
            if len(self.seceded) >= self.waiting:
                return
            if number not in self.seceded:
                self.seceded.add(number)
                inbox.put(("secede", None))


class Keeper:
    """Keeps one child alive in a Dask worker. Its thread starts all children: the kernel ends them with that thread."""

    def __init__(self, worker):
        self.worker = worker
        self.program = os.environ["BOMBYX_CLUSTER_PROGRAM"]
        self.patience = float(os.environ.get("BOMBYX_CLUSTER_PATIENCE", "30"))
        self.retries = int(os.environ.get("BOMBYX_CLUSTER_ALLOWED_FAILURES", "3"))
        self.build = None
        self.child = None
        self.changed = threading.Condition()
        self.closing = False
        self.false_starts = 0
        self.needs = collections.Counter()
        self.values = {}
        self.caller = None
        self.requests = queue.SimpleQueue()
        threading.Thread(target=self._serve_requests, name="bombyx-requests", daemon=True).start()
        threading.Thread(target=self._keep, name="bombyx-keeper", daemon=True).start()

    def wait_until_ready(self):
        """The child, as soon as it is ready."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or (self.child and self.child.ready.is_set()), timeout=60)
            if self.closing or not self.child or not self.child.ready.is_set():
                raise Crashed(f"{self.program} does not start as a worker")
            return self.child

    def call(self, build, function, depth, argument, values):
        child = self.wait_until_ready()
        if self.build != build:
            raise WrongBuild(f"the client is build {build[:12]}, the worker at {self.worker.address} is {self.build[:12]}")
        inbox = queue.SimpleQueue()
        with self.changed:
            self.needs.update(values.keys())
            self.values.update(values)
        with child.lock:
            number = child.next
            child.next += 1
            child.calls[number] = inbox
            if child.dead:
                inbox.put(("crashed", child.dead))
        try:
            child.frames.send({"op": "call", "call": number, "function": function, "depth": depth}, argument)
            return self._follow(child, number, inbox)
        finally:
            with child.lock:
                child.calls.pop(number, None)
                child.seceded.discard(number)
                child.cancelled.discard(number)
                child.balance()
            with self.changed:
                self.needs.subtract(values.keys())
                for key in values:
                    if self.needs[key] <= 0:
                        del self.needs[key]
                        self.values.pop(key, None)

    def _follow(self, child, number, inbox):
        """Does what a call's thread has to do until the call ends."""
        key = distributed.worker.thread_state.key
        while True:
            try:
                what, value = inbox.get(timeout=0.5)
            except queue.Empty:
                task = self.worker.state.tasks.get(key)
                if task is None or task.state == "cancelled":
                    self._give_up(child, number)
                continue
            if what == "done":
                return value
            if what == "crashed":
                raise Crashed(value)
            secede()

    def _give_up(self, child, number):
        """Nobody wants this call. If nobody wants any call of the child, the child ends."""
        with child.lock:
            child.cancelled.add(number)
            unwanted = child.cancelled >= child.calls.keys()
        if unwanted:
            child.kill("nobody wanted its calls")

    def _keep(self):
        while not self.closing:
            try:
                child = self._start()
            except OSError as error:
                self._false_start(f"{self.program} cannot be started: {error}")
                continue
            threading.Thread(target=self._read, args=(child,), name="bombyx-in", daemon=True).start()
            last = time.monotonic()
            while child.process.poll() is None:
                time.sleep(0.05 if not child.ready.is_set() or self.closing else 0.25)
                now = time.monotonic()
                if now - last > self.patience / 2:
                    child.heard = now  # This process stood still itself.
                last = now
                child.frames.send({"op": "ping"})
                if now - child.heard > self.patience:
                    child.kill(f"it did not answer for {self.patience:.0f} s")
                self._watch_memory(child)
            self._bury(child)

    def _start(self):
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, BOMBYX_CLUSTER_SOCKET=str(theirs.fileno()), BOMBYX_CLUSTER_ASK_BUILD="1")
        environment.pop("BOMBYX_CLUSTER_WORKER", None)
        environment.setdefault("BOMBYX_PROCESSORS", str(self.worker.state.nthreads))
        if "BOMBYX_PROFILE" in environment:
            environment["BOMBYX_PROFILE"] += f".node-{socket.gethostname()}-{os.getpid()}"
        for name in ("BOMBYX_RECORD", "BOMBYX_CLUSTER_RECORD"):
            environment.pop(name, None)
        with theirs:
            process = subprocess.Popen(
                [self.program], pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
        child = Child(process, Frames(ours))
        with self.changed:
            self.child = child
        return child

    def _read(self, child):
        while frame := child.frames.read():
            header, body = frame
            child.heard = time.monotonic()
            op = header["op"]
            if op == "done":
                with child.lock:
                    inbox = child.calls.get(header["call"])
                if inbox:
                    inbox.put(("done", body))
            elif op in ("pause", "resume"):
                with child.lock:
                    child.waiting += 1 if op == "pause" else -1
                    child.balance()
            elif op == "hello":
                self._greet(child, header)
            elif op != "pong":
                self.requests.put((child, header, body))

    def _greet(self, child, header):
        if header["protocol"] != PROTOCOL:
            child.kill(f"it speaks protocol {header['protocol']}, not {PROTOCOL}")
            return
        with self.changed:
            self.build = header["build"]
            self.false_starts = 0
            child.ready.set()
            self.changed.notify_all()

    def _bury(self, child):
        code = child.process.wait()
        with child.lock:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
            child.dead = child.dead or f"the worker's child {how}"
            reason = child.dead
            inboxes = list(child.calls.values())
        for inbox in inboxes:
            inbox.put(("crashed", reason))
        child.frames.close()
        self.requests.put((child, None, None))
        if not child.ready.is_set():
            self._false_start(f"{self.program} {reason} before it was ready: does its `main` call bombyx_cluster::start first?")

    def _false_start(self, reason):
        self.false_starts += 1
        if self.false_starts > 5 and not self.closing:
            print(f"bombyx worker: {reason}", file=sys.stderr, flush=True)
            with self.changed:
                self.closing = True
                self.changed.notify_all()
            return
        time.sleep(0.1)

    def _watch_memory(self, child):
        """Dask watches the memory of its own process only."""
        limit = self.worker.memory_manager.memory_limit
        if limit:
            try:
                with open(f"/proc/{child.process.pid}/statm") as file:
                    used = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except (OSError, IndexError, ValueError):
                return
            if used > limit:
                child.kill(f"it used {used >> 20} MiB, more than the worker's limit of {limit >> 20} MiB")

    def _serve_requests(self):
        """Nested calls, in their order."""
        while True:
            child, header, body = self.requests.get()
            if header is None:
                if self.caller and self.caller.frames is child.frames:
                    self.caller.drop()
                    self.caller = None
                continue
            if header["op"] == "fetch":
                with self.changed:
                    value = self.values.get(header["key"])
                if value is not None:
                    child.frames.send({"op": "reply", "id": header["id"], "outcome": "done", "message": ""}, value)
                    continue
            if self.caller is None or self.caller.frames is not child.frames:
                self.caller = Caller(self.worker._get_client(), child.frames, self.build, self.retries)
            self.caller.take(header, body)

    def close(self):
        self.closing = True
        child = self.child
        if child and child.process.poll() is None:
            child.frames.send({"op": "bye"})
            try:
                child.process.wait(2)
            except subprocess.TimeoutExpired:
                child.kill("the worker ends")
                child.process.wait()


def dask_setup(worker):
    """Dask calls this when a worker begins."""
    problem = check_version()
    if problem:
        fail(problem)
    worker.bombyx = Keeper(worker)


def dask_teardown(worker):
    """Dask calls this when a worker ends in order."""
    worker.bombyx.close()


def die_with_parent():
    """The kernel ends this process with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def children_of(pid):
    """The children of a process on this machine, as far as the kernel tells."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # It has ended meanwhile, or this is not Linux.
    return found


class Session:
    """The client shim: from its start to its end."""

    def __init__(self, options):
        self.options = options
        descriptor = int(os.environ.pop("BOMBYX_CLUSTER_SOCKET"))
        self.frames = Frames(socket.socket(fileno=descriptor))
        os.set_inheritable(descriptor, False)
        self.cluster = None
        self.client = None

    def run(self):
        problem = check_version()
        try:
            if problem:
                raise RuntimeError(problem)
            self.connect()
            self.check_workers()
        except Exception as error:
            reason = str(error) or type(error).__name__
            self.frames.send({"op": "gone", "message": reason})
            self.end()
        self.report()
        self.frames.send({"op": "hello", "protocol": PROTOCOL, "build": ""})
        caller = Caller(
            self.client, self.frames, self.options["build"], self.options["allowed_failures"], direct=self.cluster is not None)
        threading.Thread(target=self.monitor, name="bombyx-monitor", daemon=True).start()
        while frame := self.frames.read():
            header, body = frame
            if header["op"] == "bye":
                break
            if header["op"] == "resize":
                self.resize(header["workers"])
            else:
                caller.take(header, body)
        caller.drop()
        self.end()

    def connect(self):
        import dask
        options = self.options
        patience = f"{max(1, options['patience'])}s"
        if options["scheduler"]:
            self.client = Client(options["scheduler"], timeout=10, name="bombyx")
            return
        dask.config.set({
            "distributed.scheduler.allowed-failures": options["allowed_failures"],
            "distributed.scheduler.worker-ttl": patience,
        })
        os.environ["BOMBYX_CLUSTER_PROGRAM"] = options["program"]
        os.environ["BOMBYX_CLUSTER_PATIENCE"] = str(options["patience"])
        os.environ["BOMBYX_CLUSTER_ALLOWED_FAILURES"] = str(options["allowed_failures"])
        self.cluster = LocalCluster(
            n_workers=options["workers"], threads_per_worker=options["threads"], processes=True, host="127.0.0.1",
            dashboard_address=f"127.0.0.1:{options['dashboard'] or 0}", preload=["bombyx_shim"], silence_logs=40,
            memory_limit=options["memory"],
        )
        self.client = Client(self.cluster, name="bombyx")
        if options["dashboard"]:
            print(f"bombyx: Dask's dashboard is at {self.cluster.dashboard_link}", file=sys.stderr, flush=True)

    def check_workers(self):
        """Compares builds and versions before any work. Workers that come later are compared at their first call."""
        if not self.client.scheduler_info(n_workers=-1)["workers"]:
            return
        for address, found in self.client.run(describe, on_error="return").items():
            if isinstance(found, Exception):
                raise RuntimeError(f"the Dask worker at {address} does not run Bombyx: start workers with `bombyx worker` ({found})")
            if found["build"] != self.options["build"]:
                raise RuntimeError(
                    f"a worker runs another build: the client is {self.options['build'][:12]}, "
                    f"the worker at {address} is {str(found['build'])[:12]}")
            if found["version"] != distributed.__version__:
                raise RuntimeError(
                    f"the client has distributed {distributed.__version__}, the worker at {address} has {found['version']}")

    def resize(self, workers):
        if self.cluster:
            self.cluster.scale(workers)

    def processes(self):
        if not self.cluster:
            return []
        found = [getattr(nanny, "process", None) for nanny in list(self.cluster.workers.values())]
        workers = [process.pid for process in found if process and process.pid]
        return workers + [child for pid in workers for child in children_of(pid)]

    def report(self):
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        slots = sum(worker["nthreads"] for worker in workers.values())
        self.frames.send({"op": "slots", "slots": max(1, slots), "processes": self.processes()})

    def monitor(self):
        """Tells the program of workers that come and go, and of the scheduler's end."""
        silent = None
        loop = self.client.loop.asyncio_loop
        while True:
            time.sleep(0.5)
            try:
                if self.client.status != "running":
                    raise OSError("the connection is closed")
                asyncio.run_coroutine_threadsafe(self.client.scheduler.identity(n_workers=-1), loop).result(10)
                self.report()
                silent = None
            except Exception as error:
                silent = silent or time.monotonic()
                if time.monotonic() - silent > 5:
                    reason = str(error) or type(error).__name__
                    self.frames.send({"op": "gone", "message": f"the Dask scheduler does not answer: {reason}"})
                    self.end()

    def end(self):
        """Ends this process and everything it started. What hangs is left to the kernel: all die with their parents."""
        def close():
            if self.client:
                self.client.close(timeout=2)
            if self.cluster:
                self.cluster.close(timeout=5)
        closing = threading.Thread(target=close, daemon=True)
        closing.start()
        closing.join(10)
        self.frames.flush(2)
        os._exit(0)


def client():
    """The main function of the client shim."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Session(json.loads(sys.argv[1])).run()


def worker():
    """The main function of a worker: Dask's own, with this file as a preload."""
    problem = check_version()
    if problem:
        fail(problem)
    scheduler, options = sys.argv[1], sys.argv[2:]
    given = {option.split("=")[0] for option in options}
    if not given & {"--host", "--interface", "--listen-address"}:
        # Listens only where the scheduler can reach it: on loopback, if the scheduler is there.
        host, port = scheduler.split("://")[-1].rsplit(":", 1)
        family, _, _, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            options += ["--host", probe.getsockname()[0]]
    if not given & {"--dashboard", "--dashboard-address"}:
        options += ["--no-dashboard"]
    from distributed.cli.dask_worker import main
    sys.argv = ["bombyx worker", scheduler, "--preload", "bombyx_shim", *options]
    main()
