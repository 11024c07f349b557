"""The form of a new set: what is offered, and what holds where nothing was sent; and which set may replace another."""

from typing import Any

import pytest

from annotate.models import Batch
from measures.gold_rules import GoldRule
from projects.errors import Refused
from projects.models import Candidate, Membership, Passage, Project
from results.models import JudgmentSet
from results.sets import citing, freezing, retiring
from results.sets.forms import ReplacementForm, RetireForm, SetForm
from results.sets.settings import Settings
from tests.factories import make_batch
from tests.results.sets.frozen_sets import freeze

pytestmark = pytest.mark.django_db


def read(project: Project, **sent: Any) -> Settings:
    form = SetForm(project, sent)
    assert form.is_valid(), form.errors
    return form.settings()


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch, rated: list[Candidate]) -> Settings:
    found = Settings(gold=GoldRule.MEDIAN, authors=("Ada Lovelace",), licence="CC-BY-4.0", languages=("de",))
    monkeypatch.setattr(freezing, "default_settings", lambda _project: found)
    return found


def test_what_is_left_out_has_its_default(project: Project, defaults: Settings) -> None:
    assert SetForm(project).settings() == defaults
    found = read(project)
    assert (found.gold, found.stage) == (GoldRule.MEDIAN, defaults.stage)
    assert (found.authors, found.licence, found.languages) == (("Ada Lovelace",), "CC-BY-4.0", ("de",))
    # A browser leaves out boxes that are not ticked.
    assert (found.with_texts, found.with_comments, found.with_surveys, found.controls_in_z) == (False,) * 4
    assert read(project, authors="", licence="", languages="").authors == ()
    shown = {name: SetForm(project)[name].value() for name in ("authors", "licence", "languages", "gold")}
    assert (SetForm(project)["texts"].value(), SetForm(project)["controls"].value()) == (True, defaults.controls_in_z)
    assert shown == {"authors": "Ada Lovelace", "licence": "CC-BY-4.0", "languages": "de", "gold": "median"}


def test_authors_and_languages_are_read_as_they_are_typed(project: Project, defaults: Settings) -> None:
    found = read(project, authors=" Lovelace,  Ada \n\n{University of X}", languages="EN, de en", licence="CC-BY-4.0")
    assert found.authors == ("Lovelace, Ada", "{University of X}")
    assert found.languages == ("en", "de")
    for name, wrong in (
        ("authors", "\n".join("x" for _ in range(citing.MOST_AUTHORS + 1))),
        ("authors", "x" * (citing.AUTHOR_LENGTH + 1)),
        ("languages", "German"),
        ("languages", "de " * 68),
        ("licence", "mine"),
        ("gold", "mode"),
    ):
        assert list(SetForm(project, {name: wrong}).errors) == [name]


def test_a_choice_is_offered_where_there_is_one(project: Project, rated: list[Candidate]) -> None:
    """Two splits and two batches that were opened; one dataset, one source, one criterion, no trial, no evaluation."""
    always = {"texts", "comments", "surveys", "gold", "controls", "authors", "licence", "languages", "blind"}
    assert SetForm(project).fields.keys() == always
    draft, _ = make_batch(project, is_open=False), make_batch(project)
    Passage.objects.filter(pk=rated[0].question.passage_id).update(split="dev")
    form = SetForm(project, {"batches": ["3", "1"], "gold": "z", "controls": "on"})
    assert form.is_valid()
    assert form.fields.keys() - always == {"batches"}
    assert [value for value, _label in form.fields["batches"].choices] == [1, 3]  # type: ignore[attr-defined]
    assert (form.settings().batches, form.settings().gold, form.settings().controls_in_z) == ((3, 1), GoldRule.Z, True)
    assert list(SetForm(project, {"batches": [str(draft.number)]}).errors) == ["batches"]
    Batch.objects.filter(number=1).update(kind="trial")
    assert SetForm(project, {"stage": "all"}).fields.keys() - always == {"batches", "stage"}
    assert (read(project, stage="all").stage, read(project).stage) == ("all", "full")


def test_a_set_that_is_frozen_and_not_retired_replaces_another(
    project: Project, manager: Membership, rated: list[Candidate]
) -> None:
    old = freeze(project, manager)
    assert not ReplacementForm(old).has_choices()
    new = freeze(project, manager, "Second")
    JudgmentSet.objects.create(project=project, number=3, name="Waiting", settings={}, requested_by=manager)
    assert ReplacementForm(old).has_choices()
    assert ReplacementForm(old, {"replacement": "2"}).read_replacement() == new
    assert RetireForm(old, {"why": "Wrong.", "replacement": ""}).read_replacement() is None
    for number in ("", "1", "3", "x"):
        with pytest.raises(Refused, match="not retired as the replacement"):
            ReplacementForm(old, {"replacement": number}).read_replacement()
    retiring.retire(judgment_set=new, actor=manager, why="Wrong too.")
    with pytest.raises(Refused, match="not retired as the replacement"):
        RetireForm(old, {"why": "Wrong.", "replacement": "2"}).read_replacement()
    assert list(RetireForm(old, {"why": "x" * (retiring.WHY_LENGTH + 1)}).errors) == ["why"]
    assert list(RetireForm(old, {"why": ""}).errors) == ["why"]
