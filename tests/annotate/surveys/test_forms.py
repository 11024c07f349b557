"""The form of a survey's question: what each kind needs, and which answers screen out."""

from typing import Any

import pytest

from annotate.surveys.forms import MOST_OPTIONS, MOST_POINTS, OPTION_LENGTH, QuestionForm

FINE: dict[str, dict[str, Any]] = {
    "choice": {"kind": "choice", "options": "yes\nno"},
    "number": {"kind": "number"},
    "text": {"kind": "text"},
    "language": {"kind": "language"},
    "scale": {"kind": "scale", "low": "1", "high": "5"},
}
SCREENING = {"is_required": "on"}


def make_form(kind: str, **over: str) -> QuestionForm:
    return QuestionForm({"text": "Which?", **FINE[kind], **over})


@pytest.mark.parametrize(
    ("kind", "over"),
    [
        *((kind, {}) for kind in FINE),
        ("choice", {"options": "\r\n".join(f"{n:0>{OPTION_LENGTH}}" for n in range(MOST_OPTIONS))}),
        ("number", {"low": "3", "high": "3"}),
        ("number", {"low": "3"}),
        ("number", {"high": "-3"}),
        ("scale", {"low": "0", "high": str(MOST_POINTS - 1)}),
        ("scale", {"low": "1", "high": "2"}),
        ("choice", {**SCREENING, "screens_out": " no "}),
        ("number", {**SCREENING, "screens_out": "0-17\n99"}),
        ("language", {**SCREENING, "screens_out": "de", "screens_others": "on"}),
    ],
)
def test_a_question_may_be_so(kind: str, over: dict[str, str]) -> None:
    assert make_form(kind, **over).errors == {}


@pytest.mark.parametrize(
    ("kind", "over", "field"),
    [
        ("choice", {"options": "yes"}, "options"),
        ("choice", {"options": "yes\n  yes "}, "options"),
        ("choice", {"options": f"yes\n{'n' * (OPTION_LENGTH + 1)}"}, "options"),
        ("choice", {"options": "\n".join(map(str, range(MOST_OPTIONS + 1)))}, "options"),
        ("number", {"low": "4", "high": "3"}, "high"),
        *(("number", {end: value}, end) for end in ("low", "high") for value in ("-1000001", "1000001")),
        *(("scale", {f"{end}_label": "x" * 101}, f"{end}_label") for end in ("low", "high")),
        ("scale", {"low": ""}, "high"),
        ("scale", {"high": ""}, "high"),
        ("scale", {"low": "5"}, "high"),
        ("scale", {"low": "0", "high": str(MOST_POINTS)}, "high"),
        ("text", {**SCREENING, "screens_out": "no"}, "screens_out"),
        ("number", {**SCREENING, "screens_out": "young"}, "screens_out"),
        ("choice", {**SCREENING, "screens_out": "no\nperhaps"}, "screens_out"),
        ("language", {**SCREENING, "screens_out": "German"}, "screens_out"),
        ("choice", {"screens_out": "no"}, "is_required"),
        ("choice", {**SCREENING, "screens_others": "on"}, "screens_others"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(kind: str, over: dict[str, str], field: str) -> None:
    assert list(make_form(kind, **over).errors) == [field]


def test_what_the_kind_does_not_have_is_dropped() -> None:
    everything = {"options": "yes\nno", "low": "1", "high": "5", "low_label": "never", "high_label": "always"}
    kept = {}
    for kind in FINE:
        form = make_form(kind, **everything)
        assert form.is_valid()
        question = form.question()
        kept[kind] = [name for name in everything if question[name] not in ([], None, "")]
    assert kept == {
        "choice": ["options"],
        "number": ["low", "high"],
        "text": [],
        "language": [],
        "scale": ["low", "high", "low_label", "high_label"],
    }


def test_after_the_work_nobody_is_screened_out() -> None:
    form = QuestionForm({"text": "Which?", **FINE["text"], "screens_out": "no"}, moment="after")
    assert form.is_valid()
    assert form.question()["screens_out"] == []
