"""Each annotator's mean and spread, from which z scores are computed."""

import pandas as pd
import pytest

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
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
