"""Places that are taken, and the order in which their items are shown."""

import pytest

from annotate import places
from projects.models import Membership, Project
from tests.annotate.open_batches import fetch, open_batch
from tests.annotate.submitted_work import claim

pytestmark = pytest.mark.django_db


def test_a_layout_is_written_for_one_open_assignment(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    open_batch(project, n_hits=2, judgments=1)
    ours, theirs = claim(annotator), claim(other_annotator)
    places.write_layout(ours.uuid, ours.layout[:1])
    assert (fetch(ours.uuid).layout, fetch(theirs.uuid).layout) == (ours.layout[:1], theirs.layout)
