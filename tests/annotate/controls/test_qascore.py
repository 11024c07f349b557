"""The preset QAScore: eleven ordinary items, six degraded and three repeated, one at a time, on four sliders."""

from collections import Counter

import pytest

from annotate.batches.control_plan import QASCORE, QASCORE_HIT_SIZE
from annotate.integrity.verifying import verify
from annotate.models import Batch, Item, Judgment
from annotate.rating.sent import SentAnswers
from annotate.work import stepping
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import fetch_items, make_controlled, make_places, take
from tests.annotate.open_batches import assert_equation
from tests.factories import make_rubric

pytestmark = pytest.mark.django_db


def test_a_hit_of_qascore_has_its_numbers(project: Project, annotator: Membership) -> None:
    rubric = make_rubric(project, "qascore")
    make_places(project, n_passages=2, n_questions=1, n_candidates=11)
    batch = make_controlled(project, QASCORE, hit_size=QASCORE_HIT_SIZE, presentation=Batch.Presentation.ONE)
    assert batch.rubric_id == rubric.pk
    keys = list(rubric.criteria.values_list("key", flat=True))
    assert len(keys) == 4
    places: set[int] = set()
    for _ in range(2):
        assignment = take(annotator)
        assert assignment is not None
        items = fetch_items(assignment)
        assert Counter(item.control for item in items) == {"none": 11, "degraded": 6, "repeat": 3}
        at = {item.pk: place for place, item in enumerate(items)}
        made = [item for item in items if item.control != Item.Control.NONE]
        assert all(abs(at[item.pk] - at[item.made_from_id or 0]) >= QASCORE.item_distance for item in made)
        places |= {at[item.pk] for item in made}
        for place in range(len(items)):
            sent = SentAnswers(values={place: dict.fromkeys(keys, 62.5)})
            stepping.answer_item(annotator=annotator, assignment_uuid=assignment.uuid, position=place, sent=sent)
    assert len(places) > 9
    assert take(annotator) is None
    assert Judgment.objects.count() == 2 * 20 * 4
    assert Judgment.objects.filter(candidate__isnull=False).count() == 2 * 11 * 4
    assert verify() == []
    assert_equation()
