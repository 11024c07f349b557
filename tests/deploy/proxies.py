"""Proxies of Debian in front of a real site, with the files of deploy/ as they are but for places."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config import env
from config.management.commands.serve import web_command
from tests import debian, processes

HOME = Path(sys.prefix) / "proxies"
"""Where packages are unpacked: nothing is installed on the machine, and no service is started."""


def find(name: str) -> str | None:
    places = (shutil.which(name), str(HOME / "usr" / "sbin" / name), str(HOME / "usr" / "bin" / name))
    return next((place for place in places if place and Path(place).exists()), None)


def bring() -> None:
    for name in ("nginx", "caddy"):
        if find(name) is None:
            debian.unpack(name, HOME)


def make_certificate(folder: Path) -> None:
    """Write key.pem and cert.pem for localhost, signed by nobody but themselves."""
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *files, *names]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def site(bind: str, site_url: str) -> Iterator[None]:
    _python, _m, *command = web_command(bind, workers=1)
    settings = {"SITE_URL": site_url, "ALLOWED_HOSTS": "localhost", "BEHIND_TLS_PROXY": "1", "N_PROXIES": "1"}
    with processes.process(*command, **settings) as child:
        host, _, port = bind.rpartition(":")
        _wait_for(host.strip("[]"), int(port), child)
        yield


@contextmanager
def nginx(folder: Path, text: str, https: int) -> Iterator[None]:
    """Run nginx with the content of `http { … }`."""
    here = "\n".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = (
        f"pid {folder}/nginx.pid; error_log stderr; daemon off; events {{}} http {{ access_log off; {here}\n{text}\n}}"
    )
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    with _run([find("nginx") or "", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")], https):
        yield


@contextmanager
def caddy(folder: Path, text: str, https: int, **variables: str) -> Iterator[None]:
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    command = [find("caddy") or "", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with _run(command, https, HOME=str(folder), XDG_DATA_HOME=str(folder), **variables):
        yield


def read_file(name: str) -> str:
    return (env.BASE_DIR / "deploy" / name).read_text(encoding="utf-8")


@contextmanager
def _run(command: list[str], port: int, **variables: str) -> Iterator[None]:
    child = subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.DEVNULL)
    try:
        _wait_for("127.0.0.1", port, child)
        yield
    finally:
        child.terminate()
        child.wait(60)


def _wait_for(host: str, port: int, child: "subprocess.Popen[bytes]") -> None:
    def answers() -> bool:
        assert child.poll() is None, f"The process ended with {child.returncode}."
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            return probe.connect_ex((host, port)) == 0

    processes.wait_until(answers, f"Nothing listens on port {port}.")
