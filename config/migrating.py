"""Applying missing migrations before anything uses the tables."""

import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.migrations.utils import field_is_referenced
from django.db.models import Field

from projects.database.direct import direct_connection
from projects.database.locks import MIGRATIONS

PAUSE_SECONDS = 0.2


@direct_connection()
def bring_up_to_date(say: Callable[[str], object] = lambda _text: None) -> None:
    """Apply missing migrations; of several processes at once, one applies them while the others wait.

    It takes seconds, so `say` is told first, if there are any. It is also told if a newer version has migrated the
    database; refusing would keep down the hosts that are updated last.
    """
    executor = MigrationExecutor(connection)
    if unknown := _find_unknown(executor):
        say(
            f"A newer version of Concord has migrated this database ({unknown}). This version may fail or store what "
            "the newer one can't read: update it, or restore a backup that was made before."
        )
    if not is_behind(executor):
        return
    say("Preparing the database …")
    with connection.cursor() as cursor:
        # Waiting within a statement would keep up an index that is built concurrently: it waits for statements to end.
        while not _try_lock(cursor):
            time.sleep(PAUSE_SECONDS)
        try:
            # Another process may have migrated while this one waited for the lock.
            if is_behind(MigrationExecutor(connection)):
                _fill_if_empty()
                call_command("migrate", interactive=False, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATIONS])


def _try_lock(cursor: Any) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATIONS])
    return bool(cursor.fetchone()[0])


def _fill_if_empty() -> None:
    """Apply all migrations to a database that has had none; `migrate` then finds nothing left but its signals."""
    executor = MigrationExecutor(connection)
    if not executor.loader.applied_migrations:
        executor.migrate(executor.loader.graph.leaf_nodes(), state=StateFromNothing())


class StateFromNothing(ProjectState):
    """What the models are while an empty database is migrated: the same statements, for a fraction of the work.

    After each operation Django makes every model again that is related to the changed one, however far away, for
    functions of migrations that follow relations. That is most of the time of a first start, and an empty database has
    nothing to follow; before a function all models are made again all the same.
    """

    def reload_model(self, app_label: str, model_name: str, delay: bool = False) -> None:
        """Make this model again; relations to it are found by its name, and have the columns that they had."""
        if "apps" in vars(self):
            self.is_delayed = True
            self._reload({(app_label, model_name)})  # type: ignore[attr-defined]

    def alter_field(
        self, app_label: str, model_name: str, name: str, field: "Field[Any, Any]", preserve_default: bool
    ) -> None:
        """Alter the field; keys of other models that point at it take its type, so these are made again too."""
        super().alter_field(app_label, model_name, name, field, preserve_default)
        if field_is_referenced(self, (app_label, model_name), (name, field)):
            super().reload_model(app_label, model_name, delay=True)


def _find_unknown(executor: MigrationExecutor) -> str:
    """Return the latest migration of this project that the code doesn't have, as its app and name, or an empty text."""
    ours = {each.label for each in apps.get_app_configs() if Path(each.path).parent == settings.BASE_DIR}
    unknown = [
        (name, app) for app, name in executor.loader.applied_migrations if app in ours and not is_known(app, name)
    ]
    name, app = max(unknown, default=("", ""))
    return f"{app} {name}".strip()


def is_known(app: str, name: str) -> bool:
    """Return whether the code has this migration, or one that replaces it."""
    known = read_known()
    return (app, name) in known or any((app, name) in replaces for replaces in known.values())


@cache
def read_known() -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
    """Return the migrations of the code, each with those that it replaces."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return {key: frozenset(migration.replaces) for key, migration in loader.disk_migrations.items()}


def is_behind(executor: MigrationExecutor) -> bool:
    """Return whether the database lacks migrations of the code."""
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
