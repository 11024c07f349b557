"""The form of the rules of quality: what a share may be, and which thresholds are in order."""

import pytest

from annotate.models import QualityRules
from annotate.quality.forms import PAIRS, RulesForm

FINE = RulesForm.initial_values(QualityRules())
SHARES = ["spot_check_share", *(field.name for field in RulesForm().levels)]


def test_the_defaults_are_fine_and_thresholds_that_are_gone_are_left_out() -> None:
    assert RulesForm(FINE).is_valid()
    rules = QualityRules(thresholds={"chance": 0.03, "of_an_old_release": 1})
    assert RulesForm.initial_values(rules) == {**FINE, "chance": 0.03}


@pytest.mark.parametrize("value", ["-0.01", "1.01", ""])
def test_a_share_is_a_number_from_0_to_1(value: str) -> None:
    assert RulesForm({**FINE, **dict.fromkeys(SHARES, value)}).errors.keys() == set(SHARES)


@pytest.mark.parametrize(
    ("name", "least", "below", "most", "above"),
    [
        ("spot_check_share", "0", "-0.01", "1", "1.01"),
        ("spot_check_floor", "0", "-1", "1000", "1001"),
        ("chance", "0.000001", "0", "0.2", "0.21"),
        ("least_items", "5", "4", "10000", "10001"),
    ],
)
def test_each_number_has_limits(name: str, least: str, below: str, most: str, above: str) -> None:
    assert all(RulesForm({**FINE, name: value}).is_valid() for value in (least, most))
    assert all(list(RulesForm({**FINE, name: value}).errors) == [name] for value in (below, above))


def test_the_first_level_of_a_pair_is_below_the_second() -> None:
    for low, high in PAIRS:
        assert list(RulesForm({**FINE, low: FINE[high]}).errors) == [low]
        assert RulesForm({**FINE, low: "0", high: "1"}).is_valid()
        assert all(list(RulesForm({**FINE, name: "x"}).errors) == [name] for name in (low, high))
