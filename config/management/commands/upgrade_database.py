"""Upgrade the private database to the newest PostgreSQL that Concord includes."""

from typing import Any

from config.backups import upgrading
from projects.commands import ReportingCommand


class Command(ReportingCommand):
    help = (
        "Move the data of the private PostgreSQL to the newest major version that this version of Concord includes. "
        "Stop the site first. The old data stay in a folder beside the new ones."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = upgrading.upgrade(say=self.say)
        if done.kept is None:
            text = f"The private database is of PostgreSQL {done.after}, the newest here. Nothing to do."
        else:
            text = (
                f"Upgraded from PostgreSQL {done.before} to {done.after}: {done.n_rows:,} rows. The old data are in "
                f"{done.kept}. Delete that folder once you have seen that the site works."
            )
        self.answer({"before": done.before, "after": done.after, "n_rows": done.n_rows}, text=text)
