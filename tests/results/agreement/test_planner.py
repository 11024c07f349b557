"""The page that plans how many candidates and judgments a precision of alpha needs."""

import re
from dataclasses import replace
from typing import Any

import pytest

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from measures.agreement import krippendorff_alpha
from projects.models import Candidate, Membership, Project
from results.reports import reports, views
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import Screen, condense, number, read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex
from tests.results.judged_batches import canonical, judge

pytestmark = pytest.mark.django_db

SCORES = "/p/bridges/scores/"


def screen(client_of: SignIn, person: Membership, url: str, **query: str | int) -> Screen:
    response = client_of(person).get(url, query)
    assert response.status_code == 200
    return read(response.content.decode())


def test_the_planner_shows_items_and_costs_for_a_width(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    page = screen(client_of, researcher, f"{SCORES}planner/", width="0.2", judgments="2, 4, 6", resample="items")
    widths = page.rows("Planned widths")
    assert len(widths) == 18
    assert page.facts["Current alpha, ordinal"].startswith("0.8154")
    rows = page.rows("Requirements for a CI width of 0.2")
    assert [(row["Judgments per candidate"], row["Basis"]) for row in rows] == [
        ("2", "observed"),
        ("4", "partly modelled"),
        ("6", "modelled"),
    ]
    for row in rows:
        n_units, n_judgments = number(row["Candidates"]), number(row["Judgments per candidate"])
        assert number(row["Judgments"]) == n_units * n_judgments
        assert number(row["HITs"]) == -(-n_units // 6), "six candidates of a passage make a HIT, which holds ten"
        assert float(row["Cost (USD)"]) == pytest.approx(number(row["HITs"]) * n_judgments * 0.4)
        own = {
            number(each["Candidates"]): each for each in widths if each["Judgments per candidate"] == str(n_judgments)
        }
        wide, narrow = (float(own[n]["Width of the 95 % CI"]) for n in (50, 1600))
        assert narrow < 0.2
        assert (n_units > 50) == (wide > 0.2)
    assert number(rows[0]["Candidates"]) > number(rows[1]["Candidates"])
    client = client_of(researcher)
    html = client.get(f"{SCORES}planner/", {"judgments": "2, 4, 6", "resample": "items"}).content.decode()
    assert "Their lines in the chart are dashed." in condense(html)
    assert "Nearly all ratings are equal" not in html
    drawing = html[html.index("chart--drawn") :]
    for name in ("2, observed", "4, partly modelled", "6, modelled"):
        assert name in drawing
    # Lines that lie on each other are seen all the same.
    assert {"1,0", "10,4", "4,7"} <= set(re.findall(r'stroke-dasharray="([^"]+)"', drawing))
    assert "dashed" not in client.get(f"{SCORES}planner/", {"judgments": "2", "resample": "items"}).content.decode()
    address, query = f"{SCORES}planner/tables/", {"width": "0.2", "judgments": "2, 4, 6", "resample": "items"}
    for name, n in (("requirements", 3), ("simulation", 18)):
        file = client_of(researcher).get(f"{address}{name}.csv", query).content.decode()
        assert len(file.splitlines()) == 1 + n
        check_latex(client_of(researcher).get(f"{address}{name}.tex", query).content.decode())


def test_a_plan_needs_three_passages_as_the_interval_does(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    page = client_of(researcher).get(f"{SCORES}planner/").content.decode()
    assert "A plan can't be computed yet: fewer than three passages." in page
    assert "Intervals over candidates may still be defined." in page
    page = client_of(researcher).get(f"{SCORES}planner/", {"resample": "items"}).content.decode()
    assert "by the jackknife with Student&#x27;s t over candidates, mean of 20 draws of ratings" in page


def test_a_plan_that_candidates_would_not_have_either_advises_nothing(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    people, question = [make_membership(project) for _ in range(2)], make_question(make_passage(make_dataset(project)))
    judge(project, {candidate: dict.fromkeys(people, 3.0) for candidate in make_candidates(question, 4)})
    page = client_of(researcher).get(f"{SCORES}planner/").content.decode()
    assert "A plan can't be computed yet: all ratings are equal." in page
    assert "Intervals over candidates" not in page


def test_a_plan_from_nearly_equal_ratings_or_few_passages_says_that_its_widths_are_too_small(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    people, ratings, dataset = [make_membership(project) for _ in range(2)], {}, make_dataset(project)
    for n in range(12):
        for place, candidate in enumerate(make_candidates(make_question(make_passage(dataset)), 3)):
            value = 4.0 if n in (2, 5, 8) and not place else 5.0
            ratings[candidate] = {people[0]: value, people[1]: 5.0 if n == 2 else value}
    judge(project, ratings)
    page = condense(client_of(researcher).get(f"{SCORES}planner/").content.decode())
    assert "the interval of alpha is too narrow. Here 3 of 36 have. The planned widths are too small then" in page
    assert "Few passages: with fewer than 20 the intervals are rough. The plan rests on 12." in page
    page = condense(client_of(researcher).get(f"{SCORES}planner/", {"resample": "items"}).content.decode())
    assert "Here 3 of 36 have." in page
    assert "Few passages" not in page


def test_a_plan_of_an_earlier_version_says_what_its_widths_are(
    project: Project, researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    find_report = reports.find_report

    def find_earlier(*arguments: Any) -> reports.ReportState:
        state = find_report(*arguments)
        assert state.figures is not None
        plan = state.figures["plan"]
        kept = {name: plan[name] for name in plan if name not in ("judgments", "n_draws", "by_group")}
        return replace(state, figures={**state.figures, "plan": {**kept, "n_studies": 300}})

    monkeypatch.setattr(views, "find_report", find_earlier)
    html = client_of(researcher).get(f"{SCORES}planner/", {"resample": "items"}).content.decode()
    assert "as the spread of alpha in 300 simulated" in html
    assert "300 studies each" in html
    assert len(read(html).rows("Planned widths")) == 18


def test_the_planner_speaks_of_candidates(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    html = client_of(researcher).get(f"{SCORES}planner/").content.decode()
    assert '<option value="items">candidates</option>' in html
    assert "How many candidates, with how many judgments each" in html


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"width": "0"}, "greater than or equal to 0.005"),
        ({"width": "wide"}, "Enter a number"),
        ({"judgments": "1, 2"}, "from 2 to 20"),
        ({"judgments": "two"}, "whole numbers separated by commas"),
        ({"judgments": "2 3 4 5 6 7"}, "up to five"),
    ],
)
def test_an_impossible_plan_is_refused_by_name(
    project: Project, researcher: Membership, client_of: SignIn, query: dict[str, str], text: str
) -> None:
    canonical(project)
    response = client_of(researcher).get(f"{SCORES}planner/", query)
    assert response.status_code == 400
    assert text in response.content.decode()


def test_alpha_that_the_plan_starts_from_is_that_of_the_judgments(project: Project) -> None:
    canonical(project)
    settings = {"criterion": "correctness", "stage": "full", "batch": None, "blind": False, "level": "interval"}
    found = reports.find_report(project, "plan", {**settings, "judgments": [2], "by_passage": False}).figures
    assert found is not None
    frame = fetch_judgments(Scope(project=project, criterion=criteria_in_use(project)[0]))
    alpha = krippendorff_alpha(frame.drop(columns="group"), level="interval").alpha  # type: ignore[union-attr]
    assert found["plan"]["trial"]["alpha"] == pytest.approx(alpha)
    assert Candidate.objects.count() == sum(size * n for size, n in found["passages"])
