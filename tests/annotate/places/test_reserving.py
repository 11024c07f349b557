"""Reserved places: until when they are kept, and for whom."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotate import places
from annotate.models import Reservation
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch

pytestmark = pytest.mark.django_db


def test_a_reservation_is_prolonged_for_its_annotator_and_never_shortened(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    batch, now = open_batch(project, n_hits=2, judgments=1), timezone.now()
    for each in (annotator, other_annotator):
        assert places.reserve(batch_id=batch.pk, annotator_id=each.pk, until=now + timedelta(hours=2), wait=False)

    def hours() -> list[float]:
        found = (Reservation.objects.get(annotator=each).until for each in (annotator, other_annotator))
        return [(until - now) / timedelta(hours=1) for until in found]

    places.keep_until(annotator.pk, now + timedelta(hours=3))
    assert hours() == [3, 2]
    places.keep_until(annotator.pk, now + timedelta(hours=1))
    assert hours() == [3, 2]
