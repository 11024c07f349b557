"""Every act of a manager done by several at once happens once; one that breaks half-way has not happened at all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from annotate.batches import lifecycle
from annotate.data import withdrawing
from annotate.frames.criteria_in_use import criteria_in_use
from annotate.models import Adjudication, Assignment, Batch, Judgment, Notice
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.moderation.work_filter import WorkFilter
from annotate.payments import paying
from annotate.reviews import adjudication
from projects import log
from projects.errors import Refused
from projects.models import Candidate, LogEntry, Membership, Passage, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, rate
from tests.concurrency import Racers, start_beside
from tests.factories import make_candidates, make_dataset, make_passage, make_question, make_rubric
from tests.results.judged_batches import judge

ALL = Exclusion(scope=ExclusionScope.ALL)


@dataclass
class Scene:
    """Two annotators have rated the two HITs of a closed batch that pays, each candidate twice."""

    project: Project
    batch: Batch
    annotator: Membership
    work: Assignment
    candidate: Candidate
    passage: Passage

    @property
    def only(self) -> WorkFilter:
        return WorkFilter(uuids=(str(self.work.uuid),))


Act = Callable[[Scene, Membership], object]


def warn(at: Scene, who: Membership) -> object:
    return members.warn(target=at.annotator, actor=who, text="Please read the passages.")


def suspend(at: Scene, who: Membership) -> object:
    return members.suspend(target=at.annotator, actor=who, why="To be looked at.", text="On hold.")


def remove(at: Scene, who: Membership) -> object:
    return members.remove(target=at.annotator, actor=who, why="Poor.", exclusion=ALL, reopen_batches=True)


def restore(at: Scene, who: Membership) -> object:
    return members.restore(target=at.annotator, actor=who, why="Ours.")


def approve(at: Scene, who: Membership) -> object:
    return decisions.approve(project=at.project, actor=who, chosen=at.only)


def reject(at: Scene, who: Membership) -> object:
    return decisions.reject(
        project=at.project, actor=who, chosen=at.only, reason="Poor.", is_unpaid=True, reopen_batches=True
    )


def accept(at: Scene, who: Membership) -> object:
    return decisions.accept(project=at.project, actor=who, assignment=at.work, why="Well explained.")


def set_aside(at: Scene, who: Membership) -> object:
    return decisions.set_aside(
        project=at.project, actor=who, assignment=at.work, place=0, is_counted=False, why="A slip."
    )


def count_again(at: Scene, who: Membership) -> object:
    return decisions.set_aside(project=at.project, actor=who, assignment=at.work, place=0, is_counted=True, why="None.")


def withdraw_candidate(at: Scene, who: Membership) -> object:
    return withdrawing.withdraw_candidate(project=at.project, actor=who, candidate=at.candidate, why="Cut off.")


def withdraw_passage(at: Scene, who: Membership) -> object:
    return withdrawing.withdraw_passage(project=at.project, actor=who, passage=at.passage, why="Cut off.")


def adjudicate(at: Scene, who: Membership) -> object:
    criterion = criteria_in_use(at.project)[0]
    value = 5.0 if who.is_owner else 1.0
    return adjudication.adjudicate(
        project=at.project, actor=who, candidate=at.candidate, criterion=criterion, value=value
    )


def take_back(at: Scene, who: Membership) -> object:
    criterion = criteria_in_use(at.project)[0]
    return adjudication.withdraw_adjudication(
        project=at.project, actor=who, candidate=at.candidate, criterion=criterion
    )


def let_win(at: Scene, who: Membership) -> object:
    return adjudication.set_rule(project=at.project, actor=who, wins=True)


def pay(at: Scene, who: Membership) -> object:
    return paying.make_payment(project=at.project, actor=who)


ACTS: dict[str, tuple[Act, Act | None]] = {
    "warn": (warn, None),
    "suspend": (suspend, None),
    "remove": (remove, None),
    "restore": (restore, remove),
    "approve work": (approve, None),
    "reject work": (reject, None),
    "accept work after all": (accept, reject),
    "set judgment aside": (set_aside, None),
    "count judgment again": (count_again, set_aside),
    "withdraw candidate": (withdraw_candidate, None),
    "withdraw passage": (withdraw_passage, None),
    "take back adjudication": (take_back, adjudicate),
    "change gold rule": (let_win, None),
    "make payment": (pay, approve),
}
"""Each act by its name in the log, and what has to be done before it."""


@pytest.fixture
def scene(project: Project, annotator: Membership, other_annotator: Membership, manager: Membership) -> Scene:
    batch = open_batch(project, n_hits=2, judgments=2, cents_per_hit=40)
    work = rate(annotator, 2)[0]
    rate(other_annotator, 2)
    lifecycle.close(batch=batch, actor=manager)
    candidate = Candidate.objects.filter(items__in=work.layout).earliest("pk")
    return Scene(project, batch, annotator, work, candidate, candidate.question.passage)


def try_act(act: Act, scene: Scene, who: Membership) -> str:
    try:
        act(scene, who)
    except Refused as refusal:
        return refusal.message
    return ""


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ACTS)
def test_an_act_by_four_at_once_happens_once(
    racers: Racers, scene: Scene, owner: Membership, manager: Membership, name: str
) -> None:
    """The others read that it is done already, or that nothing is left to do."""
    act, before = ACTS[name]
    if before is not None:
        before(scene, owner)
    n_lines, n_notices = LogEntry.objects.count(), Notice.objects.count()
    messages = racers.all_at_once(partial(try_act, act, scene), [owner, manager, owner, manager])
    assert "" in messages
    lines = list(LogEntry.objects.order_by("pk").values_list("act", flat=True))[n_lines:]
    assert [line for line in lines if line != "reopen batch"] == [name]
    assert lines.count("reopen batch") == (name in ("remove", "reject work"))
    tells = ("warn", "suspend", "reject work", "accept work after all")
    assert Notice.objects.count() - n_notices == (name in tells)
    assert_sound()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_two_who_adjudicate_at_once_the_later_sees_what_the_first_did(
    racers: Racers, scene: Scene, owner: Membership, manager: Membership, scale: int
) -> None:
    for _ in range(4 * scale):
        n_lines = LogEntry.objects.count()
        assert racers.all_at_once(partial(try_act, adjudicate, scene), [owner, manager]) == ["", ""]
        first, second = LogEntry.objects.order_by("pk")[n_lines:]
        assert (first.before, second.before) == (None, first.after)
        assert second.after == {"criterion": "correctness", "value": Adjudication.objects.get().value}
        take_back(scene, owner)


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_a_judgment_that_is_there_twice_one_counts_again(
    project: Project, annotator: Membership, owner: Membership, manager: Membership
) -> None:
    """As after an import of earlier versions, which took judgments again that were set aside."""
    candidate = make_candidates(make_question(make_passage(make_dataset(project))), 1)[0]
    make_rubric(project)
    works = []
    for _ in range(2):
        judge(project, {candidate: {annotator: 4.0}})
        works.append(Assignment.objects.latest("pk"))
        given: dict[str, Any] = {"project": project, "place": 0, "why": "A slip."}
        decisions.set_aside(**given, assignment=works[-1], actor=manager, is_counted=False)
    first, second = works
    with transaction.atomic():
        assert decisions.set_aside(**given, assignment=first, actor=manager, is_counted=True) == 1
        finish = start_beside(partial(decisions.set_aside, **given, assignment=second, actor=owner, is_counted=True))
    refusal = finish()
    assert isinstance(refusal, Refused), refusal
    assert "imported again and counts already" in refusal.message
    assert Judgment.objects.get(is_counted=True).assignment == first


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*ACTS, "adjudicate"])
def test_an_act_that_breaks_half_way_has_not_happened(
    scene: Scene, owner: Membership, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    act, before = ACTS.get(name, (adjudicate, None))
    if before is not None:
        before(scene, owner)
    kept = everything()

    def break_off(*args: object, **over: object) -> None:
        raise RuntimeError("the machine stops here")

    monkeypatch.setattr(log, "record", break_off)
    with pytest.raises(RuntimeError):
        act(scene, owner)
    assert everything() == kept
    monkeypatch.undo()
    act(scene, owner)
    assert everything() != kept
    assert_sound()


@pytest.mark.django_db
@pytest.mark.parametrize("act", [remove, reject])
def test_one_that_breaks_while_it_opens_a_batch_again_has_not_happened(
    scene: Scene, owner: Membership, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    """The places, the pay, the message and the line of the log are written by then."""
    kept = everything()

    def break_off(**over: object) -> None:
        raise RuntimeError("the machine stops here")

    monkeypatch.setattr(lifecycle, "reopen", break_off)
    with pytest.raises(RuntimeError):
        act(scene, owner)
    assert everything() == kept


@pytest.mark.django_db
@pytest.mark.parametrize("act", [*(act for act, _ in ACTS.values()), adjudicate])
def test_nobody_else_does_it(scene: Scene, researcher: Membership, other_annotator: Membership, act: Act) -> None:
    kept = everything()
    for who in (researcher, other_annotator, scene.annotator):
        with pytest.raises(Refused):
            act(scene, who)
    assert everything() == kept


def everything() -> dict[str, str]:
    """A digest of each table of the product."""
    with connection.cursor() as cursor:
        tables = [
            name for name in connection.introspection.table_names(cursor) if name.startswith(("annotate_", "projects_"))
        ]
        digests = {}
        for table in tables:
            cursor.execute(f"SELECT md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) FROM {table} r")
            digests[table] = cursor.fetchone()[0]
    return digests
