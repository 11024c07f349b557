"""Signatures: the same settings give the same line, other settings another one, and each is read back."""

import re
from dataclasses import Field, dataclass
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from measures.metrics import (
    METRICS,
    MeanMetric,
    decode_letters,
    format_signature,
    make_from_signature,
    parse_signature,
    setting,
)
from measures.metrics.registry import Registered

ALLOWED = re.compile(r"[A-Za-z0-9_.~+%-]+(\|[A-Za-z0-9_.~+%-]+:[A-Za-z0-9_.~+%-]*)*")


def draw_value(field: "Field[Any]") -> st.SearchStrategy[Any]:
    allowed, default = field.metadata, field.default
    if allowed["choices"]:
        return st.sampled_from(allowed["choices"])
    if isinstance(default, bool):
        return st.booleans()
    if isinstance(default, int):
        return st.integers(int(allowed["low"]), int(allowed["high"]))
    if isinstance(default, str):  # the name of a model
        return st.text(max_size=8)
    assert isinstance(default, float)
    return st.floats(allowed["low"], allowed["high"])


@st.composite
def configured(draw: st.DrawFn, of: Registered) -> dict[str, Any]:
    """Draw allowed settings, with any number of them left out."""
    drawn = {each.name: draw(draw_value(each)) for each in of.settings() if draw(st.booleans())}
    # The one pair of settings that cannot be had together.
    assume(not (drawn.get("effective_order") and drawn.get("smoothing") == "mocha"))
    return drawn


@given(data=st.data())
def test_every_registered_metric_is_told_apart_by_its_settings_and_read_back(data: st.DataObject) -> None:
    of = METRICS[data.draw(st.sampled_from(sorted(METRICS)))]
    one, other = (of.make(**data.draw(configured(of))) for _ in range(2))
    signatures = [format_signature(of.name, each.settings(), version="0.1.0") for each in (one, other)]
    assert (signatures[0] == signatures[1]) == (one.settings() == other.settings())
    for metric, text in zip((one, other), signatures, strict=True):
        assert ALLOWED.fullmatch(text)
        assert make_from_signature(text) == metric
        backwards = dict(reversed(metric.settings().items()))
        assert format_signature(of.name, backwards, version="0.1.0") == text, "The order does not matter."


TEXTS = st.text(min_size=1, max_size=8) | st.sampled_from(["refs", "tok", "version", "origin", "a|b", "a:b", "%7C", ""])


@given(
    name=TEXTS.filter(bool),
    settings=st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=4),
    packages=st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=2),
    version=TEXTS,
)
def test_any_name_and_value_is_escaped_and_read_back(
    name: str, settings: dict[str, str], packages: dict[str, str], version: str
) -> None:
    text = format_signature(name, settings, version=version, packages=packages, origin="file")
    assert ALLOWED.fullmatch(text)
    found = parse_signature(text)
    assert (found.name, found.settings, found.packages, found.version) == (name, settings, packages, version)
    assert found.origin == "file"
    shown = decode_letters(text)
    assert parse_signature(shown) == found, "as pages show it, it reads back as the same"
    assert (shown.count("|"), shown.count(":")) == (text.count("|"), text.count(":"))


def test_letters_of_every_script_are_shown_and_signs_stay_encoded() -> None:
    settings = {"column": "Bewertung für 一|two: à la\u200b％"}
    text = format_signature("संकेत", settings, origin="file")
    assert decode_letters(text) == "संकेत|origin:file|column:Bewertung%20für%20一%7Ctwo%3A%20à%20la%E2%80%8B%EF%BC%85"


@dataclass(frozen=True, kw_only=True)
class Odd(MeanMetric):
    """A metric from outside, whose settings have the names of our own keys."""

    version: str = setting("1|2:3", "which model", choices=())
    refs: int = setting(3, "how many", low=1, high=9)

    def score_each(self, answers: Any) -> Any: ...


def test_a_setting_with_the_name_of_a_key_of_ours_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "odd", Registered(name="odd", title="Odd", family="Odd", metric=Odd, fixed={}))
    text = format_signature("odd", Odd(version="ü").settings(), version="0.1.0", packages={"torch": "2+cpu"})
    assert text == "odd|refs:all|%72efs:3|%76ersion:%C3%BC|version:0.1.0|torch:2+cpu"
    assert make_from_signature(text) == Odd(version="ü")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rouge_l|stem", "not of the form key:value"),
        ("rouge_l|stem:yes|stem:no", "twice"),
        ("rouge_l|stem:perhaps", "yes or no"),
        ("rouge_l|rouge_beta:much", "a number"),
        ("rouge_l|rouge_beta:-1", "from 0"),
        ("rouge_l|colour:red", "no setting “colour”"),
        ("bleu_4|order:2", "bleu_4 has order 4, not 2"),
        ("bertscore|origin:file|column:f1", "come from a file"),
        ("rogue_l", "no metric “rogue_l”"),
    ],
)
def test_a_signature_that_says_nothing_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_from_signature(text)
