"""The files of deploy/ and of containers say what the code says: settings, commands, addresses, users."""

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from config import env
from config.management.commands import serve
from config.monitoring.middleware import ADDRESSES
from projects.web.upload_requests import FORM_BYTES
from tests import debian
from tests.deploy.dockerfile import is_left_out, read_steps, tracked_files
from tests.programs import find_systemd

UNITS = sorted((env.BASE_DIR / "deploy" / "systemd").glob("*.service"))
TIMERS = sorted((env.BASE_DIR / "deploy" / "systemd").glob("*.timer"))
GUIDE = (env.BASE_DIR / "docs" / "operations.md").read_text(encoding="utf-8")
ONCE = ("concord-backup", "concord-migrate")
"""Units of commands that end."""
SETTINGS = (env.BASE_DIR / "config" / "settings.py").read_text(encoding="utf-8")
OF_OTHERS = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "POSTGRES_PASSWORD"}
"""Names that Python and the images of others read."""


def is_setting(name: str) -> bool:
    return name in OF_OTHERS or name == "DATA_DIR" or f'("{name}"' in SETTINGS


def read_compose() -> dict[str, Any]:
    compose: dict[str, Any] = yaml.safe_load((env.BASE_DIR / "compose.yaml").read_text(encoding="utf-8"))
    return compose


def read_unit(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The sections of a unit, whose names may come more than once."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.append((name, value))
    return sections


def options_of(words: list[str]) -> list[str]:
    """A command of the web server without its program and without what each place chooses."""
    (program,) = [n for n, word in enumerate(words) if Path(word).name == "gunicorn"]
    found = words[program + 1 :]
    for name in ("--bind", "--workers"):
        place = found.index(name)
        del found[place : place + 2]
    return found


def test_every_variable_is_a_setting_and_every_example_a_variable() -> None:
    steps = [step for step in read_steps() if step.name == "ENV"]
    named = {pair.partition("=")[0] for step in steps for pair in step.words}
    for service in read_compose()["services"].values():
        if service.get("image") == "concord":
            named |= set(service["environment"])
    for unit in UNITS:
        for name, value in read_unit(unit)["Service"]:
            if name == "Environment":
                named |= {pair.partition("=")[0] for pair in value.split()}
    example = (env.BASE_DIR / ".env.example").read_text(encoding="utf-8")
    named |= set(re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE))
    assert {name for name in named if not is_setting(name)} == set()
    assert {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "STATIC_ROOT"} <= named


def as_celery(words: list[str]) -> list[str]:
    """Return Celery's own command for the worker that `serve` runs."""
    assert words[0] == "config.worker"
    return ["celery", "--quiet", "-A", "config.celery", "worker", *words[1:]]


def test_the_same_commands_run_everywhere() -> None:
    (web,) = [step.words for step in read_steps() if step.name == "CMD"]
    compose = read_compose()["services"]
    started = {unit.name: dict(read_unit(unit)["Service"])["ExecStart"].split() for unit in UNITS}
    wanted = options_of(serve.web_command("127.0.0.1:8000", 2))
    assert options_of(web) == options_of(started["concord-web.service"]) == wanted
    assert web[web.index("--bind") + 1] == "0.0.0.0:8000"

    beat = as_celery(serve.worker_command(has_beat=True))
    for words in (compose["worker"]["command"], started["concord-worker.service"]):
        assert sorted([Path(words[0]).name, *words[1:-1]]) == sorted(beat[:-1])
    # A unit doubles the sign of percent.
    started_neural = [word.replace("%%", "%") for word in started["concord-neural.service"]]
    for words in (compose["neural"]["command"], started_neural):
        assert sorted([Path(words[0]).name, *words[1:]]) == sorted(as_celery(serve.neural_command()))
    assert compose["migrate"]["command"][-2:] == ["migrate", "--noinput"]


def test_an_image_has_no_private_servers_no_secrets_and_no_root() -> None:
    steps = read_steps()
    assert [step.text for step in steps if step.name == "USER"] == ["10001"]
    assert steps.index(next(s for s in steps if s.name == "USER")) > max(
        n for n, s in enumerate(steps) if s.name == "RUN"
    )
    assert not any("private" in step.text for step in steps)
    kept = [name for name in tracked_files() if not is_left_out(name)]
    assert {"manage.py", "requirements.txt", "config/settings.py", "docs/operations.md", "LICENSE"} <= set(kept)
    assert "deploy/known_versions.yml" in kept  # for `manage.py audit`
    assert all(is_left_out(name) for name in (".env", ".env.local", ".git/config", "var/secret_key", "tests/people.py"))
    assert not any("SECRET_KEY" in step.text for step in steps if step.name in ("ENV", "ARG"))


def test_whoever_serves_static_files_may_read_what_somebody_else_collected() -> None:
    """An image is built by root and runs without."""
    found = list(Path(settings.STATIC_ROOT).rglob("*"))
    assert any(path.name == "staticfiles.json" for path in found)
    closed = [path for path in found if path.stat().st_mode & 0o044 != 0o044]
    assert closed == []


def test_a_site_of_containers_is_closed_but_for_its_proxy() -> None:
    compose = read_compose()
    services = compose["services"]
    assert {name for name, service in services.items() if "ports" in service} == {"proxy"}
    assert compose["networks"]["inside"] == {"internal": True}
    for name in ("database", "queue"):
        assert services[name]["networks"] == ["inside"]
        assert services[name]["healthcheck"]["test"]
    assert set(re.findall(r":8000(/[\w/]+)", services["web"]["healthcheck"]["test"][-1])) <= set(ADDRESSES)
    for name in ("web", "worker", "migrate"):
        service = services[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        # Above the 30 seconds in which requests and jobs are finished.
        assert service["stop_grace_period"] == "40s"
    assert services["migrate"]["restart"] == "no"
    waits = {name: service.get("depends_on", {}) for name, service in services.items()}
    assert waits["migrate"] == {"database": {"condition": "service_healthy"}}
    for name in ("web", "worker"):
        assert waits[name]["migrate"] == {"condition": "service_completed_successfully"}
        assert waits[name]["queue"] == {"condition": "service_healthy"}
    assert waits["proxy"] == {"web": {"condition": "service_healthy"}}
    # Backups are made by Debian's pg_dump, which reads no server that is newer than itself.
    (base,) = [step.text for step in read_steps() if step.name == "ARG" and step.text.startswith("PYTHON=")]
    assert base.endswith("-trixie")
    assert services["database"]["image"] == "postgres:17"
    volumes = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert {volume for volume in volumes if not volume.startswith(".")} == set(compose["volumes"])
    for source in (volume for volume in volumes if volume.startswith(".")):
        assert (env.BASE_DIR / source).is_file()


def test_the_database_is_healthy_only_once_others_can_reach_it() -> None:
    check = read_compose()["services"]["database"]["healthcheck"]["test"]
    # The first start of PostgreSQL's image creates the database with a server that listens on its socket alone.
    assert "--host=127.0.0.1" in check


def test_the_proxy_lets_uploads_through_and_keeps_monitoring_inside() -> None:
    text = (env.BASE_DIR / "deploy" / "Caddyfile").read_text(encoding="utf-8")
    (megabytes,) = re.findall(r"max_size (\d+)MB", text)
    assert int(megabytes) * 10**6 > 512 * 1024**2 + FORM_BYTES
    (inside,) = re.findall(r"@inside path (.*)", text)
    closed = {path.removeprefix("{$SITE_PATH}") for path in inside.split()}
    assert closed == {"/metrics", "/health/ready", "/readyz"} <= set(ADDRESSES)


def test_caddy_gets_host_and_path_of_the_site_apart(tmp_path: Path) -> None:
    caddy = tmp_path / "caddy"
    caddy.write_text('#!/bin/sh\necho "$SITE_URL|$SITE_PATH" "$@"\n', encoding="ascii")
    caddy.chmod(0o755)
    command = [word.replace("$$", "$") for word in read_compose()["services"]["proxy"]["command"]]
    told = []
    addresses = ("https://concord.example.org", "https://example.org:8443/concord", "https://example.org/a/b")
    for url in [address + end for address in addresses for end in ("", "/")]:
        variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SITE_URL": url}
        told.append(subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout)
    parts = ("https://concord.example.org|", "https://example.org:8443|/concord", "https://example.org|/a/b")
    assert told == [
        f"{part} run --adapter caddyfile --config /etc/caddy/Caddyfile\n" for part in parts for _ in range(2)
    ]


def test_services_restart_and_may_do_little() -> None:
    assert [unit.stem for unit in UNITS] == [
        *("concord-backup", "concord-migrate", "concord-neural", "concord-web", "concord-worker")
    ]
    (shared,) = re.findall(r"^SHARED_DIR=(\S+)$", GUIDE, re.MULTILINE)
    for unit in UNITS:
        configparser.RawConfigParser(strict=False, allow_no_value=True).read(unit, encoding="utf-8")
        sections = read_unit(unit)
        service = dict(sections["Service"])
        assert service["User"] == "concord"
        assert service["Restart"] == ("on-failure" if unit.stem in ONCE else "always")
        # A backup that fails every time has to show as failed; the site goes on trying.
        limit = "2h" if unit.stem == "concord-backup" else "0"
        assert dict(sections["Unit"])["StartLimitIntervalSec"] == limit
        for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictSUIDSGID"):
            assert service[name] == "yes"
        assert service["ProtectSystem"] == "strict"
        assert ("ReadWritePaths", f"-{shared}") in sections["Service"]
        assert service["CapabilityBoundingSet"] == ""
        assert service["EnvironmentFile"] == "/etc/concord/concord.env"
        if unit.stem not in ONCE:
            assert int(service["TimeoutStopSec"]) > 30


def test_the_web_server_may_listen_on_a_unix_socket() -> None:
    """gunicorn sets the owner of the socket, which `@privileged` contains: the last filter that names a call holds."""
    service = read_unit(env.BASE_DIR / "deploy" / "systemd" / "concord-web.service")["Service"]
    assert [value for name, value in service if name == "SystemCallFilter"][-2:] == ["~@privileged", "@chown"]
    (changed,) = re.findall(r"^ExecStart=(/.*) --bind unix:/run/concord/web.sock$", GUIDE, re.MULTILINE)
    assert dict(service)["ExecStart"].startswith(f"{changed} --bind ")


def test_backups_are_made_every_night_with_the_settings_of_the_site() -> None:
    (timer,) = TIMERS
    assert timer.stem == "concord-backup"
    assert read_unit(timer)["Install"] == [("WantedBy", "timers.target")]
    service = read_unit(timer.with_suffix(".service"))["Service"]
    *program, folder, _, _ = dict(service)["ExecStart"].split()
    assert program == ["/srv/concord/.venv/bin/python", "manage.py", "backup"]
    assert ("ReadWritePaths", f"-{folder}") in service
    assert f"install -d -o concord -g concord -m 0700 {folder}" in GUIDE
    assert "systemctl enable --now concord-backup.timer" in GUIDE
    (line,) = re.findall(r"^30 2 \* \* \* +(.*)$", GUIDE, re.MULTILINE)
    assert line.startswith(f"cd /srv/concord && ENV_FILE={dict(service)['EnvironmentFile']} ")
    assert dict(service)["ExecStart"].removeprefix("/srv/concord/") in line


def test_a_command_by_hand_is_found_from_every_folder() -> None:
    programs = re.findall(r"`systemd-run [^`]*EnvironmentFile=\S+ (\S+) manage\.py", GUIDE)
    assert programs
    # systemd-run looks for it from the folder of the shell, not from WorkingDirectory.
    assert {program for program in programs if not program.startswith("/srv/concord/")} == set()


@pytest.mark.skipif(find_systemd() is None, reason="This machine has no systemd-analyze.")
def test_systemd_understands_the_services(tmp_path: Path) -> None:
    for unit in (*UNITS, *TIMERS):
        # The programs are at their places on a server only.
        text = re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(encoding="utf-8"))
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    names = [str(tmp_path / unit.name) for unit in (*UNITS, *TIMERS)]
    checked = subprocess.run(["systemd-analyze", "verify", *names], capture_output=True, text=True, check=False)
    ours = [line for line in checked.stderr.splitlines() if "concord" in line and "documentation" not in line.lower()]
    assert ours == []


@pytest.mark.drill
@pytest.mark.soak
def test_caddy_takes_its_file(tmp_path: Path) -> None:
    caddy = shutil.which("caddy") or str(tmp_path / "usr" / "bin" / "caddy")
    if not Path(caddy).exists() and not debian.unpack("caddy", tmp_path):
        pytest.skip("This machine has no package of Caddy.")
    checked = subprocess.run(
        [caddy, "validate", "--adapter", "caddyfile", "--config", env.BASE_DIR / "deploy" / "Caddyfile"],
        env={**os.environ, "SITE_URL": "https://concord.example.org", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
