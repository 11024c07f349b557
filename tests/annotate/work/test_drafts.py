import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import permutations
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import Assignment, Draft
from annotate.rating import draft_merge
from annotate.rating.answers import TakesNoAnswers
from annotate.rating.draft_merge import DraftContent
from annotate.work import drafts, serving, submitting
from measures.rubric import FIVE_POINTS
from projects.errors import Refused
from projects.models import Membership, Project
from projects.rubric.rubrics import CriterionOnPage
from tests.annotate.open_batches import answered, fetch, open_batch

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOW_MS = NOW.timestamp() * 1000
CRITERIA = {"correctness": CriterionOnPage(1, "correctness", "Correctness", "", "ordinal", 1, 5, FIVE_POINTS, ())}


def merged(stored: DraftContent, sent: dict[str, Any], n_items: int = 3) -> DraftContent:
    return draft_merge.merge_draft(stored, sent, n_items=n_items, criteria=CRITERIA, now=NOW)


def rated(place: int, value: int | None, stamp: float) -> dict[str, Any]:
    return {"answers": {str(place): {"correctness": [value, stamp]}}}


class TestMerging:
    def test_the_greater_stamp_wins_in_whatever_order_they_come(self) -> None:
        draft = merged(merged({}, rated(0, 5, 20)), rated(0, 2, 10))
        assert draft["answers"]["0"]["correctness"] == [5, 20]

    def test_clearing_is_an_answer_too(self) -> None:
        draft = merged(merged({}, rated(0, 5, 10)), rated(0, None, 20))
        assert draft["answers"]["0"]["correctness"] == [None, 20]

    def test_a_stamp_from_the_future_is_capped_at_now(self) -> None:
        assert merged({}, rated(0, 5, NOW_MS + 1e9))["answers"]["0"]["correctness"] == [5, NOW_MS]

    def test_flags_comments_and_reasons_are_kept_by_place(self) -> None:
        sent = {"flags": {"1": [True, 1]}, "comments": {"1": ["odd", 1]}, "cannot": {"2": ["unreadable", 1]}}
        assert {part: value for part, value in merged({}, sent).items() if value} == sent

    def test_seconds_only_grow(self) -> None:
        draft = merged(merged({}, {"seconds": [5, 0, 1]}), {"seconds": [3, 2, 1]})
        assert draft["seconds"] == [5, 2, 1]

    def test_what_was_stored_is_not_changed_in_place(self) -> None:
        stored = merged({}, rated(0, 1, 1))
        before = json.dumps(stored)
        merged(stored, rated(0, 5, 2))
        assert json.dumps(stored) == before

    @given(
        st.lists(
            st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(1, 5)), st.integers(1, 1000)),
            min_size=1,
            max_size=4,
            unique_by=lambda entry: entry[2],
        )
    )
    def test_any_order_and_any_repetition_give_the_same_draft(self, entries: list[tuple[int, int | None, int]]) -> None:
        results = []
        for order in permutations(entries):
            draft: DraftContent = {}
            for place, value, stamp in [*order, order[0]]:
                draft = merged(draft, rated(place, value, stamp))
            results.append(json.dumps(draft["answers"], sort_keys=True))
        assert len(set(results)) == 1

    @pytest.mark.parametrize(
        "sent",
        [
            rated(3, 5, 1),
            rated(-1, 5, 1),
            rated(0, 9, 1),
            {"answers": {"0": {"correctness": ["4", 1]}}},
            {"answers": {"0": {"correctness": [True, 1]}}},
            {"answers": {"0": {"correctness": [4]}}},
            {"answers": {"0": {"correctness": 4}}},
            {"answers": {"0": {"style": [4, 1]}}},
            {"answers": {"0": [4, 1]}},
            {"answers": [4]},
            {"answers": {"0": {"correctness": [4, "now"]}}},
            {"comments": {"0": ["x" * 6_000, 1]}},
            {"flags": {"0": ["yes", 1]}},
            {"cannot": {"٣": ["no", 1]}},
        ],
    )
    def test_what_is_no_draft_is_refused(self, sent: dict[str, Any]) -> None:
        with pytest.raises(Refused):
            merged({}, sent)


@pytest.mark.django_db
class TestTheAddress:
    @pytest.fixture
    def assignment(self, project: Project, annotator: Membership) -> Assignment:
        open_batch(project, n_hits=1)
        found = serving.claim(annotator)
        assert isinstance(found, uuid.UUID)
        return fetch(found)

    def url(self, assignment: Assignment) -> str:
        return f"/p/bridges/work/{assignment.uuid}/draft/"

    def send(self, client: Client, assignment: Assignment, sent: object) -> Any:
        return client.post(self.url(assignment), json.dumps(sent), content_type="application/json")

    def test_answers_with_what_is_stored(
        self, assignment: Assignment, client_of: Callable[[Membership], Client]
    ) -> None:
        answer = self.send(client_of(assignment.annotator), assignment, rated(0, 4, 1))
        assert answer.status_code == 200
        assert answer.json()["answers"] == {"0": {"correctness": [4, 1]}}
        assert "saved_at" in answer.json()
        assert Draft.objects.get().answers["answers"] == {"0": {"correctness": [4, 1]}}

    def test_answers_nothing_to_a_page_that_has_all_of_it(
        self, assignment: Assignment, client_of: Callable[[Membership], Client]
    ) -> None:
        """Two devices take turns; each is told what the other saved, and once only what it was told has arrived."""
        client = client_of(assignment.annotator)
        first = self.send(client, assignment, {**rated(0, 4, 1), "after": ""})
        assert (first.status_code, first.content) == (204, b"")
        again = self.send(client, assignment, {**rated(1, 4, 2), "after": first["X-Saved-At"]})
        assert again.status_code == 204
        # A page of another device, of an earlier version, or whose answer was lost on the way, gets everything.
        for after in ({"after": ""}, {}, {"after": first["X-Saved-At"]}, {"after": None}):
            other = self.send(client, assignment, {**rated(2, 3, 3), **after})
            assert other.status_code == 200
            assert sorted(other.json()["answers"]) == ["0", "1", "2"]
        drafts._known.clear()  # in another process
        last = self.send(client, assignment, {**rated(0, 1, 4), "after": other.json()["saved_at"]})
        assert last.status_code == 204
        assert Draft.objects.get().answers["answers"]["0"] == {"correctness": [1, 4]}

    def test_says_401_to_whoever_is_not_signed_in(self, assignment: Assignment, client: Client) -> None:
        assert self.send(client, assignment, rated(0, 4, 1)).status_code == 401

    def test_says_403_without_the_token(self, assignment: Assignment) -> None:
        client = Client(enforce_csrf_checks=True)
        assert assignment.annotator.user is not None
        client.force_login(assignment.annotator.user, backend="django.contrib.auth.backends.ModelBackend")
        assert self.send(client, assignment, rated(0, 4, 1)).status_code == 403

    def test_says_409_once_the_hit_is_submitted(
        self, assignment: Assignment, client_of: Callable[[Membership], Client]
    ) -> None:
        submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=answered())
        answer = self.send(client_of(assignment.annotator), assignment, rated(0, 4, 1))
        assert answer.status_code == 409
        assert answer.json()["state"] == "submitted"

    def test_says_413_to_what_is_too_large(
        self, assignment: Assignment, client_of: Callable[[Membership], Client]
    ) -> None:
        sent = {"comments": {"0": ["x" * 300_000, 1]}}
        assert self.send(client_of(assignment.annotator), assignment, sent).status_code == 413

    @pytest.mark.parametrize("body", ["", "{", "[]", "4", '{"answers": 4}', '{"answers": {"0": {"x": [1, 1]}}}'])
    def test_says_400_to_what_is_no_draft(
        self, assignment: Assignment, client_of: Callable[[Membership], Client], body: str
    ) -> None:
        answer = client_of(assignment.annotator).post(self.url(assignment), body, content_type="application/json")
        assert answer.status_code == 400
        assert answer.json()["message"]
        assert not Draft.objects.exists()

    def test_is_closed_to_everybody_else(
        self, assignment: Assignment, other_annotator: Membership, client_of: Callable[[Membership], Client]
    ) -> None:
        assert self.send(client_of(other_annotator), assignment, rated(0, 4, 1)).status_code == 404

    def test_goes_at_submit(self, assignment: Assignment) -> None:
        drafts.save(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=rated(0, 4, 1))
        submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=answered())
        assert not Draft.objects.exists()

    def test_what_a_process_remembers_never_replaces_what_is_stored(self, assignment: Assignment) -> None:
        """Between two saves of a process another one saves, deletes the draft, or ends the HIT."""
        save = partial(drafts.save, annotator=assignment.annotator, assignment_uuid=assignment.uuid)

        def save_elsewhere(sent: dict[str, Any]) -> None:
            remembered = dict(drafts._known)
            drafts._known.clear()
            save(sent=sent)
            drafts._known.update(remembered)

        drafts.expect_first(assignment, assignment.hit.batch.rubric_id)
        save_elsewhere(rated(0, 1, 10))
        save(sent=rated(1, 2, 20))
        save_elsewhere(rated(2, 3, 30))
        save(sent=rated(0, 5, 40))
        with CaptureQueriesContext(connection) as captured:
            merged, _ = save(sent=rated(1, 4, 50))
        assert len(captured) == 1
        stored = {
            position: entries["correctness"] for position, entries in Draft.objects.get().answers["answers"].items()
        }
        assert stored == {"0": [5, 40], "1": [4, 50], "2": [3, 30]}
        assert merged == Draft.objects.get().answers

        Draft.objects.all().delete()
        save(sent=rated(2, 1, 60))
        assert Draft.objects.get().answers["answers"] == {"2": {"correctness": [1, 60]}}
        with pytest.raises(Refused):
            save(sent=rated(9, 1, 70))
        submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=answered())
        with pytest.raises(TakesNoAnswers):
            save(sent=rated(2, 5, 80))
        drafts.expect_first(assignment, assignment.hit.batch.rubric_id)
        with pytest.raises(TakesNoAnswers):
            save(sent=rated(2, 5, 80))
        assert not Draft.objects.exists()

    def test_what_is_remembered_is_for_its_annotator(self, assignment: Assignment, other_annotator: Membership) -> None:
        drafts.expect_first(assignment, assignment.hit.batch.rubric_id)
        stolen = drafts._known[assignment.uuid, assignment.annotator_id]
        drafts._known[assignment.uuid, other_annotator.pk] = stolen
        with pytest.raises(Assignment.DoesNotExist):
            drafts.save(annotator=other_annotator, assignment_uuid=assignment.uuid, sent=rated(0, 1, 1))
        assert not Draft.objects.exists()
