"""Each annotator's mean and spread, from which z scores are computed."""

from dataclasses import replace

import pandas as pd
import pytest

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from measures.rubric import Level
from measures.standardising import annotator_norms, standardise
from projects.models import Candidate, Criterion, Project
from tests.factories import make_corpus, make_membership
from tests.results.judged_batches import VALUES, judge

pytestmark = pytest.mark.django_db


def test_the_baselines_of_the_statement_are_those_of_the_measures(project: Project) -> None:
    make_corpus(project, name="one", n_candidates=4)
    people = [make_membership(project) for _ in range(3)]
    candidates = list(Candidate.objects.in_project(project).order_by("pk"))
    judge(
        project, {each: dict(zip(people, given, strict=True)) for each, given in zip(candidates, VALUES, strict=True)}
    )
    scope = Scope(project=project, criterion=criteria_in_use(project)[0])
    judge(project, {candidates[0]: dict.fromkeys(people[:2], 1.0)}, control="known")
    Criterion.objects.update(is_reversed=True)
    frame = fetch_judgments(scope)
    without = fetch_baselines(scope, criteria_in_use(project), with_controls=False)
    pd.testing.assert_frame_equal(without, annotator_norms(frame), check_names=False)
    with_them = fetch_baselines(scope, criteria_in_use(project), with_controls=True)
    assert [with_them["n"][person.pseudonym] for person in people] == [5, 5, 4]
    assert with_them.loc[people[0].pseudonym, "mean"] == pytest.approx((5 + 2 + 4 + 1 + 5) / 5), "turned: 6 - 1 is 5"
    assert standardise(frame, without).notna().all()


def test_categories_of_another_criterion_are_no_scores_on_its_scale(project: Project) -> None:
    candidates = list(make_corpus(project, n_candidates=3).candidates.order_by("pk"))
    person = make_membership(project)
    judge(project, {each: {person: value} for each, value in zip(candidates, (1.0, 3.0, 5.0), strict=True)})
    quality = criteria_in_use(project)[0]
    kinds = replace(quality, key="kinds", level=Level.NOMINAL)
    scope = Scope(project=project, criterion=replace(quality, ids=()))
    for criteria, n in (([kinds], 0), ([replace(kinds, level=Level.ORDINAL)], 3)):
        assert len(fetch_baselines(scope, criteria, with_controls=False)) == bool(n)
    own = fetch_baselines(Scope(project=project, criterion=kinds), [kinds], with_controls=False)
    assert list(own["n"]) == [3]
