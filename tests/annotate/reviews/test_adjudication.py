"""The candidates on which annotators differ most, and the scores of adjudicators."""

import csv
import io
from typing import Any

import pytest

from annotate.frames.criteria_in_use import CriterionInUse, Scope, criteria_in_use
from annotate.models import Adjudication, Batch, Item, QualityRules
from annotate.rating.sent import SentAnswers
from annotate.reviews import adjudication
from annotate.reviews.adjudication import Differences
from annotate.work import submitting
from measures.rubric import Level
from projects.errors import Refused
from projects.models import Candidate, Criterion, LogEntry, Membership, Project
from results.agreement.alpha import measure_agreement
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import claim
from tests.factories import make_batch, make_membership, make_rubric
from tests.people import SignIn

pytestmark = pytest.mark.django_db
LIST = "/p/bridges/adjudication/"


def rate(annotator: Membership, values: dict[int, float], **over: Any) -> None:
    """Submit a HIT with a value for each item, by its position in the HIT."""
    work = claim(annotator)
    positions = dict(Item.objects.filter(pk__in=work.layout).values_list("pk", "position"))
    sent = SentAnswers(
        values={place: {"correctness": values[positions[pk]]} for place, pk in enumerate(work.layout)},
        comments={work.layout.index(pk): text for pk, text in _comments(positions, over).items()},
    )
    submitting.submit(annotator=annotator, assignment_uuid=work.uuid, sent=sent)


def _comments(positions: dict[int, int], over: dict[str, Any]) -> dict[int, str]:
    return {pk: over[f"comment_{position}"] for pk, position in positions.items() if f"comment_{position}" in over}


@pytest.fixture
def batch(project: Project, annotator: Membership, other_annotator: Membership) -> Batch:
    """Three candidates, rated 1 and 5, 2 and 4, 3 and 3."""
    batch = open_batch(project, n_hits=1, judgments=2)
    rate(annotator, {0: 2, 1: 1, 2: 3})
    rate(other_annotator, {0: 4, 1: 5, 2: 3}, comment_1="All & right")
    return batch


@pytest.fixture
def criterion(project: Project, batch: Batch) -> CriterionInUse:
    return criteria_in_use(project)[0]


def candidate(batch: Batch, position: int) -> Candidate:
    return Candidate.objects.select_related("question__passage").get(items__hit__batch=batch, items__position=position)


def list_rows(project: Project) -> list[dict[str, str]]:
    target = io.BytesIO()
    write(make_statement("aggregated", Choices(project=project)), target)
    return list(csv.DictReader(io.StringIO(target.getvalue().decode(), newline="")))


def listed(project: Project, criterion: CriterionInUse, state: str = "all", batch: int | None = None) -> list[int]:
    found = Differences(project, criterion, state=state, batch=batch)
    rows = found[0:10]
    assert found.count() == len(rows)
    return [row.candidate_id for row in rows]


def adjudicate(project: Project, actor: Membership, what: Candidate, criterion: CriterionInUse, value: float) -> None:
    adjudication.adjudicate(
        project=project, actor=actor, candidate=what, criterion=criterion, value=value, note="Seen together."
    )


def test_the_widest_difference_comes_first_and_agreement_is_left_out(
    project: Project, batch: Batch, criterion: CriterionInUse
) -> None:
    wide, narrow = candidate(batch, 1), candidate(batch, 0)
    first = Differences(project, criterion, state="all")[0:1][0]
    assert (first.candidate_id, first.low, first.high, first.spread, first.mean, first.n) == (wide.pk, 1, 5, 4, 3, 2)
    assert listed(project, criterion) == [wide.pk, narrow.pk]
    assert listed(project, criterion, batch=batch.number) == [wide.pk, narrow.pk]
    assert listed(project, criterion, batch=10**6) == []
    voices = adjudication.fetch_counted_ratings([wide.pk], criterion)[wide.pk]
    assert [(voice.value, voice.comment) for voice in voices] == [(1, ""), (5, "All & right")]


def test_an_adjudicated_score_is_a_row_of_its_own_and_in_no_agreement(
    project: Project, batch: Batch, criterion: CriterionInUse, manager: Membership
) -> None:
    wide, scope = candidate(batch, 1), Scope(project=project, criterion=criterion)
    before = measure_agreement(scope, level=Level.ORDINAL)
    adjudicate(project, manager, wide, criterion, 5)
    assert (listed(project, criterion, "waiting"), listed(project, criterion, "settled")) == (
        [candidate(batch, 0).pk],
        [wide.pk],
    )
    entry = LogEntry.objects.get(act="adjudicate")
    assert (entry.before, entry.after, entry.why) == (None, {"criterion": "correctness", "value": 5}, "Seen together.")
    assert measure_agreement(scope, level=Level.ORDINAL) == before
    adjudicate(project, manager, wide, criterion, 4)
    assert Adjudication.objects.get().value == 4
    assert LogEntry.objects.filter(act="adjudicate").latest("pk").before == {"criterion": "correctness", "value": 5}
    assert adjudication.withdraw_adjudication(project=project, actor=manager, candidate=wide, criterion=criterion)
    assert not adjudication.withdraw_adjudication(project=project, actor=manager, candidate=wide, criterion=criterion)
    assert listed(project, criterion, "settled") == []


@pytest.mark.parametrize(
    ("of_first", "expected"),
    [({"is_reversed": True}, ["5 of 1 to 5"]), ({"high": 100}, ["2 of 1 to 100", "5 of 1 to 5"])],
    ids=["the other way round", "another scale"],
)
def test_a_score_belongs_to_the_version_on_whose_scale_it_was_set(
    project: Project,
    batch: Batch,
    criterion: CriterionInUse,
    manager: Membership,
    of_first: dict[str, Any],
    expected: list[str],
) -> None:
    wide = candidate(batch, 1)
    adjudicate(project, manager, wide, criterion, 2)
    Criterion.objects.filter(pk__in=criterion.ids).update(**of_first)
    make_rubric(project)
    second = make_batch(project, datasets=(wide.dataset.name,))
    rate(make_membership(project), {0: 2, 1: 1, 2: 3})
    (merged,) = criteria_in_use(Project.objects.get(pk=project.pk))
    adjudicate(project, manager, candidate(second, 1), merged, 5)
    stored = Adjudication.objects.filter(candidate=wide).select_related("criterion")
    assert [
        f"{each.value:g} of {each.criterion.low} to {each.criterion.high}" for each in stored.order_by("pk")
    ] == expected
    assert stored.latest("pk").criterion.rubric_id == second.rubric_id


@pytest.mark.parametrize("value", [0, 6, 2.5])
def test_a_score_off_the_scale_is_refused(
    project: Project, batch: Batch, criterion: CriterionInUse, manager: Membership, value: float
) -> None:
    with pytest.raises(Refused):
        adjudicate(project, manager, candidate(batch, 1), criterion, value)
    assert (Adjudication.objects.count(), LogEntry.objects.count()) == (0, 0)


def test_the_rule_decides_whether_the_adjudicated_score_is_the_gold_score(
    project: Project, batch: Batch, criterion: CriterionInUse, manager: Membership
) -> None:
    wide = candidate(batch, 1)
    adjudicate(project, manager, wide, criterion, 5)

    def row(which: str) -> tuple[float, str, float]:
        found = {each["candidate_id"]: each for each in list_rows(project)}
        each = found[candidate(batch, 1 if which == "wide" else 0).external_id]
        return float(each["mean"]), each["adjudicated"], float(each["gold"])

    assert (row("wide"), row("narrow")) == ((3.0, "5", 3.0), (3.0, "", 3.0))
    adjudication.set_rule(project=project, actor=manager, wins=True)
    assert (row("wide"), row("narrow")) == ((3.0, "5", 5.0), (3.0, "", 3.0))
    adjudication.set_rule(project=project, actor=manager, wins=True)
    assert LogEntry.objects.filter(act="change gold rule").count() == 1


def test_the_page_shows_ratings_side_by_side_and_stores_a_score(
    batch: Batch, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    texts = {1: "No & never", 5: "Same meaning: extra words are fine"}
    Criterion.objects.update(anchors=[{"value": value, "text": text} for value, text in texts.items()])
    client, wide = client_of(manager), candidate(batch, 1)
    page = client.get(LIST).content.decode()
    assert page.index(f"candidate-{wide.pk}") < page.index(f"candidate-{candidate(batch, 0).pk}")
    assert "All &amp; right" in page
    assert all(
        f"> {label} </option>" in " ".join(page.split()) for label in ("1: No &amp; never", "2", "5: Same meaning")
    )
    wanted = {"criterion": "correctness", "value": "5", "note": "Seen", "next": f"{LIST}?state=all"}
    done = client.post(f"{LIST}{wide.pk}/", wanted, follow=True)
    assert done.redirect_chain[0][0] == f"{LIST}?state=all"
    assert "Adjudicated: 5" in done.content.decode()
    for wrong in ({"value": ""}, {"value": "9"}, {"value": "x"}, {"criterion": "none"}, {"next": "//evil.example"}):
        answer = client.post(f"{LIST}{wide.pk}/", {**wanted, **wrong})
        assert answer["Location"].startswith(LIST)
    assert Adjudication.objects.get().value == 5
    client.post(f"{LIST}rule/", {"wins": "1"})
    assert QualityRules.objects.get().adjudication_wins
    assert "Adjudicated scores take precedence" in client.get(LIST).content.decode()
    QualityRules.objects.update(gold_rule="z")
    assert "Adjudicated scores are not used" in client.get(LIST).content.decode()
    again = client.post(f"{LIST}rule/", {"wins": "1"}, follow=True).content.decode()
    assert "now gold scores" not in again, "they have no z score"
    client.post(f"{LIST}rule/", {})
    QualityRules.objects.update(gold_rule="median")
    assert "computed from the annotators’ scores alone" in client.get(LIST).content.decode()
    assert client_of(researcher).get(LIST).status_code == 200
    assert client_of(researcher).post(f"{LIST}{wide.pk}/", wanted).status_code == 403
    client.post(f"{LIST}{wide.pk}/", {**wanted, "act": "take back"})
    assert Adjudication.objects.count() == 0


def test_a_project_without_judgments_says_so(project: Project, manager: Membership, client_of: SignIn) -> None:
    assert "No judgments yet" in client_of(manager).get(LIST).content.decode()


def test_the_form_keeps_every_decimal_of_a_score(batch: Batch, manager: Membership, client_of: SignIn) -> None:
    Criterion.objects.update(kind="continuous", low=0, high=100)
    client, wide = client_of(manager), candidate(batch, 1)
    for value in ("66.667", "5"):
        client.post(f"{LIST}{wide.pk}/", {"criterion": "correctness", "value": value})
        assert f'value="{value}"' in client.get(f"{LIST}?state=all").content.decode(), "a new note would round it"
