"""The data folder: its paths and secrets, and the addresses of the private servers that live in it.

Safe to call from settings: nothing here starts a server.
"""

import hashlib
import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import quote

from django.core.exceptions import ImproperlyConfigured

from config import env

SERVERS = ("postgres", "valkey")
NAME = "concord"
SOCKET_BYTES = 100


class NotAvailable(ImproperlyConfigured):
    """The private servers cannot run here; the message says why and what to do."""


def data_dir() -> Path:
    """Where everything lives that must survive a restart; made on the first call.

    As root it is outside the checkout, because PostgreSQL then runs as another user, who must reach it.
    """
    if chosen := env.text("DATA_DIR", default=""):
        path = (env.BASE_DIR / chosen).resolve()
    elif is_root():
        path = Path("/var/lib/concord") / _short_hash(env.BASE_DIR)
    else:
        path = env.BASE_DIR / "var"
    if not path.is_dir():
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.mkdir(mode=0o711 if is_root() else 0o700, exist_ok=True)
    return path


def upload_dir() -> Path:
    path = data_dir() / "uploads"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def database_settings() -> dict[str, str]:
    """What Django needs to reach the private PostgreSQL, whether it runs or not."""
    return {
        "HOST": str(run_dir()),
        "PORT": "5432",
        "USER": NAME,
        "PASSWORD": _secret("postgres_password"),
        "NAME": NAME,
    }


def redis_url() -> str:
    """The address of the private Valkey, in the form that Celery reads."""
    return f"redis+socket://:{valkey_password()}@{quote(str(run_dir() / 'valkey.sock'))}"


def valkey_password() -> str:
    return _secret("valkey_password")


def secret_key() -> str:
    """The key of the development default, made at first use."""
    return _secret("secret_key")


def run_dir() -> Path:
    """The directory of the sockets, whose path may have 107 bytes at most."""
    path = data_dir() / "run"
    if len(os.fsencode(path)) + len("/.s.PGSQL.5432") > SOCKET_BYTES:
        path = Path("/tmp") / f"concord-{os.getuid()}-{_short_hash(data_dir())}"  # noqa: S108  (private, and its owner is checked)
    return path


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def needed() -> tuple[str, ...]:
    """The private servers that this configuration uses."""
    variables = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL"}
    return tuple(server for server in SERVERS if not env.text(variables[server], default=""))


def _secret(name: str) -> str:
    """A random secret in a file of mode 0600; of several processes that make it at once, one wins."""
    path = data_dir() / name
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{name}-")  # mode 0600
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(48))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
    return path.read_text(encoding="ascii")


def _short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
