"""The forms of pay: the largest amounts, and a debt that is allowed only after it was shown."""

from typing import Any
from uuid import uuid4

from annotate.payments.forms import EntryForm, PaymentForm
from annotate.payments.paying import MOST_CENTS

ENTRY = {"kind": "adjustment", "cents": "-5", "why": "A wrong bonus", "key": str(uuid4())}
PAYMENT = {"seen_cents": "5", "seen_number": "0"}


ENTRY_LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "cents": ([MOST_CENTS, -MOST_CENTS], [MOST_CENTS + 1, -MOST_CENTS - 1, "1.5", ""]),
    "why": (["x" * 500], ["x" * 501, ""]),
    "kind": (["bonus"], ["hit", ""]),
}
PAYMENT_LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "seen_cents": ([0, 2**53], [-1, 2**53 + 1, ""]),
    "seen_number": ([0, 2**31 - 1], [-1, 2**31, ""]),
    "note": (["", "x" * 500], ["x" * 501]),
}
"""Of each field, what it takes and what it refuses."""


def test_amounts_have_limits() -> None:
    for name, (fine, wrong) in ENTRY_LIMITS.items():
        assert all(EntryForm({**ENTRY, name: value}).is_valid() for value in fine)
        assert all(list(EntryForm({**ENTRY, name: value}).errors) == [name] for value in wrong)
    for name, (fine, wrong) in PAYMENT_LIMITS.items():
        assert all(PaymentForm({**PAYMENT, name: value}).is_valid() for value in fine)
        assert all(list(PaymentForm({**PAYMENT, name: value}).errors) == [name] for value in wrong)


def test_a_debt_is_asked_about_with_a_box_that_is_not_ticked() -> None:
    form = EntryForm({**ENTRY, "allow_debt": "on"})
    assert form.is_valid()
    form.ask_for_debt("They would owe 5 cents.")
    assert form.errors == {"allow_debt": ["They would owe 5 cents."]}
    assert not form["allow_debt"].is_hidden
    assert (form["allow_debt"].value(), form["cents"].value()) == (False, "-5")
