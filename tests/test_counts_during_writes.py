"""A page or a command that counts while somebody submits says the numbers of one moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotate.work import submitting
from projects.models import Membership, Project
from tests import sized_projects
from tests.annotate.open_batches import answered
from tests.factories import make_batch, make_corpus, make_membership
from tests.page_reader import read
from tests.people import SignIn
from tests.results.judged_batches import answer

Write = Callable[[], Any]
Look = Callable[[], Any]

N_ITEMS = 2
MOST_STATEMENTS = 50
PAGES = (
    "results:project-overview",
    "annotate:batch-list",
    "annotate:batch-show",
    "annotate:hit-show",
    "annotate:data-overview",
    "results:agreement",
    "results:export-list",
    "annotate:project-desk",
    "annotate:history",
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
@pytest.mark.parametrize("name", PAGES)
def test_a_page_read_while_somebody_submits_shows_the_time_before_or_after(
    name: str, project: Project, owner: Membership, client_of: SignIn
) -> None:
    make_corpus(project, n_candidates=N_ITEMS)
    make_batch(project, judgments=60)
    arguments = {"annotate:batch-show": (1,), "annotate:hit-show": (1, 1)}.get(name, ())
    address = reverse(name, args=[project.slug, *arguments])

    def make_round() -> tuple[Write, Look]:
        worker = make_membership(project)
        assignment = sized_projects.claim(worker)
        client = client_of(worker if name in ("annotate:project-desk", "annotate:history") else owner)
        return (
            lambda: submitting.submit(annotator=worker, assignment_uuid=assignment, sent=answered(N_ITEMS)),
            lambda: counts_on(client, address),
        )

    assert_one_moment(make_round)


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_a_command_that_runs_while_somebody_gives_a_hit_back_says_the_time_before_or_after(project: Project) -> None:
    make_corpus(project, n_candidates=N_ITEMS)
    make_batch(project, judgments=60)

    def make_round() -> tuple[Write, Look]:
        worker = make_membership(project)
        assignment = sized_projects.claim(worker)
        return (
            lambda: submitting.return_hit(annotator=worker, assignment_uuid=assignment, reason="Too long."),
            lambda: answer("batch", "1", "--project", project.slug),
        )

    assert_one_moment(make_round)


def assert_one_moment(make_round: Callable[[], tuple[Write, Look]]) -> None:
    """Another connection writes after the first statement of what is looked at, then after its second, and so on."""
    seen = set()
    for place in range(MOST_STATEMENTS):
        write, look = make_round()
        before = look()
        with written_after(place, write) as was_written:
            during = look()
        if not was_written:
            break
        after = look()
        assert before != after, "the write is to be seen"
        assert during in (before, after), f"a mixture of two moments: a write after statement {place} is half seen"
        seen.add("before" if during == before else "after")
    assert not was_written, "there are more statements than this test waits for"
    assert "before" in seen


def counts_on(client: Client, address: str) -> Any:
    """What the page says, but for what only the clock changes."""
    page = read(client.get(address).content.decode())
    facts = {label: text for label, text in page.facts.items() if label not in ("Pace", "Time left")}
    return facts, page.tables, page.n_listed


@contextmanager
def written_after(place: int, write: Write) -> Iterator[list[bool]]:
    """Let another connection write after so many statements of what runs within; empty if there were not so many."""
    was_written: list[bool] = []
    n_statements = 0

    def work() -> None:
        try:
            write()
            was_written.append(True)
        finally:
            connection.close()

    def execute(run: Callable[..., Any], *rest: Any) -> Any:
        nonlocal n_statements
        result = run(*rest)
        if n_statements == place:
            thread = Thread(target=work)
            thread.start()
            thread.join()
        n_statements += 1
        return result

    with connection.execute_wrapper(execute):
        yield was_written
