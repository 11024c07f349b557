"""The rating page names every module of its scripts, those that rating waits for first."""

import re
import uuid

import pytest

from annotate.work import serving
from projects.models import Membership
from projects.templatetags.scripts import list_modules
from tests.annotate.open_batches import open_batch
from tests.people import SignIn

pytestmark = pytest.mark.django_db

NAMED = re.compile(r'<(?:link rel="modulepreload" href|script type="module" src)="[^"]*/(js/[\w/]+)(?:\.\w+)?\.js"')


def test_what_rating_waits_for_comes_first_and_the_passage_before_the_rest(
    annotator: Membership, client_of: SignIn
) -> None:
    open_batch(annotator.project)
    claimed = serving.claim(annotator)
    assert isinstance(claimed, uuid.UUID)
    shown = client_of(annotator).get(f"/p/{annotator.project.slug}/work/{claimed}/").content.decode()
    wanted = [name for script in ("rate", "rate/passage", "forms", "app") for name in list_modules(f"js/{script}.js")]
    assert [f"{name}.js" for name in NAMED.findall(shown)] == list(dict.fromkeys(wanted))
