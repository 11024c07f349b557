"""The results of one batch: agreement, spread, and the items that annotators differ on most."""

import pytest
from django.urls import reverse

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.models import Batch, Judgment, Remark
from projects.models import Candidate, Membership, Project
from results.disagreements.spread import QUARTERS, measure_spread
from tests.factories import make_corpus, make_membership
from tests.page_reader import read
from tests.people import SignIn
from tests.results.judged_batches import Ratings, judge

pytestmark = pytest.mark.django_db


@pytest.fixture
def trial(project: Project) -> Batch:
    """Four items by three annotators: equal, one apart, the whole scale apart, and rated only once."""
    make_corpus(project, name="one", n_candidates=4)
    people = [make_membership(project) for _ in range(3)]
    values = ((3, 3, 3), (3, 4, 3), (1, 5, 1), (2, None, None))
    candidates = Candidate.objects.in_project(project).order_by("pk")
    ratings: Ratings = {
        candidate: dict(zip(people, given, strict=True)) for candidate, given in zip(candidates, values, strict=True)
    }
    return judge(project, ratings, kind="trial")


def test_items_are_counted_by_how_far_their_ratings_lie_apart(project: Project, trial: Batch) -> None:
    spread = measure_spread(Scope(project=project, criterion=criteria_in_use(project, trial)[0], batch=trial))
    assert spread.n_items == 3
    assert spread.by_quarter == [
        (QUARTERS[0], 1),
        (QUARTERS[1], 1),
        (QUARTERS[2], 0),
        (QUARTERS[3], 0),
        (QUARTERS[4], 1),
    ]
    assert spread.mean_sd == pytest.approx((0 + 0.57735 + 2.3094) / 3, abs=1e-4)
    assert [(item.gap, [rating.value for rating in item.ratings]) for item in spread.worst] == [
        (4, [1, 1, 5]),
        (1, [3, 3, 4]),
    ]


def test_what_does_not_count_is_shown_and_enters_no_figure(project: Project, trial: Batch) -> None:
    Judgment.objects.filter(value=5).update(is_counted=False, not_counted_reason="set aside")
    spread = measure_spread(Scope(project=project, criterion=criteria_in_use(project, trial)[0], batch=trial))
    assert [item.gap for item in spread.worst] == [1]
    assert spread.by_quarter[0] == (QUARTERS[0], 2)


def test_the_page_shows_alpha_the_worst_items_and_comments_on_them(
    trial: Batch, project: Project, researcher: Membership, client_of: SignIn
) -> None:
    worst = Judgment.objects.get(value=5)
    Remark.objects.create(assignment=worst.assignment, item=worst.item, comment="Is a half right?", is_flagged=True)
    address = reverse("results:batch-results", args=[project.slug, trial.number])
    response = client_of(researcher).get(address)
    page = response.content.decode()
    assert "Is a half right?" in page
    assert worst.annotator.pseudonym in page
    screen = read(page)
    assert [row["Candidates"] for row in screen.rows("Alpha by criterion")] == ["3"]
    assert [row["Dataset"] for row in screen.rows("Alpha by dataset")] == ["one"]
    assert screen.number("Comments & flags") == 1
    again = client_of(researcher).get(address, {"criterion": "nonsense"})
    assert again.status_code == 200


def test_a_batch_without_judgments_says_so(project: Project, researcher: Membership, client_of: SignIn) -> None:
    make_corpus(project)
    batch = judge(project, {}, kind="trial")
    page = client_of(researcher).get(reverse("results:batch-results", args=[project.slug, batch.number]))
    assert "No candidate has two ratings yet." in page.content.decode()
    assert "undefined" in page.content.decode()


def test_annotators_are_refused(trial: Batch, project: Project, annotator: Membership, client_of: SignIn) -> None:
    address = reverse("results:batch-results", args=[project.slug, trial.number])
    assert client_of(annotator).get(address).status_code == 403
