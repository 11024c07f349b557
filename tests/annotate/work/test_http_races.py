"""Races on the wire: raw requests at once to a running site, and replies that never arrive."""

from http import HTTPStatus

import pytest

from annotate.models import Assignment, Judgment
from projects.models import Membership, Project
from tests.annotate.open_batches import assert_equation, open_batch
from tests.concurrency import all_at_once
from tests.conftest import Site
from tests.factories import make_membership
from tests.processes import wait_until
from tests.raw_http import Reply, Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


def test_the_same_form_twice_at_once_is_stored_once(
    live_site: Site, project: Project, annotator: Membership, scale: int
) -> None:
    """Both answers lead to a page, and one of the pages says that it was saved before."""
    n_turns = 10 * scale
    open_batch(project, n_hits=n_turns + 1)
    path = Visitor.of(annotator, live_site.url).start(project.slug)
    for turn in range(n_turns):
        visitor = Visitor.of(annotator, live_site.url)
        form = visitor.fill(path)
        at = path

        def send(_: int, visitor: Visitor = visitor, form: dict[str, str] = form, at: str = at) -> tuple[Reply, Reply]:
            reply = visitor.post(at, form)
            return reply, visitor.get(reply.location)

        pairs = all_at_once(send, [0, 1])
        assert [reply.status for reply, _ in pairs] == [HTTPStatus.SEE_OTHER] * 2
        assert [page.status for _, page in pairs] == [HTTPStatus.OK] * 2
        assert sum("already saved" in page.text for _, page in pairs) == 1
        assert Judgment.objects.count() == 3 * (turn + 1)
        path = pairs[0][0].location
        assert pairs[1][0].location == path
    assert_equation()


def test_twenty_people_claim_over_the_wire_at_once(live_site: Site, project: Project) -> None:
    open_batch(project, n_hits=4, judgments=5)
    crowd = [Visitor.of(make_membership(project), live_site.url) for _ in range(20)]

    def claim(visitor: Visitor) -> tuple[str, int]:
        path = visitor.start(project.slug)
        return path, visitor.get(path).status

    found = all_at_once(claim, crowd)
    assert {status for _, status in found} == {HTTPStatus.OK}
    assert len({path for path, _ in found}) == 20
    assert Assignment.objects.open().count() == 20
    assert_equation()


def test_a_retry_after_a_lost_reply_changes_nothing(live_site: Site, project: Project, annotator: Membership) -> None:
    open_batch(project)
    visitor = Visitor.of(annotator, live_site.url)
    path = visitor.start(project.slug)
    form = visitor.fill(path)
    visitor.post_and_hang_up(path, form)
    wait_for_judgments(3)
    again = visitor.post(path, form)
    assert again.status == HTTPStatus.SEE_OTHER
    assert "already saved" in visitor.get(again.location).text
    other = visitor.post(path, form | {"a0-correctness": "1"})
    assert other.status == HTTPStatus.CONFLICT
    assert list(Judgment.objects.values_list("value", flat=True)) == [4, 4, 4]
    assert_equation()


def wait_for_judgments(n: int) -> None:
    wait_until(lambda: Judgment.objects.count() >= n, "the request whose reply was dropped was not carried out")
