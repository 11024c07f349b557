"""Messages between a process and its children: a kind, a length, and the content. Only the standard library is used."""

import socket
import struct

HEAD = struct.Struct("!cI")


def send_frame(connection: socket.socket, kind: bytes, content: bytes = b"") -> None:
    """Send a message; its kind is one byte."""
    connection.sendall(HEAD.pack(kind, len(content)) + content)


def receive_frame(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """Return the kind and the content of the next message, or None if the other side is gone."""
    head = receive(connection, HEAD.size)
    if not head:
        return None
    kind, size = HEAD.unpack(head)
    content = receive(connection, size)
    return None if len(content) < size else (kind, content)


def receive(connection: socket.socket, size: int) -> bytes:
    """Return exactly this many bytes, or nothing if the other side is gone."""
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            return b""
        parts += part
    return bytes(parts)
