"""A set says what the pages say, to the last digit."""

import pytest

from annotate.frames import Scope, criteria_in_use
from measures.rubric import Level
from projects.models import Membership, Project
from results.agreeing import Ends, Resampling, measure_agreement
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.results.rows import judge
from tests.results.sets.freezes import freeze


def test_both_intervals_are_those_of_the_agreement_page(project: Project, manager: Membership) -> None:
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
    line = measure_agreement(scope, level=Level.ORDINAL, resampling=Resampling(passages=True)).main
    (part,) = freeze(project, manager).facts["criteria"]
    assert part["agreement"]["alpha"] == pytest.approx(line.alpha, abs=1e-12)
    for name, ends in (("interval_over_candidates", line.by_unit), ("interval_over_passages", line.by_passage)):
        assert isinstance(ends, Ends)
        assert [part[name]["low"], part[name]["high"]] == pytest.approx([ends.low, ends.high], abs=1e-12)
