"""Typed readers of environment variables; nothing else in the project reads the environment."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
DEFAULT_FILE = ".env"
ON = frozenset({"1", "true", "yes", "on"})
OFF = frozenset({"0", "false", "no", "off"})
FORM_OF_ADDRESS = "postgres://user:password@host:port/name, with special characters percent-encoded, such as %23 for #"
HOST = re.compile(r"[\w.*-]+|\[[0-9A-Fa-f:.]+\]")
BROKERS = frozenset({"redis", "rediss", "redis+socket"})
DATABASE_OPTIONS = frozenset(
    {"application_name", "connect_timeout", "options", "sslcert", "sslkey", "sslmode", "sslrootcert"}
)
LINK_OPTIONS = {
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""A server that can't be reached any more is given up after half a minute; by itself, the system takes two hours."""
_REQUIRED: Any = object()


def text(name: str, default: str = _REQUIRED) -> str:
    """Return the value of a variable; an empty one counts as not set. Raises ImproperlyConfigured without a value."""
    value = os.environ.get(name) or _from_file().get(name) or ""
    if value:
        return value
    if default is _REQUIRED:
        raise ImproperlyConfigured(f"Set {name}: there is no default for it.")
    return default


def flag(name: str, default: bool = False) -> bool:
    """Return the value of a switch. Raises ImproperlyConfigured for a value that is neither yes nor no."""
    value = text(name, default="").strip().lower()
    if not value:
        return default
    if value in ON or value in OFF:
        return value in ON
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")


def debug(name: str) -> bool:
    """Return the value of a dangerous switch, which is on only for a plain yes, and off for anything else."""
    return text(name, default="").strip().lower() in ON


def number(name: str, default: int = _REQUIRED, *, least: int | None = 0, most: int | None = None) -> int:
    """Return a whole number. Raises ImproperlyConfigured for other values and outside the bounds."""
    value = (text(name) if default is _REQUIRED else text(name, default="")).strip()
    if not value:
        return default
    try:
        found = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if least is not None and found < least:
        raise ImproperlyConfigured(f"{name} must be at least {least}, not {found}.")
    if most is not None and found > most:
        raise ImproperlyConfigured(f"{name} must be at most {most}, not {found}.")
    return found


def words(name: str, default: Sequence[str] = ()) -> list[str]:
    """Return a list whose members are separated by commas."""
    value = text(name, default="")
    if not value.strip():
        return list(default)
    return [word.strip() for word in value.split(",") if word.strip()]


def choice(name: str, options: Sequence[str], default: str = _REQUIRED) -> str:
    """Return one of several options. Raises ImproperlyConfigured for other values."""
    value = text(name, default=default)
    if value not in options:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(options)}, not {value!r}.")
    return value


def address(name: str) -> str:
    """Return the public address of a site without a slash at its end, or an empty text.

    Raises ImproperlyConfigured for one that is not whole, such as the host alone.
    """
    value = text(name, default="").strip()
    if not value:
        return ""
    parts = _split(value)
    is_whole = parts is not None and parts.scheme in {"http", "https"} and bool(parts.hostname)
    if parts is None or not is_whole or "@" in parts.netloc or parts.query or parts.fragment:
        raise ImproperlyConfigured(
            f"{name} must be the whole address of the site, such as https://concord.example.org, not {value!r}."
        )
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}".rstrip("/")


def hosts(name: str, default: Sequence[str] = ()) -> list[str]:
    """Return names of hosts. Raises ImproperlyConfigured for what no request is for, such as one with a port."""
    found = words(name, default)
    if wrong := next((host for host in found if not HOST.fullmatch(host)), ""):
        raise ImproperlyConfigured(
            f"{name} must be names of hosts without https:// and port, separated by commas, not {wrong!r}."
        )
    return found


def broker(name: str) -> str:
    """Return the address of a Redis or Valkey, or an empty text. It may contain a password, so no error repeats it."""
    value = text(name, default="").strip()
    parts = _split(value)
    if value and (parts is None or parts.scheme not in BROKERS):
        raise ImproperlyConfigured(f"{name} must have the form redis://:password@host:port/0, with rediss:// for TLS.")
    return value


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address; none if it is not one, or has an impossible port."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def database(url: str, variable: str = "DATABASE_URL") -> dict[str, Any]:
    """Return Django's settings for `postgres://user:password@host:port/name?sslmode=require`.

    The host may be a socket directory, percent-encoded or as `?host=/run/postgresql`. Error messages name the variable
    and never repeat the address, because it may contain a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ImproperlyConfigured(f"{variable} must have the form {FORM_OF_ADDRESS}.") from None
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(f"{variable} must start with postgres:// (PostgreSQL 15 or newer).")
    if set(parts.path.removeprefix("/")) & set("/@:"):  # a slash in the password ends the host
        raise ImproperlyConfigured(
            f"{variable} has special characters in its password or name. Percent-encode them, such as %2F for /, %40 "
            "for @ and %3A for a colon."
        )
    name = unquote(parts.path.removeprefix("/"))
    if not name:
        raise ImproperlyConfigured(f"{variable} names no database. Use the form {FORM_OF_ADDRESS}.")
    options = dict(parse_qsl(parts.query))
    host = options.pop("host", "") or unquote(parts.hostname or "")
    if unknown := sorted(options.keys() - DATABASE_OPTIONS):
        raise ImproperlyConfigured(f"{variable} has unknown options: {', '.join(unknown)}.")
    return {
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(port or ""),
        "OPTIONS": {**LINK_OPTIONS, **options},
    }


def inherit(**over: str) -> dict[str, str]:
    """Return the environment of this process for a program that it starts, with some variables changed."""
    return {**os.environ, **over}


@cache
def _from_file() -> Mapping[str, str]:
    path = find_file()
    if path and path.exists() and not path.is_dir():
        try:
            return read_file(path)
        except PermissionError:
            raise ImproperlyConfigured(
                f"This user may not read the settings in {path}. Run commands as the user of the site."
            ) from None
    if path and path != BASE_DIR / DEFAULT_FILE:
        raise ImproperlyConfigured(
            f"ENV_FILE names {path}, which is no file. Correct it, or leave it empty to read no file."
        )
    return {}


def find_file() -> Path | None:
    """Return the file of settings, which need not exist if it is the default; none if ENV_FILE is empty."""
    name = os.environ.get("ENV_FILE", DEFAULT_FILE)
    return BASE_DIR / name if name else None


def read_file(path: Path) -> dict[str, str]:
    """Read lines of `NAME=value`; blank lines and those that start with # are skipped.

    Raises ImproperlyConfigured for any other line, and names it.
    """
    values = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # editors on Windows write a mark before the first
    except UnicodeDecodeError as error:
        n = error.object[: error.start].count(b"\n") + 1
        raise ImproperlyConfigured(f"{path.name}, line {n}: not UTF-8. Save the file in that encoding.") from None
    for n, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name.isidentifier():
            raise ImproperlyConfigured(f"{path.name}, line {n}: write NAME=value.")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        values[name] = value
    return values


def write_file(path: Path, values: Mapping[str, str]) -> None:
    """Set variables in a file of settings, which only its owner can read; all other lines stay as they are.

    The file is replaced at once, so that nobody reads half of it.
    """
    lines = path.read_text(encoding="utf-8-sig").splitlines() if path.exists() else []
    names = [line.strip().removeprefix("export ").partition("=")[0].strip() for line in lines]
    kept = [line for line, name in zip(lines, names, strict=True) if name not in values]
    draft = path.with_name(f"{path.name}.new")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in [*kept, *(f"{name}={value}" for name, value in values.items())]))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
