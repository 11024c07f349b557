from annotate.models import Outcome
from annotate.panels.forms import PanelForm


def test_every_outcome_has_a_code_and_every_field_a_heading() -> None:
    form = PanelForm()
    shown = [field.name for _, rows in form.groups for row in rows for field in row]
    assert sorted(["name", *shown]) == sorted(form.fields)
    assert {f"code_{outcome}" for outcome in Outcome.values} <= set(shown)
