import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from annotate.attempts import admission as qualification_admission
from annotate.attempts import attempts
from annotate.models import Attempt, Grant, QualificationItem, QualificationTest
from annotate.qualification import design, items_from_file
from annotate.qualification.item_statistics import compute_item_figures
from measures.outcome import Undefined
from projects.language.amounts import format_score
from projects.models import Candidate, Membership, Project
from tests import factories
from tests.annotate.qualification.factories import answer, first_item, make_test, take
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.results.judged_batches import judge

pytestmark = pytest.mark.django_db
TEST = "/p/bridges/qualification/test/"
ITEM: dict[str, Any] = {
    "purpose": "test",
    "passage_title": "A door",
    "passage_text": "The snail builds a door.",
    "question": "What is it for?",
    "references": "Frost\nMice",
    "answer": "Against frost.",
    "expected_correctness": "4-5",
    "tolerance": "0",
    "explanation": "Both are fine.",
}


@pytest.fixture
def client(manager: Membership, client_of: SignIn) -> Client:
    return client_of(manager)


def read_text(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return condense(response.content.decode())


def post(client: Client, address: str, status: int = 302, **data: Any) -> str:
    response = client.post(address, data)
    assert response.status_code == status, response.content.decode()[:3000]
    return condense(response.content.decode())


def test_correct_ratings_stand_in_the_order_of_the_rubric_with_its_names(project: Project, client: Client) -> None:
    test = make_test(project, n_items=1, is_open=False)
    fluency = {"name": "Fluency", "statement": "It reads well.", "kind": "ordinal", "low": 1, "high": 5}
    test.rubric.criteria.create(key="fluent", position=1, level="ordinal", **fluency)
    test.items.update(expected={"fluent": [4, 5], "correctness": [1, 1]})
    (row,) = read(client.get(TEST).content.decode()).rows("Items")
    assert row["Correct rating"] == "Correctness: 1 Fluency: 4 to 5"


def test_a_test_is_made_typed_in_and_opened(project: Project, client: Client) -> None:
    assert "No test yet" in read_text(client, TEST)
    post(client, f"{TEST}make/")
    page = read_text(client, TEST)
    assert "The test has no items yet" in page
    post(client, f"{TEST}items/new/", **ITEM)
    item = QualificationItem.objects.get()
    assert item.expected == {"correctness": [4.0, 5.0]}
    assert item.references == [{"text": "Frost", "opinion": ""}, {"text": "Mice", "opinion": ""}]
    assert item.passage_text == "The snail builds a door."
    post(client, f"{TEST}state/", act="open")
    assert QualificationTest.objects.get().state == "open"
    assert "Close test" in read_text(client, TEST)
    post(client, f"{TEST}state/", act="close")
    assert QualificationTest.objects.get().state == "closed"


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"expected_correctness": "9"}, "9 is outside the scale"),
        ({"expected_correctness": "high"}, "Write one number"),
        ({"expected_correctness": "5-4"}, "Put the smaller number first"),
        ({"question": ""}, "This field is required"),
        ({"tolerance": "-1"}, "greater than or equal to 0"),
    ],
)
def test_a_wrong_item_comes_back_with_what_was_typed(
    project: Project, client: Client, over: dict[str, str], words: str
) -> None:
    post(client, f"{TEST}make/")
    page = post(client, f"{TEST}items/new/", 422, **{**ITEM, **over})
    assert words in page
    assert "Against frost." in page
    assert not QualificationItem.objects.exists()


def test_the_preview_is_the_item_as_annotators_see_it(project: Project, annotator: Membership, client: Client) -> None:
    post(client, f"{TEST}make/")
    page = post(client, f"{TEST}items/new/", 200, **{**ITEM, "preview": "1"})
    shown = page.partition("data-item-preview")[2]
    assert not QualificationItem.objects.exists()
    assert "errorlist" not in page
    for words in ("The snail builds a door.", "What is it for?", "Frost", "Mice", "Against frost.", 'type="radio"'):
        assert words in shown
    assert "Both are fine." not in shown
    fragment = client.post(f"{TEST}items/new/", {**ITEM, "preview": "1"}, headers={"HX-Request": "true"})
    assert "<form" not in fragment.content.decode()
    post(client, f"{TEST}items/new/", **ITEM)
    design.open_test(test=QualificationTest.objects.get(), actor=None)
    attempts.begin(annotator=annotator)
    item = first_item(QualificationTest.objects.get())
    whole = read_text(client, f"{TEST}items/{item.pk}/preview/")
    assert "Preview: nothing is saved" in whole
    assert inside(whole) == inside(page)


def inside(page: str) -> str:
    """The question with its items."""
    found = re.search(r'<section class="question".*?</section>', page, re.DOTALL)
    assert found
    return found[0]


def test_an_item_is_edited_and_retired(project: Project, client: Client) -> None:
    test = make_test(project, is_open=False)
    item = first_item(test)
    page = read_text(client, f"{TEST}items/{item.pk}/")
    assert item.answer in page
    assert 'value="4"' in page
    post(client, f"{TEST}items/{item.pk}/", **{**ITEM, "expected_correctness": "2"})
    item.refresh_from_db()
    assert (item.answer, item.expected) == ("Against frost.", {"correctness": [2.0, 2.0]})
    post(client, f"{TEST}items/{item.pk}/retire/")
    item.refresh_from_db()
    assert item.retired_at is not None
    assert "1 retired item" in read_text(client, TEST)


def test_editing_other_parts_keeps_the_references_as_they_are(project: Project, client: Client) -> None:
    test = make_test(project, is_open=False)
    item = first_item(test)
    item.references = [{"text": "Two\nlines", "opinion": "Yes"}]
    item.save()
    found = re.search(
        r'name="references".*?>\s*(.*?)</textarea>', read_text(client, f"{TEST}items/{item.pk}/"), re.DOTALL
    )
    assert found
    post(client, f"{TEST}items/{item.pk}/", **{**ITEM, "references": found[1]})
    item.refresh_from_db()
    assert item.references == [{"text": "Two\nlines", "opinion": "Yes"}]


def test_settings_are_changed_and_checked(project: Project, client: Client) -> None:
    make_test(project)
    given: dict[str, Any] = {"n_items": 3, "pass_percent": "66.67", "max_attempts": 4, "wait_hours": 1, "seed": 5}
    given |= {"time_limit_minutes": "", "feedback": "full", "valid_days": 30, "cents": 0}
    page = read_text(client, f"{TEST}settings/")
    assert 'value="80"' in page
    post(client, f"{TEST}settings/", **given)
    test = QualificationTest.objects.get()
    assert (test.n_items, test.max_attempts, test.feedback, test.valid_days) == (3, 4, "full", 30)
    assert test.pass_share == pytest.approx(0.6667)
    assert test.time_limit_minutes is None
    page = post(client, f"{TEST}settings/", 422, **{**given, "n_items": "9"})
    assert "the open test has 4" in page
    assert "less than or equal to 100" in post(client, f"{TEST}settings/", 422, **{**given, "pass_percent": "101"})


@pytest.mark.parametrize("is_paid", [True, False])
def test_money_is_asked_for_only_where_something_is_paid(project: Project, client: Client, is_paid: bool) -> None:
    Project.objects.update(cents_per_hit=40 if is_paid else 0, cents_per_item=0)
    make_test(project)
    assert ("US cents" in read_text(client, f"{TEST}settings/")) is is_paid
    assert "$" not in read_text(client, TEST)


def test_items_come_from_a_file_or_not_at_all(project: Project, client: Client) -> None:
    post(client, f"{TEST}make/")
    page = read_text(client, f"{TEST}items/file/")
    assert "<code>expected</code>" in page
    bad = SimpleUploadedFile("items.csv", b"question,answer,expected\nWho?,Ann,4\nWho?,Bob,9\n")
    page = post(client, f"{TEST}items/file/", 422, file=bad)
    assert "<strong>One error</strong> in <bdi>items.csv</bdi>" in page
    assert "9 is outside the scale" in page
    assert not QualificationItem.objects.exists()
    good = SimpleUploadedFile("items.csv", b"question,answer,expected\nWho?,Ann,4\nWho?,Bob,1\n")
    post(client, f"{TEST}items/file/", file=good)
    assert QualificationItem.objects.count() == 2


def test_after_an_error_the_file_of_items_is_kept_and_its_wrong_rows_can_be_skipped(
    project: Project, client: Client, owner: Membership, client_of: SignIn
) -> None:
    post(client, f"{TEST}make/")
    address = f"{TEST}items/file/"
    content = (
        "sep=;\r\nquestion;answer;expected;tolerance;\r\nWer?;Für Özil;4;0,5;\r\nWer?;Größe;9;;\r\nWer?;Größe;1;;\r\n"
    )
    page = post(client, address, 422, file=SimpleUploadedFile("Prüfung.csv", content.encode("windows-1252")))
    assert "If empty, <bdi>Prüfung.csv</bdi> is read again." in page
    assert "9 is outside the scale" in page
    token = re.search('name="kept" value="([^"]+)"', page)
    assert token is not None
    kept = {"kept": token[1]}
    assert "choose comma as the decimal mark" in post(client, address, 422, decimal="point", **kept)
    assert "no column “question”" in post(client, address, 422, delimiter="bar", **kept)
    assert "This field is required" in post(client_of(owner), address, 422, **kept), "A token is its owner's alone."
    assert "This field is required" in post(client, address, 422, kept="x" + token[1])
    assert not QualificationItem.objects.exists()
    response = client.post(address, {"skip_wrong_rows": "on", **kept})
    assert [(item.answer, item.tolerance) for item in QualificationItem.objects.order_by("pk")] == [
        ("Für Özil", 0.5),
        ("Größe", 0.0),
    ]
    page = read_text(client, response.headers["Location"])
    link = re.search('href="([^"]+/skipped/[^"]+)"', page)
    assert link is not None
    listed = client.get(link[1].replace("&amp;", "&"))
    assert b"".join(listed.streaming_content).decode().splitlines()[1:] == [  # type: ignore[attr-defined]
        "4,expected: 9 is outside the scale. Use a number from 1 to 5.,Wer?,Größe,9,"
    ]
    assert client_of(owner).get(link[1]).status_code == 404


def test_the_columns_of_a_file_of_items_are_mapped_as_in_imports(project: Project, client: Client) -> None:
    post(client, f"{TEST}make/")
    address = f"{TEST}items/file/"
    content = "Frage;Antwort;answer_2;Punkte\nWer?;<b>Ann</b>;Bob;4\nWo?;Hier;Dort;2\n"
    page = post(client, address, 422, file=SimpleUploadedFile("Fragen.csv", content.encode()))
    assert "no column “question” (found: Frage, Antwort, answer_2, Punkte); map one to it" in page
    assert "&lt;b&gt;Ann&lt;/b&gt;" in page
    assert "auto-detect (semicolons)" in page
    assert '<option value="reference_9">Reference 9</option>' in page
    found = {name: re.search(f'name="{name}" value="([^"]+)"', page) for name in ("kept", "columns")}
    sent: dict[str, Any] = {name: match[1] for name, match in found.items() if match is not None}
    chosen: dict[str, Any] = {
        "column_0": "question",
        "column_1": "answer",
        "column_2": "ignore",
        "column_3": "expected",
    }
    wrong = post(client, address, 422, **sent, **{**chosen, "column_2": "answer"})
    assert "is already mapped to this field" in wrong
    assert "no column “question”" in post(client, address, 422, **{**sent, "columns": "others"}, **chosen)
    shown = post(client, address, 200, **sent, **chosen, then="look")
    assert '<option value="answer" selected>' in shown
    assert not QualificationItem.objects.exists()
    post(client, address, **sent, **chosen)
    items = QualificationItem.objects.order_by("pk")
    assert [(item.question, item.answer, item.references) for item in items] == [
        ("Wer?", "<b>Ann</b>", []),
        ("Wo?", "Hier", []),
    ]
    # A first look adds nothing either, and an answer beside the one to rate is no reference unless one says so.
    content = "question,answer,answer_2,expected\nWho?,Ann,Bob,4\n"
    looked = post(client, address, 200, file=SimpleUploadedFile("a.csv", content.encode()), then="look")
    assert QualificationItem.objects.count() == 2
    assert looked.count('<option value="ignore" selected>') == 1


def test_the_example_of_a_range_is_on_the_scale_of_its_criterion(project: Project, client: Client) -> None:
    test = make_test(project, n_items=1, is_open=False)
    error = {"name": "Kind of error", "kind": "ordinal", "low": 0, "high": 3, "used_for_quality": True}
    fluency = {"name": "Fluency", "kind": "continuous", "low": 0, "high": 100, "used_for_quality": True}
    test.rubric.criteria.create(key="error", position=1, level="nominal", **error)
    tone = {"name": "Tone", "kind": "ordinal", "low": -2, "high": 0, "used_for_quality": True}
    test.rubric.criteria.create(key="fluent", position=2, level="interval", **fluency)
    test.rubric.criteria.create(key="tone", position=3, level="ordinal", **tone)
    page = read_text(client, f"{TEST}items/file/")
    assert "for <bdi>Correctness</bdi>, from 1 to 5: a number, or a range such as 4-5; required" in page
    assert "for <bdi>Kind of error</bdi>, from 0 to 3: a number, or a range such as 2-3; required" in page
    assert "for <bdi>Fluency</bdi>, from 0 to 100: a number, or a range such as 75-100; required" in page
    assert "for <bdi>Tone</bdi>, from -2 to 0: a number, or a range such as -1 to 0; required" in page
    assert "From 0 to 3: a number, or a range such as 2-3." in read_text(client, f"{TEST}items/new/")


def test_one_file_of_items_is_kept_per_manager_and_none_that_is_too_large(
    project: Project,
    client: Client,
    owner: Membership,
    client_of: SignIn,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MEDIA_ROOT, kept_files = tmp_path, tmp_path / "kept"
    post(client, f"{TEST}make/")
    address = f"{TEST}items/file/"

    def send(expected: int, status: int = 422, sender: Client = client, **more: Any) -> str:
        content = f"question,answer,expected\nWho?,Bob,{expected}\nWho?,Ann{expected},4\n".encode()
        return post(sender, address, status, file=SimpleUploadedFile("items.csv", content), **more)

    def read_kept() -> list[str]:
        return sorted(path.read_text().splitlines()[1] for path in kept_files.iterdir() if path.suffix != ".rows")

    token = re.search('name="kept" value="([^"]+)"', send(7))
    assert token is not None
    assert read_kept() == ["Who?,Bob,7"]
    send(8)
    assert read_kept() == ["Who?,Bob,8"], "The second takes the place of the first, also without its token."
    assert "This field is required" in post(client, address, 422, kept=token[1])
    send(9, sender=client_of(owner))
    assert read_kept() == ["Who?,Bob,8", "Who?,Bob,9"], "Another manager's stays."
    send(6, 302, skip_wrong_rows="on")
    assert len(read_kept()) == 3, "The list of skipped rows can be downloaded."
    with monkeypatch.context() as patched:
        patched.setattr("annotate.qualification.forms.LIMITS", replace(items_from_file.LIMITS, file_bytes=20))
        assert "The file is larger than" in send(5)
    assert len(read_kept()) == 3, "A file that is too large is not kept, and takes nobody's place."
    real = items_from_file.import_items

    def read_after_another_upload(*, path: Path, **given: Any) -> Any:
        path.unlink()
        return real(path=path, **given)

    with monkeypatch.context() as patched:
        patched.setattr(items_from_file, "import_items", read_after_another_upload)
        assert "Another file was uploaded in its place" in send(4)
    send(3, 302)
    assert read_kept() == ["Who?,Bob,9"], "After a success only the other manager's is left."
    assert len(list(kept_files.iterdir())) == 2, "Its rows are kept beside it."


def test_items_come_from_candidates_with_known_scores(project: Project, client: Client) -> None:
    post(client, f"{TEST}make/")
    assert "No rated candidates" in read_text(client, f"{TEST}items/candidates/")
    factories.make_corpus(project, n_candidates=3)
    known, other, _ = Candidate.objects.order_by("pk")
    raters = [factories.make_membership(project) for _ in range(8)]
    ratings = {known: [4.0, 5.0], other: [2.0] * 7 + [3.0]}
    judge(project, {each: dict(zip(raters, values, strict=False)) for each, values in ratings.items()})
    page = read_text(client, f"{TEST}items/candidates/?sort=mean")
    assert "4.50" in page
    assert format_score(17 / 8, 2) in page, "a tie is rounded as in tables of results"
    assert page.count('name="candidate"') == 2
    given: dict[str, Any] = {"purpose": "practice", "tolerance": "0.5"}
    for wrong in ([], ["9" * 5_000], ["9" * 19, "x"]):
        assert "No item is selected" in post(client, f"{TEST}items/candidates/", 422, candidate=wrong, **given)
    post(client, f"{TEST}items/candidates/", candidate=[known.pk], **given)
    item = QualificationItem.objects.get()
    assert (item.candidate, item.purpose, item.tolerance) == (known, "practice", 0.5)
    assert item.expected == {"correctness": [4.0, 5.0]}
    assert read_text(client, f"{TEST}items/candidates/").count('name="candidate"') == 1


def test_the_figures_of_the_items(project: Project, client: Client) -> None:
    test = make_test(project, n_items=3, n_passages=1, max_attempts=1)
    people = [factories.make_membership(project) for _ in range(4)]
    for n_right, person in zip((3, 2, 1, 0), people, strict=True):
        take(person, n_right=n_right)
    figures = compute_item_figures(test, list(test.items.all()))
    assert {each.n for each in figures.values()} == {4}
    assert sum(each.n_right for each in figures.values()) == 6
    for each in figures.values():
        (spread,) = each.spreads
        assert [bar.n for bar in spread.bars] == [4 - each.n_right, 0, 0, each.n_right, 0]
        assert [bar.is_right for bar in spread.bars] == [False, False, False, True, False]
    page = read_text(client, TEST)
    assert "Attempts graded" in page
    assert "1 passed" in page
    assert page.count("1: ") >= 3


def test_where_a_figure_is_undefined_the_page_says_why(project: Project, annotator: Membership, client: Client) -> None:
    test = make_test(project)
    assert "undefined" not in read_text(client, TEST), "nobody has rated an item yet"
    take(annotator)
    assert read_text(client, TEST).count("undefined: fewer than three ratings") == 4
    figures = compute_item_figures(test, list(test.items.all()))
    assert {each.discrimination for each in figures.values()} == {Undefined(reason="fewer than three ratings")}


def test_practice_and_earlier_rubrics_are_in_no_figure(project: Project, annotator: Membership) -> None:
    test = make_test(project, n_practice=2)
    practice = attempts.begin(annotator=annotator, purpose="practice")
    answer(annotator, practice)
    attempts.submit_attempt(annotator=annotator, attempt_uuid=practice.uuid)
    take(annotator)
    factories.make_rubric(project)
    assert sum(each.n for each in compute_item_figures(test, list(test.items.all())).values()) == 4
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    test.refresh_from_db()
    assert sum(each.n for each in compute_item_figures(test, list(test.items.all())).values()) == 0


def test_a_new_rubric_is_offered(project: Project, client: Client) -> None:
    make_test(project)
    assert "newer version" not in read_text(client, TEST)
    factories.make_rubric(project)
    assert "The rubric has a newer version, 2." in read_text(client, TEST)
    post(client, f"{TEST}rubric/")
    assert QualificationTest.objects.get().rubric.version == 1
    post(client, f"{TEST}rubric/", on_new_rubric="keep")
    test = QualificationTest.objects.get()
    assert (test.rubric.version, test.on_new_rubric) == (2, "keep")


def test_the_attempts_and_what_was_answered(project: Project, annotator: Membership, client: Client) -> None:
    make_test(project)
    assert "No attempts yet" in read_text(client, f"{TEST}attempts/")
    attempt = take(annotator, n_right=3)
    attempts.begin(annotator=annotator)
    page = read_text(client, f"{TEST}attempts/")
    assert annotator.pseudonym in page
    assert "3 of 4" in page
    assert "3 of 4" not in read_text(client, f"{TEST}attempts/?state=open")
    page = read_text(client, f"{TEST}attempts/{attempt.uuid}/")
    assert page.count("incorrect") == 1
    open_one = Attempt.objects.get(state="open")
    assert "still open" in read_text(client, f"{TEST}attempts/{open_one.uuid}/")


def test_a_manager_grants_and_revokes_with_a_reason(project: Project, annotator: Membership, client: Client) -> None:
    make_test(project)
    address = f"{TEST}people/{annotator.pseudonym}/"
    assert "not qualified" in read_text(client, address)
    assert address in read_text(client, f"/p/bridges/people/{annotator.pseudonym}/")
    assert "This field is required" in post(client, address, 422, kind="granted", why=" ")
    post(client, address, kind="granted", why="An expert")
    admission = qualification_admission.find_admission(annotator)
    assert admission is not None
    assert admission.is_qualified
    assert "An expert" in read_text(client, address)
    post(client, address, kind="revoked", why="No more")
    assert list(Grant.objects.order_by("pk").values_list("kind", flat=True)) == ["granted", "revoked"]
    assert "revoked" in read_text(client, address)


@pytest.mark.parametrize("role", ["researcher", "annotator"])
def test_others_change_nothing(project: Project, role: str, client_of: SignIn) -> None:
    test = make_test(project, is_open=False)
    client = client_of(factories.make_membership(project, role=role))
    can_read = role == "researcher"
    page = client.get(TEST)
    assert page.status_code == (200 if can_read else 403)
    if can_read:
        assert "Edit" not in page.content.decode()
        assert client.get(f"{TEST}attempts/").status_code == 200
    for path in ("settings/", "state/", "rubric/", "items/new/", "items/file/", f"items/{first_item(test).pk}/retire/"):
        assert client.post(f"{TEST}{path}", {"act": "open"}).status_code == 403, path
    test.refresh_from_db()
    assert test.state == "draft"
