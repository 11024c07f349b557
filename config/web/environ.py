"""The environ that WSGI has for a request, made from what ASGI says of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

Scope = Mapping[str, Any]
Environ = dict[str, Any]
PIECE_BYTES = 1 << 16


@dataclass
class FileBody:
    """A file as the body of a response (`wsgi.file_wrapper`)."""

    source: Any
    block_size: int = PIECE_BYTES

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.source.read(self.block_size):
            yield piece

    def read(self, n_bytes: int) -> bytes:
        found: bytes = self.source.read(n_bytes)
        return found

    def close(self) -> None:
        if close := getattr(self.source, "close", None):
            close()


def make_environ(scope: Scope, prefix: str = "") -> Environ:
    """Return the WSGI environ of a request, without its body; proxies may pass the prefix of the site on, or not."""
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    path = unquote_to_bytes(raw_path.partition(b"?")[0]).decode("latin-1")
    if prefix and f"{path}/".startswith(f"{prefix}/"):
        path = path.removeprefix(prefix) or "/"
    server = scope.get("server") or ("localhost", None)
    client = scope.get("client")
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": str(server[0]),
        "SERVER_PORT": str(server[1] or 0),
        "REMOTE_ADDR": str(client[0]) if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",  # TLS ends at the proxy, whose header Django reads if the operator trusts it
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": FileBody,
    }
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if "_" in name:
            continue  # “x_forwarded_for” would be taken for the header of a proxy
        key = name.upper().replace("-", "_")
        if key not in {"CONTENT_LENGTH", "CONTENT_TYPE"}:
            key = f"HTTP_{key}"
        if key in environ:
            value = f"{environ[key]}{';' if key == 'HTTP_COOKIE' else ','}{value}"
        environ[key] = value
    return environ


def read_length(environ: Environ) -> int | None:
    """Return the announced length of the body; None if there is one of unknown length."""
    announced = environ.get("CONTENT_LENGTH", "")
    if announced.isdecimal():
        return int(announced)
    return None if "HTTP_TRANSFER_ENCODING" in environ else 0
