"""What else a project shows beside the texts, alike on every page where an item is read; and the marked words."""

import re
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.attempts import attempts
from annotate.models import Batch, Hit, QualityRules, Review
from annotate.qualification import design, items
from annotate.rating.sent import SentAnswers
from annotate.reviews import spot_checks
from projects.models import Candidate, Dataset, Membership, Project, Question, Reference
from tests.annotate.open_batches import add_hit, open_batch
from tests.annotate.qualification.factories import answer, spec
from tests.annotate.reviews.test_adjudication import rate
from tests.annotate.submitted_work import claim
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
WORDS = {
    "shows_question_type": "yes-no",
    "shows_entities": "planted-entity",
    "shows_reference_opinion": "planted-reference",
    "shows_candidate_opinion": "planted-candidate",
}


@pytest.fixture
def batch(project: Project) -> Batch:
    batch = open_batch(project, n_hits=1, judgments=3)
    Question.objects.update(type="yes-no", entities=["planted-entity"])
    Reference.objects.update(opinion="planted-reference")
    Candidate.objects.update(opinion="planted-candidate")
    return batch


@pytest.fixture(params=[None, *WORDS])
def shown(request: pytest.FixtureRequest, project: Project, batch: Batch) -> list[str]:
    """A project that shows nothing, or one thing; its word."""
    chosen: str | None = request.param
    Project.objects.update(**{name: name == chosen for name in WORDS})
    project.refresh_from_db()
    return [] if chosen is None else [WORDS[chosen]]


def list_planted(page: str) -> list[str]:
    return [word for word in WORDS.values() if word in page]


def test_the_rating_page_and_its_preview(
    annotator: Membership, manager: Membership, client_of: SignIn, batch: Batch, shown: list[str]
) -> None:
    work = reverse("annotate:work-show", args=["bridges", claim(annotator).uuid])
    preview = reverse("annotate:hit-preview", args=["bridges", batch.number, Hit.objects.get().number])
    assert list_planted(client_of(annotator).get(work).content.decode()) == shown
    assert list_planted(client_of(manager).get(preview).content.decode()) == shown


def test_reviews_and_where_annotators_differ(
    annotator: Membership,
    other_annotator: Membership,
    manager: Membership,
    client_of: SignIn,
    project: Project,
    shown: list[str],
) -> None:
    rate(annotator, {0: 2, 1: 1, 2: 3})
    rate(other_annotator, {0: 4, 1: 5, 2: 3})
    QualityRules.objects.create(project=project, spot_check_floor=1, seed=5)
    spot_checks.draw_spot_checks(project=project)
    review = Review.objects.earliest("pk")
    client, url = client_of(manager), reverse("annotate:review-show", args=["bridges", review.pk])
    assert list_planted(client.get(url).content.decode()) == shown
    values: dict[int, dict[str, float | str]] = {place: {"correctness": 3} for place in range(3)}
    spot_checks.store_review_ratings(review=review, reviewer=manager, sent=SentAnswers(values=values))
    assert list_planted(client.get(url).content.decode()) == shown
    assert list_planted(client.get(reverse("annotate:adjudication-list", args=["bridges"])).content.decode()) == shown


def test_the_qualification_test_and_what_it_tells_afterwards(
    annotator: Membership, client_of: SignIn, project: Project, shown: list[str]
) -> None:
    candidate = Candidate.objects.select_related("question").earliest("pk")
    made = replace(
        spec(0),
        question=candidate.question.text,
        answer=candidate.text,
        candidate_id=candidate.pk,
        references=({"text": "On the mat.", "opinion": "planted-reference"},),
    )
    reworded = replace(made, answer="Another answer.", question="Another question?")
    test = design.make_test(project=project, actor=None)
    items.add_items(test=test, actor=None, specs=[made, reworded], how="candidates")
    design.change_settings(test=test, actor=None, values={"feedback": "full", "pass_share": 0.5})
    design.open_test(test=test, actor=None)
    client, attempt = client_of(annotator), attempts.begin(annotator=annotator)
    page = client.get(reverse("annotate:attempt-show", args=["bridges", attempt.uuid]), {"page": 1}).content.decode()
    assert list_planted(page) == shown
    assert page.count("planted-candidate") == ("planted-candidate" in shown)
    answer(annotator, attempt)
    attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    result = client.get(reverse("annotate:attempt-result", args=["bridges", attempt.uuid])).content.decode()
    assert list_planted(result) == [word for word in shown if word == "planted-reference"]
    assert 'class="reference"' in result
    Project.objects.update(hides_references=True)
    result = client.get(reverse("annotate:attempt-result", args=["bridges", attempt.uuid])).content.decode()
    assert 'class="reference"' not in result


def test_showing_it_all_asks_no_more_queries(
    annotator: Membership, client_of: SignIn, project: Project, batch: Batch
) -> None:
    client, url = client_of(annotator), reverse("annotate:work-show", args=["bridges", claim(annotator).uuid])
    asked = []
    for is_shown in (False, True, False, True):
        Project.objects.update(**dict.fromkeys(WORDS, is_shown))
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url).status_code == 200
        asked.append([each["sql"].partition(" ")[0] for each in queries.captured_queries])
    assert asked[2].count("EXECUTE") == asked[3].count("EXECUTE")
    assert len(asked[2]) == len(asked[3])


@pytest.mark.parametrize(
    ("text", "span", "is_there"),
    [
        ("The cat sat\non the mat.", "sat\non the mat", True),
        ("The cat sat\non the mat.", "sat on  the mat", True),
        ("The cat sat on the mat.", "Sat on", False),
        ("The cat sat on the mat.", "the dog", False),
        ("القطة على السجادة", "على السجادة", True),
        ("", "the mat", False),
    ],
)
def test_marked_words_that_are_not_in_the_passage_are_reported(
    annotator: Membership, client_of: SignIn, project: Project, text: str, span: str, is_there: bool
) -> None:
    batch = open_batch(project, n_hits=0)
    add_hit(batch, make_candidates(make_question(make_passage(make_dataset(project), text=text), span=span)), 0)
    url = reverse("annotate:work-show", args=["bridges", claim(annotator).uuid])
    page = client_of(annotator).get(url).content.decode()
    assert ("appear in this passage" in page) != is_there
    assert ("data-to-span" in page) == is_there


def test_generated_questions_have_labels_of_their_own(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn, batch: Batch
) -> None:
    work = reverse("annotate:work-show", args=["bridges", claim(annotator).uuid])
    client = client_of(annotator)
    usual = condense(client.get(work).content.decode())
    assert "Generated question" not in usual
    Dataset.objects.update(kind=Dataset.Kind.QUESTION_GENERATION)
    page = condense(client.get(work).content.decode())
    assert re.search(r"<title>\s*Rate generated questions", page)
    for label in ("Target answer", "Generated question", "Reference question"):
        assert re.search(rf">\s*{label}\s*<", page), label
    assert '"item": "Generated question {n}"' in page
    # No sentence of the page, of its fields or of its script calls them answers.
    for words in ("Questions rated", "Comment on generated question 1"):
        assert words in page, words
    for words in (r'aria-label="[^"]+, generated question 1"', r"\d questions? in this HIT", r">\s*Submit ratings\s*<"):
        assert re.search(words, page), words
    assert not re.search(r"[Aa]nswer \{n\}|[Ee]very answer|\d answers?\b|end of this answer|answers? still", page)
    missing = client.post(work, {}).content.decode()
    assert re.search(r">\s*Generated question 1\s*</a>", missing)
    assert "questions still need a rating." in missing or "One question still needs a rating." in missing
    project.language = "de"
    project.save()
    assert "Generierte Frage" in client.get(work).content.decode()
    passage = reverse("annotate:passage-show", args=["bridges", Question.objects.earliest("pk").passage_id])
    assert "Generated question" in client_of(manager).get(passage).content.decode()


def test_a_project_can_hide_references_from_annotators(
    project: Project, annotator: Membership, manager: Membership, owner: Membership, client_of: SignIn, batch: Batch
) -> None:
    work = reverse("annotate:work-show", args=["bridges", claim(annotator).uuid])
    client = client_of(annotator)
    Reference.objects.update(text="planted reference text")
    assert "planted reference text" in client.get(work).content.decode()
    address = reverse("projects:project-settings-edit", args=["bridges"])
    office = client_of(owner)
    form = office.get(address).context["form"]
    values = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in values.items() if value is not None and value is not False}
    assert office.post(address, sent | {"hides_references": "on"}).status_code == 302
    page = client.get(work).content.decode()
    assert "planted reference text" not in page
    assert "The reference is wrong" not in page
    preview = reverse("annotate:hit-preview", args=["bridges", batch.number, Hit.objects.get().number])
    assert "planted reference text" not in client_of(manager).get(preview).content.decode()
    settings = condense(office.get(reverse("projects:project-settings", args=["bridges"])).content.decode())
    assert "<dt>Hidden</dt><dd>references</dd>" in settings
    passage = reverse("annotate:passage-show", args=["bridges", Question.objects.earliest("pk").passage_id])
    assert "planted reference text" in client_of(manager).get(passage).content.decode()


def test_texts_of_spaces_alone_are_shown_as_missing(project: Project, annotator: Membership, client_of: SignIn) -> None:
    batch = open_batch(project, n_hits=0)
    question = make_question(make_passage(make_dataset(project), text=" \n\u200b "), text=" ", references=("\t",))
    add_hit(batch, make_candidates(question, text="  "), 0)
    page = condense(client_of(annotator).post("/p/bridges/work/", follow=True).content.decode())
    assert "These questions have no passage." in page
    assert '<h2 class="text" dir="auto" id="q1">–</h2>' in page
    assert '<p class="text" dir="auto">–</p>' in page
    assert "(empty answer)" in page
