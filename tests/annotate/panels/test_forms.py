import re

import pytest

from annotate.models import Outcome
from annotate.panels.forms import PanelForm
from projects.models import Membership, Project
from tests.people import SignIn


def test_every_outcome_has_a_code_and_every_field_a_heading() -> None:
    form = PanelForm()
    shown = [field.name for _, rows in form.groups for row in rows for field, _ in row]
    assert sorted(["name", *shown]) == sorted(form.fields)
    assert {f"code_{outcome}" for outcome in Outcome.values} <= set(shown)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("participant_parameter", value) for value in ("a b", "1st", "id&x", "")),
        *(("code_completed", value) for value in ("C 123", "é", "a&b")),
        *(("currency", value) for value in ("US", "usd", "EURO", "")),
        *(("reward_cents", value) for value in ("-1", "100000001")),
        *(("minutes_allowed", value) for value in ("0", "x")),
        *(("name", "x" * 1_000), ("hits_per_session", "101")),
        ("fee_percent", "101"),
    ],
)
def test_what_no_platform_can_mean_is_refused(name: str, value: str) -> None:
    fine = {"name": "x", "participant_parameter": "id", "hits_per_session": "1", "minutes_allowed": "60"}
    fine |= {"code_completed": "C-1.2_x", "paid_by": "platform", "currency": "EUR", "fee_percent": "0"}
    assert PanelForm(fine).is_valid()
    errors = PanelForm({**fine, name: value}).errors
    assert list(errors) == [name]
    assert len(set(errors[name])) == len(errors[name])
    assert "Enter a valid value." not in errors[name]


@pytest.mark.django_db
def test_a_field_that_may_be_empty_only_beside_another_is_not_called_optional(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    page = client_of(manager).get(f"/p/{project.slug}/panels/new/?platform=sona").content.decode()
    labels = dict(re.findall(r'<label for="id_(\w+)">(.*?)</label>', page, re.DOTALL))
    optional = {name for name, label in labels.items() if "optional" in label}
    assert optional & {"hits_per_session", "minutes_per_session", "code_completed"} == set()
    assert {"code_screened_out", "session_parameter", "return_url"} <= optional


@pytest.mark.django_db
def test_a_form_that_is_sent_twice_creates_one_panel(project: Project, manager: Membership, client_of: SignIn) -> None:
    address, client = f"/p/{project.slug}/panels/new/?platform=generic", client_of(manager)
    (key,) = re.findall(r'name="key" value="([^"]+)"', client.get(address).content.decode())
    sent = {"name": "x", "participant_parameter": "id", "hits_per_session": "1", "minutes_allowed": "60"}
    sent |= {"code_completed": "DONE", "paid_by": "platform", "currency": "EUR", "fee_percent": "0", "key": key}
    for _ in range(2):
        answer = client.post(address, sent)
        assert answer.status_code == 302
        assert answer["Location"] == f"/p/{project.slug}/panels/1/"
    assert project.panels.count() == 1
    other = client.post(address, {**sent, "name": "y"})
    assert other.status_code == 422
    assert "Panel 1 was created by this form" in other.content.decode()
    for without in ({**sent, "key": ""}, {**sent, "key": "x"}):
        assert client.post(address, without).status_code == 302
    assert project.panels.count() == 3
