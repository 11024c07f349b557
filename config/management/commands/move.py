"""Move the database from the private server to another one."""

from typing import Any

from django.core.management.base import CommandParser

from config import env
from config.backups import moving
from projects.commands import ReportingCommand
from projects.errors import Refused

CANCELLED = (
    "The private database is writable again, with the rows that it had when the move began. If people have used the "
    "site on the other server since, their work is only there."
)
NOTHING_TO_CANCEL = "There is no move to cancel: the private database is writable, and nothing was changed."


class Command(ReportingCommand):
    help = (
        "Copy the database of the private PostgreSQL to an empty database of another server. Meanwhile and afterwards "
        "the private one is read-only, so that no work is lost. Then change the settings and restart the site."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--to", metavar="URL", help="postgres://user:password@host:port/name")
        what.add_argument("--cancel", action="store_true", help="make the private database writable again")
        parser.add_argument("--write-env", action="store_true", help="write the new settings into .env")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["cancel"]:
            is_cancelled = moving.cancel()
            self.answer({"cancelled": is_cancelled}, text=CANCELLED if is_cancelled else NOTHING_TO_CANCEL)
            return
        url, path = options["to"], env.find_file()
        if options["write_env"] and path is None:
            raise Refused("ENV_FILE is empty, so there is no file to write the settings into.")
        n_rows = moving.move(url, say=self.say)
        values = moving.list_settings(url)
        if options["write_env"] and path:
            try:
                env.write_file(path, values)
            except OSError as error:
                raise Refused(f"The database was moved, but {path} can't be written: {error.strerror}.") from error
            change = f"{path} now sets {', '.join(values)}."
        else:
            change = _explain(values)
        self.answer(
            {"n_rows": n_rows, "settings": list(values), "is_written": options["write_env"]},
            text=f"Moved {n_rows:,} rows. The private database stays, read-only.\n{change}\nThen restart the site.",
        )


def _explain(values: dict[str, str]) -> str:
    shown = {**values, **({"SECRET_KEY": "(what secret_key in the data folder has)"} if "SECRET_KEY" in values else {})}
    return "\n".join(["Set these in .env:", *(f"  {variable}={value}" for variable, value in shown.items())])
