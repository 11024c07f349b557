"""A program as a child process of this one: started with its first request, and again after it failed."""

import atexit
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path


class ChildProgram:
    """A module whose `main` runs in a process of its own, and gets its end of a socket.

    The parent has threads: `_lock` is held by the one that uses the process or its socket. A fork of the parent starts
    a process of its own.
    """

    module = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    def _forget(self) -> None:
        """Leave the process to the parent of a fork. The lock may be held by a thread that the fork doesn't have."""
        self._lock = threading.Lock()
        if self._process is not None:
            self._process.returncode = 0  # it is nobody's to wait for here
        if self._socket is not None:
            self._socket.close()
        self._process = self._socket = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _connect(self) -> socket.socket:
        """Return the socket of the process, which is started if it does not run. Raises OSError."""
        if self._socket is None or self._process is None or self._process.poll() is not None:
            self._end()
            self._start()
        assert self._socket is not None
        return self._socket

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        # Isolated Python ignores the variables that say where compiled modules are kept, if at all.
        flags = ["-B"] if sys.dont_write_bytecode else []
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
        start = Path(__file__).with_name("start.py")
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", *flags, str(start), self.module],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                )
            except BaseException:
                ours.close()
                raise
        self._socket = ours

    def _end(self) -> int | None:
        """Kill the process, if there is one, and return how it ended."""
        if self._socket is not None:
            self._socket.close()
        process, self._process, self._socket = self._process, None, None
        if process is None:
            return None
        with suppress(ProcessLookupError):
            process.kill()
        return process.wait()
