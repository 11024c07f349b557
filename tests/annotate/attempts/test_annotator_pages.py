import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotate.attempts import attempts
from annotate.attempts.item_pages import list_pages
from annotate.models import Attempt
from annotate.qualification import design, granting
from projects.models import Membership, Project
from tests import factories
from tests.annotate.open_batches import open_batch
from tests.annotate.qualification.factories import SECRET, answer, first_item, make_test, take
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
START = "/p/bridges/qualification/"


@pytest.fixture
def client(annotator: Membership, client_of: SignIn) -> Client:
    return client_of(annotator)


def read_text(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address, follow=True)
    assert response.status_code == status
    return condense(response.content.decode())


def begin(client: Client, purpose: str = "test") -> str:
    response = client.post(f"{START}attempts/", {"purpose": purpose})
    assert response.status_code == 303
    return str(response.headers["Location"])


def form(page: int, n: int, value: int = 4, **over: Any) -> dict[str, Any]:
    return {"page": page, **{f"a{place}-correctness": value for place in range(n)}, **over}


def test_the_desk_says_why_and_where_to_go(project: Project, annotator: Membership, client: Client) -> None:
    open_batch(project)
    make_test(project)
    for address in ("/desk/", f"/p/{project.slug}/desk/"):
        page = read_text(client, address)
        assert "Pass the qualification test" in page
        assert START in page
        assert "Take the test" in page
        assert "Start rating" not in page
    take(annotator)
    page = read_text(client, "/desk/")
    assert "Start rating" in page
    assert "Pass the qualification test" not in page


def test_a_project_without_a_test_says_so(project: Project, client: Client) -> None:
    assert "No test to take" in read_text(client, START)
    make_test(project, is_open=False)
    assert "No test to take" in read_text(client, START)
    assert "ualification" not in read_text(client, "/desk/")


def test_the_start_says_what_to_expect(project: Project, client: Client) -> None:
    make_test(project, n_items=10, n_practice=3, time_limit_minutes=20, max_attempts=3, wait_hours=2, cents=150)
    page = read_text(client, START)
    for words in (
        "8 of 10 correct",
        "20 minutes",
        "2 hours between attempts",
        "you see your score",
        "$1.50 once",
        "Practise",
    ):
        assert words in page


def test_a_test_that_closes_lets_an_open_attempt_be_finished(
    project: Project, annotator: Membership, client: Client
) -> None:
    test = make_test(project)
    design.close_test(test=test, actor=None)
    assert "need it to start work" in read_text(client, START)
    design.open_test(test=test, actor=None)
    attempt = attempts.begin(annotator=annotator)
    design.close_test(test=test, actor=None)
    page = read_text(client, START)
    assert "need it to start work" in page
    assert f"/attempts/{attempt.uuid}/" in page


def test_a_test_that_pays_nothing_shows_no_money(project: Project, client: Client) -> None:
    make_test(project)
    assert "$" not in read_text(client, START)


def test_a_whole_attempt_without_javascript(project: Project, client: Client) -> None:
    make_test(project, n_items=5)
    address = begin(client)
    attempt = Attempt.objects.get()
    sizes = [len(sheet.items) for sheet in list_pages(attempt)]
    page = read_text(client, address)
    assert "Text 1 of 2" in page
    assert page.count('class="item"') == sizes[0]
    response = client.post(address, form(1, sizes[0]))
    assert response.headers["Location"].endswith("?page=2")
    assert "Text 2 of 2" in read_text(client, response.headers["Location"])
    response = client.post(address, form(2, sizes[1]))
    assert response.status_code == 303
    page = read_text(client, response.headers["Location"])
    assert "You passed" in page
    assert "5 of 5 correct" in page
    again = client.post(address, form(2, sizes[1]))
    assert again.headers["Location"] == response.headers["Location"]
    attempt.refresh_from_db()
    assert attempt.n_right == 5


def test_what_was_answered_is_there_after_a_reload(project: Project, client: Client) -> None:
    make_test(project)
    address = begin(client)
    client.post(address, form(1, 2, comment0="Hm.", flag1="on"))
    page = read_text(client, f"{address}?page=1")
    assert page.count(" checked") == 3
    assert "Hm." in page
    assert "Text 2 of 2" in read_text(client, address), "it goes on where answers are missing"


def test_the_draft_of_a_page_is_saved_by_itself(project: Project, client: Client) -> None:
    make_test(project)
    address = begin(client)
    sent = json.dumps({"answers": {"1": {"correctness": [2, 1000]}}})
    response = client.post(f"{address}pages/2/", sent, content_type="application/json")
    assert response.json()["answers"] == {"1": {"correctness": [2, 1000.0]}}
    assert 'value="2" checked' in read_text(client, f"{address}?page=2")
    for body, status in (("x", 400), ("[]", 400), ('{"answers": {"7": {}}}', 400)):
        assert client.post(f"{address}pages/2/", body, content_type="application/json").status_code == status
    assert client.post(f"{address}pages/3/", "{}", content_type="application/json").status_code == 404


def test_missing_answers_are_shown_on_their_page(project: Project, client: Client) -> None:
    make_test(project)
    address = begin(client)
    client.post(address, form(1, 1))
    response = client.post(address, form(2, 2))
    assert response.status_code == 422
    page = response.content.decode()
    assert "Text 1 of 2" in page
    assert page.count(">Not rated yet.<") == 1
    wrong = client.post(address, form(1, 2, value=9))
    assert wrong.status_code == 422
    assert "9 is outside the scale" in wrong.content.decode()


def test_somebody_elses_attempt_is_not_there(
    project: Project, client: Client, other_annotator: Membership, client_of: SignIn
) -> None:
    make_test(project)
    address = begin(client)
    other = client_of(other_annotator)
    assert other.get(address).status_code == 404
    assert other.get(f"{address}result/").status_code == 404
    assert other.post(address, form(1, 2)).status_code == 404
    assert other.post(f"{address}pages/1/", "{}", content_type="application/json").status_code == 404
    assert Attempt.objects.get().draft == {}


def test_after_the_time_the_attempt_says_so(project: Project, client: Client) -> None:
    make_test(project, time_limit_minutes=10)
    address = begin(client)
    client.post(address, form(1, 2))
    Attempt.objects.update(due_at=timezone.now() - timedelta(minutes=5))
    assert client.get(address).status_code == 302
    page = read_text(client, f"{address}result/")
    assert "Time ran out" in page
    assert "1 attempt left" in page
    response = client.post(address, form(2, 2))
    assert response.headers["Location"] == f"{address}result/"
    attempt = Attempt.objects.get()
    assert attempt.state == "expired"
    assert sorted(attempt.draft) == ["1", "2"]
    late = client.post(f"{address}pages/1/", "{}", content_type="application/json")
    assert (late.status_code, late.json()["message"]) == (409, "This attempt has ended.")


@pytest.mark.parametrize(
    ("is_late", "heading", "state"), [(False, "The test has changed", "ended"), (True, "Time ran out", "expired")]
)
def test_a_new_rubric_in_the_middle_of_an_attempt_says_so(
    project: Project, client: Client, is_late: bool, heading: str, state: str
) -> None:
    test = make_test(project, time_limit_minutes=10)
    address = begin(client)
    client.post(address, form(1, 2))
    if is_late:
        Attempt.objects.update(due_at=timezone.now() - timedelta(minutes=5))
    factories.make_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    page = read_text(client, f"{address}result/")
    assert heading in page
    assert ("count as an attempt" in page) is not is_late
    assert f">{state}</span>" in read_text(client, START)


@pytest.mark.parametrize("standing", ["suspended", "removed"])
def test_who_may_not_go_on_keeps_what_they_sent(
    project: Project, annotator: Membership, client: Client, standing: str
) -> None:
    make_test(project)
    address = begin(client)
    Membership.objects.filter(pk=annotator.pk).update(standing=standing)
    response = client.post(address, form(1, 2, comment0="My words"))
    assert response.status_code == 403
    assert "as a draft" in response.content.decode()
    assert "My words" in response.content.decode()
    draft = client.post(f"{address}pages/2/", '{"comments": {"0": ["And these", 5]}}', content_type="application/json")
    assert draft.status_code == 200
    kept = Attempt.objects.get().draft
    assert kept["1"]["comments"]["0"][0] == "My words"
    assert kept["2"]["comments"]["0"][0] == "And these"
    assert client.get(address).status_code == 403


def test_a_stale_token_loses_nothing(project: Project, annotator: Membership) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)
    assert annotator.user
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(annotator.user, backend="django.contrib.auth.backends.ModelBackend")
    address = f"{START}attempts/{attempt.uuid}/"
    response = strict.post(address, form(2, 2, value=3, comment0="Kept"))
    assert response.status_code == 403
    page = response.content.decode()
    assert "Text 2 of 2" in page
    assert page.count('value="3" checked') == 2
    assert "Kept" in page


@pytest.mark.parametrize(
    ("feedback", "score", "items"), [("none", False, False), ("score", True, False), ("full", True, True)]
)
def test_feedback_tells_what_the_test_says(
    project: Project, annotator: Membership, client: Client, feedback: str, score: bool, items: bool
) -> None:
    make_test(project, feedback=feedback)
    attempt = take(annotator, n_right=3)
    page = read_text(client, f"{START}attempts/{attempt.uuid}/result/")
    start = read_text(client, START)
    assert "You didn't pass this time" in page
    assert ("3 of 4 correct" in page) is score
    assert ("3 of 4" in start.partition("Your attempts")[2]) is score
    assert (SECRET in page) is items
    assert ("Expected" in page and "give or take" not in page and "<b>4</b>" in page) is items


def test_the_last_attempt_is_not_one_of_this_time(project: Project, annotator: Membership, client: Client) -> None:
    make_test(project, max_attempts=1)
    attempt = take(annotator, n_right=0)
    page = read_text(client, f"{START}attempts/{attempt.uuid}/result/")
    assert "You didn't pass" in page
    assert "this time" not in page


def test_practice_shows_every_answer_afterwards(project: Project, annotator: Membership, client: Client) -> None:
    make_test(project, n_practice=2, feedback="none")
    address = begin(client, "practice")
    page = read_text(client, address)
    assert "Practice" in page
    assert "doesn't count" in page
    attempt = Attempt.objects.get()
    answer(annotator, attempt, n_right=1)
    attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    page = read_text(client, f"{address}result/")
    assert "1 of 2 correct. Practice doesn't count." in page
    assert page.count(SECRET) == 2
    assert "Start the test" in page


def test_who_was_revoked_reads_the_reason(
    project: Project, annotator: Membership, manager: Membership, client: Client
) -> None:
    make_test(project)
    granting.revoke(annotator=annotator, actor=manager, why="Answers were shared")
    page = read_text(client, START)
    assert "ended your qualification" in page
    assert "Answers were shared" in page
    assert "Start the test" not in page
    refused = client.post(f"{START}attempts/", {"purpose": "test"}, follow=True)
    assert "ended your qualification" in refused.content.decode()


def test_no_correct_answer_is_shown_before_the_feedback(
    project: Project, annotator: Membership, client: Client
) -> None:
    """E5: every page, draft and header that an annotator sees during an attempt is read for what it must not hold."""
    test = make_test(project, n_items=4, n_practice=2, feedback="none")
    expected = 3.25
    item = first_item(test)
    seen: list[str] = []
    for purpose in ("practice", "test"):
        address = begin(client, purpose)
        test.items.update(expected={"correctness": [expected, expected]}, tolerance=0.0625)
        n_pages = len(list_pages(Attempt.objects.get(state="open")))
        addresses = [START, address, *(f"{address}?page={page}" for page in range(1, n_pages + 1))]
        for each in ["/desk/", "/p/bridges/desk/", "/p/bridges/history/", *addresses]:
            response = client.get(each, follow=True)
            seen.append(response.content.decode() + str(response.headers) + str(response.cookies))
        draft = client.post(
            f"{address}pages/1/", '{"answers": {"0": {"correctness": [1, 5]}}}', content_type="application/json"
        )
        seen.append(draft.content.decode())
    attempt = take(annotator, n_right=0)
    seen += [read_text(client, f"{START}attempts/{attempt.uuid}/result/"), read_text(client, START)]
    whole = "\n".join(seen)
    assert item.question in whole
    for secret in (SECRET, "3.25", "0.0625", "explanation", "tolerance"):
        assert secret not in whole, secret
