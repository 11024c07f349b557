"""Make a backup of the site."""

from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.backups import archive, backing_up, losses
from config.backups.archive import PATTERN
from projects.commands import ReportingCommand
from projects.errors import Refused
from projects.language.amounts import plural
from projects.options import whole_number

MOST_DAYS = 36_500
MOST_DELETED = 3
"""How many old backups one run deletes: it adds one, so it catches up, and a wrong clock doesn't delete a month."""
INCOMPLETE = 3
"""Exit status of a backup that was made without all files. Making it again at once would not find them."""

SECRETS = (
    "SECRET_KEY and .env are not in the backup. Keep them in another place: without the key, second factors by "
    "authenticator app, the secrets of webhooks, tokens of Prolific and signed links of panels are lost."
)


class Command(ReportingCommand):
    help = (
        "Write the database and the stored files to one file, while the site runs. Given a folder, the backup is named "
        "for the time. It contains personal data, but neither sessions nor SECRET_KEY. Exits with 3 if files "
        "are missing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", help="a new file, or a folder")
        parser.add_argument(
            "--keep-days",
            type=whole_number(least=1, most=MOST_DAYS),
            metavar="N",
            help=f"then delete backups in the folder that are older than this, the {MOST_DELETED} oldest at most; "
            "those that you named stay, and so does the newest before this one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(options["file"])
        days: int | None = options["keep_days"]
        is_folder = archive.is_folder(path)
        if not is_folder and (days is not None or options["file"].endswith("/")):
            needs = "" if days is None else " --keep-days needs a folder."
            raise Refused(f"{path} is no folder.{needs} To create one: install -d -m 0700 FOLDER")
        if is_folder:
            path /= _name_backup(timezone.now())
        made = backing_up.make_backup(path)
        lost = losses.leave_out_accepted(made.manifest.lost)
        deleted = _delete_older(made.path, days, lost) if days is not None else []
        n_files = len(made.manifest.files)
        lines = [f"{made.path}: {made.n_bytes / 1e6:,.1f} MB, {n_files:,} {plural(n_files, 'file', 'files')}.", SECRETS]
        if deleted:
            n_deleted = len(deleted)
            lines.append(f"Deleted {n_deleted:,} {plural(n_deleted, 'backup', 'backups')} older than {days} days.")
        answer = {"file": str(made.path), "n_bytes": made.n_bytes, "n_files": n_files}
        self.answer({**answer, "deleted": deleted, "lost": made.manifest.lost}, text="\n".join(lines))
        if lost:
            raise CommandError(
                f"The backup is incomplete: the database names files that no longer exist ({len(lost):,}: "
                f"{', '.join(lost[:10])}). It was kept, and so were older backups that have them. If none has a file, "
                "accept its loss with: manage.py accept_loss FILE",
                returncode=INCOMPLETE,
            )


def _name_backup(time: datetime) -> str:
    """Return the name of a backup of this time; the names sort as the times do."""
    return f"concord-{time:%Y-%m-%dT%H%M%SZ}.tar"


def _delete_older(new: Path, days: int, lost: Collection[str]) -> list[str]:
    """Delete the older backups beside a new one, and return their names.

    Their age is that of their names: a copied file is as new as its copy. Because the clock may be wrong, a few are
    deleted at a time, and the newest of them stays however old it is. So do those with files that the new one lacks.
    """
    oldest = _name_backup(timezone.now() - timedelta(days=days))
    others = sorted(path for path in new.parent.glob(PATTERN) if path.is_file() and path.name != new.name)
    old = [path for path in others[:-1] if path.name < oldest and not _may_have(path, lost)]
    for path in old[:MOST_DELETED]:
        path.unlink()
    return [path.name for path in old[:MOST_DELETED]]


def _may_have(path: Path, lost: Collection[str]) -> bool:
    """Return whether one of these files may be in a backup; nobody knows of one that can't be read."""
    if not lost:
        return False
    try:
        found = archive.read_manifest(path).entries
    except Refused:
        return True
    return any(f"{archive.FILES}{name}" in found for name in lost)
