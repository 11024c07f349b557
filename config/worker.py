"""The worker as `serve` runs it: `celery -A config.celery worker` with the same options, and 10 MB smaller.

The command `celery` loads all of its subcommands, and with one of them an interactive shell.
"""

from celery.bin.base import CLIContext
from celery.bin.worker import worker

from config.celery import app


def main() -> None:
    worker.main(prog_name="config.worker", obj=CLIContext(app=app, no_color=True, workdir=None, quiet=True))


if __name__ == "__main__":
    main()
