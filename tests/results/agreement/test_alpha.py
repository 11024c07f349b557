"""Agreement of a project: from the tables through the page and the command."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.rating_patterns import fetch_rating_patterns
from annotate.frames.stages import Stage
from annotate.models import Judgment
from measures.agreement import Agreement, krippendorff_alpha
from measures.rubric import Level
from projects.importing import Kind
from projects.jobs import running
from projects.models import Criterion, Membership, Project
from results.agreement.alpha import measure_agreement
from results.management.commands.agreement import Command
from results.models import Report
from results.reports import reports
from tests.factories import (
    make_candidates,
    make_corpus,
    make_dataset,
    make_membership,
    make_passage,
    make_question,
    make_rubric,
)
from tests.measures.frames import CANONICAL
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import PUBLISHED, answer, canonical, judge, judge_on_slider, take_file


def make_scope(project: Project, **over: Any) -> Scope:
    return Scope(**{"project": project, "criterion": criteria_in_use(project)[0], **over})


def compute_alpha(scope: Scope, level: str = "ordinal") -> float:
    outcome = krippendorff_alpha(fetch_rating_patterns(scope).patterns(), level=level)
    assert isinstance(outcome, Agreement), outcome
    return outcome.alpha


@pytest.mark.parametrize(("level", "alpha"), PUBLISHED.items())
def test_krippendorffs_example_through_the_tables(project: Project, level: str, alpha: float) -> None:
    canonical(project)
    output = answer("agreement", "--project", "bridges", "--level", level, "--unit", "item")
    assert round(output["alpha"], 3) == alpha
    counts = {"level": level, "n_units": 11, "n_annotators": 4, "n_ratings": 40, "n_single": 1}
    assert {key: output[key] for key in counts} == counts
    assert output["low"] < output["alpha"] <= output["high"]
    assert (output["criterion"], output["method"], output["resampled"]) == ("correctness", "jackknife", "items")
    assert (output["n_resampled"], output["seed"], output["n_resamples"]) == (11, None, None)


def test_krippendorffs_example_through_the_import_and_the_page(
    project: Project, owner: Membership, researcher: Membership, client_of: SignIn, tmp_path: Path
) -> None:
    units = range(12)
    take_file(
        project,
        "id,passage,question,reference,candidate\n" + "".join(f"u{n},Text,Q{n},R,A{n}\n" for n in units),
        "units.csv",
        tmp_path,
    )
    rows = [
        f"u{unit},coder-{coder},{value}\n"
        for coder, line in enumerate(CANONICAL)
        for unit, value in zip(units, line.split(), strict=True)
        if value != "."
    ]
    take_file(
        project,
        "candidate_id,annotator,value\n" + "".join(rows),
        "ratings.csv",
        tmp_path,
        kind=Kind.JUDGMENTS,
        criteria=("value=correctness:1-5",),
    )
    page = client_of(researcher).get("/p/bridges/agreement/").content.decode()
    for alpha in ("0.7434", "0.8154", "0.8491", "0.7974"):
        assert alpha in page
    assert page.index("0.8154") < page.index("0.7434"), "the criterion's own level comes first"
    assert "jackknife" in page


def test_each_breakdown_is_the_alpha_of_its_part(project: Project) -> None:
    canonical(project)
    ratings = fetch_rating_patterns(make_scope(project))
    for name, parts in (("dataset", {"canonical"}), ("split", {"dev", "test"}), ("source", {"even", "odd"})):
        found = ratings.patterns_by(name)
        assert set(found) == parts
        assert sum(patterns.n_units for patterns in found.values()) == 11
        for part, patterns in found.items():
            alone = fetch_rating_patterns(make_scope(project, **{name: part})).patterns()
            assert krippendorff_alpha(patterns, level="interval") == krippendorff_alpha(alone, level="interval")
    output = answer("agreement", "--project", "bridges", "--by", "split", "--level", "nominal")
    assert [(group["split"], group["n_units"], group["n_annotators"]) for group in output["groups"]] == [
        ("dev", 6, 4),
        ("test", 5, 4),
    ]


def test_two_stages_batches_and_criteria_are_kept_apart(project: Project) -> None:
    """A candidate that two batches rated has two ratings in each, and four in all."""
    candidates = make_corpus(project, n_candidates=4).candidates.all()
    first, second = project.rubrics.get(), make_rubric(project, "yang")
    people = [make_membership(project) for _ in range(4)]
    low, high = people[:2], people[2:]
    by_low = {each: dict(zip(low, (1, 1 + n % 2), strict=True)) for n, each in enumerate(candidates)}
    by_high = {each: dict(zip(high, (5, 5 - n % 3), strict=True)) for n, each in enumerate(candidates)}
    judge(project, by_low, rubric=first)
    judge(project, by_high, rubric=first, kind="trial")
    judge(project, {each: dict.fromkeys(low, 3 + n % 2) for n, each in enumerate(candidates)}, rubric=second)
    scope = make_scope(project, stage=Stage.ALL, criterion=criteria_in_use(project)[1])
    found = {by: measure_agreement(scope, level=Level.INTERVAL, by=by) for by in ("stage", "batch", "criterion")}
    assert {by: [(each.name, each.line.n_ratings) for each in report.groups] for by, report in found.items()} == {
        "stage": [("full", 8), ("trial", 8)],
        "batch": [("1", 8), ("2", 8)],
        "criterion": [(each.name, n) for each, n in zip(criteria_in_use(project), (8, 16), strict=True)],
    }
    for by in ("stage", "batch"):
        alone = [
            compute_alpha(replace(scope, batch=batch), "interval") for batch in project.batches.order_by("number")[:2]
        ]
        assert [each.line.alpha for each in found[by].groups] == pytest.approx(alone)


def test_what_does_not_count_does_not_enter(project: Project) -> None:
    canonical(project)
    before = compute_alpha(make_scope(project))
    candidates = make_candidates(make_question(make_corpus(project).passages.get()), 3)
    people = [make_membership(project) for _ in range(2)]
    contrary = {candidate: {people[0]: 1.0, people[1]: 5.0} for candidate in candidates}
    judge(project, contrary, counted=False)
    judge(project, contrary, control="repeat")
    judge(project, {candidates[0]: {people[0]: None, people[1]: None}})
    assert compute_alpha(make_scope(project)) == before
    judge(project, {candidate: {people[0]: 1.0, people[1]: 5.0} for candidate in candidates[1:]})
    assert compute_alpha(make_scope(project)) != before
    candidates[1].withdrawn_at = timezone.now()
    candidates[1].save()
    assert fetch_rating_patterns(make_scope(project)).patterns().n_units == 12
    candidates[2].question.passage.withdrawn_at = timezone.now()
    candidates[2].question.passage.save()
    assert compute_alpha(make_scope(project)) == before


def test_one_batch_alone_and_blind_judgments_alone(project: Project) -> None:
    batch = canonical(project)
    candidates = make_candidates(make_question(make_corpus(project).passages.get()), 3)
    people = [make_membership(project) for _ in range(2)]
    contrary = {candidate: {people[0]: 1.0, people[1]: 5.0} for candidate in candidates}
    judge(project, contrary, not_blind=True)
    alone = compute_alpha(make_scope(project, batch=batch))
    assert round(alone, 3) == 0.815
    assert compute_alpha(make_scope(project, is_blind_only=True)) == alone
    assert compute_alpha(make_scope(project)) < alone
    assert round(answer("agreement", "--project", "bridges", "--batch", "1")["alpha"], 3) == 0.815


def test_a_criterion_is_one_over_rubric_versions_and_counts_a_person_once(project: Project) -> None:
    canonical(project)
    before = fetch_rating_patterns(make_scope(project)).patterns()
    newer = make_rubric(project)
    candidate = project.datasets.get().candidates.order_by("external_id")[0]
    first = candidate.judgments.order_by("id")[0]
    judge(project, {candidate: {first.annotator: 5.0}}, rubric=newer)
    (criterion,) = criteria_in_use(project)
    after = fetch_rating_patterns(make_scope(project)).patterns()
    assert len(criterion.ids) == 2
    assert after.n_ratings == before.n_ratings, "the same person's second judgment replaces the first"
    assert krippendorff_alpha(after, level="nominal") != krippendorff_alpha(before, level="nominal")


def test_reversed_scores_are_turned(project: Project) -> None:
    canonical(project)
    plain = compute_alpha(make_scope(project), "ratio")
    Criterion.objects.update(is_reversed=True)
    turned = compute_alpha(make_scope(project), "ratio")
    assert turned != plain
    values = sorted({value for row in fetch_rating_patterns(make_scope(project)).units for value in row.ratings})
    assert values == [1, 2, 3, 4, 5]
    assert fetch_rating_patterns(make_scope(project)).patterns().count.sum() > 0


def test_two_scales_under_one_key_are_not_pooled(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    candidate = project.datasets.get().candidates.order_by("external_id")[0]
    judge_on_slider(project, {candidate: {make_membership(project): 90.0}})
    output = answer("agreement", "--project", "bridges", "--pairs", "--ceiling")
    assert output["alpha"] is None
    assert "several scales" in output["undefined"]
    assert output["pairs"] is None
    assert "several scales" in output["undefined_pairs"]
    assert "several scales" in output["undefined_ceiling"]
    one_batch = answer("agreement", "--project", "bridges", "--batch", "1", "--pairs")
    assert (round(one_batch["alpha"], 3), one_batch["n_pairs"]) == (0.815, 6)
    page = client_of(researcher).get("/p/bridges/agreement/").content.decode()
    assert "several scales" in page
    values = [row["Value"] for row in read(page).rows("Reliability and ceiling")]
    assert values == ["—a", "—a"], "the ceiling, and one person against the others, for the same reason"
    figures = Script(researcher).read("agreement/")["figures"]
    assert "several scales" in figures["ceiling"]["reason"]


def test_unknown_annotators_are_no_persons(
    project: Project, owner: Membership, researcher: Membership, client_of: SignIn, tmp_path: Path
) -> None:
    entries = ", ".join(
        f'"c{n}": {{"context": "P", "question": "Q", "reference": "R", "candidate": "A{n}",'
        f' "metadata": {{"scores": [{1 + n % 5}, {1 + n % 4}]}}}}'
        for n in range(8)
    )
    take_file(project, f'{{"d": {{{entries}}}}}', "mocha.json", tmp_path, with_scores=True)
    output = answer("agreement", "--project", "bridges")
    assert output["n_annotators"] is None
    assert "unknown" in output["annotators"]
    assert (output["n_units"], output["n_ratings"]) == (8, 16)
    page = client_of(researcher).get("/p/bridges/agreement/").content.decode()
    assert "imported without annotators" in page
    assert "unknown annotator" not in page.lower()


def test_simulated_judgments_are_called_so(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    assert "simulated" not in client_of(researcher).get("/p/bridges/agreement/").content.decode()
    Membership.objects.filter(judgments__isnull=False).update(user=None, kind=Membership.Kind.SIMULATED)
    cache.clear()
    assert "simulated annotators" in client_of(researcher).get("/p/bridges/agreement/").content.decode()
    assert answer("agreement", "--project", "bridges")["simulated"] is True


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, "no judgments"),
        ({"a": 4}, "one annotator only"),
        ({"a": 4, "b": 4}, "all ratings are equal"),
        ({"a": None, "b": None}, "no judgments"),
    ],
)
def test_undefined_has_a_reason(
    project: Project, researcher: Membership, client_of: SignIn, values: dict[str, float | None], reason: str
) -> None:
    (candidate,) = make_candidates(make_question(make_corpus(project, n_candidates=0).passages.get()), 1)
    judge(project, {candidate: {make_membership(project): value for value in values.values()}})
    output = answer("agreement", "--project", "bridges")
    assert output["alpha"] is None
    assert reason in output["undefined"]
    page = client_of(researcher).get("/p/bridges/agreement/").content.decode()
    assert re.search(rf"— {reason}|<sup>\w</sup> {reason}", page), "in its cell, or below the table"
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)


def test_the_page_follows_its_address(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    client = client_of(researcher)
    page = client.get("/p/bridges/agreement/?level=nominal&by=source&batch=1").content.decode()
    assert page.index("0.7434") < page.index("0.8154")
    assert ">even<" in page
    assert "Alpha by question type" in client.get("/p/bridges/agreement/?by=question_type").content.decode()
    assert client.get("/p/bridges/agreement/?level=euclid").status_code == 400
    assert client.get("/p/bridges/agreement/?batch=99").status_code == 400
    assert client.get("/p/bridges/agreement/?by=annotator").status_code == 400


def test_with_many_patterns_only_the_level_shown_has_intervals(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    monkeypatch.setattr("results.agreement.alpha.MOST_PATTERNS", 3)
    shown, *others = measure_agreement(make_scope(project), level=Level.ORDINAL, other_levels=True).levels
    assert shown.by_unit is not None
    assert [line.by_unit for line in others] == [None, None, None]
    assert all(line.alpha is not None for line in others)


def read_text(client: Client, query: str = "") -> str:
    return " ".join(client.get(f"/p/bridges/agreement/{query}").content.decode().split())


def judge_passages(project: Project, bases: Sequence[int]) -> None:
    """Let two people rate ten candidates of each passage, all around the base of the passage."""
    corpus = make_corpus(project, n_candidates=0)
    people = [make_membership(project) for _ in range(2)]
    ratings = {
        candidate: dict(zip(people, (base, base + n % 2), strict=True))
        for base in bases
        for n, candidate in enumerate(make_candidates(make_question(make_passage(corpus)), 10))
    }
    judge(project, ratings)


def test_passages_are_the_unit_where_candidates_share_them(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    """Passages rated all low or all high: how many of each there are is all that matters."""
    judge_passages(project, (1, 1, 1, 1, 1, 4))
    line = measure_agreement(make_scope(project), level=Level.INTERVAL).main
    assert line.by_unit is not None
    assert line.by_passage is not None
    assert line.unit == "passages"
    assert line.interval == line.by_passage
    assert (line.by_unit.n_parts, line.by_passage.n_parts) == (60, 6)
    report = measure_agreement(make_scope(project), level=Level.INTERVAL)
    assert (report.n_passages, report.n_effective) == (6, 6)
    widths = [float(ends.high or 0) - float(ends.low or 0) for ends in (line.by_unit, line.by_passage)]
    assert widths[1] > 2 * widths[0]
    client = client_of(researcher)
    page, narrowed = (read_text(client, query) for query in ("", "?unit=items"))
    assert "95 % CI (passages)" in page
    assert "95 % CI (candidates)" not in page
    assert "over 6 passages" in page
    assert "with fewer than 20 the intervals are rough. These judgments cover 6." in page
    assert "seed" not in page[page.index("How these numbers are computed") :]
    assert "95 % CI (candidates)" in narrowed
    assert "the intervals are too narrow" in narrowed
    assert client.get("/p/bridges/agreement/?unit=answers").status_code == 400
    output, narrowed_output, old = (
        answer("agreement", "--project", "bridges", "--level", "interval", *more)
        for more in ((), ("--unit", "item"), ("--bootstrap", "200", "--seed", "7"))
    )
    assert (output["low"], output["resampled"], output["n_resampled"]) == (line.by_passage.low, "passages", 6)
    assert output["warnings"] == ["Few passages: with fewer than 20 the intervals are rough. These judgments cover 6."]
    assert narrowed_output["low"] == line.by_unit.low
    assert narrowed_output["warnings"] == ["Candidates share passages, so the interval over candidates is too narrow."]
    assert (old["method"], old["resampled"], old["n_resamples"], old["seed"]) == ("percentile", "passages", 200, 7)
    assert old["low"] != output["low"]


def test_a_part_with_few_passages_is_named_where_all_have_enough(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    people, ratings = [make_membership(project) for _ in range(2)], {}
    for name, n_passages in (("wide", 22), ("narrow", 4), ("single", 1), ("uneven", 22)):
        dataset = make_dataset(project, name)
        for n in range(n_passages):
            n_candidates = 12 if name == "uneven" and not n else 2
            for place, candidate in enumerate(make_candidates(make_question(make_passage(dataset)), n_candidates)):
                ratings[candidate] = dict(zip(people, (n % 4 + 1, n % 4 + 1 + place % 2), strict=True))
    judge(project, ratings)
    few = (
        "Few passages: with fewer than 20 the intervals are rough. Parts with fewer: narrow (4); uneven (22, which "
        "count as 13 because some weigh more than others)."
    )
    client = client_of(researcher)
    page = read_text(client)
    assert few in page
    assert "These judgments cover" not in page
    assert few not in read_text(client, "?unit=items")
    output = answer("agreement", "--project", "bridges", "--by", "dataset")
    assert output["warnings"] == [few]


def test_exact_agreement_is_shown_on_scales_of_points(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    table = [[float(each) for each in column if each != "."] for column in zip(*map(str.split, CANONICAL), strict=True)]
    shares = [
        sum(one == other for one, other in combinations(unit, 2)) / math.comb(len(unit), 2)
        for unit in table
        if len(unit) > 1
    ]
    output, page = answer("agreement", "--project", "bridges"), read_text(client_of(researcher))
    note = "of pairs of ratings, before correction for chance"
    assert output["same_share"] == pytest.approx(sum(shares) / 11)
    assert f"{100 * sum(shares) / 11:.1f} %" in page
    assert note in page
    (candidate,) = make_candidates(make_question(make_passage(make_corpus(project))), 1)
    judge_on_slider(project, {candidate: {make_membership(project): 70.0 for _ in range(2)}})
    assert answer("agreement", "--project", "bridges")["same_share"] is None, "on two scales"
    assert note not in read_text(client_of(researcher))
    assert note not in read_text(client_of(researcher), "?batch=2"), "on a slider"


def test_nearly_equal_ratings_are_said_to_make_the_interval_too_narrow(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    people, ratings = [make_membership(project) for _ in range(2)], {}
    for name, points in (("safe", (5, 4)), ("mixed", (1, 5))):
        dataset = make_dataset(project, name)
        for n in range(30):
            for place, candidate in enumerate(make_candidates(make_question(make_passage(dataset)), 2)):
                # Of the first dataset three candidates have another rating, of the second every other one.
                usual, other = points
                value = other if (n < 3 and not place if name == "safe" else place) else usual
                ratings[candidate] = {people[0]: value, people[1]: usual if n in (1, 2) else value}
    judge(project, ratings)
    says = (
        "Nearly all ratings are equal: where fewer than 30 candidates have a rating other than the most frequent one, "
        "the interval of alpha is too narrow."
    )
    page = read_text(client_of(researcher))
    assert f"{says} Parts with fewer: safe (3 of 60)." in page
    assert page.count(says) == 1, "not of all judgments, of which 33 have another rating"
    output = answer("agreement", "--project", "bridges", "--by", "dataset")
    assert output["warnings"] == [f"{says} Parts with fewer: safe (3 of 60)."]
    Judgment.objects.filter(candidate__question__passage__dataset__name="mixed").delete()
    output = answer("agreement", "--project", "bridges")
    assert output["warnings"] == [f"{says} Here 3 of 60 have."]


def test_candidates_are_the_unit_where_none_share_a_passage(project: Project) -> None:
    corpus = make_corpus(project, n_candidates=0)
    people = [make_membership(project) for _ in range(2)]
    candidates = [make_candidates(make_question(make_passage(corpus)), 1)[0] for _ in range(4)]
    judge(project, {each: dict(zip(people, (1 + n, 1 + n // 2 * 2), strict=True)) for n, each in enumerate(candidates)})
    output = answer("agreement", "--project", "bridges")
    assert (output["resampled"], output["n_resampled"], "warnings" in output) == ("items", 4, False)


def test_a_report_of_an_earlier_version_says_how_it_was_made(
    project: Project, researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_passages(project, (1, 2, 4))
    monkeypatch.setattr(reports, "AT_ONCE", 0)
    client = client_of(researcher)
    client.post("/p/bridges/agreement/")
    stored = Report.objects.get()
    running.run(Report, stored.pk, reports.make, only_reads=True)
    assert "percentile" not in client.get("/p/bridges/agreement/").content.decode()
    stored.refresh_from_db()
    # As versions before the jackknife stored it.
    assert stored.result is not None
    report = stored.result["report"]
    for key in ("method", "unit", "n_passages", "is_narrowed", "has_few_passages"):
        del report[key]
    report |= {"n_resamples": 1000, "seed": 1000}
    for line in [*report["levels"], *(group["line"] for group in report["groups"])]:
        del line["unit"]
        line["by_unit"] = {"low": 0.1234, "high": 0.5678, "undefined_share": 0.0, "undefined": ""}
    stored.content = "of an earlier version"
    stored.save()
    page = read_text(client)
    assert "computed by an earlier version of Concord" in page
    assert "percentile bootstraps with" in page
    assert "0.1234 to 0.5678" in page
    assert "The project or the methods have changed since." in page
    assert "Recompute figures" in page


def test_an_empty_project_says_what_to_do(project: Project, researcher: Membership, client_of: SignIn) -> None:
    page = client_of(researcher).get("/p/bridges/agreement/").content.decode()
    assert "after a batch has been annotated" in page


def test_the_number_of_queries_does_not_grow(
    project: Project, researcher: Membership, client_of: SignIn, django_assert_max_num_queries: Any
) -> None:
    canonical(project)
    client = client_of(researcher)
    with django_assert_max_num_queries(20):
        page = client.get("/p/bridges/agreement/?by=source")
    assert b"even" in page.content


def test_without_judgments_alpha_is_undefined_in_one_object(project: Project) -> None:
    counts = {"n_units": 0, "n_annotators": 0, "n_ratings": 0, "n_single": 0, "same_share": None}
    wanted = {"project": "bridges", "criterion": "correctness", "alpha": None, "level": "ordinal", **counts}
    output = answer("agreement", "--project", "bridges")
    assert output.pop("undefined")
    assert output == wanted
    assert answer("agreement", "--project", "bridges", "--by", "split")["groups"] == []
    level = answer("agreement", "--project", "bridges", "--criterion", "correctness", "--level", "nominal")["level"]
    assert level == "nominal"
    with pytest.raises(CommandError, match="no criterion “fluency”") as refused:
        call_command("agreement", "--project", "bridges", "--criterion", "fluency")
    assert refused.value.returncode == 1
    judge(project, {})
    output = answer("agreement", "--project", "bridges", "--by", "dataset")
    assert output.pop("undefined")
    assert output == {**wanted, "by": "dataset", "groups": []}


def test_the_command_refuses_with_the_reason(project: Project) -> None:
    canonical(project)
    for arguments, words in (
        (["--criterion", "fluency"], "Choose one of: correctness"),
        (["--batch", "7"], "no batch 7"),
    ):
        with pytest.raises(CommandError, match=words) as refused:
            call_command("agreement", "--project", "bridges", *arguments)
        assert refused.value.returncode == 1
    with pytest.raises(CommandError, match="does not exist"):
        call_command("agreement", "--project", "elsewhere")


def test_one_of_several_criteria_must_be_named(project: Project) -> None:
    canonical(project)
    rubric = make_rubric(project, "yang")
    candidate = project.datasets.get().candidates.all()[0]
    judge(project, {candidate: {make_membership(project): 3.0}}, rubric=rubric)
    with pytest.raises(CommandError, match="Choose one: "):
        call_command("agreement", "--project", "bridges")
    assert round(answer("agreement", "--project", "bridges", "--criterion", "correctness")["alpha"], 3) == 0.815


def test_other_projects_do_not_enter(project: Project) -> None:
    from tests.factories import make_project

    canonical(make_project("other"))
    canonical(project)
    assert fetch_rating_patterns(make_scope(project)).patterns().n_units == 11


@pytest.mark.parametrize("arguments", [["--level", "euclid"], ["--batch", "1", "--batch", "2"]])
def test_a_wrong_level_or_two_batches_are_wrong_use(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as wrong:
        Command().run_from_argv(["manage.py", "agreement", "--project", "x", *arguments])
    assert wrong.value.code == 2
    assert capsys.readouterr().out == ""


def test_passages_weigh_as_much_as_their_ratings(project: Project) -> None:
    """Two candidates of each of 20 passages, one of which has four times the ratings: 92² / (19 · 4² + 16²)."""
    dataset, people = make_corpus(project, n_passages=20, n_candidates=2), [make_membership(project) for _ in range(8)]
    judge(
        project,
        {
            candidate: {person: float(1 + (n + m) % 5) for m, person in enumerate(people[: 8 if n < 2 else 2])}
            for n, candidate in enumerate(dataset.candidates.order_by("pk"))
        },
    )
    report = measure_agreement(make_scope(project), level=Level.INTERVAL)
    assert (report.n_passages, report.has_few_passages) == (20, True)
    assert report.n_effective == pytest.approx(92**2 / 560)
