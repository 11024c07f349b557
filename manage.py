#!/usr/bin/env python
"""The command line: `manage.py serve` runs everything, `manage.py help` lists the rest."""

import os
import sys
import warnings

from projects.processes.frame_memory import takes_one_piece

# Commands that touch neither the database nor the broker start faster, and run where there is no private server.
NEEDS_NO_SERVER = frozenset(
    {
        "audit",
        "check",
        "makemigrations",
        "collectstatic",
        "translations",
        "routes",
        "upgrade_database",
        "help",
        "version",
    }
)
# Commands that migrate themselves, would show nothing if everything were migrated first, or save and restore what is.
MIGRATE_THEMSELVES = frozenset({"migrate", "showmigrations", "sqlmigrate", "serve", "backup", "restore", "move"})


def needs_servers(arguments: list[str]) -> bool:
    """Return whether a command line uses the database or the broker."""
    if not arguments or arguments[0].startswith("-") or arguments[0] in NEEDS_NO_SERVER:
        return False
    return not {"--help", "-h", "--version"} & set(arguments)


def load_while_servers_start() -> None:
    """Start the private servers, or join running ones, and load the models meanwhile."""
    from concurrent.futures import ThreadPoolExecutor

    import django

    from config import embedded

    with ThreadPoolExecutor(1) as beside:
        servers = beside.submit(embedded.ensure_running)
        try:
            django.setup()
        finally:
            servers.result()  # what it says comes first: without its servers, a site has no settings either


def migrate_first() -> None:
    """Migrate the private database: it belongs to this checkout alone, so its tables follow the code."""
    from config.migrating import bring_up_to_date

    bring_up_to_date()


def needs_migrated_tables(arguments: list[str]) -> bool:
    """Return whether a command line uses tables of the private database."""
    from config import data_folder

    return needs_servers(arguments) and "postgres" in data_folder.needed() and arguments[0] not in MIGRATE_THEMSELVES


def exit_with(explanation: str) -> None:
    """Exit with what is wrong outside of the command, if that is known and no traceback is asked for."""
    if explanation and "--traceback" not in sys.argv:
        sys.exit(explanation)


def run_command() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    if needs_servers(sys.argv[1:]):
        try:
            load_while_servers_start()
        except ImproperlyConfigured as reason:
            sys.exit(str(reason))
    else:
        # makemigrations checks the history of the database, and warns if there is none running.
        warnings.filterwarnings("ignore", message="Got an error checking a consistent migration history")
    if needs_migrated_tables(sys.argv[1:]):
        migrate_first()
    execute_from_command_line(sys.argv)


@takes_one_piece
def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.db.utils import Error as DatabaseError

    from config import wrong_settings

    if "--traceback" not in sys.argv:
        wrong_settings.explain_without_traceback()
    try:
        run_command()
    except KeyboardInterrupt:
        sys.exit(130)
    except DatabaseError as error:
        from config.database_errors import explain

        exit_with(explain(error))
        raise
    except PermissionError as error:
        from config.data_folder import explain_rights

        exit_with(explain_rights(error))
        raise
    except OSError as error:
        from config.data_folder import explain_full

        exit_with(explain_full(error))
        raise


if __name__ == "__main__":
    main()
