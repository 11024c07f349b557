"""A form with a file, sent piece by piece; `requests` by itself reads the whole file into memory."""

import errno
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

CHUNK = 1 << 16


class FileForm:
    """The body of a multipart/form-data request. Its length is known, so the site can refuse it before it is read."""

    def __init__(self, path: Path, fields: Mapping[str, Iterable[str]]) -> None:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Give one file, not a folder", os.fspath(path))
        boundary = secrets.token_hex(16)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self.path = path
        head = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{_quote(name)}"\r\n\r\n{value}\r\n'
            for name, values in fields.items()
            for value in values
        ]
        head.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_quote(path.name)}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        self.head = "".join(head).encode()
        self.tail = f"\r\n--{boundary}--\r\n".encode()
        self.size = path.stat().st_size
        self.error = ""
        """Why the file could not be read to its end."""

    def __len__(self) -> int:
        return len(self.head) + self.size + len(self.tail)

    def __iter__(self) -> Iterator[bytes]:
        yield self.head
        left = self.size
        with self.path.open("rb") as file:
            # No more than was announced, even if the file has grown meanwhile.
            while left and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                yield chunk
        if left:
            self.error = f"{os.fspath(self.path)} became shorter while it was sent."
            raise OSError(self.error)
        yield self.tail


def _quote(name: str) -> str:
    # As browsers write names of fields and files.
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
