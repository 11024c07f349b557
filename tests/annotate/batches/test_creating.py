import json
import re
from collections import Counter
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotate.batches.creating import create_batch, plan_batch, recut
from annotate.batches.selection import Selection, find_annotators
from annotate.batches.terms import Terms
from annotate.models import Batch, Hit, Item
from projects.errors import Refused
from projects.identical_answers import mark_identical
from projects.models import Candidate, Membership, MinimalPair, Passage, Project, Question, Rubric
from tests.annotate.open_batches import assert_equation
from tests.factories import (
    make_candidates,
    make_corpus,
    make_dataset,
    make_identical_answers,
    make_instructions,
    make_membership,
    make_passage,
    make_question,
    make_rubric,
)
from tests.people import SignIn
from tests.previews import confirm

pytestmark = pytest.mark.django_db


def make(project: Project, selection: Selection | None = None, **terms: object) -> Batch:
    terms.setdefault("judgments", 1)
    return create_batch(project=project, actor=None, selection=selection, terms=Terms(**terms))  # type: ignore[arg-type]


def list_candidates(batch: Batch) -> set[str]:
    return set(Item.objects.filter(hit__batch=batch).values_list("candidate__external_id", flat=True))


def test_a_batch_is_a_draft_of_hits_with_as_many_places_as_judgments(project: Project, manager: Membership) -> None:
    make_corpus(project, n_passages=3, n_candidates=11)
    batch = create_batch(project=project, actor=manager, terms=Terms(judgments=2, name="First"))
    assert (batch.number, batch.name, batch.state) == (1, "First", Batch.State.DRAFT)
    hits = list(batch.hits.order_by("number"))
    assert [hit.number for hit in hits] == [1, 2, 3, 4, 5, 6]
    assert [hit.items.count() for hit in hits] == [6, 5, 6, 5, 6, 5]
    assert {(hit.places_wanted, hit.places_open, hit.places_done) for hit in hits} == {(2, 2, 0)}
    assert (batch.n_hits, batch.n_items) == (6, 33)
    assert_equation()


def test_a_hit_never_mixes_passages_and_keeps_a_question_together(project: Project) -> None:
    dataset = make_dataset(project)
    for _ in range(2):
        passage = make_passage(dataset)
        for n in (4, 4, 4):
            make_candidates(make_question(passage), n)
    batch = make(project)
    for hit in batch.hits.all():
        assert {item.candidate.question.passage_id for item in hit.items.all() if item.candidate} == {hit.passage_id}
    questions = Item.objects.filter(hit__batch=batch).values_list("question_id", "hit_id").order_by().distinct()
    assert len(questions) == 6
    assert sorted(hit.items.count() for hit in batch.hits.all()) == [4, 4, 8, 8]


def test_without_a_passage_each_question_is_a_hit_of_its_own(project: Project) -> None:
    dataset = make_dataset(project)
    empty = make_passage(dataset, text="")
    for n in (2, 3, 11):
        make_candidates(make_question(empty), n)
    titled = make_passage(dataset, text="", documents=[{"title": "One", "text": "A text."}])
    for n in (2, 3):
        make_candidates(make_question(titled), n)
    batch = make(project)
    assert [hit.items.count() for hit in batch.hits.order_by("number")] == [2, 3, 6, 5, 5]


def test_positions_are_canonical_and_the_queue_is_a_seeded_shuffle(project: Project) -> None:
    make_corpus(project, n_passages=30, n_candidates=3)
    first, again, other = make(project, Selection(seed=1)), make(project, Selection(seed=1)), make(project)
    items = Item.objects.filter(hit__batch=first).order_by("hit__number", "position")
    assert list(items.values_list("candidate_id", flat=True)) == list(
        Candidate.objects.order_by("id").values_list("id", flat=True)
    )

    def order(batch: Batch) -> list[int]:
        return list(batch.hits.order_by("queue_key").values_list("number", flat=True))

    assert sorted(order(first)) == list(range(1, 31))
    assert order(first) == order(again) != order(other)
    assert order(first) != sorted(order(first))


def test_depth_first_hits_lie_further_apart_than_their_rounds(project: Project) -> None:
    make_corpus(project, n_passages=3, n_candidates=1)
    keys = list(make(project, order=Batch.Order.DEPTH).hits.order_by("queue_key").values_list("queue_key", flat=True))
    assert keys == [0, 2**42, 2**43]


def test_choosing_by_dataset_split_and_source(project: Project) -> None:
    one, two = make_dataset(project, "one"), make_dataset(project, "two")
    for dataset, split in ((one, "dev"), (one, "test"), (two, "dev")):
        question = make_question(make_passage(dataset, split=split))
        for source in ("gpt", "span"):
            make_candidates(question, 1, source=source, external_id=f"{dataset.name}-{split}-{source}")
    assert len(list_candidates(make(project))) == 6
    assert list_candidates(make(project, Selection(datasets=("two",)))) == {"two-dev-gpt", "two-dev-span"}
    chosen = Selection(datasets=("one", "two"), splits=("dev",), sources=("gpt",))
    assert list_candidates(make(project, chosen)) == {"one-dev-gpt", "two-dev-gpt"}


def make_typed_questions(project: Project, **numbers: int) -> None:
    """Questions of each type, each with a passage of its own and five systems' answers, as in Yang et al. (2018)."""
    dataset = make_dataset(project)
    passages = Passage.objects.bulk_create(
        Passage(dataset=dataset, external_id=f"{type_}-{n}", text="A text.")
        for type_, count in numbers.items()
        for n in range(count)
    )
    questions = Question.objects.bulk_create(
        Question(
            dataset=dataset,
            passage=passage,
            external_id=passage.external_id,
            text="What is it?",
            type=passage.external_id.rsplit("-", 1)[0].replace("_", "-"),
        )
        for passage in passages
    )
    Candidate.objects.bulk_create(
        Candidate(dataset_id=dataset.pk, question=question, external_id=f"{question.external_id}-{n}", text=f"It {n}.")
        for question in questions
        for n in range(5)
    )


def count_types(batch: Batch) -> dict[str, int]:
    items = Item.objects.filter(hit__batch=batch).order_by().values_list("question__type", "question_id").distinct()
    return dict(Counter(type_ for type_, _ in items))


def test_yangs_questions_are_drawn_by_type(project: Project) -> None:
    make_typed_questions(project, yes_no=260, entity=230, description=110, other=30)
    asked = {"yes-no": 201, "entity": 201, "description": 98}
    batch = make(project, Selection(questions=asked, seed=3))
    assert count_types(batch) == asked
    assert batch.n_items == 2_500
    assert batch.selection["questions"] == asked
    # The same seed draws the same questions, and more of one type keep those of the others.
    more = list_candidates(
        make(project, Selection(questions={"yes-no": 202, "entity": 201, "description": 98}, seed=3))
    )
    assert list_candidates(batch) < more
    assert len(more) == 2_505
    assert list_candidates(make(project, Selection(questions=asked, seed=4))) != list_candidates(batch)
    assert count_types(make(project, Selection(types=("other",)))) == {"other": 30}
    for selection, sentence in (
        (Selection(questions={"entity": 231}), "only 230 questions of the type “entity” in this selection"),
        (Selection(types=("entity",), questions={"other": 1}), "are only 0 questions of the type “other”"),
        (Selection(questions={"other": 0}), "at least 1 question of the type “other”"),
        (Selection(types=("riddle",)), "question type “riddle”"),
        (Selection(questions={"other": 1}, sample=5), "not both"),
    ):
        with pytest.raises(Refused, match=sentence):
            plan_batch(project=project, selection=selection, terms=Terms(judgments=1))


def test_the_form_the_command_and_the_api_draw_by_type(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_typed_questions(project, yes_no=4, entity=3)
    client = client_of(manager)
    address = reverse("annotate:batch-new", args=[project.slug])
    form = client.get(address).context["form"]
    sent = {name: form[name].value() for name in form.fields if form[name].value() not in (None, [])}
    names = {type_: name for name, type_ in form.numbers_by_type.items()}
    assert set(names) == {"yes-no", "entity"}
    page = client.get(address, sent | {names["yes-no"]: 2, names["entity"]: 9})
    assert "There are only 3 questions of the type “entity”" in page.content.decode()
    assert client.get(address, sent | {names["entity"]: 1, "sample": 3}).status_code == 422
    chosen = sent | {names["yes-no"]: 2, names["entity"]: 1}
    assert client.get(address, chosen).context["plan"].n_questions == 3
    shown = confirm(client, address, chosen, follow=True).content.decode()
    assert count_types(Batch.objects.get()) == {"yes-no": 2, "entity": 1}
    assert re.search(r"Questions drawn</dt>\s*<dd>\s*1 entity,\s*2 yes-no", shown)
    confirm(client, address, sent | {"types": ["entity"]})
    assert count_types(Batch.objects.get(number=2)) == {"entity": 3}
    options = ("--project", project.slug, "--judgments", "1", "--questions", "yes-no=1", "entity=2", "--seed", "1")
    call_command("create_batch", *options, stdout=StringIO())
    assert count_types(Batch.objects.get(number=3)) == {"yes-no": 1, "entity": 2}
    with pytest.raises(CommandError, match="TYPE=N"):
        call_command("create_batch", "--project", project.slug, "--judgments", "1", "--questions", "riddle=1")
    api = f"/api/v1/projects/{project.slug}/batches/"
    body = {"judgments": 1, "questions": [{"type": "yes-no", "n": 3}], "types": ["yes-no"]}
    assert client.post(api, body, content_type="application/json").status_code == 201
    assert count_types(Batch.objects.get(number=4)) == {"yes-no": 3}
    wrong = client.post(
        api, {"judgments": 1, "questions": [{"type": "riddle", "n": 3}]}, content_type="application/json"
    )
    assert wrong.status_code == 400
    assert "riddle" in wrong.json()["detail"]


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        (Selection(datasets=("nine",)), "No candidate of this project has the dataset “nine”."),
        (Selection(splits=("dev",)), "No candidate of this project has the split “dev”."),
        (Selection(sources=("gpt",)), "No candidate of this project has the source “gpt”."),
        (Selection(sample=0), "Set a sample size of at least 1."),
    ],
)
def test_a_choice_that_names_nothing_is_refused(project: Project, selection: Selection, sentence: str) -> None:
    make_corpus(project)
    with pytest.raises(Refused, match=sentence):
        make(project, selection)
    assert not Batch.objects.exists()


def test_withdrawn_texts_and_minimal_pairs_stay_out(project: Project) -> None:
    dataset = make_dataset(project)
    question = make_question(make_passage(dataset))
    kept, withdrawn, strong, weak = make_candidates(question, 4)
    Candidate.objects.filter(pk=withdrawn.pk).update(withdrawn_at=timezone.now())
    MinimalPair.objects.create(question=question, candidate_1=strong, candidate_2=weak, score_1=5, score_2=2)
    gone = make_passage(dataset, withdrawn_at=timezone.now())
    make_candidates(make_question(gone), 2)
    assert list_candidates(make(project)) == {kept.external_id}
    assert list_candidates(make(project, Selection(only_pairs=True))) == {strong.external_id, weak.external_id}
    assert list_candidates(make(project, Selection(with_pairs=True))) == {
        kept.external_id,
        strong.external_id,
        weak.external_id,
    }


def test_a_sample_takes_whole_passages_of_every_dataset(project: Project) -> None:
    for name in ("one", "two"):
        make_corpus(project, name=name, n_passages=20, n_candidates=5)
    batch = make(project, Selection(sample=60, seed=7))
    assert batch.n_items == 60
    passages = Passage.objects.filter(hits__batch=batch)
    assert passages.count() == 12
    assert {name: passages.filter(dataset__name=name).count() for name in ("one", "two")} == {"one": 6, "two": 6}
    assert list_candidates(make(project, Selection(sample=60, seed=7))) == list_candidates(batch)
    assert list_candidates(make(project, Selection(sample=60, seed=8))) != list_candidates(batch)


def test_the_plan_says_work_money_and_hours_as_the_batch_then_is(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(cents_per_hit=40, cents_per_item=1, fee_share=0.2)
    project.refresh_from_db()
    make_corpus(project, n_passages=2, n_candidates=11)
    plan = plan_batch(project=project, selection=Selection(), terms=Terms(judgments=3))
    assert (plan.n_candidates, plan.n_questions, plan.n_passages, plan.n_hits) == (22, 2, 2, 4)
    assert (plan.n_assignments, plan.n_judgments, plan.n_values) == (12, 66, 66)
    assert (plan.cost.pay_cents, plan.cost.fee_cents, plan.cost.cents) == (12 * 40 + 66, 109, 655)
    assert 66 * 8 / 3600 < plan.cost.hours < 66 * 12 / 3600
    assert plan.cost.cents_per_hour == round(546 / plan.cost.hours)
    assert plan.n_in_other_batches == 0
    assert not Batch.objects.exists()
    batch = make(project, judgments=3)
    assert (batch.n_hits, batch.n_items, batch.fee_share) == (4, 22, 0.2)
    assert plan_batch(project=project, selection=Selection(), terms=Terms(judgments=1)).n_in_other_batches == 22


def test_mochas_plan_costs_what_the_paper_says(project: Project) -> None:
    """METHODS §1.4: a passage's candidates spread evenly over HITs of up to ten."""
    Project.objects.filter(pk=project.pk).update(fee_share=0.2)
    project.refresh_from_db()
    make_corpus(project, n_passages=4, n_candidates=12)
    plan = plan_batch(project=project, selection=Selection(), terms=Terms(judgments=1))
    assert plan.n_hits == 8
    assert plan.cost.cents == round(8 * 40 * 1.2)


def test_a_batch_pins_the_newest_versions(project: Project) -> None:
    make_corpus(project)
    rubric, instructions = make_rubric(project), make_instructions(project)
    Rubric.objects.create(project=project, version=99, name="Imported", preset="custom", is_imported=True)
    batch = make(project)
    assert (batch.rubric, batch.instructions) == (rubric, instructions)
    make_rubric(project)
    batch.refresh_from_db()
    assert batch.rubric == rubric


def test_named_annotators_each_rate_everything(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    make_corpus(project)
    people = (annotator, other_annotator)
    batch = make(project, judgments=None, annotators=people)
    assert (batch.judgments, batch.has_named_annotators) == (2, True)
    assert {named.annotator for named in batch.named_annotators.all()} == set(people)
    with pytest.raises(Refused, match="gets 2 judgments, not 3"):
        make(project, judgments=3, annotators=people)
    with pytest.raises(Refused, match="limits don’t apply"):
        make(project, judgments=None, annotators=people, max_hits_per_annotator=1)
    with pytest.raises(Refused, match="twice"):
        make(project, judgments=None, annotators=(annotator, annotator))


def test_only_active_annotators_can_be_named(project: Project, researcher: Membership) -> None:
    make_corpus(project)
    suspended = make_membership(project, standing=Membership.Standing.SUSPENDED)
    imported = Membership.objects.create(
        project=project, kind=Membership.Kind.IMPORTED, imported_name="w1", role="annotator", is_annotator=True
    )
    for person in (researcher, suspended, imported):
        with pytest.raises(Refused, match="not an active annotator"):
            make(project, judgments=None, annotators=(person,))
    with pytest.raises(Refused, match="not an active annotator"):
        find_annotators(project, [imported.pseudonym])


@pytest.mark.parametrize(
    "terms",
    [
        {"judgments": 0},
        {"judgments": 1_001},
        {"judgments": None},
        {"hit_size": 0},
        {"hit_size": 101},
        {"cents_per_hit": -1},
        {"fee_share": 1.5},
        {"max_share": 0.0},
        {"max_hits_per_day": 0},
        {"time_limit_minutes": 0},
    ],
)
def test_terms_that_cannot_be_are_refused(project: Project, terms: dict[str, Any]) -> None:
    make_corpus(project)
    with pytest.raises(Refused):
        make(project, **terms)
    assert not Hit.objects.exists()


def test_no_batch_without_a_rubric_or_candidates(project: Project) -> None:
    with pytest.raises(Refused, match="nothing to judge"):
        make(project)
    make_corpus(project)
    Rubric.objects.all().delete()
    with pytest.raises(Refused, match="no rubric"):
        make(project)


def test_another_projects_candidates_are_never_taken(project: Project) -> None:
    from tests.factories import make_project

    make_corpus(make_project("other"))
    with pytest.raises(Refused, match="nothing to judge"):
        make(project)


@pytest.mark.django_db(transaction=True)
def test_the_planner_knows_the_new_rows(project: Project) -> None:
    """Serving from tables that were never analysed takes minutes."""
    with connection.cursor() as cursor:
        make_corpus(project, n_passages=3, n_candidates=4)
        make(project)
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname IN ('annotate_hit', 'annotate_item') ORDER BY 1")
        assert cursor.fetchall() == [(3,), (12,)]


def run(*arguments: str) -> dict[str, object]:
    out = StringIO()
    call_command("create_batch", "--project", "bridges", *arguments, "--json", stdout=out)
    answer: dict[str, object] = json.loads(out.getvalue())
    return answer


def test_the_command_makes_and_opens_a_batch(project: Project) -> None:
    make_corpus(project, name="one", n_passages=3, n_candidates=11)
    make_corpus(project, name="two")
    answer = run("--judgments", "2", "--dataset", "one", "--hit-size", "6", "--open")
    batch = Batch.objects.get()
    assert (answer["batch"], answer["state"], answer["hits"], answer["judgments"]) == (1, "open", 6, 66)
    assert (batch.state, batch.hit_size, batch.opened_at is not None) == ("open", 6, True)
    batch.rubric.refresh_from_db()
    assert batch.rubric.frozen_at is not None


def test_the_command_names_annotators_and_says_the_plan(project: Project, annotator: Membership) -> None:
    make_corpus(project)
    Candidate.objects.filter(pk__in=Candidate.objects.values("pk")[:2]).update(text="Both say so.")
    plan: dict[str, Any] = run("--judgments", "5", "--dry-run")["plan"]  # type: ignore[assignment]
    assert (plan["judgments"], plan["with_repeated_text"]) == (50, 1)
    assert not Batch.objects.exists()
    assert run("--annotators", "anna")["judgments"] == 10
    assert Batch.objects.get().named_annotators.get().annotator == annotator


@pytest.mark.parametrize(
    ("arguments", "stored"),
    [
        ((), {"requires_qualification": True, "is_pay_prorated": False, "must_read_to_end": True, "order": "breadth"}),
        (("--unqualified", "--short-hits", "item"), {"requires_qualification": False, "is_pay_prorated": True}),
        (("--short-hits", "hit"), {"is_pay_prorated": False}),
        (("--rate-unread", "--presentation", "one"), {"must_read_to_end": False, "presentation": "one"}),
        (("--order", "depth", "--priority", "3", "--time-limit", "9"), {"order": "depth", "priority": 3}),
        (("--fee-share", "0.2", "--max-share", "0.5"), {"fee_share": 0.2, "max_share": 0.5}),
        (("--max-hits", "4", "--max-hits-per-day", "2"), {"max_hits_per_annotator": 4, "max_hits_per_day": 2}),
        (("--cents-per-hit", "7", "--cents-per-item", "3"), {"cents_per_hit": 7, "cents_per_item": 3}),
    ],
)
def test_each_option_of_the_command_is_stored(
    project: Project, annotator: Membership, arguments: tuple[str, ...], stored: dict[str, Any]
) -> None:
    make_corpus(project, n_candidates=2)
    run("--judgments", "1", *arguments)
    batch = Batch.objects.get()
    assert {name: getattr(batch, name) for name in stored} == stored


def test_repeated_options_of_the_command_add_up(project: Project, annotator: Membership) -> None:
    for name in ("one", "two", "three"):
        make_corpus(project, name=name)
    assert run("--judgments", "1", "--dataset", "one", "two", "--dry-run") == run(
        "--judgments", "1", "--dataset", "one", "--dataset", "two", "--dry-run"
    )
    assert run("--judgments", "1", "--dataset", "one", "two")["datasets"] == 2
    other = make_membership(project)
    assert run("--annotators", "anna", "--annotators", other.pseudonym)["judgments_per_candidate"] == 2


def test_the_command_refuses_with_the_reason_and_one(project: Project) -> None:
    with pytest.raises(CommandError, match="nothing to judge") as refusal:
        run("--judgments", "2")
    assert refusal.value.returncode == 1
    with pytest.raises(CommandError, match="--judgments or --annotators"):
        run()


def test_of_identical_answers_a_batch_takes_one(project: Project) -> None:
    make_identical_answers(project)
    assert list_candidates(make(project)) == {"same-gpt", "other-gpt", "other-span"}
    plan = plan_batch(project=project, selection=Selection(), terms=Terms(judgments=3))
    assert (plan.n_candidates, plan.n_identical, plan.n_repeated, plan.n_judgments) == (3, 1, 0, 9)


def test_a_source_is_selected_with_the_answers_that_it_shares(project: Project) -> None:
    make_identical_answers(project)
    assert list_candidates(make(project, Selection(sources=("span",)))) == {"same-gpt", "other-span"}
    assert list_candidates(make(project, Selection(sources=("gpt",)))) == {"same-gpt", "other-gpt"}


def test_of_a_new_source_the_answers_that_are_collected_already_are_left_out(project: Project) -> None:
    make_identical_answers(project)
    of_first, of_second = Selection(sources=("gpt",)), Selection(sources=("span",))
    make(project, of_first, kind="trial")
    assert "same-gpt" in list_candidates(make(project, of_second)), "results have no ratings of a trial"
    plan = plan_batch(project=project, selection=of_second, terms=Terms(judgments=1))
    assert (plan.n_candidates, plan.n_identical, plan.n_identical_elsewhere) == (1, 0, 1)
    assert list_candidates(make(project, of_second)) == {"other-span"}
    assert list_candidates(make(project, of_first)) == {"same-gpt", "other-gpt"}, "own answers, as without sharing"
    both = plan_batch(project=project, selection=Selection(sources=("gpt", "span")), terms=Terms(judgments=1))
    assert (both.n_candidates, both.n_identical, both.n_identical_elsewhere) == (3, 1, 0)


def test_batches_keep_their_candidates_when_identical_answers_come_to_be_rated_once(project: Project) -> None:
    make_identical_answers(project)
    Candidate.objects.update(identical_to=None)
    draft = make(project)
    mark_identical(project)
    recut(draft)
    assert len(list_candidates(draft)) == 4
    assert len(list_candidates(make(project))) == 3
