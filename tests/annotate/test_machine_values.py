"""What a script or the browser reads of a page is the same in every language: no comma, no digit of another script."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.models import Assignment
from annotate.work import drafts, serving
from projects.models import Membership, User
from tests import factories
from tests.annotate.open_batches import open_batch
from tests.annotate.payments.paid_work import earn
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db

READ_BY_MACHINES = re.compile(r'\s(value|min|max|step|datetime|id|name|href|action|d|width|data-[a-z-]+)="([^"]*)"')


@pytest.fixture
def pages(annotator: Membership) -> list[str]:
    """A rating page with sliders half answered, the desk, and what was earned: with fractions and thousands."""
    project = annotator.project
    project.cents_per_hit, project.hourly_floor_cents = 99_999, 1_250
    project.save()
    factories.make_rubric(project, "qascore")
    batch = open_batch(project, n_items=12, cents_per_hit=99_999)
    assignment = str(serving.claim(annotator))
    values = {"0": {"relevancy": [37.25, 1.0]}, "11": {"relevancy": [1.5, 1.0], "answerability": [100.0, 1.0]}}
    sent = {"answers": values, "seconds": [1234.5] * 12}
    drafts.save(annotator=annotator, assignment_uuid=Assignment.objects.get().uuid, sent=sent)
    earn(annotator, 1_234_567, is_approved=True, kind="bonus", note="x")
    Assignment.objects.update(opened_at=timezone.now() - timedelta(hours=3))
    slug = project.slug
    return [
        reverse("annotate:work-show", args=[slug, assignment]),
        reverse("annotate:project-desk", args=[slug]),
        reverse("annotate:earnings", args=[slug]),
        reverse("annotate:history", args=[slug]),
        f"{reverse('annotate:instructions', args=[slug])}?batch={batch.number}",
    ]


@pytest.mark.parametrize("language", ["de", "es", "fr", "ar", "zh-hans"])
def test_what_machines_read_is_the_same_in_every_language(
    pages: list[str], annotator: Membership, client_of: SignIn, language: str
) -> None:
    client = client_of(annotator)
    n_read = 0
    for path in pages:
        english, other = (machine_values(client, annotator, path, each) for each in ("en", language))
        assert other == english, path
        n_read += len(english)
    assert n_read > 300


def machine_values(client: Client, annotator: Membership, path: str, language: str) -> list[tuple[str, str]]:
    """The attributes of a page that are no words for people, but for what differs from one moment to the next."""
    User.objects.filter(memberships=annotator).update(language=language)
    answer = client.get(path)
    assert answer.status_code == 200
    page = condense(answer.content.decode())
    assert f'<html lang="{language}"' in page
    page = re.sub(r'<input type="hidden" name="csrfmiddlewaretoken"[^>]*>|data-now="[^"]*"', "", page)
    page = re.sub(r'<form [^>]*class="menu-languages".*?</form>|<datalist.*?</datalist>', "", page, flags=re.DOTALL)
    return [(name, value) for name, value in READ_BY_MACHINES.findall(page) if not name.startswith(WORDS)]


WORDS = ("data-confirm", "data-due-over", "data-of", "data-none", "data-size-words")
"""Attributes that hold words for people, which scripts show."""
