"""The pages of scores: gold scores by every rule."""

import math
import re
import statistics

import pytest
from django.core.cache import cache
from django.test import Client

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from annotate.reviews import adjudication
from annotate.reviews.adjudication import Gold, read_gold_rule
from measures.gold_rules import GoldRule
from projects.errors import Refused
from projects.jobs import running
from projects.jobs.queue import Job
from projects.models import Candidate, LogEntry, Membership, Project
from results.models import Report
from results.reports import reports
from results.sets.forms import SetForm
from tests.factories import make_corpus, make_membership
from tests.page_reader import Rows, Screen, read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex, read_caption
from tests.results.judged_batches import VALUES, canonical, judge, judge_on_slider

pytestmark = pytest.mark.django_db

SCORES = "/p/bridges/scores/"


def screen(client: Client, url: str = SCORES, **query: str) -> Screen:
    response = client.get(url, query)
    assert response.status_code == 200
    return read(response.content.decode())


def by_candidate(rows: Rows) -> dict[str, dict[str, str]]:
    return {row["Candidate"]: row for row in rows}


def test_each_candidate_has_its_score_by_every_rule(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    page = screen(client_of(researcher))
    rows = by_candidate(page.rows("Candidates with their scores"))
    norms = {n: (statistics.mean(own), statistics.stdev(own)) for n, own in enumerate(zip(*VALUES, strict=True))}
    for candidate, values in zip(rated, VALUES, strict=True):
        row = rows[candidate.external_id]
        z = statistics.mean((value - norms[n][0]) / norms[n][1] for n, value in enumerate(values))
        assert row["Mean"] == row["Gold score"] == f"{statistics.mean(values):.2f}"
        assert row["Median"] == f"{statistics.median(values):.2f}"
        assert row["Mean z"] == f"{z:.2f}".replace("-", "−")
        assert row["Std. dev."] == f"{statistics.stdev(values):.2f}"
        assert row["Judgments"] == "3"
    assert (page.number("Candidates"), page.number("Judgments"), page.number("Single judgments")) == (4, 12, 0)
    assert page.facts["Mean gold score"].startswith("3.67")
    for name in ("methods", "distribution"):
        tex = client_of(researcher).get(f"{SCORES}tables/{name}.tex?rule=median").content.decode()
        check_latex(tex)
        assert "n = 4 candidates" in read_caption(tex)
    (one,) = page.rows("Candidates by human score")[:-1]
    assert [one[str(point)] for point in range(1, 6)] == ["0", "0", "2", "1", "1"], "2.67 is nearest to 3"


def test_the_table_is_sorted_filtered_and_paged_by_its_address(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    names = [candidate.external_id for candidate in rated]

    def order(**query: str) -> list[str]:
        return [row["Candidate"] for row in screen(client, **query).rows("Candidates with their scores")]

    assert order(sort="-mean") == [names[3], names[1], names[0], names[2]]
    assert order(sort="median")[0] == names[0]
    assert order(sort="-z")[0] == names[3]
    assert order(sort="sd")[-1] == names[0]
    assert order(text=names[2]) == [names[2]]
    assert order(text="%") == [], "a sign of the pattern is a letter like any other"
    assert order(dataset="another") == []
    assert screen(client, source="model-a").n_listed == 4
    assert client.get(SCORES, {"sort": "nonsense; DROP", "page": "x"}).status_code == 200
    assert client.get(SCORES, {"rule": "nonsense"}).status_code == 400
    assert client.get(SCORES, {"criterion": "nonsense"}).status_code == 400


def test_a_search_that_finds_nothing_says_so_and_stays(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    html = client_of(researcher).get(SCORES, {"text": "nowhere"}).content.decode()
    assert "No candidate with a judgment matches this filter." in html
    assert 'value="nowhere"' in html, "the search can be changed"


def test_an_adjudicated_score_wins_where_the_rule_says_so_but_not_under_z(
    project: Project, rated: list[Candidate], manager: Membership, client_of: SignIn
) -> None:
    client, criterion = client_of(manager), criteria_in_use(project)[0]
    adjudication.adjudicate(project=project, actor=manager, candidate=rated[0], criterion=criterion, value=1)

    def first(**query: str) -> dict[str, str]:
        rows = screen(client, sort="candidate", **query).rows("Candidates with their scores")
        return by_candidate(rows)[rated[0].external_id]

    assert (first()["Adjudicated"], first()["Gold score"]) == ("1.00", "2.67")
    adjudication.set_rule(project=project, actor=manager, wins=True)
    assert first()["Gold score"] == "1.00"
    assert first(rule="z")["Gold score"] == first()["Mean z"]
    assert screen(client).rows("Candidates by human score")[0]["1"] == "1", "the distribution has it too"


def test_the_project_keeps_its_rule_and_the_log_says_who_changed_it(
    project: Project, rated: list[Candidate], manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    assert read_gold_rule(project) == Gold(GoldRule.MEAN, with_controls=True, adjudication_wins=False)
    client = client_of(manager)
    assert client_of(researcher).post(f"{SCORES}rule/", {"rule": "median"}).status_code == 403
    client.post(f"{SCORES}rule/", {"rule": "median"})
    assert read_gold_rule(project) == Gold(GoldRule.MEDIAN, with_controls=False, adjudication_wins=False)
    entry = LogEntry.objects.get(act="change gold rule")
    assert entry.after == {"gold_rule": "median", "controls_enter_norms": False}
    client.post(f"{SCORES}rule/", {"rule": "median"})
    assert LogEntry.objects.filter(act="change gold rule").count() == 1, "nothing has changed"
    rows = by_candidate(screen(client).rows("Candidates with their scores"))
    assert rows[rated[0].external_id]["Gold score"] == "2.00"
    asked = SetForm(project).settings()
    assert (asked.gold, asked.controls_in_z) == (GoldRule.MEDIAN, False), "a new judgment set starts from it"
    client.post(f"{SCORES}rule/", {"rule": "loudest"})
    assert read_gold_rule(project).rule is GoldRule.MEDIAN
    with pytest.raises(Refused, match="Unknown rule for gold scores"):
        adjudication.choose_gold(project=project, actor=manager, rule="loudest", with_controls=True)


def test_scores_without_names_have_no_z(project: Project, researcher: Membership, client_of: SignIn) -> None:
    candidates = make_corpus(project, n_candidates=4).candidates.all()
    people = [make_membership(project, kind=Membership.Kind.UNKNOWN, user=None) for _ in range(2)]
    judge(project, {candidate: dict.fromkeys(people, 3 + n % 2) for n, candidate in enumerate(candidates)})
    page = screen(client_of(researcher), rule="z")
    assert "some annotators are unknown" in page.facts["Mean gold score"]
    assert {row["Mean z"] for row in page.rows("Candidates with their scores")} == {"none"}
    assert any(
        "some annotators are unknown" in row["Spearman's rho"]
        for row in page.rows("Rank correlation of aggregation methods")
    )


def give_nameless_scores(project: Project) -> None:
    """Two nameless scores of each candidate of a dataset of their own, which comes last by name."""
    candidates = make_corpus(project, name="two", n_candidates=3).candidates.all()
    people = [make_membership(project, kind=Membership.Kind.UNKNOWN, user=None) for _ in range(2)]
    judge(project, {candidate: dict.fromkeys(people, 3 + n % 2) for n, candidate in enumerate(candidates)})


def list_z(client: Client, name: str, **query: str) -> dict[str, str]:
    """The z scores, or the gold scores, of the list by candidate."""
    return {row["Candidate"]: row[name] for row in screen(client, **query).rows("Candidates with their scores")}


def test_a_z_score_does_not_depend_on_which_candidates_share_its_page(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    """One nameless score anywhere leaves the whole scope without z scores, as the figures above the list say."""
    client = client_of(researcher)
    give_nameless_scores(project)
    assert "some annotators are unknown" in screen(client, rule="z", dataset="one").facts["Mean gold score"]
    for query in ({}, {"dataset": "one"}, {"sort": "-z"}, {"text": rated[0].external_id}):
        for name in ("Mean z", "Gold score"):
            assert set(list_z(client, name, rule="z", **query).values()) == {"none"}
    assert "none" not in list_z(client, "Mean z", batch="1").values()


def test_beside_older_figures_nameless_scores_take_no_z_score_from_others(
    project: Project,
    rated: list[Candidate],
    researcher: Membership,
    client_of: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 0)
    client = client_of(researcher)
    client.post(SCORES)
    assert running.run(Report, Report.objects.get().pk, reports.make, only_reads=True) == Job.State.DONE
    before = list_z(client, "Mean z")
    assert "none" not in before.values()
    give_nameless_scores(project)
    for query in ({}, {"dataset": "one"}, {"sort": "-z"}):
        for name in ("Mean z", "Gold score"):
            now = list_z(client, name, rule="z", **query)
            assert {candidate: now[candidate] for candidate in before} == before
            assert {z for candidate, z in now.items() if candidate not in before} <= {"none"}


def test_simulated_annotators_are_named_as_such(project: Project, researcher: Membership, client_of: SignIn) -> None:
    candidates = make_corpus(project, n_candidates=3).candidates.all()
    person, robot = make_membership(project), make_membership(project, kind=Membership.Kind.SIMULATED)
    judge(project, {candidate: {person: 3.0 + n % 2} for n, candidate in enumerate(candidates)})
    client = client_of(researcher)
    pages = [SCORES + page for page in ("", "systems/", "planner/")]
    assert not any("from simulated annotators" in client.get(page).content.decode() for page in pages)
    judge(project, {candidate: {robot: 2.0 + n % 2} for n, candidate in enumerate(candidates)})
    cache.clear()
    assert all("from simulated annotators" in client.get(page).content.decode() for page in pages)


def test_a_project_without_judgments_says_what_to_do(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    for page in ("", "systems/", "replication/", "disagreements/", "planner/"):
        response = client_of(researcher).get(SCORES + page)
        assert response.status_code == 200, page
    make_corpus(project)
    judge(project, {})
    for page in ("", "systems/", "disagreements/", "disagreements/?by=passages", "disagreements/?by=pairs", "planner/"):
        response = client_of(researcher).get(SCORES + page)
        assert response.status_code == 200, page
        assert not re.search(r"\bnan\b", response.content.decode(), re.IGNORECASE), page


def test_krippendorffs_example_has_the_ranks_that_scipy_gives(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    from scipy import stats

    from measures.gold_scores import gold_scores

    canonical(project)
    scores = gold_scores(fetch_judgments(Scope(project=project, criterion=criteria_in_use(project)[0])))
    first, *_ = screen(client_of(researcher)).rows("Rank correlation of aggregation methods")
    assert first["Candidates"] == "12"
    assert first["Spearman's rho"] == f"{stats.spearmanr(scores['mean'], scores['median']).statistic:.4f}"
    assert first["Kendall's tau-b"] == f"{stats.kendalltau(scores['mean'], scores['median']).statistic:.4f}"
    assert not math.isnan(float(first["Spearman's rho"]))


def test_a_criterion_on_several_scales_has_no_score_over_them(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    judge_on_slider(project, {rated[0]: {make_membership(project): 90.0, make_membership(project): 10.0}})
    client = client_of(researcher)
    for page in ("", "planner/"):
        assert "on several scales" in client.get(SCORES + page).content.decode()
        assert "on several scales" not in client.get(SCORES + page, {"batch": 2}).content.decode()
    assert "on several scales: Correctness." in client.get(f"{SCORES}systems/").content.decode()
    (part,) = screen(client, batch="2").rows("Candidates by human score")[:-1]
    assert part["50–60"] == "1", "a longer scale is cut into ten bins"


def test_without_figures_a_criterion_on_several_scales_has_no_list(
    project: Project,
    rated: list[Candidate],
    researcher: Membership,
    client_of: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge_on_slider(project, {rated[0]: {make_membership(project): 90.0}})
    monkeypatch.setattr(reports, "AT_ONCE", 0)
    client = client_of(researcher)
    page = client.get(SCORES).content.decode()
    assert "on several scales" in page
    assert read(page).rows("Candidates with their scores") == []
    assert len(screen(client, batch="1").rows("Candidates with their scores")) == 4
