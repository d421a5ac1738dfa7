"""The client shim: connects the Rust program to a Dask scheduler, or starts a Dask cluster for it."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time

import dask
import distributed
from distributed import Client, LocalCluster
from distributed.core import Status

from bombyx_shim import PROTOCOL, SETTINGS, check_version, die_with_parent
from bombyx_shim.caller import GONE, Caller
from bombyx_shim.frames import Frames
from bombyx_shim.worker import describe

# How many seconds a scheduler may be silent, how many a worker may take to begin beyond its patience, and how many a cluster of
# our own may have no worker.
SILENCE = 15
BEGIN = 30
EMPTY = 120


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


def descendants_of(pid):
    """Its children, their children, and so on."""
    found = children_of(pid)
    return found + [below for child in found for below in descendants_of(child)]


class Session:
    """The client shim: from its start to its end.

    The main thread reads what the program says, from the beginning, so that it learns of the program's end at any time.
    """

    def __init__(self, options):
        self.options = options
        descriptor = int(os.environ.pop("BOMBYX_CLUSTER_SOCKET"))
        self.frames = Frames(socket.socket(fileno=descriptor))
        os.set_inheritable(descriptor, False)
        self.cluster = None
        self.client = None
        self.caller = None
        self.staffed = time.monotonic()
        self.starting = {}
        self.ending = threading.Lock()

    def run(self):
        threading.Thread(target=self.begin, name="bombyx-begin", daemon=True).start()
        while frame := self.frames.read():
            header, body = frame
            if header["op"] == "bye":
                break
            if header["op"] == "resize":
                self.resize(header["workers"])
            else:
                self.caller.take(header, body)  # The program makes calls only after `hello`.
        self.end()

    def begin(self):
        problem = check_version()
        try:
            if problem:
                raise RuntimeError(problem)
            self.connect()
            self.check_workers()
        except Exception as error:
            self.lose(str(error) or type(error).__name__)
        self.report()
        self.caller = Caller(
            self.client, self.frames, self.options["build"], self.options["allowed_failures"], direct=self.cluster is not None)
        self.frames.send({"op": "hello", "protocol": PROTOCOL, "build": ""})
        self.monitor()

    def connect(self):
        import dask
        options = self.options
        patience = f"{max(1, options['patience'])}s"
        dask.config.set(SETTINGS)
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
            dashboard_address=f"127.0.0.1:{options['dashboard']}" if options["dashboard"] else None,
            preload=["bombyx_shim.worker"], silence_logs=40,
            memory_limit=options["memory"],
        )
        self.client = Client(self.cluster, name="bombyx")
        if options["dashboard"]:
            print(f"bombyx: Dask's dashboard is at {self.cluster.dashboard_link}", file=sys.stderr, flush=True)

    def check_workers(self):
        """Compares builds and versions before any work. Workers that come later are compared at their first call."""
        if not self.client.scheduler_info(n_workers=-1)["workers"]:
            return
        try:
            answers = self.client.sync(self.client._run, describe, on_error="return", callback_timeout=20)
        except TimeoutError:
            return  # One of them stands still. The others are compared at their first call.
        for address, found in answers.items():
            if isinstance(found, Exception):
                raise RuntimeError(f"the Dask worker at {address} does not run Bombyx: start workers with `bombyx worker` ({found})")
            if found["problem"]:
                raise RuntimeError(found["problem"])
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

    def hurry(self):
        """Ends workers that stand still while they start. Dask waits for them without end; it starts another if they end."""
        now, starting = time.monotonic(), {}
        for nanny in list(self.cluster.workers.values()):
            process = getattr(nanny, "process", None)
            pid = process and process.status == Status.starting and process.pid
            if pid:
                starting[pid] = self.starting.get(pid, now)
                if now - starting[pid] > BEGIN + self.options["patience"]:
                    os.kill(pid, signal.SIGKILL)
        self.starting = starting

    def report(self):
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        if workers:
            self.staffed = time.monotonic()
        slots = sum(worker["nthreads"] for worker in workers.values())
        self.frames.send({"op": "slots", "slots": max(1, slots), "processes": self.processes()})

    def monitor(self):
        """Tells the program of workers that come and go, and of the scheduler's end."""
        answered = time.monotonic()
        loop = self.client.loop.asyncio_loop
        while True:
            time.sleep(0.5)
            if self.client.status != "running":
                self.lose(GONE)  # Dask has cancelled all calls. If it connects again, it finds nothing of them.
            try:
                asyncio.run_coroutine_threadsafe(self.client.scheduler.identity(n_workers=-1), loop).result(5)
                answered = time.monotonic()
                if self.cluster:
                    self.hurry()
                self.report()
            except Exception as error:
                if time.monotonic() - answered > SILENCE:
                    self.lose(f"the Dask scheduler does not answer: {str(error) or type(error).__name__}")
            if self.cluster and time.monotonic() - self.staffed > EMPTY:
                self.lose(f"no worker has been there for {EMPTY} s")

    def lose(self, reason):
        """There is no cluster any more, or never was one."""
        self.frames.send({"op": "gone", "message": reason})
        self.end()

    def end(self):
        """Ends this process and everything that it started, also what stands still. Never returns."""
        self.ending.acquire()
        closing = threading.Thread(target=self.close, daemon=True)
        closing.start()
        closing.join(8)
        self.frames.flush(2)
        for _ in range(10):
            left = descendants_of(os.getpid())
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(0.05)
        os._exit(0)

    def close(self):
        """In order, as far as everybody answers."""
        if self.caller:
            self.caller.drop()
        if self.client:
            self.client.close(timeout=2)
        if self.cluster:
            self.cluster.close(timeout=5)


def main():
    """The main function of the client shim."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Session(json.loads(sys.argv[1])).run()
