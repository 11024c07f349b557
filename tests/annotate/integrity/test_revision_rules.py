"""The rules of `verify` on revisions, each seen broken."""

from uuid import UUID

import pytest

from annotate.integrity import verifying
from annotate.models import Assignment, Item, Judgment, JudgmentRevision, Remark
from annotate.work import revising, submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.work.test_revising import changed, newest
from tests.sized_projects import claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def revised(project: Project, annotator: Membership) -> UUID:
    """A HIT of three items, the last a control, with every value and two comments changed."""
    project.revision_minutes = 30
    project.save()
    open_batch(project)
    found = claim(annotator)
    layout = Assignment.objects.get(uuid=found).layout
    Item.objects.filter(pk=layout[2]).update(control=Item.Control.KNOWN_ANSWER, expected={"correctness": [5, 5]})
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(comments={0: "First."}))
    sent = changed(1, 2, 3, comments={0: "Then.", 1: "New."})
    key = revising.version_key(newest(found))
    revising.revise(annotator=annotator, assignment_uuid=found, sent=sent, of=key)
    assert verifying.verify() == []
    return found


def broken() -> dict[str, int]:
    return {breach.rule: breach.n for breach in verifying.verify()}


def test_a_version_that_is_missing(revised: UUID) -> None:
    JudgmentRevision.objects.filter(n=1).update(n=2)
    assert broken() == {"versions_without_gaps": 1}


def test_a_version_older_than_the_one_before(revised: UUID) -> None:
    first = JudgmentRevision.objects.filter(n=0).earliest("pk")
    JudgmentRevision.objects.filter(judgment=first.judgment, n=1).update(revised_at=first.revised_at)
    assert broken() == {"versions_without_gaps": 1}


def test_a_first_version_alone(revised: UUID) -> None:
    control = Judgment.objects.get(candidate=None)
    control.revisions.filter(n=1).delete()
    assert broken() == {"versions_without_gaps": 1}


@pytest.mark.parametrize("is_control", [True, False])
def test_a_judgment_that_is_not_its_version(revised: UUID, is_control: bool) -> None:
    judgment = Judgment.objects.filter(candidate__isnull=is_control).earliest("pk")
    Judgment.objects.filter(pk=judgment.pk).update(value=5)
    assert broken() == {"judgment_is_its_version": 1}


def test_a_remark_that_is_not_its_version(revised: UUID) -> None:
    Remark.objects.filter(comment="New.").delete()
    assert broken() == {"remark_is_its_version": 1}
