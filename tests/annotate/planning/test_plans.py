"""Overlap plans over real batches: started, started twice, continued."""

import json
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotate.batches import lifecycle
from annotate.data.withdrawing import withdraw_candidate
from annotate.integrity.verifying import verify
from annotate.models import Assignment, Batch, Item, Judgment, OverlapPlan
from annotate.planning import plans
from annotate.planning.coverage import fetch_coverage
from annotate.planning.overlap import MOCHA, Rule
from annotate.planning.plans import Started, change_plan, create_plan, start_plan
from annotate.work import serving, submitting
from measures.rubric import Scale, ScaleKind
from projects.errors import Refused
from projects.models import Candidate, LogEntry, Membership, Passage, Project, Question
from tests.annotate.batches.test_trials import run_trial
from tests.annotate.open_batches import answered, assert_equation
from tests.concurrency import all_at_once, start_beside
from tests.factories import make_batch, make_corpus, make_identical_answers, make_membership, make_plan
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.previews import confirm
from tests.results.judged_batches import ask, judge

POINTS = Scale(kind=ScaleKind.ORDINAL, low=1, high=5)
RULES = (Rule("generative", "train", 1), Rule("span", "*", 2), Rule("generative", "*", 3))


def fill(project: Project) -> None:
    """Two passages of four candidates: one generative in dev, one span in test."""
    for kind, split in (("generative", "dev"), ("span", "test")):
        dataset = make_corpus(project, name=kind, kind=kind, n_candidates=4)
        Passage.objects.filter(dataset=dataset).update(split=split)


def store_plan(project: Project, rules: tuple[Rule, ...] = RULES) -> OverlapPlan:
    return create_plan(project=project, actor=None, name="MOCHA", rules=rules)


def start(plan: OverlapPlan, **over: Any) -> Started:
    return start_plan(plan=plan, actor=None, opens=True, **over)


def work(project: Project, n_annotators: int) -> None:
    """So many annotators, each of whom takes all that there is for them."""
    for _ in range(n_annotators):
        annotator = make_membership(project)
        while not isinstance(found := serving.claim(annotator), serving.NoWork):
            n_items = len(Assignment.objects.get(uuid=found).layout)
            submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(n_items))


def n_judgments(project: Project) -> dict[str, set[int]]:
    """By split, how many annotators' judgments count for its candidates."""
    found: dict[str, set[int]] = {}
    rows = Judgment.objects.filter(is_counted=True, candidate__dataset__project=project)
    for split, candidate in set(rows.values_list("candidate__question__passage__split", "candidate_id")):
        found.setdefault(split, set()).add(rows.filter(candidate=candidate).values("annotator").distinct().count())
    return found


@pytest.mark.django_db
def test_a_started_plan_ends_with_exactly_the_planned_judgments(project: Project) -> None:
    fill(project)
    plan = store_plan(project)
    started = start(plan)
    assert [(batch.judgments, batch.n_items, batch.plan) for batch in started.batches] == [(3, 4, plan), (2, 4, plan)]
    assert plan.started_at is not None
    work(project, 3)
    assert n_judgments(project) == {"dev": {3}, "test": {2}}
    again = start(plan)
    assert (again.batches, again.n_places, again.n_topped_up) == ([], 0, 0)
    assert_equation()
    assert verify() == []
    assert LogEntry.objects.filter(act="start plan").count() == 2


@pytest.mark.django_db
def test_what_is_under_way_is_topped_up_and_what_was_collected_is_not_collected_again(project: Project) -> None:
    fill(project)
    done = make_batch(project, datasets=("span",))
    work(project, 1)
    lifecycle.close(batch=done, actor=None)
    at_work = make_batch(project, datasets=("generative",), judgments=1)
    started = start(store_plan(project))
    assert (started.n_places, started.n_topped_up) == (2, 1)
    assert [(batch.judgments, batch.n_items) for batch in started.batches] == [(1, 4)]
    at_work.refresh_from_db()
    assert at_work.judgments == 3
    work(project, 3)
    assert n_judgments(project) == {"dev": {3}, "test": {2}}
    assert_equation()


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_a_withdrawal_waits_for_a_plan_that_is_started(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock of withdrawals, which creating a batch takes, while it waits for HITs that get places."""
    fill(project)
    at_work = make_batch(project, datasets=("generative",), judgments=1)
    candidate = Candidate.objects.filter(items__hit__batch=at_work).select_related("question__passage").earliest("pk")
    withdrawn: list[Any] = []
    add_places = plans._add_places

    def add_and_withdraw(*arguments: Any) -> int:
        n_added = add_places(*arguments)
        withdraw = partial(withdraw_candidate, project=project, actor=manager, candidate=candidate, why="Cut off.")
        withdrawn.append(start_beside(withdraw))
        return n_added

    monkeypatch.setattr(plans, "_add_places", add_and_withdraw)
    started = start(store_plan(project))
    assert (started.n_topped_up, len(started.batches)) == (1, 1)
    (outcome,) = [finish() for finish in withdrawn]
    assert not isinstance(outcome, Exception), outcome
    assert Item.objects.get(candidate=candidate).retired_at is not None


@pytest.mark.django_db
def test_a_plan_goes_on_with_new_data_and_with_raised_numbers(project: Project) -> None:
    fill(project)
    plan = store_plan(project)
    start(plan)
    Passage.objects.filter(dataset=make_corpus(project, name="late", n_candidates=2)).update(split="dev")
    started = start(plan)
    assert [(batch.judgments, batch.n_items) for batch in started.batches] == [(3, 2)]
    change_plan(plan=plan, actor=None, name="MOCHA", rules=(Rule("*", "*", 4),))
    started = start(plan)
    assert (started.batches, started.n_places) == ([], 1 + 2 + 1)
    assert sorted(Batch.objects.values_list("judgments", flat=True)) == [4, 4, 4]


@pytest.mark.django_db
def test_the_batches_show_the_controls_that_the_plan_counted(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    fill(project)
    plan, client = store_plan(project), client_of(manager)
    page = reverse("annotate:plan-show", args=[project.slug, plan.number])
    asked = {"hit_size": "5", "presentation": "page", "known_per_hit": "1", "degraded_per_hit": "1.5"}
    without, wanted = read(client.get(page).content.decode()), read(client.get(page, asked).content.decode())
    assert (without.number("HITs"), wanted.number("HITs")) == (2, 4)
    none_fits = client.get(page, {**asked, "known_per_hit": "4"}).content.decode()
    assert "leave no room for other items in a HIT of 5" in none_fits
    assert "Start plan" not in none_fits
    assert client.get(page, {**asked, "hit_size": "x"}).status_code == 200
    confirm(client, page, asked, at=reverse("annotate:plan-start", args=[project.slug, plan.number]))
    made = Batch.objects.order_by("number")
    assert [(batch.hit_size, batch.control_plan["known_per_hit"], batch.n_hits) for batch in made] == [(5, 1, 2)] * 2
    plan_page = client.get(page).content.decode()
    assert "generate and accept their controls" in plan_page
    assert (
        "none is accepted yet"
        in client.get(reverse("annotate:batch-show", args=[project.slug, made[0].number])).content.decode()
    )
    Passage.objects.filter(dataset=make_corpus(project, name="late", n_candidates=2)).update(split="dev")
    assert [batch.control_plan["known_per_hit"] for batch in start(plan).batches] == [1]


@pytest.mark.django_db
def test_places_on_a_closed_batch_are_named_beside_what_is_missing(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    fill(project)
    plan, client = store_plan(project), client_of(manager)
    page = reverse("annotate:plan-show", args=[project.slug, plan.number])
    batch = start(plan).batches[0]
    assert "is closed with" not in client.get(page).content.decode()
    lifecycle.close(batch=batch, actor=None)
    assert "is closed with 3 unfilled assignments." in condense(client.get(page).content.decode())
    lifecycle.reopen(batch=batch, actor=None, why="Not finished")
    assert "is closed with" not in client.get(page).content.decode()


@pytest.mark.django_db
def test_a_deleted_draft_is_made_again(project: Project) -> None:
    fill(project)
    plan = store_plan(project)
    first = start_plan(plan=plan, actor=None).batches
    lifecycle.delete_draft(batch=first[0], actor=None)
    assert [batch.judgments for batch in start_plan(plan=plan, actor=None).batches] == [3]


@pytest.mark.django_db
@pytest.mark.parametrize(("use", "n_items", "judgments"), [("leave_out", 4, {2}), ("count", 8, {3}), ("anew", 8, {5})])
def test_the_plan_uses_the_trial_as_chosen(project: Project, use: str, n_items: int, judgments: set[int]) -> None:
    for name in ("tried", "new"):
        Passage.objects.filter(dataset=make_corpus(project, name=name, n_candidates=4)).update(split="dev")
    trial = run_trial(project, judgments=2, n_annotators=2, n_items=4, datasets=("tried",))
    started = start(store_plan(project), asked=use)
    assert {batch.use_of_trial for batch in started.batches} == {use}
    assert sum(batch.n_items for batch in started.batches) == n_items
    work(project, 3)
    tried = Judgment.objects.filter(is_counted=True, candidate__dataset__name="tried")
    counts = {
        tried.filter(candidate=each).count() for each in trial.hits.get().items.values_list("candidate", flat=True)
    }
    assert counts == judgments
    assert start(OverlapPlan.objects.get(), asked="anew").batches == []


@pytest.mark.django_db
def test_named_annotators_and_other_rubrics_are_not_topped_up(project: Project, annotator: Membership) -> None:
    fill(project)
    make_batch(project, datasets=("generative",), judgments=None, annotators=(annotator,))
    started = start(store_plan(project))
    assert started.n_places == 0
    assert [(batch.judgments, batch.n_items) for batch in started.batches] == [(2, 8)]


@pytest.mark.django_db
def test_judgments_on_a_slider_are_none_on_points_of_the_same_ends(project: Project) -> None:
    fill(project)
    points = project.rubrics.get()
    candidates = list(Candidate.objects.in_project(project).filter(dataset__name="generative"))
    slider = ask(project, correctness=Scale(kind=ScaleKind.CONTINUOUS, low=1, high=5))
    judge(project, {each: {make_membership(project): 3.5} for each in candidates}, rubric=slider)
    had = {
        rubric: sum(each.n_had for each in fetch_coverage(project, rubric, counted_trial=None, left_out_trial=None))
        for rubric in (points, slider)
    }
    assert had == {points: 0, slider: 4}


@pytest.mark.django_db
def test_a_plan_that_asks_for_nothing_or_has_no_name_is_refused(project: Project) -> None:
    for name, rules in (("", RULES), ("Name", ()), ("Name", (Rule("span", "dev", 0),))):
        with pytest.raises(Refused):
            create_plan(project=project, actor=None, name=name, rules=rules)


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_started_by_many_at_once_a_plan_makes_its_batches_once(project: Project) -> None:
    fill(project)
    plan = store_plan(project)
    started = all_at_once(lambda _: len(start_plan(plan=plan, actor=None).batches), range(4))
    assert sorted(started) == [0, 0, 0, 2]
    assert Batch.objects.count() == 2


@pytest.mark.django_db
def test_managers_make_look_at_and_start_a_plan(project: Project, manager: Membership, client_of: SignIn) -> None:
    fill(project)
    client = client_of(manager)
    address = reverse("annotate:plan-new", args=[project.slug])
    form = client.get(address, {"preset": "mocha"}).context["form"]
    filled = {kind: {field.label: field.value() for field in fields} for kind, fields in form.parts_by_kind()}
    assert filled == {"Generative": {"dev": 3}, "Span": {"test": 2}}
    assert client.post(address, {"name": "Ours"}).status_code == 422
    assert client.post(address, {"name": "Ours", "judgments0": "-1"}).status_code == 422
    made = client.post(address, {"name": "Ours", "judgments0": "3", "judgments1": "2"})
    shown = client.get(made["Location"])
    assert shown.context["figures"].missing.n_judgments == 4 * 3 + 4 * 2
    assert not Batch.objects.exists()
    show = made["Location"]
    assert client.post(show + "start/", {"use_of_trial": "burn"}).status_code == 302
    assert not Batch.objects.exists()
    assert client.get(show + "start/").status_code == 405
    page = confirm(client, show, at=show + "start/", follow=True).content.decode()
    assert "2 batches created." in page
    assert "Nothing is missing" in page
    edited = client.post(show + "edit/", {"name": "Ours", "judgments0": "4", "judgments1": "2"}, follow=True)
    assert edited.context["figures"].missing.n_assignments == 1
    assert "Ours" in client.get(reverse("annotate:plan-list", args=[project.slug])).content.decode()


def open_new(client: Client, address: str) -> dict[str, str]:
    """What a filled form of a new plan sends."""
    newest = client.get(address).context["newest"]
    return {"name": "Ours", "judgments0": "3", "judgments1": "2", "newest": newest}


@pytest.mark.django_db
def test_a_form_of_a_new_plan_that_is_sent_twice_is_one_plan(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    fill(project)
    client, address = client_of(manager), reverse("annotate:plan-new", args=[project.slug])
    sent = open_new(client, address)
    made = client.post(address, sent)
    assert client.post(address, sent)["Location"] == made["Location"]
    assert OverlapPlan.objects.count() == 1
    assert client.post(address, {**sent, "judgments1": "4"})["Location"] != made["Location"]
    assert client.post(address, open_new(client, address))["Location"] != made["Location"], (
        "the same plan, made on purpose"
    )
    assert client.post(address, {**sent, "newest": "x"}).status_code == 302
    assert OverlapPlan.objects.count() == LogEntry.objects.filter(act="make plan").count() == 4


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_a_form_of_a_new_plan_that_is_sent_twice_at_once_is_one_plan(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    fill(project)
    client, address = client_of(manager), reverse("annotate:plan-new", args=[project.slug])
    sent = open_new(client, address)
    assert len(set(all_at_once(lambda _: client.post(address, sent)["Location"], range(3)))) == 1
    assert OverlapPlan.objects.count() == 1


@pytest.mark.django_db
def test_a_plan_counts_a_judgment_for_each_criterion_as_its_batches_do(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    fill(project)
    ask(project, correctness=POINTS, fluency=POINTS)
    plan = store_plan(project, (Rule("*", "*", 3),))
    client = client_of(manager)
    address = reverse("annotate:plan-show", args=[project.slug, plan.number])
    html = client.get(address).content.decode()
    page = read(html)
    assert page.number("Judgments") == 8 * 3 * 2
    assert [row["Judgments"] for row in page.rows("Batches to create and extend")] == ["48"]
    assert [(row["Planned"], row["Missing"]) for row in page.rows("Parts of the data")] == [("24", "24")] * 2
    assert "All are counted once for each of the rubric’s 2 criteria" in condense(html)
    start(plan)
    page = read(client.get(address).content.decode())
    assert [(row["In progress"], row["Missing"]) for row in page.rows("Parts of the data")] == [("24", "0")] * 2


@pytest.mark.django_db
def test_a_plan_by_question_type_is_made_edited_and_started(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    fill(project)
    Question.objects.filter(dataset__kind="span").update(type="yes-no")
    client = client_of(manager)
    address = reverse("annotate:plan-new", args=[project.slug]) + "?by=type"
    form = client.get(address).context["form"]
    fields = {part: name for name, part in form.parts.items()}
    assert set(fields) == {("generative", "dev", ""), ("span", "test", "yes-no")}
    made = client.post(address, {"name": "Typed", fields["span", "test", "yes-no"]: "2"})
    shown = client.get(made["Location"])
    rows = read(shown.content.decode()).rows("Parts of the data")
    assert [(row["Question type"], row["Judgments per candidate"]) for row in rows] == [
        ("not specified", "not covered"),
        ("yes-no", "2"),
    ]
    assert shown.context["figures"].missing.n_judgments == 8
    assert client.get(made["Location"] + "edit/").context["form"].by_type
    assert not client.get(made["Location"] + "edit/?by=split").context["form"].by_type
    answer = StringIO()
    call_command("plan", "--project", project.slug, "--json", "--rule", "*", "*", "none", "1", stdout=answer)
    assert [(part["type"], part["missing"]) for part in json.loads(answer.getvalue())["parts"]] == [
        ("", 4),
        ("yes-no", 0),
    ]
    with pytest.raises(CommandError, match="a question type if you name one"):
        call_command("plan", "--project", project.slug, "--rule", "*", "1")


@pytest.mark.django_db
def test_researchers_look_and_start_nothing(project: Project, researcher: Membership, client_of: SignIn) -> None:
    fill(project)
    show = reverse("annotate:plan-show", args=[project.slug, make_plan(project).number])
    client = client_of(researcher)
    page = client.get(show).content.decode()
    assert "Start plan" not in page
    assert client.post(show + "start/").status_code == 403
    assert client.get(show + "edit/").status_code == 403


@pytest.mark.django_db
def test_the_command_prints_the_plan_and_starts_it(project: Project) -> None:
    fill(project)

    def run(*arguments: str) -> dict[str, Any]:
        out = StringIO()
        call_command("plan", "--project", project.slug, "--json", *arguments, stdout=out)
        answer: dict[str, Any] = json.loads(out.getvalue())
        return answer

    output = run()
    assert (output["plan"], output["judgments"], output["hits"], output["assignments"]) == (None, 20, 2, 5)
    with pytest.raises(CommandError, match="--open requires --start") as wrong:
        run("--open")
    assert wrong.value.returncode == 2
    assert not OverlapPlan.objects.exists()
    made = run("--start", "--open")
    assert [each["judgments_each"] for each in made["made"]] == [3, 2]
    assert run("--start")["made"] == []
    assert OverlapPlan.objects.count() == 1
    raised = run("--rule", "*", "*", "4", "--start")
    assert raised["places_added"] == 3
    shown = run()
    assert (shown["plan"], shown["assignments"]) == (1, 0)
    create_plan(project=project, actor=None, name="Another", rules=MOCHA)
    assert [run(*which)["plan"] for which in ((), ("--number", "1"))] == [2, 1]
    with pytest.raises(CommandError, match="no plan 7"):
        run("--number", "7")
    with pytest.raises(CommandError, match="not a number"):
        run("--rule", "*", "*", "many")


@pytest.mark.django_db
def test_of_identical_answers_a_plan_asks_for_one(project: Project, manager: Membership, client_of: SignIn) -> None:
    make_identical_answers(project)
    started = start(store_plan(project, (Rule("*", "*", 2),)))
    (batch,) = started.batches
    assert set(Item.objects.filter(hit__batch=batch).values_list("candidate__external_id", flat=True)) == {
        *("same-gpt", "other-gpt", "other-span")
    }
    work(project, 2)
    again = start(OverlapPlan.objects.get())
    assert (again.batches, again.n_places) == ([], 0), "the answer that is not rated lacks nothing"
    form = client_of(manager).get(reverse("annotate:plan-new", args=[project.slug])).content.decode()
    assert "3 candidates" in condense(form)
