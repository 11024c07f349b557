"""A small site with every kind of row, made by the same acts as people's: what a dump for the tests holds.

The project `bay` is a study in the middle of its course, in which much went wrong; two others were only set up.
"""

from collections.abc import Mapping

from django.db import connection

from tests.old_data.filling import data, messages, people, quality, recruiting, results, work
from tests.old_data.filling.bay import Bay

VISITORS = ("owner", "manager", "researcher", "anna", "hal", "emil", "ben")
"""Who walks over the site: by what they may, and by where they are in their work."""
FIRST_ID = 5_000_000
"""Where ids begin, so that no row of a dump has the id of a row that another test in this process has seen."""
LONG_AFTER = "2100-01-01T00:00:00Z"


def fill() -> dict[str, str]:
    """Make everything in an empty, migrated database; returns the secrets that the rows keep only hashes of."""
    _move_ids()
    bay = Bay()
    people.gather(bay)
    people.write_texts(bay)
    data.bring(bay)
    people.take_tests(bay)
    work.run_trial(bay)
    messages.add_webhook(bay)
    work.collect(bay)
    work.make_other_batches(bay)
    data.bring_judgments(bay)
    quality.watch(bay)
    quality.decide(bay)
    quality.pay(bay)
    results.measure(bay)
    results.freeze(bay)
    messages.answer_some()
    work.leave_open(bay)
    recruiting.recruit(bay)
    people.found_others(bay)
    results.choose_about_human_sources()
    people.erase_somebody(bay)
    _let_nothing_end()
    return bay.secrets


def unlinked(facts: Mapping[str, object]) -> list[str]:
    """Addresses that people have from elsewhere than the site's own pages."""
    queries = ("export/mocha.json?criterion=correctness", "export/long.csv?comments=on", "charts/progress.svg")
    return [f"/join/{facts['invitation']}/", *(f"/p/bay/{path}" for path in queries)]


def _move_ids() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'")
        for (name,) in cursor.fetchall():
            if name.startswith(("annotate_", "projects_", "results_")):
                cursor.execute("SELECT setval(%s, %s)", [name, FIRST_ID])


def _let_nothing_end() -> None:
    """What holds for a time holds for good: a dump is opened years later."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE annotate_assignment SET due_at = %(then)s WHERE state = 'open';
               UPDATE annotate_attempt SET due_at = %(then)s WHERE state = 'open' AND due_at IS NOT NULL;
               UPDATE annotate_panelsession SET due_at = %(then)s;
               UPDATE annotate_reservation SET until = %(then)s;
               UPDATE projects_invitation SET expires_at = %(then)s;
               UPDATE projects_apitoken SET expires_at = %(then)s""",
            {"then": LONG_AFTER},
        )
