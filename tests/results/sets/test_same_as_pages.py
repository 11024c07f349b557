"""A set says what the pages say, to the last digit."""

import csv
import statistics
from dataclasses import replace

import pandas as pd
import pytest

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from annotate.reviews.adjudication import choose_gold
from measures.gold_rules import GoldRule
from measures.gold_scores import gold_by
from measures.rubric import FIVE_POINTS, Level
from projects.models import Membership, Project
from projects.rubric.rubrics import create_rubric, describe_criterion
from results.agreement.alpha import AlphaInterval, measure_agreement
from results.models import JudgmentSet
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.projects.tables.latex import check_latex
from tests.results.judged_batches import HUNDRED, answer, ask, canonical, judge, judge_on_slider
from tests.results.sets.frozen_sets import freeze, table


def test_both_intervals_are_those_of_the_agreement_page(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """More than nine passages, imported out of the order of their names, whose order the draws must not depend on."""
    people = [make_membership(project) for _ in range(2)]
    ratings = {}
    for name in ("b", "a"):
        dataset = make_dataset(project, name)
        for number in (12, 3, 100, 7, 1, 20, 11):
            question = make_question(make_passage(dataset, f"p{number}"))
            for place, candidate in enumerate(make_candidates(question, 3)):
                ratings[candidate] = {people[0]: 1 + (number + place) % 5, people[1]: 1 + (number * place) % 5}
    judge(project, ratings)
    scope = Scope(project=project, criterion=criteria_in_use(project)[0])
    line = measure_agreement(scope, level=Level.ORDINAL).main
    judgment_set = freeze(project, manager)
    (part,) = judgment_set.facts["criteria"]
    assert part["agreement"]["alpha"] == pytest.approx(line.alpha, abs=1e-12)
    for name, ends in (("interval_over_candidates", line.by_unit), ("interval_over_passages", line.by_passage)):
        assert isinstance(ends, AlphaInterval)
        assert [part[name]["low"], part[name]["high"]] == pytest.approx([ends.low, ends.high], abs=1e-12)
        method = [part[name][key] for key in ("method", "seed", "n_resampled")]
        assert method == ["jackknife", None, ends.n_parts]
    assert part["interval_unit"] == line.unit == "passages"
    client, page = client_of(manager), judgment_set.get_absolute_url()
    (shown,) = read(client.get(page).content.decode()).rows("Alpha by criterion")
    assert line.interval
    assert shown["Alpha"].startswith(f"{line.alpha:.4f}".replace("-", "\u2212"))
    assert shown["Interval over"] == "14 passages"
    (stored,) = csv.DictReader(client.get(f"{page}tables/criteria.csv").content.decode().splitlines())
    assert float(stored["Alpha low"]) == pytest.approx(line.interval.low)
    check_latex(client.get(f"{page}tables/criteria.tex").content.decode())


def test_each_scale_has_the_level_of_its_own_rubric(project: Project, manager: Membership) -> None:
    """Own rubrics name a criterion before imported ones, however new these are; a newer scale is no newer version."""
    people = [make_membership(project) for _ in range(3)]
    question = make_question(make_passage(make_dataset(project)))
    candidates = make_candidates(question, 5)
    on_points = {
        each: {who: 1.0 + (n * (1 + m)) % 5 for m, who in enumerate(people)} for n, each in enumerate(candidates)
    }
    judge(project, on_points)
    judge_on_slider(
        project,
        {each: {who: 25 * (value - 1) for who, value in given.items()} for each, given in on_points.items()},
        level=Level.INTERVAL,
    )
    nominal = replace(describe_criterion(project.rubrics.get(version=1).criteria.get()), level=Level.NOMINAL)
    imported = create_rubric(project, name="File", preset="custom", criteria=[nominal], is_imported=True)
    judge(project, {make_candidates(question, 1)[0]: {people[0]: 3.0}}, rubric=imported)
    parts = {part["scale_kind"]: part for part in freeze(project, manager).facts["criteria"]}
    for kind, number, level in (("ordinal", 1, Level.ORDINAL), ("continuous", 2, Level.INTERVAL)):
        batch = project.batches.get(number=number)
        (criterion,) = criteria_in_use(project, batch)
        line = measure_agreement(Scope(project=project, criterion=criterion, batch=batch), level=level).main
        assert parts[kind]["level"] == criterion.level == level
        assert parts[kind]["agreement"]["alpha"] == pytest.approx(line.alpha, abs=1e-12)


def test_z_scores_are_those_of_the_scores_page(project: Project, manager: Membership) -> None:
    canonical(project)
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project))), 1)
    judge(project, {candidate: {Membership.objects.filter(judgments__isnull=False)[0]: 5.0}}, control="repeat")
    criteria = criteria_in_use(project)
    scope = Scope(project=project, criterion=criteria[0], split="dev")
    norms = fetch_baselines(scope, criteria, with_controls=True)
    on_page = gold_by(GoldRule.Z, fetch_judgments(scope), norms=norms)
    assert isinstance(on_page, pd.Series)
    rows = table(freeze(project, manager, splits=("dev",), gold=GoldRule.Z), "aggregated.csv")
    assert [float(row["gold"]) for row in rows] == pytest.approx(on_page.tolist(), abs=1e-12)


def test_z_scores_rest_on_all_that_was_scored_on_the_scale_under_any_version(
    project: Project, manager: Membership
) -> None:
    """The second version asks bb on another scale, so what was scored on bb before still shares that of aa."""
    people = [make_membership(project) for _ in range(2)]
    question = make_question(make_passage(make_dataset(project)))
    on_points: dict[str, list[float]] = {person.pseudonym: [] for person in people}
    for scale in (FIVE_POINTS, HUNDRED):
        rubric = ask(project, aa=FIVE_POINTS, bb=scale)
        candidates = make_candidates(question, 3)
        for criterion in rubric.criteria.all():
            given = {
                each: {who: float(1 + (n * (m + 2) + criterion.position) % 5) for m, who in enumerate(people)}
                for n, each in enumerate(candidates)
            }
            judge(project, given, rubric=rubric, criterion=criterion)
            for who in people if criterion.high == 5 else ():
                on_points[who.pseudonym] += [by[who] for by in given.values()]
    script = Script(manager)
    norms = script.read("scores/", kind="golds", criterion="aa")["figures"]["norms"]
    for (name, *norm), values in zip(norms, (on_points[each] for each in sorted(on_points)), strict=True):
        assert norm == pytest.approx([9, statistics.mean(values), statistics.stdev(values)]), name
    rows = [row for row in table(freeze(project, manager), "aggregated.csv") if row["criterion"] == "aa"]
    (score,) = script.read("scores/", kind="systems")["figures"]["scores"]["aa"]
    assert score["z"]["mean"] == pytest.approx(statistics.mean(float(row["z_mean"]) for row in rows))


def test_the_project_s_rule_is_the_default(project: Project, owner: Membership, client_of: SignIn) -> None:
    canonical(project)
    choose_gold(project=project, actor=owner, rule=GoldRule.MEDIAN, with_controls=False)
    answer("freeze", "--project", project.slug, "--name", "By the rule")
    made = JudgmentSet.objects.get()
    assert (made.settings["gold"], made.settings["controls_in_z"]) == ("median", False)
    assert "median of the judgments" in client_of(owner).get(f"/p/{project.slug}/sets/1/").content.decode()
