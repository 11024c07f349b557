"""Captions of tables: sentences that each end once, and count what the figures rest on."""

import csv
import re
from typing import Any

import pytest

from annotate.models import Judgment
from projects.models import Candidate, Membership, Project
from projects.tables.notes import end_sentence
from projects.tables.writing import write
from results.models import Study
from results.studies.presentation import find_table, list_sections
from tests.results.studies.factories import give_scores, list_candidates, study


@pytest.mark.parametrize("title", ["Pairs in the order of people", "Pairs in the order of people, 0 to 1.", "Pairs. "])
def test_a_title_ends_with_one_full_stop(title: str) -> None:
    assert end_sentence(title).endswith(".")
    assert ".." not in end_sentence(title)


def _read_caption(made: Study, name: str) -> str:
    table = find_table(made, name)
    assert table is not None, made.error
    return re.sub(r"\(criterion: .*?; gold score: .*?; ", "(", table.caption)


def _list_pairs(judged: Project) -> list[tuple[int, int]]:
    """The ids of the two answers about each passage."""
    ids = [each.pk for each in list_candidates(judged)]
    return list(zip(ids[::2], ids[1::2], strict=True))


@pytest.mark.django_db
def test_pairwise_accuracy_counts_pairs_and_the_passages_that_have_one(judged: Project, owner: Membership) -> None:
    scores: dict[int, float | None] = {pk: float(pk % 7) for pair in _list_pairs(judged) for pk in pair}
    lacking = {one: None for one, _other in _list_pairs(judged)[4:]}
    made = study(judged, owner, [give_scores(judged, owner, "Some", {**scores, **lacking})], "pairwise")
    assert _read_caption(made, "pairwise").endswith(
        "(n = 4 pairs of answers to 4 questions, at least 1 judgment of each answer; 95 % intervals by Wilson's "
        "method, the jackknife and Student's t over 4 passages)."
    )
    assert made.result is not None
    assert made.result["figures"]["intervals"]["n"] == 4, "by which few passages are warned of"
    made.result["wording"] = 4
    earlier = "; 95 % intervals by the jackknife with Student's t over 4 passages)."
    assert _read_caption(made, "pairwise").endswith(earlier), "evaluations of earlier versions have other intervals"


@pytest.mark.django_db
def test_top_n_accuracy_counts_what_metrics_and_people_have_scored(judged: Project, owner: Membership) -> None:
    Candidate.objects.update(rank=1)
    pairs = _list_pairs(judged)
    scores = {pk: float(pk % 7) if place < 6 else None for place, pair in enumerate(pairs) for pk in pair}
    run = give_scores(judged, owner, "Some", scores)
    unjudged = [pk for pair in pairs[:6] for pk in pair]
    Judgment.objects.filter(candidate__in=unjudged).update(is_counted=False, not_counted_reason="set aside")
    made = study(judged, owner, [run], "top_n")
    assert _read_caption(made, "top-n").endswith(
        "(n = 12 answers for metrics; 8 for people, at least 1 judgment of each; 95 % intervals by Wilson's method, "
        "the jackknife and Student's t over 6 passages for metrics and 4 for people)."
    )
    by_system = _read_caption(made, "top-n-systems")
    assert by_system.endswith("(n = 12 answers for metrics; 8 for people, at least 1 judgment of each).")
    assert (made.result or {})["figures"]["intervals"]["n"] == 4, "the fewest"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "name"), [("correlation", "overall"), ("correlation", "dataset-pearson"), ("significance", "metrics")]
)
def test_captions_say_what_the_brackets_of_one_person_hold(
    judged: Project, owner: Membership, kind: str, name: str
) -> None:
    runs = [
        give_scores(judged, owner, title, {each.pk: float(each.pk % n) for each in list_candidates(judged)})
        for title, n in (("One", 5), ("Other", 7))
    ]
    made = study(judged, owner, runs, kind, n_resamples=100)
    assert made.result is not None, made.error
    words = "; brackets of “Single annotator vs. rest” hold 95 % of its draws"
    assert words in _read_caption(made, name)
    figures = made.result["figures"]
    figures["intervals"]["n"] = 1
    if name != "dataset-pearson":
        assert "with Student's t over 1 passage" in _read_caption(made, name)
        assert "over 1 passages" not in _read_caption(made, name)
    del made.result["wording"]
    assert words not in _read_caption(made, name), "files in sets of earlier versions keep their words"
    if name != "dataset-pearson":
        assert "over 1 passages" in _read_caption(made, name)


@pytest.mark.django_db
def test_captions_of_drawn_questions_say_what_was_drawn(judged: Project, owner: Membership) -> None:
    for place, each in enumerate(list_candidates(judged)):
        Candidate.objects.filter(pk=each.pk).update(source=f"system {place % 2}")
    run = give_scores(judged, owner, "One", {each.pk: float(each.pk % 5) for each in list_candidates(judged)})
    made = study(judged, owner, [run], "systems", options={"n_questions": 3, "n_draws": 20})
    assert made.result is not None, made.error
    brackets = "; brackets of “Single annotator vs. rest” hold 95 % of 100 draws of one judgment of each answer"
    drawn = f"(n = 40 points, one for each system and draw; 20 draws of 3 questions, seed {made.seed}"
    assert _read_caption(made, "draws").endswith(f"{drawn}{brackets}).")
    assert _read_caption(made, "draw-1").endswith(f"{drawn}).")
    whole = (made.result or {})["figures"]["ceiling"]["whole"]
    assert "reason" in whole, "two systems have no correlation"
    assert _read_caption(made, "systems").endswith("(n = 20 answers, at least 1 judgment of each).")
    whole |= {"r": 0.5, "low": 0.4, "high": 0.6}
    del whole["reason"]
    assert _read_caption(made, "systems").endswith(f"(n = 20 answers, at least 1 judgment of each{brackets}).")
    made.result["wording"] = 2
    for name in ("draws", "draw-1", "systems"):
        earlier = "(n = 20 answers, judgments of each at least 1)."
        assert _read_caption(made, name).endswith(earlier), "files in sets of earlier versions keep their words"


@pytest.mark.django_db
def test_no_two_columns_of_a_file_have_one_name(judged: Project, owner: Membership) -> None:
    runs = [
        give_scores(judged, owner, title, {each.pk: float(each.pk % n) for each in list_candidates(judged)})
        for title, n in (("One", 5), ("Other", 7))
    ]
    made = study(judged, owner, runs, "significance", n_resamples=100)
    assert made.result is not None, made.error
    for section in list_sections(made):
        heads = next(csv.reader(write(section.table, "csv").splitlines()))
        assert len(set(heads)) == len(heads), heads
    table = find_table(made, "pairs")
    assert table is not None
    assert "p (bootstrap, Holm)" in write(table, "csv")
    made.result["wording"] = 5
    table = find_table(made, "pairs")
    assert table is not None
    assert '"p, bootstrap"' in write(table, "csv"), "files in sets of earlier versions keep their headings"


@pytest.mark.django_db
def test_evaluations_of_an_earlier_version_keep_their_captions(judged: Project, owner: Membership) -> None:
    Candidate.objects.update(rank=1)
    run = give_scores(judged, owner, "All", {each.pk: 0.5 for each in list_candidates(judged)})
    made = study(judged, owner, [run], "top_n")
    assert made.result is not None
    del made.result["wording"]
    figures: dict[str, Any] = made.result["figures"]
    for found in (*figures["metrics"].values(), figures["people"]):
        for name in ("n_units", "n_answers"):
            del found["whole"][name]
    assert _read_caption(made, "top-n").endswith(
        "(n = 20 answers, judgments of each at least 1; 95 % intervals by the jackknife with Student's t over 10 "
        "passages)."
    )
