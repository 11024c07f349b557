"""The data pages: the table, the lists, a passage, the split."""

import io
from collections.abc import Callable

import orjson
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotate.data.table import data_table
from projects.importing.row_identity import make_text_id
from projects.models import Candidate, Dataset, Membership, Passage, Project, Question, User
from projects.models.corpus import NAME_CHARACTERS
from tests.factories import make_candidates, make_corpus, make_dataset, make_passage, make_question
from tests.page_reader import read
from tests.previews import confirm

pytestmark = pytest.mark.django_db

NASTY = "<script>window.__xss=1</script><img src=x onerror=alert(1)>{{7*7}}\u202e\"'%}"


@pytest.fixture
def corpus(project: Project) -> Dataset:
    """Two datasets; the first in two splits, with two sources."""
    dataset = make_dataset(project, "towns")
    for n, split in enumerate(["train", "train", "dev"]):
        question = make_question(make_passage(dataset, f"p{n}", split=split), f"q{n}", references=("one", "two"))
        make_candidates(question, 2, source="model-a")
        make_candidates(question, 1, source="model-b", text=f"only {split}")
    make_corpus(project, name="rivers", n_candidates=4)
    return dataset


@pytest.fixture
def client(researcher: Membership, client_of: Callable[[Membership], Client]) -> Client:
    return client_of(researcher)


def url(name: str, *place: object, **query: str) -> str:
    found = reverse(f"annotate:{name}", args=["bridges", *place])
    return f"{found}?{'&'.join(f'{key}={value}' for key, value in query.items())}" if query else found


def listed(client: Client, name: str, **query: str) -> list[str]:
    response = client.get(url(name, **query))
    assert response.status_code == 200
    return [row.external_id for row in response.context["page"]]


def test_the_table_counts_each_split_of_each_dataset(project: Project, corpus: Dataset) -> None:
    other = make_corpus(Project.objects.create(slug="other", name="Other"), n_candidates=50)
    table = data_table(project)
    numbers = [
        (line.dataset, line.split, line.passages, line.questions, line.references, line.candidates, line.sources)
        for line in table.lines
    ]
    assert numbers == [
        ("rivers", "", 1, 1, 1, 4, ("model-a",)),
        ("towns", "train", 2, 2, 4, 6, ("model-a", "model-b")),
        ("towns", "dev", 1, 1, 2, 3, ("model-a", "model-b")),
    ]
    assert (table.total.passages, table.total.candidates, table.total.judgments) == (4, 13, 0)
    assert other.name not in str(table)


def test_the_page_and_the_command_show_the_same_table(project: Project, corpus: Dataset, client: Client) -> None:
    page = client.get(url("data-overview"))
    assert page.context["table"] == data_table(project)
    assert "towns" in page.content.decode()
    output = io.StringIO()
    call_command("data_table", "--project", "bridges", "--json", stdout=output)
    assert orjson.loads(output.getvalue()) == data_table(project).as_dict()
    output = io.StringIO()
    call_command("data_table", "--project", "bridges", stdout=output)
    assert output.getvalue().splitlines()[2].split() == [
        "towns",
        "train",
        "2",
        "2",
        "4",
        "6",
        "0",
        "model-a,",
        "model-b",
    ]


def test_an_empty_project_says_what_to_do(
    project: Project, client: Client, manager: Membership, client_of: Callable[[Membership], Client]
) -> None:
    assert url("import-new") in client_of(manager).get(url("data-overview")).content.decode()
    page = client.get(url("data-overview")).content.decode()
    assert url("import-new") not in page
    assert "A manager needs to import the first file." in page
    for name in ("data-candidates", "data-questions", "data-passages"):
        assert "No data yet" in client.get(url(name)).content.decode()


def test_lists_are_filtered_by_their_address(project: Project, corpus: Dataset, client: Client) -> None:
    assert len(listed(client, "data-candidates")) == 13
    assert len(listed(client, "data-candidates", dataset="towns")) == 9
    assert len(listed(client, "data-candidates", dataset="towns", split="dev")) == 3
    assert len(listed(client, "data-candidates", split="none")) == 4
    assert len(listed(client, "data-candidates", source="model-b")) == 3
    assert len(listed(client, "data-candidates", q="only train")) == 2
    assert listed(client, "data-questions", dataset="towns", split="dev") == ["q2"]
    assert listed(client, "data-passages", split="train") == ["p0", "p1"]
    assert listed(client, "data-passages", q="passage p2.") == ["p2"]


def test_a_search_takes_its_signs_as_they_are(project: Project, corpus: Dataset, client: Client) -> None:
    question = Question.objects.get(external_id="q0")
    make_candidates(question, 1, external_id="sign", text="100% of a_b\\c")
    assert listed(client, "data-candidates", q="100%25") == ["sign"]
    assert listed(client, "data-candidates", q="a_b") == ["sign"]
    assert listed(client, "data-candidates", q="aXb") == []
    assert listed(client, "data-candidates", q="b\\c") == ["sign"]


def test_what_no_list_knows_in_its_address_is_left_out(project: Project, corpus: Dataset, client: Client) -> None:
    everything = listed(client, "data-candidates")
    odd = {"sort": "question__dataset__project__memberships", "split": "nowhere", "source": "%00", "page": "-1"}
    for name, value in odd.items():
        assert listed(client, "data-candidates", **{name: value}) == everything
    assert client.get(url("data-passages", sort="-text__password")).status_code == 200


def test_lists_are_sorted_by_their_address(project: Project, corpus: Dataset, client: Client) -> None:
    assert listed(client, "data-passages", dataset="towns", sort="-id") == ["p2", "p1", "p0"]
    assert listed(client, "data-passages", dataset="towns", sort="split") == ["p2", "p0", "p1"]
    page = client.get(url("data-passages", sort="-id")).content.decode()
    assert 'aria-sort="descending"' in page


def test_a_long_list_has_pages_that_keep_the_filter(project: Project, corpus: Dataset, client: Client) -> None:
    make_candidates(Question.objects.get(external_id="q0"), 60, source="model-c")
    first = client.get(url("data-candidates", source="model-c"))
    assert len(first.context["page"]) == 50
    assert "source=model-c&amp;page=2" in first.content.decode()
    assert len(listed(client, "data-candidates", source="model-c", page="2")) == 10


def test_a_passage_shows_all_of_its_own(project: Project, corpus: Dataset, client: Client) -> None:
    passage = Passage.objects.get(external_id="p2")
    page = client.get(url("passage-show", passage.pk)).content.decode()
    for text in (passage.text, "Where did the cat sit?", "one", "two", "only dev", "model-b"):
        assert text in page
    assert "only train" not in page


def test_a_passage_may_be_documents_or_nothing(project: Project, client: Client) -> None:
    dataset = make_dataset(project)
    documents = [{"title": "First", "text": "of two"}, {"title": "", "text": "second of two"}]
    listed_one = make_passage(dataset, text="", documents=documents)
    page = client.get(url("passage-show", listed_one.pk)).content.decode()
    assert "First" in page
    assert "second of two" in page
    empty = make_passage(dataset, text="")
    assert "have no passage" in client.get(url("passage-show", empty.pk)).content.decode()
    page = client.get(url("data-passages")).content.decode()
    assert "2 documents" in page
    assert "no text" in page


def test_nasty_texts_are_shown_as_text_in_every_place(project: Project, client: Client) -> None:
    dataset = make_dataset(project, NASTY[:60])
    passage = make_passage(dataset, NASTY, title=NASTY, text=NASTY, split="<b>")
    question = make_question(passage, NASTY, text=NASTY, references=(NASTY,), entities=[NASTY], span=NASTY)
    make_candidates(question, 1, external_id=NASTY, text=NASTY, source=NASTY, opinion="<i>")
    addresses = [url(name) for name in ("data-overview", "data-candidates", "data-questions", "data-passages")]
    for address in [*addresses, url("passage-show", passage.pk), url("data-candidates", q="<script>")]:
        page = client.get(address).content.decode()
        assert "<script>window" not in page
        assert "<img src=x" not in page
        assert "<b>" not in page.partition("<main")[2]
        assert "<i>" not in page
    assert 'dir="auto">&lt;script&gt;' in client.get(url("passage-show", passage.pk)).content.decode()


@pytest.mark.parametrize(
    ("name", "most"), [("data-overview", 10), ("data-candidates", 11), ("data-questions", 10), ("data-passages", 10)]
)
def test_lists_ask_as_often_for_many_as_for_few(
    project: Project, client: Client, name: str, most: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_corpus(project, n_passages=8, n_candidates=5)
    with django_assert_max_num_queries(most):
        assert client.get(url(name)).status_code == 200


def test_a_passage_asks_as_often_for_many_questions_as_for_one(
    project: Project, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    passage = make_passage(make_dataset(project))
    for _ in range(10):
        make_candidates(make_question(passage), 3)
    with django_assert_max_num_queries(10):
        assert client.get(url("passage-show", passage.pk)).status_code == 200


def test_a_split_is_planned_first_and_written_only_when_sent(
    project: Project, manager: Membership, client_of: Callable[[Membership], Client]
) -> None:
    make_corpus(project, n_passages=8, n_candidates=2, name="towns")
    make_passage(Dataset.objects.get(), split="test")
    client = client_of(manager)
    query = {"shares": "train=50,test=50", "seed": "3"}
    page = client.get(url("data-split", **query))
    assert page.context["plan_lines"][0]["n_kept"] == 1
    assert "8 passages would get a split (seed 3)" in page.content.decode()
    assert Passage.objects.filter(split="").count() == 8
    planned = page.context["plan"].assigned
    response = confirm(client, url("data-split"), query)
    assert response.status_code == 302
    assert dict(Passage.objects.filter(pk__in=planned).values_list("pk", "split")) == planned
    assert "Every passage has a split" in client.get(url("data-split")).content.decode()


@pytest.mark.parametrize("shares", ["", "train=100", "train=a,dev=2", "train=1,train=2", "x" * 500])
def test_shares_that_make_no_split_are_redisplayed(
    project: Project, manager: Membership, client_of: Callable[[Membership], Client], shares: str
) -> None:
    make_corpus(project)
    response = client_of(manager).get(reverse("annotate:data-split", args=["bridges"]), {"shares": shares, "seed": "1"})
    assert response.status_code == 422
    assert response.context["plan"] is None


def test_who_sees_the_data(
    project: Project,
    corpus: Dataset,
    client: Client,
    annotator: Membership,
    stranger: User,
    client_of: Callable[[Membership | User], Client],
) -> None:
    passage = Passage.objects.filter(dataset=corpus)[0]
    addresses = [url(name) for name in ("data-overview", "data-candidates", "data-questions", "data-passages")]
    addresses.append(url("passage-show", passage.pk))
    for address in addresses:
        assert client.get(address).status_code == 200
        assert client.post(address).status_code == 405
        assert client_of(annotator).get(address).status_code == 403
        assert client_of(stranger).get(address).status_code == 404
        assert Client().get(address).status_code == 302
    assert client.get(url("data-split")).status_code == 403


def test_the_passage_of_another_project_is_not_there(project: Project, client: Client) -> None:
    other = make_corpus(Project.objects.create(slug="other", name="Other"))
    passage = Passage.objects.get(dataset=other)
    assert client.get(url("passage-show", passage.pk)).status_code == 404
    assert not Candidate.objects.in_project(project).exists()


def test_average_lengths_by_dataset_and_split(project: Project, client: Client) -> None:
    dataset = make_dataset(project, "towns")
    for split, text, answers in (("train", "one two\nthree", ("a b", "")), ("dev", "x  y", ("a b c d",))):
        question = make_question(
            make_passage(dataset, split=split, text=text), text="Which one?", references=("one", "one two three")
        )
        for answer in answers:
            make_candidates(question, 1, text=answer)
    # A list of documents has the length of its texts, and a question without a text has none.
    documents = [{"title": "Title", "text": "四个汉字"}, {"title": "", "text": "再来"}]
    make_question(make_passage(make_dataset(project, "渡口"), text="", documents=documents), text="", references=())
    other = Project.objects.create(slug="other", name="Other")
    make_question(make_passage(make_dataset(other, "towns"), split="train", text="very long " * 50))

    def shown(unit: str) -> list[list[str]]:
        rows = read(client.get(url("data-overview", lengths=unit)).content.decode()).rows("Average lengths")
        names = ("Dataset", "Split", "Passage", "Question", "Reference", "Candidate")
        return [[row[name] for name in names] for row in rows]

    assert shown("words") == [
        ["towns", "train", "3.0", "2.0", "2.0", "2.0"],
        ["towns", "dev", "2.0", "2.0", "2.0", "4.0"],
        ["towns", "all", "2.5", "2.0", "2.0", "3.0"],
        ["渡口", "none", "2.0", "–", "–", "–"],
    ]
    assert shown("characters")[0] == ["towns", "train", "13.0", "10.0", "8.0", "3.0"]
    assert shown("characters")[-1] == ["渡口", "none", "7.0", "–", "–", "–"]
    assert shown("riddles") == []
    out = io.StringIO()
    call_command("data_table", "--project", "bridges", "--lengths", "words", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[3].split() == ["towns", "all", "2.5", "2.0", "2.0", "3.0"]
    assert lines[4].split()[:2] == ["渡口", "none"]
    assert lines[0].index("passage") + len("passage") == lines[3].index("2.5") + 3, "numbers end below their heading"
    as_json = io.StringIO()
    call_command("data_table", "--project", "bridges", "--lengths", "words", "--json", stdout=as_json)
    assert orjson.loads(as_json.getvalue())["lengths"][0]["characters"]["passage"] == 13


def test_a_passage_without_a_title_or_an_id_of_its_own_goes_by_its_first_words() -> None:
    made = make_text_id("The ferry left.")
    text = "The ferry\nleft at 7:45;  it carried forty passengers and one goat, which ate a timetable."
    for external_id, title, of, name in (
        (made, "", text, "The ferry left at 7:45; it carried forty …"),
        (made, "", "a" * 60, "a" * NAME_CHARACTERS + " …"),
        (made, "", "Short.", "Short."),
        (made, "Ferries", text, "Ferries"),
        ("text-1", "", text, "text-1"),
        (made, "", "", made),
    ):
        assert Passage(external_id=external_id, title=title, text=of).short_name == name
