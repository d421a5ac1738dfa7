"""Frames between processes, as in wire.rs: u32 length of the header, u64 length of the body, header in JSON, body."""

import json
import queue
import struct
import threading

LENGTHS = struct.Struct("<IQ")


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
