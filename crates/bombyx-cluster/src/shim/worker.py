"""The preload of a Dask worker: starts the Rust program as the worker's child, and runs calls there."""

import asyncio
import collections
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

import dask
import distributed
from distributed import get_worker, secede

from bombyx_shim import PROTOCOL, SETTINGS, check_version, fail
from bombyx_shim.caller import Caller, Crashed, WrongBuild
from bombyx_shim.frames import Frames


def run(build, function, depth, argument, values):
    return keeper(get_worker()).call(build, function, depth, argument, values)


# Signals by which others end a process. All others are the program's own doing.
FROM_OUTSIDE = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, -signal.SIGQUIT}


async def describe(dask_worker):
    """What the client asks of every worker before any work. Runs in the worker's event loop, so it must not block."""
    found = keeper(dask_worker)
    while not found.build and not found.closing:
        await asyncio.sleep(0.01)
    return {"build": found.build, "version": distributed.__version__, "problem": found.problem}


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
        self.at_fault = False
        self.lock = threading.Lock()
        self.calls = {}
        self.seceded = set()
        self.waiting = 0
        self.cancelled = set()
        self.next = 0

    def kill(self, reason, at_fault=False):
        with self.lock:
            self.at_fault = self.at_fault or at_fault
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
        self.problem = None
        self.needs = collections.Counter()
        self.values = {}
        self.caller = None
        self.requests = queue.SimpleQueue()
        threading.Thread(target=self._serve_requests, name="bombyx-requests", daemon=True).start()
        threading.Thread(target=self._keep, name="bombyx-keeper", daemon=True).start()

    def wait_until_ready(self, key):
        """The child, as soon as it is ready."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or (self.child and self.child.ready.is_set()), timeout=60)
            if self.child and self.child.ready.is_set() and not self.closing:
                return self.child
        if self.closing:
            # The worker leaves, and Dask runs the call elsewhere. An answer now would count as a failure of the call.
            time.sleep(5 if self.problem else 1)
        raise Crashed(self.problem or f"{self.program} does not start as a worker", key)

    def call(self, build, function, depth, argument, values):
        key = distributed.worker.thread_state.key
        child = self.wait_until_ready(key)
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
            return self._follow(child, number, key, inbox)
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

    def _follow(self, child, number, key, inbox):
        """Does what a call's thread has to do until the call ends."""
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
                raise Crashed(value, key)
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
                    child.kill(f"it did not answer for {self.patience:.0f} s", at_fault=True)
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
            child.kill(f"it speaks protocol {header['protocol']}, not {PROTOCOL}", at_fault=True)
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
        if not child.ready.is_set() and (code not in FROM_OUTSIDE or child.at_fault):
            self._false_start(f"{self.program}: {reason} before it was ready: does `main` call bombyx_cluster::start first?")

    def _false_start(self, reason):
        """The program ended by itself before it was ready. The sixth time in a row, the worker leaves the cluster."""
        self.false_starts += 1
        if self.false_starts > 5 and not self.closing:
            print(f"bombyx worker: {reason}", file=sys.stderr, flush=True)
            with self.changed:
                self.problem = reason
                self.closing = True
                self.changed.notify_all()
            # A moment later, so that a client that connects just now hears why.
            loop = self.worker.loop.asyncio_loop
            leave = lambda: self.worker.close(executor_wait=False, reason="bombyx: the program does not start")
            loop.call_soon_threadsafe(loop.call_later, 2, lambda: loop.create_task(leave()))
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


def main():
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
    dask.config.set(SETTINGS)
    from distributed.cli.dask_worker import main as dask_worker
    sys.argv = ["bombyx worker", scheduler, "--preload", "bombyx_shim.worker", *options]
    dask_worker()
