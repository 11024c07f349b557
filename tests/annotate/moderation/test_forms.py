"""The form of a removal: which work is excluded from the results."""

from datetime import UTC, datetime
from typing import Any

import pytest

from annotate.models import Batch
from annotate.moderation.forms import ExclusionForm, WarnForm
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.onboarding.notices import LONGEST
from projects.models import Project
from tests.annotate.open_batches import open_batch
from tests.factories import make_project

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=1)


def test_each_scope_takes_its_own_field_alone(project: Project, batch: Batch) -> None:
    both = {"since": "2026-03-01", "batch": str(batch.number), "reopens": "on"}
    for scope, own in (("none", {}), ("all", {}), ("since", {"since": DAY}), ("batch", {"batch": batch})):
        form = ExclusionForm(project, {"scope": scope, **both})
        assert form.is_valid()
        given: dict[str, Any] = {"since": None, "batch": None, **own}
        assert form.exclusion() == Exclusion(scope=ExclusionScope(scope), reopens=True, **given)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({}, "scope"),
        ({"scope": "some"}, "scope"),
        ({"scope": "since"}, "since"),
        ({"scope": "since", "since": "soon"}, "since"),
        ({"scope": "batch"}, "batch"),
        ({"scope": "batch", "batch": "99"}, "batch"),
    ],
)
def test_what_the_scope_lacks_is_named_once(project: Project, batch: Batch, sent: Any, field: str) -> None:
    form = ExclusionForm(project, sent)
    assert list(form.errors) == [field]
    assert len(form.errors[field]) == 1


def test_batches_of_other_projects_are_not_offered(batch: Batch) -> None:
    assert list(ExclusionForm(make_project("elsewhere"), {"scope": "batch", "batch": "1"}).errors) == ["batch"]


def test_a_warning_has_a_text_that_the_desk_can_show() -> None:
    assert WarnForm({"text": "x" * LONGEST}).is_valid()
    assert all(list(WarnForm({"text": text}).errors) == ["text"] for text in ("", "  ", "x" * (LONGEST + 1)))
