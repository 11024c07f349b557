"""Reserved places: until when they are kept, and for whom."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotate import places
from annotate.models import Reservation
from annotate.work import serving
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


def test_reserved_places_count_toward_the_most_hits_of_their_annotator(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    open_batch(project, n_hits=4, max_hits_per_annotator=2)
    until = timezone.now() + timedelta(hours=1)
    assert serving.reserve_place(other_annotator, most=9, until=until)
    assert [serving.reserve_place(annotator, most=9, until=until) for _ in range(3)] == [True, True, False]
