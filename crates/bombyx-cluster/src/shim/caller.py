"""Submits the calls of a Rust process to Dask: those of the client, and the nested ones of a worker."""

import asyncio
import concurrent.futures

from distributed import Future, KilledWorker


GONE = "the connection to the Dask scheduler is lost"


class Crashed(Exception):
    """The worker's child ended, or was ended, while it ran the call with this key. Dask runs the call again."""

    def __init__(self, reason, key):
        super().__init__(reason, key)
        self.reason, self.key = reason, key


class WrongBuild(Exception):
    """The worker runs another build of the program than the client."""


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
            reason = f"{error.allowed_failures + 1} workers died under it; the last one was {error.last_worker.address}"
            outcome, message = "lost", whose(error.task, future) + reason
        except Crashed as error:
            reason = f"it failed {self.retries + 1} times; the last time: {error.reason}"
            outcome, message = "lost", whose(error.key, future) + reason
        except WrongBuild as error:
            outcome, message = "build", str(error)
        except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
            # Dask cancels all futures when it loses its scheduler. Its own class is no relative of asyncio's.
            outcome = "cancelled"
            if self.client.status != "running" or getattr(error, "reason", "") == "scheduler-connection-lost":
                outcome, message = "gone", GONE
        except OSError:
            # The tasks of this package raise none, and Dask asks the scheduler again when it cannot reach a worker.
            outcome, message = "gone", GONE
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


def whose(key, future):
    """Begins a reason: nothing if the future's own call failed, else which call did whose result it needs."""
    function = key.rsplit("-", 2)[0]
    return "" if key == future.key else f"it needs the result of `{function}`, which is lost: "


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
    from bombyx_shim import worker
    return worker.run(build, function, depth, argument, dict(zip(keys, values)))
