"""The page of the rubric."""

import pytest
from django.test import Client

from projects.models import Criterion, Membership
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
PAGE = "/p/bridges/rubric/"
WARNS = "of the scale, {} no label, while other values have."


def _save(client: Client, low: int, high: int, anchors: str, *, level: str = "") -> str:
    sent = {
        "name": "Correctness",
        "based_on": Criterion.objects.latest("rubric__version").rubric.version,
        **{f"criteria-{name}": number for name, number in (("TOTAL_FORMS", 1), ("INITIAL_FORMS", 1))},
        **{
            f"criteria-0-{name}": value
            for name, value in {
                "name": "Correctness",
                "key": "correctness",
                "kind": "ordinal",
                "low": low,
                "high": high,
                "anchors": anchors,
                "level": level,
            }.items()
        },
    }
    return condense(client.post(f"{PAGE}new/", sent, follow=True).content.decode())


def test_a_scale_whose_ends_have_no_label_is_named(
    manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    """Of 1 to 5 and 0 to 6 the same labels mean something else."""
    client, labels = client_of(manager), "\n".join(f"{value}: Label {value}" for value in range(1, 6))
    page = _save(client, 1, 5, labels)
    assert "saved" in page
    assert "no label" not in page
    assert f"0 and 6, at the ends {WARNS.format('have')}" in _save(client, 0, 6, labels)
    assert f"6, at the end {WARNS.format('has')}" in _save(client, 1, 6, labels)
    assert "no label" not in client_of(researcher).get(PAGE).content.decode()
    assert "no label" not in _save(client, 0, 6, "")


def test_categories_are_listed_as_on_the_buttons(manager: Membership, client_of: SignIn) -> None:
    """The best point of a scale comes first; categories without an order have no best."""
    client = client_of(manager)
    page = _save(client, 1, 3, "1: Low\n2: Middle\n3: High")
    assert page.index("<strong>High") < page.index("<strong>Low")
    page = _save(client, 1, 3, "1: Low\n2: Middle\n3: High", level="nominal")
    assert page.index("<strong>Low") < page.index("<strong>High")
