import pytest
from django.test import Client

from annotate.models import Assignment, Judgment, QualityRules, Review, ReviewVerdict
from annotate.reviews import spot_checks
from projects.models import Membership, Project
from tests.annotate.open_batches import assert_equation, open_batch
from tests.annotate.quality.scripted_annotators import GOOD, work
from tests.annotate.submitted_work import make_reserved, send
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db

BASE = "/p/bridges/quality/"


@pytest.fixture
def office(client_of: SignIn, manager: Membership) -> Client:
    return client_of(manager)


@pytest.fixture
def review(project: Project, annotator: Membership) -> Review:
    open_batch(project, n_hits=2)
    work(annotator, GOOD)
    QualityRules.objects.create(project=project, spot_check_floor=1, seed=5)
    spot_checks.draw_spot_checks(project=project)
    return Review.objects.get()


def rated(review: Review, value: int = 2) -> dict[str, str]:
    return {f"a{place}-correctness": str(value) for place in range(len(review.assignment.layout))}


def test_a_review_is_blind_until_it_is_rated(office: Client, review: Review, annotator: Membership) -> None:
    Judgment.objects.update(value=4)
    url = f"{BASE}reviews/{review.pk}/"
    blind = office.get(url).content.decode()
    assert annotator.pseudonym not in blind
    assert "checked" not in blind
    assert annotator.pseudonym not in office.get(f"{BASE}reviews/").content.decode()
    incomplete = office.post(url, {"a0-correctness": "2"})
    assert incomplete.status_code == 422
    assert incomplete.content.decode().count("Not rated yet.") == 2
    office.post(url, rated(review))
    sides = condense(office.get(url).content.decode())
    assert sides.count("<td>2</td><td>4</td>") == 3
    verdicts = {"v0": "poor", "note0": "It says the opposite.", "v1": "fine", "v2": "fine"}
    missing = office.post(f"{url}verdicts/", {"v0": "poor"})
    assert missing.status_code == 422
    assert "Still open: items 2, 3" in missing.content.decode()
    assert office.post(f"{url}verdicts/", verdicts | {"next": "1"}).status_code == 302
    assert ReviewVerdict.objects.filter(is_poor=True).get().note == "It says the opposite."
    done = condense(office.get(url).content.decode())
    assert annotator.pseudonym in done
    assert "1 of 3 rejected" in done
    assert "1 of 3" in office.get(f"{BASE}reviews/?state=done").content.decode()
    assert_equation()


def test_the_own_work_is_refused(client_of: SignIn, project: Project, manager: Membership) -> None:
    Membership.objects.filter(pk=manager.pk).update(is_annotator=True)
    manager.refresh_from_db()
    open_batch(project, n_hits=1)
    work(manager, GOOD)
    QualityRules.objects.create(project=project, spot_check_floor=1, seed=5)
    spot_checks.draw_spot_checks(project=project)
    review = Review.objects.get()
    answer = client_of(manager).get(f"{BASE}reviews/{review.pk}/", follow=True).content.decode()
    assert "This is your own work" in answer
    client_of(manager).post(f"{BASE}reviews/{review.pk}/", rated(review))
    review.refresh_from_db()
    assert review.state == Review.State.WAITING


def test_the_queue_does_not_say_whose_work_waits(office: Client, review: Review, annotator: Membership) -> None:
    listed = f"{BASE}reviews/?q={annotator.pseudonym}&state="
    for state in ("", "waiting", "all"):
        assert f"reviews/{review.pk}/" not in office.get(listed + state).content.decode()
    office.post(f"{BASE}reviews/{review.pk}/", rated(review))
    assert f"reviews/{review.pk}/" not in office.get(listed + "all").content.decode()
    verdicts = {f"v{place}": "fine" for place in range(len(review.assignment.layout))}
    office.post(f"{BASE}reviews/{review.pk}/verdicts/", verdicts)
    assert f"reviews/{review.pk}/" in office.get(listed).content.decode()


def test_a_second_reviewer_is_turned_away(client_of: SignIn, office: Client, owner: Membership, review: Review) -> None:
    office.post(f"{BASE}reviews/{review.pk}/", rated(review))
    answer = client_of(owner).get(f"{BASE}reviews/{review.pk}/", follow=True).content.decode()
    assert "Another reviewer is doing this spot check" in answer


def test_a_check_of_a_hit_of_controls_has_no_number(
    project: Project, office: Client, annotator: Membership, manager: Membership
) -> None:
    """None is drawn any more, but earlier ones stay."""
    work_on_controls = make_reserved(open_batch(project), annotator)
    assert isinstance(work_on_controls, Assignment)
    review = Review.objects.create(assignment=send(work_on_controls))
    name = f"atch {work_on_controls.hit.batch.number}, gold HIT"
    url = f"{BASE}reviews/{review.pk}/"
    pages = [office.get(f"{BASE}reviews/"), office.get(url)]
    office.post(url, rated(review))
    office.post(f"{url}verdicts/", {"v0": "fine"})
    pages += [office.get(url), office.get(f"{BASE}{annotator.pseudonym}/")]
    for page in pages:
        shown = condense(page.content.decode())
        assert name in shown
        assert "HIT 0" not in shown
