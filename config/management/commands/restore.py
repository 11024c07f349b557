"""Restore a backup of the site."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.backups import restoring
from projects.commands import ReportingCommand
from projects.language.amounts import plural


class Command(ReportingCommand):
    help = (
        "Restore the database and the stored files from a backup, migrate them, repeat later erasures, and verify the "
        "result. Stop the site first. Exits with 1 if anything is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", type=Path, help="a backup")
        parser.add_argument("--replace", action="store_true", help="also if the site has accounts or projects")

    def handle(self, *args: Any, **options: Any) -> None:
        restored = restoring.restore(options["file"], replace=options["replace"], say=self.say)
        manifest = restored.manifest
        n_rows, n_files = sum(manifest.rows.values()), len(manifest.files)
        lines = [
            f"Restored the backup of {manifest.made_at} ({manifest.concord}).",
            f"{n_rows:,} rows, {n_files:,} {plural(n_files, 'file', 'files')}. Everybody has to sign in again.",
        ]
        if n := restored.n_migrated:
            lines.append(f"Applied {n} {plural(n, 'migration', 'migrations')} that came after it.")
        if n := restored.n_erased:
            lines.append(f"Repeated {n} {plural(n, 'erasure', 'erasures')} that came after it.")
        lines += explain_other_key(restored)
        if manifest.lost:
            lines.append(f"{len(manifest.lost):,} files were lost before the backup: {', '.join(manifest.lost[:10])}")
        self.answer(
            {
                "made_at": manifest.made_at,
                "n_rows": n_rows,
                "n_files": n_files,
                "n_migrated": restored.n_migrated,
                "n_erased": restored.n_erased,
                "n_webhooks_without_secret": restored.n_webhooks_without_secret,
                "n_people_without_second_factor": restored.n_people_without_second_factor,
                "n_prolific_accounts_without_token": restored.n_prolific_accounts_without_token,
                "n_panels_without_signed_links": restored.n_panels_without_signed_links,
                "lost": manifest.lost,
                "problems": restored.problems,
            },
            text="\n".join(lines),
        )
        if restored.problems:
            raise CommandError("\n".join(restored.problems), returncode=1)


def explain_other_key(restored: restoring.Restored) -> list[str]:
    """Return the lines about what needs the SECRET_KEY of the backup; none where there is nothing."""
    needs = [
        (restored.n_webhooks_without_secret, "webhooks that need a new secret"),
        (restored.n_people_without_second_factor, "people who can't use their authenticator app or recovery codes"),
        (restored.n_prolific_accounts_without_token, "Prolific accounts that need their token and subscription again"),
        (restored.n_panels_without_signed_links, "open panels whose signed links no longer work"),
    ]
    lines = [f"  {what}: {n:,}" for n, what in needs if n]
    return ["SECRET_KEY is not that of the backup. Set the old key, or reset these:", *lines] if lines else []
