"""Files imported again after people have decided on their judgments: the decisions hold, and can be taken back."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from annotate.data import withdrawing
from annotate.imports import full_hits, known_judgments
from annotate.integrity import verifying
from annotate.models import Assignment, Judgment
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.places import RestoredWork
from projects.errors import Refused
from projects.importing import FileRefused, Kind
from projects.models import Candidate, FigureChange, Membership, Passage, Project
from tests.annotate.imports.import_steps import import_text

HEADER = "id,rater,correctness\n"
FILE = f"{HEADER}c0,w1,4\nc1,w1,3\n"
CANDIDATES = "id,passage,question,reference,candidate\n" + "".join(f"c{n},Text {n},Q,R,A{n}\n" for n in range(3))

pytestmark = pytest.mark.django_db


@pytest.fixture
def take(project: Project, owner: Membership, tmp_path: Path) -> Any:
    def take(content: str, kind: Kind = Kind.JUDGMENTS) -> Any:
        return import_text(content, kind, project=project, actor=owner, folder=tmp_path)

    take(CANDIDATES, Kind.CANDIDATES)
    take(FILE)
    return take


@pytest.fixture
def imported(take: Any) -> Membership:
    return Membership.objects.get(imported_name="w1")


def again(content: str = FILE) -> str:
    """The same judgments in a file of other bytes."""
    return content + "\n"


def remove(target: Membership, *, scope: ExclusionScope = ExclusionScope.ALL) -> None:
    members.remove(target=target, actor=None, why="Careless.", exclusion=Exclusion(scope=scope))


def restore(target: Membership) -> RestoredWork:
    planned = members.plan_restoring(target=target)
    done = members.restore(target=target, actor=None, why="A mistake.")
    assert done == planned
    return done


def set_aside(assignment: Assignment, *, is_counted: bool) -> None:
    decisions.set_aside(
        project=assignment.hit.batch.project,
        actor=None,
        assignment=assignment,
        place=0,
        is_counted=is_counted,
        why="A slip.",
    )


def n_counted() -> int:
    assert verifying.verify() == []
    return Judgment.objects.filter(is_counted=True).count()


def ignore_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import as earlier versions did."""
    for name in ("_skip_uncounted", "_skip_impossible"):
        monkeypatch.setattr(known_judgments, name, lambda *_: None)
    monkeypatch.setattr(full_hits, "retire_withdrawn", lambda *_: None)


def test_removed_judgments_do_not_count_again(take: Any, imported: Membership) -> None:
    remove(imported)
    with pytest.raises(Refused, match="Nothing is left to import: the file has 2 judgments that the project has but"):
        take(again())
    report = take(again(f"{FILE}c2,w1,5\nc2,w2,5\n"))
    assert report.skipped == {"not_counted": 2, "of_removed": 1}
    assert n_counted() == 1
    assert restore(imported) == RestoredWork(n_counted=2, n_surplus=0)
    assert n_counted() == 3
    with pytest.raises(Refused, match="are already counted"):
        take(again(again()))


def test_judgments_set_aside_do_not_count_again(take: Any, imported: Membership) -> None:
    work = Assignment.objects.earliest("pk")
    set_aside(work, is_counted=False)
    report = take(again(f"{FILE}c2,w1,5\n"))
    assert report.skipped == {"already_counted": 1, "not_counted": 1}
    with pytest.raises(FileRefused) as refused:
        take(f"{HEADER}c0,w1,5\n")
    assert (refused.value.problems[0].line, refused.value.problems[0].column) == (2, "value")
    assert "already given this candidate 4 for correctness, not 5" in refused.value.problems[0].reason
    assert "(set aside)" in refused.value.problems[0].reason
    assert n_counted() == 2
    set_aside(work, is_counted=True)
    assert n_counted() == 3


def test_judgments_counted_again_by_an_earlier_version_can_be_restored(
    take: Any, imported: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        ignore_decisions(earlier)
        remove(imported)
        take(again())
        (breach,) = verifying.verify()
        assert (breach.rule, breach.n) == ("import_respects_decisions", 2)
    assert restore(imported) == RestoredWork(n_counted=2, n_surplus=0, n_already_counted=2)
    assert n_counted() == 2
    remove(imported)
    assert n_counted() == 0
    assert restore(imported) == RestoredWork(n_counted=4, n_surplus=0)
    assert n_counted() == 2


def test_of_judgments_excluded_twice_one_counts_again(
    take: Any, imported: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        ignore_decisions(earlier)
        remove(imported)
        take(again())
        remove(imported)
    assert restore(imported) == RestoredWork(n_counted=4, n_surplus=0, n_already_counted=2)
    assert n_counted() == 2


def test_a_judgment_counted_elsewhere_is_not_counted_again(
    take: Any, imported: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Assignment.objects.earliest("pk")
    set_aside(work, is_counted=False)
    with monkeypatch.context() as earlier:
        ignore_decisions(earlier)
        take(again())
    with pytest.raises(Refused, match="imported again and counts already"):
        set_aside(work, is_counted=True)
    assert Judgment.objects.filter(is_counted=True).count() == 2


def test_judgments_of_withdrawn_candidates_do_not_count(
    take: Any, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, passage = (
        Candidate.objects.get(external_id="c0"),
        Passage.objects.get(questions__candidates__external_id="c1"),
    )
    withdrawing.withdraw_candidate(project=project, actor=None, candidate=broken, why="Broken.")
    withdrawing.withdraw_passage(project=project, actor=None, passage=passage, why="Broken.")
    report = take(f"{HEADER}c0,w2,5\nc1,w2,5\nc2,w2,5\n")
    assert (report.judgments, report.skipped) == (1, {"withdrawn": 2})
    assert n_counted() == 1
    with monkeypatch.context() as earlier:
        ignore_decisions(earlier)
        take(f"{HEADER}c0,w3,5\n")
        assert [breach.rule for breach in verifying.verify()] == ["withdrawn_not_counted"]
    changed = FigureChange.objects.count()
    repair = import_module("annotate.migrations.0013_withdrawn_candidates_do_not_count")
    with connection.cursor() as cursor:
        for statement in (repair.STALE, repair.DISCOUNT, repair.RETIRE):
            cursor.execute(statement)
    assert n_counted() == 1
    assert FigureChange.objects.count() == changed + 1


def test_candidates_withdrawn_during_an_import_do_not_count(
    take: Any, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = full_hits.write

    def write_after_withdrawal(*arguments: Any) -> None:
        candidate = Candidate.objects.get(external_id="c2")
        withdrawing.withdraw_candidate(project=project, actor=None, candidate=candidate, why="Broken.")
        write(*arguments)

    monkeypatch.setattr(full_hits, "write", write_after_withdrawal)
    take(f"{HEADER}c2,w1,5\nc2,w2,5\n")
    assert n_counted() == 2
    assert set(Judgment.objects.filter(is_counted=False).values_list("not_counted_reason", flat=True)) == {"withdrawn"}
