"""The Python side of bombyx-cluster. Written into a folder by the program that uses it, and imported as `bombyx_shim`.

Two processes run it. The *client shim* (client.py) is a child of the Rust program: it takes calls from there and submits them to
Dask (caller.py). A *Dask worker* has worker.py as a preload: it starts the Rust program as its child and passes tasks on to it.
Arguments and results are bytes all the way; this package never looks into them. It needs `distributed` and nothing else.
"""

import ctypes
import multiprocessing
import os
import signal
import sys

PROTOCOL = 1
OLDEST = (2026, 8)
# What Dask does to watch Python code at work, which costs time or memory and shows nothing here.
SETTINGS = {
    # Each connection remembers its last messages for debugging: 1000 arguments, each as large as it was.
    "distributed.admin.low-level-log-length": 0,
    # A worker looks every 10 ms where the code of its calls is. It always waits for the Rust program.
    "distributed.worker.profile.enabled": False,
    # Each process wakes up every 20 ms to see whether its event loop is late.
    "distributed.admin.tick.interval": "500ms",
}


def die_with_parent():
    """The kernel ends this process with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


# A nanny starts its worker in a new process. That process imports this package while it starts, and from then on it ends with its
# nanny, even if it stands still. A worker without a nanny belongs to whoever started it.
nanny = multiprocessing.parent_process()
if nanny:
    die_with_parent()
    if os.getppid() != nanny.pid:
        os._exit(1)  # The nanny ended before the kernel was told.


def fail(message):
    """Ends a process that cannot begin."""
    print(f"bombyx: {message}", file=sys.stderr, flush=True)
    os._exit(1)


try:
    import distributed
except ImportError as error:
    fail(f"Python at {sys.executable} cannot import `distributed` ({error}): install it with `pip install distributed`, "
         "or name another Python in BOMBYX_PYTHON")


def check_version():
    """Says why the installed version does not do, or returns nothing."""
    numbers = tuple(int(part) for part in distributed.__version__.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return f"distributed {distributed.__version__} at {sys.executable} is older than {oldest}: upgrade it"
