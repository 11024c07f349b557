"""Looks for what the version before could not live with in migrations: `python -m tests.lint_migrations`.

While a site is upgraded, web processes and workers of the version before still run on the new tables for some seconds,
and an upgrade that is taken back leaves them for good. django-migration-linter names what breaks them, and what holds a
table's lock for long. Migrations are never edited once they are landed: those that break something are listed here with
the reason, and a new one fails until it is split over two versions or listed too.
"""

import logging
import os
import sys
from typing import Any

APPS = ("annotate", "projects", "results")
KNOWN = {
    "annotate.0003_find_controls_by_question": (
        {"CREATE_INDEX"},
        "Partial indexes of controls, which few items are: no item can be written while the table is scanned once.",
    ),
    "annotate.0005_pinned_consent_and_revisions": (
        {"CREATE_INDEX", "CREATE_INDEX_EXCLUSIVE"},
        "The index of the consent of batches, of which there are hundreds.",
    ),
    "annotate.0007_figures_count_changes": (
        {"NOT_NULL"},
        "The version before can't store new figures of annotators, which the worker of this version then computes.",
    ),
    "annotate.0009_long_answers_are_read_to_the_end": ({"NOT_NULL"}, "The version before can't create batches."),
    "annotate.0014_panels": ({"CREATE_INDEX", "CREATE_INDEX_EXCLUSIVE"}, "None: every table of it is new."),
    "annotate.0016_studies_on_prolific": (
        {"CREATE_INDEX", "CREATE_INDEX_EXCLUSIVE"},
        "None: every table of it is new.",
    ),
    "annotate.0022_participants_of_several_panels": (
        {"ADD_UNIQUE", "CREATE_INDEX", "CREATE_INDEX_EXCLUSIVE"},
        "Participants, of whom there are thousands; the version before has no member twice in a panel.",
    ),
    "projects.0003_withdrawal_reasons_and_terms_of_pay": ({"NOT_NULL"}, "None: the column whose default goes is NULL."),
}
"""Of each migration the codes of what is known in it, and why it stands."""
NOTHING: tuple[set[str], str] = (set(), "")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config import embedded

    embedded.ensure_running()
    import django

    django.setup()
    logging.getLogger("django_migration_linter").setLevel(logging.WARNING)
    found = lint()
    problems = [
        f"{name}: {', '.join(sorted(codes))}" for name, codes in found.items() if codes - KNOWN.get(name, NOTHING)[0]
    ]
    stale = [name for name, (codes, _why) in KNOWN.items() if codes - found.get(name, set())]
    if problems:
        print("The version before breaks on these, or they hold a lock for long; see tests/lint_migrations.py:")
        print(*problems, sep="\n")
    if stale:
        print("Listed as known, and not found:", *stale)
    if problems or stale:
        sys.exit(1)
    n = sum(name.partition(".")[0] in APPS for name in found)
    print(f"{n} migrations, {len(KNOWN)} with what is known.")


def lint() -> dict[str, set[str]]:
    """Return the codes of what the linter finds in each migration of ours, as `app.name`."""
    from django_migration_linter import MigrationLinter

    found: dict[str, set[str]] = {}

    class Collecting(MigrationLinter):
        """Keeps the codes, which the linter itself only prints."""

        def print_linting_msg(self, app_label: str, migration_name: str, *_: object) -> None:
            self.name = f"{app_label}.{migration_name}"
            found[self.name] = set()

        def print_errors(self, errors: list[Any]) -> None:
            found[self.name] |= {error.code for error in errors}

        def print_warnings(self, warnings: list[Any]) -> None:
            found[self.name] |= {warning.code for warning in warnings}

    Collecting(include_apps=APPS, no_cache=True, ignore_initial_migrations=True).lint_all_migrations()
    return found


if __name__ == "__main__":
    main()
