"""The pages of disagreements: candidates, passages and pairs of annotators, and one candidate with all its ratings."""

import csv
import statistics

import pytest

from annotate.frames.criteria_in_use import criteria_in_use
from annotate.models import Assignment, Judgment, Remark
from annotate.models.assignment import TAKEN_OUT
from annotate.reviews import adjudication
from projects.models import Candidate, Criterion, Membership, Project
from projects.rubric.rubrics import create_rubric, describe_criterion
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import Screen, read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex
from tests.results.judged_batches import canonical, judge, judge_on_slider

pytestmark = pytest.mark.django_db

SCORES = "/p/bridges/scores/"


def screen(client_of: SignIn, person: Membership, url: str, **query: str | int) -> Screen:
    response = client_of(person).get(url, query)
    assert response.status_code == 200
    return read(response.content.decode())


def test_items_and_passages_are_listed_by_spread_and_pairs_open_their_items(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    items = screen(client_of, researcher, f"{SCORES}disagreements/")
    widest = items.rows("Candidates whose ratings differ")
    assert [row["Candidate"] for row in widest[:2]] == ["unit-05", "unit-01"]
    assert widest[0]["Maximum difference"] == "3"
    assert widest[0]["Std. dev."] == f"{statistics.stdev([1, 2, 3, 4]):.2f}"
    assert len(widest) == 3, "items with one rating, or with equal ones, have no spread"
    passages = screen(client_of, researcher, f"{SCORES}disagreements/", by="passages").rows("Passages by disagreement")
    assert [(row["Passage"], row["Candidates"]) for row in passages] == [("canonical-0", "6"), ("canonical-1", "5")]
    spread = [statistics.stdev(own) for own in ([1, 1, 1], [2, 2, 3, 2], [3] * 4, [3] * 4, [2] * 4, [1, 2, 3, 4])]
    assert passages[0]["Mean std. dev."] == f"{statistics.mean(spread):.2f}"
    response = client_of(researcher).get(f"{SCORES}disagreements/", {"by": "pairs"})
    pairs = read(response.content.decode()).rows("Annotator pairs")
    assert len(pairs) == 6
    assert float(pairs[0]["Cohen's kappa (quadratic)"]) <= float(pairs[-1]["Cohen's kappa (quadratic)"])
    first, second = pairs[0]["Annotator"], pairs[0]["Other annotator"]
    differing = screen(client_of, researcher, f"{SCORES}disagreements/", first=first, second=second)
    assert {row["Ratings"] for row in differing.rows("Candidates whose ratings differ")} == {"2"}


def test_lists_are_sorted_by_a_figure_and_downloaded_in_that_order(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    client, address = client_of(researcher), f"{SCORES}disagreements/"
    for by, sort, heading in (("items", "mean", "Mean"), ("passages", "-widest", "Maximum difference")):
        query = {"by": by, "sort": sort}
        rows = screen(client_of, researcher, address, **query)
        title = "Passages by disagreement" if by == "passages" else "Candidates whose ratings differ"
        shown = [float(row[heading]) for row in rows.rows(title)]
        assert shown == sorted(shown, reverse=sort.startswith("-"))
        file = client.get(f"{address}tables/{by}.csv", query).content.decode()
        stored = [float(row[heading]) for row in csv.DictReader(file.splitlines())]
        assert stored == pytest.approx(shown, abs=0.005)
        check_latex(client.get(f"{address}tables/{by}.tex", query).content.decode())
    file = client.get(f"{address}tables/pairs.csv", {"by": "pairs"}).content.decode()
    kappas = [float(row["Cohen's kappa (quadratic)"]) for row in csv.DictReader(file.splitlines())]
    assert kappas == sorted(kappas)
    nonsense = client.get(address, {"sort": "-sd); DROP"})
    assert nonsense.status_code == 200
    assert client.get(f"{address}tables/nothing.csv").status_code == 404


def test_an_item_shows_every_rating_with_comments_and_times_but_not_removed_ones(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    first, second, third = Judgment.objects.filter(candidate=rated[0]).order_by("value")
    Remark.objects.create(assignment=first.assignment, item=first.item, comment="Which bridge?", is_flagged=True)
    Assignment.objects.filter(pk=first.assignment_id).update(item_seconds=[41.6])
    Judgment.objects.filter(pk=second.pk).update(is_counted=False, not_counted_reason=TAKEN_OUT)
    Judgment.objects.filter(pk=third.pk).update(is_counted=False, not_counted_reason="set aside")
    page = screen(client_of, researcher, f"{SCORES}items/{rated[0].pk}/")
    rows = page.rows("Ratings of this candidate")
    assert [(row["Annotator"], row["Rating"]) for row in rows] == [
        (first.annotator.pseudonym, "1"),
        (third.annotator.pseudonym, "5 not counted"),
    ]
    assert (rows[0]["Comment"], rows[0]["Time (s)"]) == ("flag Which bridge?", "42")
    (score,) = page.rows("Aggregated scores of this candidate")
    assert (score["Judgments"], score["Mean"], score["Std. dev."]) == ("1", "1.00", "one")


def test_of_two_judgments_under_two_versions_an_item_counts_the_newer(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    old = Judgment.objects.filter(candidate=rated[0]).earliest("pk")
    spec = describe_criterion(Criterion.objects.get())
    newer = create_rubric(project, name="newer", preset="custom", criteria=[spec])
    judge(project, {rated[0]: {old.annotator: 4}}, rubric=newer)
    page = screen(client_of, researcher, f"{SCORES}items/{rated[0].pk}/")
    assert len(page.rows("Ratings of this candidate")) == 4
    (score,) = page.rows("Aggregated scores of this candidate")
    assert (score["Judgments"], score["Mean"]) == ("3", f"{(4 + 2 + 5) / 3:.2f}")
    (on_list,) = screen(client_of, researcher, SCORES, text=rated[0].external_id).rows("Candidates with their scores")
    assert on_list["Mean"] == score["Mean"], "both pages go by one rule"


def test_an_item_rated_on_two_scales_has_a_score_on_each(
    project: Project, rated: list[Candidate], manager: Membership, client_of: SignIn
) -> None:
    people = Membership.objects.filter(judgments__isnull=False).distinct().order_by("pk")
    adjudication.adjudicate(
        project=project, actor=manager, candidate=rated[0], criterion=criteria_in_use(project)[0], value=1
    )
    judge_on_slider(project, {rated[0]: {person: 60.0 + 10 * n for n, person in enumerate(people)}})
    page = screen(client_of, manager, f"{SCORES}items/{rated[0].pk}/")
    assert len(page.rows("Ratings of this candidate")) == 6
    scores = page.rows("Aggregated scores of this candidate")
    assert [(each["Scale"], each["Judgments"], each["Mean"], each["Adjudicated score"][:4]) for each in scores] == [
        ("points 1 to 5", "3", "2.67", "1 by"),
        ("slider 0 to 100", "3", "70.00", "no"),
    ]


def test_lists_of_disagreements_refuse_a_criterion_on_several_scales(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    people = Membership.objects.filter(judgments__isnull=False).distinct()
    judge_on_slider(project, {rated[0]: {person: 60.0 + 10 * n for n, person in enumerate(people)}})
    client, address = client_of(researcher), f"{SCORES}disagreements/"
    for by in ("items", "passages", "pairs"):
        page = client.get(address, {"by": by})
        assert "was asked on several scales" in page.content.decode()
        assert client.get(f"{address}tables/{by}.csv", {"by": by}).status_code == 404
        one_batch = client.get(address, {"by": by, "batch": 2})
        assert "was asked on several scales" not in one_batch.content.decode()
        assert client.get(f"{address}tables/{by}.csv", {"by": by, "batch": 2}).status_code == 200


def test_candidates_that_one_annotator_rated_have_no_disagreement(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    alone = make_membership(project)
    candidates = make_candidates(make_question(make_passage(make_dataset(project, "d"))), 2)
    judge(project, {each: {alone: 3.0} for each in candidates})
    client = client_of(researcher)
    for by, says in (
        ("items", "No candidate has ratings that differ."),
        ("passages", "No candidate has two ratings yet."),
    ):
        assert says in client.get(f"{SCORES}disagreements/", {"by": by}).content.decode()
