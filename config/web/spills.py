"""Responses that their clients have yet to read, in temporary files of bounded size."""

import tempfile
import threading
import time

READ_BYTES = 1 << 16
FILE_BYTES = 128 << 20
"""The size of a file at which the thread that writes it waits until all of it has been read."""
ALL_FILES_BYTES = 4 * FILE_BYTES
"""The same for the files of a process together. Each may hold one piece beyond it, so that none is stuck."""
LEAST_BYTES_PER_SECOND = 50_000
"""Average of a reader, while a thread waits for it, below which it is given up after the seconds that it may pause."""

LEAD_BYTES = 4 << 20
"""What a reader counts as having read when it begins, so that none is taken for slow at once."""


class Spills:
    """The temporary files of a process, and those whose threads wait."""

    def __init__(self, folder: str, *, most_waiting: int, stall_seconds: float) -> None:
        self.folder = folder
        self.most_waiting = most_waiting
        self.stall_seconds = stall_seconds
        self.n_bytes = 0
        self.waiting: list[Spill] = []
        self.changed = threading.Condition()


class Spill:
    """The temporary file of one response: a thread writes it, and another reads each byte once."""

    def __init__(self, spills: Spills) -> None:
        self._spills = spills
        self._file = tempfile.TemporaryFile(dir=spills.folder)  # noqa: SIM115
        self._began = time.monotonic()
        self._size = self._n_read = 0  # of what is in the file now
        self._n_taken = 0  # of the whole response
        self._is_closed = False
        # Of the file. The lock of the numbers, which all files share, is never held while the disk is waited for.
        self._lock = threading.Lock()

    def write(self, piece: bytes) -> bool:
        """Append a piece as soon as there is room for it; False if nobody reads any more, or too slowly."""
        if not self._wait_for_room(len(piece)):
            self.close()
        with self._lock:
            if self._is_closed:
                return False
            if self._n_read == self._size:
                self._file.truncate(0)
                self._count(0, size=0)
            self._file.seek(self._size)
            self._file.write(piece)
            self._count(self._n_read, size=self._size + len(piece))
        return True

    def read(self) -> bytes:
        """Return the next piece; none if there is no more so far."""
        with self._lock:
            if self._is_closed:
                return b""
            self._file.seek(self._n_read)
            piece = self._file.read(min(READ_BYTES, self._size - self._n_read))
            self._n_taken += len(piece)
            self._count(self._n_read + len(piece), size=self._size)
        return piece

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._count(0, size=0)
            self._file.close()

    def _count(self, n_read: int, *, size: int) -> None:
        with self._spills.changed:
            has_freed_room = size < self._size or n_read == size
            self._spills.n_bytes += size - self._size
            self._n_read, self._size = n_read, size
            if has_freed_room:
                self._spills.changed.notify_all()

    def _wait_for_room(self, n_bytes: int) -> bool:
        """Return whether there is room, or will be. So many threads may wait that others are left for other requests.

        If this is one too many, the slowest reader of those is given up.
        """
        spills = self._spills
        with spills.changed:
            if self._has_room(n_bytes):
                return True
            spills.waiting.append(self)
            if len(spills.waiting) > spills.most_waiting:
                spills.waiting.remove(min(spills.waiting, key=Spill._estimate_pace))
                spills.changed.notify_all()
            began, n_before = time.monotonic(), self._n_taken
            while self in spills.waiting and not self._is_closed and not self._has_room(n_bytes):
                spills.changed.wait(1)
                seconds = time.monotonic() - began
                if seconds > spills.stall_seconds and self._n_taken - n_before < seconds * LEAST_BYTES_PER_SECOND:
                    break
            if self in spills.waiting:
                spills.waiting.remove(self)
                return self._has_room(n_bytes)
            return False

    def _estimate_pace(self) -> float:
        return (self._n_taken + LEAD_BYTES) / (time.monotonic() - self._began + 1e-3)

    def _has_room(self, n_bytes: int) -> bool:
        is_read = self._n_read == self._size
        return is_read or (self._size + n_bytes <= FILE_BYTES and self._spills.n_bytes + n_bytes <= ALL_FILES_BYTES)
