"""The form of a metric evaluation: limits, what is offered, and what holds where nothing was sent."""

from typing import Any

import pytest

from annotate.frames.stages import Stage
from annotate.models import Batch
from projects.errors import Refused
from projects.models import Passage, Project
from results.models import MetricRun
from results.scope.forms import NONE
from results.scope.gold_settings import LARGEST_SEED, MOST_RESAMPLES, RESAMPLES, SEED
from results.studies.forms import MOST_SPLITS, StudyForm, fill_by_names, fill_in
from results.studies.kinds import KINDS
from results.studies.running import NAME_LENGTH
from tests.factories import make_batch, make_dataset, make_passage

pytestmark = pytest.mark.django_db

CORRELATION, SIGNIFICANCE, ERRORS = (KINDS[name] for name in ("correlation", "significance", "errors"))


LIMITS = {
    "least": (("1", "1000"), ("0", "1001", "1.5")),
    "resamples": (("100", str(MOST_RESAMPLES)), ("99", str(MOST_RESAMPLES + 1))),
    "seed": (("0", str(LARGEST_SEED)), ("-1", str(LARGEST_SEED + 1))),
    "name": (("x" * NAME_LENGTH,), ("x" * (NAME_LENGTH + 1),)),
    "gold": (("z",), ("mode",)),
    "design": (("", "auto"), ("none",)),
    "criterion": (("correctness",), ("style", "")),
}
"""Of each field, what it takes and what it refuses."""


def test_each_field_has_limits(judged: Project, runs: list[MetricRun]) -> None:
    for name, (fine, wrong) in LIMITS.items():
        assert [list(fill_in(judged, CORRELATION, {name: value}).errors) for value in fine] == [[]] * len(fine)
        assert [list(fill_in(judged, CORRELATION, {name: value}).errors) for value in wrong] == [[name]] * len(wrong)
    assert list(StudyForm(judged, CORRELATION, {"criterion": "correctness", "gold": "mean"}).errors) == ["metrics"]


def test_what_is_left_out_has_its_default(judged: Project, runs: list[MetricRun]) -> None:
    sent: dict[str, Any] = {"metrics": [run.subject for run in runs], "criterion": "correctness", "gold": "median"}
    form = StudyForm(judged, CORRELATION, sent)
    assert form.is_valid(), form.errors
    found = form.settings()
    assert (found.stage, found.batch, found.gold, found.least_judgments) == (Stage.FULL, None, "median", 1)
    assert (found.n_resamples, found.design, found.as_zero, found.is_blind_only) == (RESAMPLES, "one_way", False, False)
    assert (form.read_seed(), fill_in(judged, CORRELATION, {"seed": 0}).is_valid()) == (SEED, True)
    zero = fill_in(judged, CORRELATION, {"seed": 0, "least": 3, "batch": 1, "blind": True})
    assert zero.is_valid(), zero.errors
    assert (zero.read_seed(), zero.settings().least_judgments, zero.settings().batch) == (0, 3, 1)
    assert zero.settings().is_blind_only


def test_the_stage_is_chosen_where_there_is_a_trial(judged: Project, runs: list[MetricRun]) -> None:
    Batch.objects.update(kind="trial")
    for given, stage in (({}, Stage.TRIAL), ({"stage": "full"}, Stage.FULL), ({"stage": "all"}, Stage.ALL)):
        form = fill_in(judged, CORRELATION, given)
        assert form.is_valid()
        assert form.settings().stage == stage


def test_a_draft_is_not_offered(judged: Project, runs: list[MetricRun]) -> None:
    draft = make_batch(judged, is_open=False)
    assert [each.number for each in StudyForm(judged, CORRELATION).fields["batch"].queryset] == [1]  # type: ignore[attr-defined]
    assert list(fill_in(judged, CORRELATION, {"batch": draft.number}).errors) == ["batch"]


def test_a_field_without_effect_is_not_offered(judged: Project, runs: list[MetricRun]) -> None:
    Passage.objects.filter(external_id="news-1").update(split="dev")
    offered = {kind.name: StudyForm(judged, kind).fields for kind in (CORRELATION, SIGNIFICANCE, ERRORS)}
    for name in ("each_split", "resamples", "seed", "design", "stage", "humans", "sources", "splits", "datasets"):
        for kind in (CORRELATION, SIGNIFICANCE, ERRORS):
            expected = {
                "each_split": not kind.shows_splits,
                "resamples": kind.is_resampled,
                "seed": kind.has_seed,
                "design": kind.has_ceiling,
                "stage": False,
                "humans": False,
            }.get(name, True)
            assert (name in offered[kind.name]) is expected, (kind.name, name)
    # The default number of resamples is shown where it does not depend on the metrics.
    assert offered["correlation"]["resamples"].initial == RESAMPLES
    assert offered["significance"]["resamples"].initial is None


def test_two_to_ten_splits_are_evaluated_one_by_one(judged: Project, runs: list[MetricRun]) -> None:
    """Passages without a split, as the others are, have no evaluation of their own."""
    dataset, splits = make_dataset(judged), tuple(f"part {n:02}" for n in range(MOST_SPLITS + 1))
    for split in splits:
        make_passage(dataset, split=split)
        found = [*dataset.passages.order_by("split").values_list("split", flat=True)]
        form = fill_in(judged, SIGNIFICANCE, {"each_split": True})
        if 2 <= len(found) <= MOST_SPLITS:
            assert form.is_valid()
            assert [each.splits for each in form.list_settings()] == [(each,) for each in found]
        else:
            assert list(form.errors) == ["each_split"]
    few = fill_in(judged, SIGNIFICANCE, {"each_split": True, "splits": [NONE, *splits[:2]]})
    whole = fill_in(judged, SIGNIFICANCE, {"splits": [NONE, *splits]})
    assert (few.is_valid(), whole.is_valid()) == (True, True)
    assert [each.splits for each in few.list_settings()] == [(each,) for each in splits[:2]]
    assert [each.splits for each in whole.list_settings()] == [("", *splits)]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"facets": {"splits": ["dev"]}}, "splits"),
    ({"given": {"stage": "trial"}}, "stage"),
    ({"batch": 9}, ""),
    ({"criterion": "style"}, ""),
    ({"metrics": ["none"]}, ""),
]
"""What a script may name that the project has not, and the field that the refusal names."""


def test_a_script_is_told_what_the_project_has_not(judged: Project, runs: list[MetricRun]) -> None:
    for given in ({"facets": {"question_types": ["entity"]}}, {"given": {"stage": "full"}}, {"batch": 1}):
        assert fill_by_names(judged, CORRELATION, **given).errors == {}
    for given, field in REFUSED:
        with pytest.raises(Refused) as refusal:
            fill_by_names(judged, CORRELATION, **given)
        assert refusal.value.field == field
