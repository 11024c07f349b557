"""Audit the locked packages and the private servers for known vulnerabilities, without the network."""

from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config import auditing

NO_LIST = (
    "Packages: NOT AUDITED, as ADVISORIES names no list. Download the one for PyPI from "
    "https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip, or run make audit with a network."
)
NOT_AUDITED = 3
"""Exit code for “nothing is known”, which is no success."""


class Command(BaseCommand):
    help = (
        "Look for known vulnerabilities in the locked packages and the private servers. Exits with 1 if there is one "
        "that deploy/known_versions.yml does not accept, or if the list of advisories cannot be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--advisories", type=Path, help="advisories in the format of OSV (default: ADVISORIES)")
        parser.add_argument("--require-advisories", action="store_true", help="exit with 3 if there is no such list")

    def handle(self, *, advisories: Path | None, require_advisories: bool, **_: Any) -> None:
        known, today = auditing.read_known(), timezone.now().date()
        findings = self._audit_servers(known, today)
        path = advisories or (Path(settings.ADVISORIES) if settings.ADVISORIES else None)
        if path is not None:
            findings += self._audit_packages(path, known, today)
        for finding in findings:
            self.stderr.write(f"  {finding}")
        if n := sum(not finding.accepted for finding in findings):
            raise CommandError(f"{n} known {'vulnerability' if n == 1 else 'vulnerabilities'} in what is installed.")
        if path is None:
            self.stderr.write(NO_LIST)
            if require_advisories:
                raise CommandError("There is no list of advisories.", returncode=NOT_AUDITED)

    def _audit_servers(self, known: auditing.Known, today: date) -> list[auditing.Vulnerability]:
        servers = auditing.find_private_servers()
        names = ", ".join(" ".join(server) for server in servers) or "none installed"
        age = (today - known.checked_on).days
        self.stdout.write(f"Private servers: {names}. Compared with deploy/known_versions.yml, {age} days old.")
        if age > 3 * auditing.OLD_DAYS:
            self.stderr.write("That is old: renew it as its first lines say.")
        return auditing.audit_servers(servers, known, today)

    def _audit_packages(self, path: Path, known: auditing.Known, today: date) -> list[auditing.Vulnerability]:
        packages = auditing.read_locked()
        try:
            advisories = auditing.read_advisories(path)
        except auditing.NoAdvisories as reason:
            raise CommandError(str(reason)) from reason
        age, newest = advisories.age(today), advisories.newest_on
        self.stdout.write(f"Packages: {len(packages)} audited with advisories up to {newest}, {age} days old.")
        if age > auditing.OLD_DAYS:
            self.stderr.write("That is old: download a new list.")
        return auditing.audit_packages(packages, advisories, known, today)
