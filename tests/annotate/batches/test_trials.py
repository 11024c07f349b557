"""The trial before a full collection: how it is used, and that the collection waits for it."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.batches import creating, judgments_wanted, lifecycle, trials
from annotate.batches.creating import plan_batch
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.data.withdrawing import withdraw_candidate
from annotate.integrity.verifying import verify
from annotate.models import Assignment, Batch, Hit, Item, Judgment, QualificationTest
from annotate.work import submitting
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, assert_equation
from tests.factories import make_batch, make_corpus, make_membership, make_rubric
from tests.page_reader import condense
from tests.people import SignIn
from tests.previews import confirm
from tests.sized_projects import claim

TRIAL = Batch.Kind.TRIAL


def make(project: Project, *, selection: Selection | None = None, **over: Any) -> Batch:
    return creating.create_batch(
        project=project, actor=None, selection=selection or Selection(), terms=Terms(**{"judgments": 3, **over})
    )


def run(name: str, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def submit(annotator: Membership, n_items: int) -> None:
    submitting.submit(annotator=annotator, assignment_uuid=claim(annotator), sent=answered(n_items))


def run_trial(project: Project, *, judgments: int, n_annotators: int, n_items: int, **over: Any) -> Batch:
    """A closed trial of HITs of so many items, each taken up by so many annotators as far as places go."""
    trial = make_batch(project, kind=TRIAL, judgments=judgments, **over)
    for _ in range(n_annotators):
        annotator = make_membership(project)
        for _ in range(trial.n_hits):
            submit(annotator, n_items)
    lifecycle.close(batch=trial, actor=None)
    return trial


def list_candidates(batch: Batch) -> set[int]:
    return set(Item.objects.filter(hit__batch=batch).values_list("candidate_id", flat=True))


def n_counted(project: Project) -> dict[int, int]:
    found: dict[int, int] = {}
    for candidate in Judgment.objects.filter(is_counted=True).values_list("candidate_id", flat=True):
        found[candidate] = found.get(candidate, 0) + 1
    return found


def test_a_full_batch_leaves_the_trials_candidates_out_also_of_its_sample(project: Project) -> None:
    make_corpus(project, n_passages=4, n_candidates=5)
    trial = make(project, kind=TRIAL, selection=Selection(sample=5))
    terms: dict[str, Any] = {"trial": trial, "use_of_trial": "leave_out"}
    plan = plan_batch(project=project, selection=Selection(sample=15), terms=Terms(judgments=3, **terms))
    full = make(project, selection=Selection(sample=15), **terms)
    assert (plan.n_candidates, plan.n_left_out) == (15, 5)
    assert len(list_candidates(full)) == 15
    assert not list_candidates(full) & list_candidates(trial)


def test_counted_judgments_are_not_collected_again_and_no_more_than_was_asked_comes_together(project: Project) -> None:
    make_corpus(project, name="in trial", n_passages=2, n_candidates=3)
    trial = run_trial(project, judgments=2, n_annotators=2, n_items=3)
    make_corpus(project, name="new", n_passages=2, n_candidates=3)
    terms: dict[str, Any] = {"judgments": 3, "trial": trial, "use_of_trial": "count"}
    plan = plan_batch(project=project, selection=Selection(), terms=Terms(**terms))
    full = make(project, **terms)
    assert (plan.n_assignments, plan.n_judgments, plan.n_reused) == (2 * 1 + 2 * 3, 6 * 1 + 6 * 3, 12)
    assert sorted(full.hits.values_list("places_wanted", flat=True)) == [1, 1, 3, 3]
    lifecycle.open_batch(batch=full, actor=None)
    for _ in range(3):
        annotator = make_membership(project)
        while Hit.objects.filter(places_open__gt=0).exclude(assignments__annotator=annotator).exists():
            submit(annotator, 3)
    assert set(n_counted(project).values()) == {3}
    assert_equation()
    assert verify() == []


def test_candidates_of_one_passage_with_other_numbers_of_judgments_are_cut_apart(project: Project) -> None:
    make_corpus(project, n_candidates=6)
    trial = run_trial(project, judgments=2, n_annotators=2, n_items=6)
    some = sorted(list_candidates(trial))[:2]
    Judgment.objects.filter(candidate_id__in=some, assignment=Assignment.objects.earliest("pk")).update(
        is_counted=False, not_counted_reason="set aside"
    )
    full = make(project, trial=trial, use_of_trial="count")
    made = {
        tuple(sorted(hit.items.values_list("candidate_id", flat=True))): hit.places_wanted for hit in full.hits.all()
    }
    assert made == {tuple(some): 2, tuple(sorted(list_candidates(trial) - set(some))): 1}


def test_what_has_as_many_judgments_by_the_trial_is_left_out(project: Project) -> None:
    make_corpus(project, n_candidates=3)
    trial = run_trial(project, judgments=3, n_annotators=3, n_items=3)
    with pytest.raises(Refused, match="Nothing is left to collect"):
        make(project, trial=trial, use_of_trial="count")
    make_corpus(project, name="new", n_candidates=2)
    full = make(project, trial=trial, use_of_trial="count")
    assert not list_candidates(full) & list_candidates(trial)
    assert len(list_candidates(full)) == 2


def test_more_and_fewer_judgments_include_those_of_trials(project: Project) -> None:
    make_corpus(project, name="in trial", n_candidates=2)
    trial = run_trial(project, judgments=2, n_annotators=2, n_items=2)
    make_corpus(project, name="new", n_candidates=2)
    full = make(project, judgments=3, trial=trial, use_of_trial="count")
    change = judgments_wanted.plan_wanted(batch=full, judgments=5)
    assert (change.n_hits, change.n_added) == (2, 4)
    judgments_wanted.change_wanted(batch=full, actor=None, judgments=5)
    assert sorted(full.hits.values_list("places_wanted", flat=True)) == [3, 5]
    assert judgments_wanted.plan_wanted(batch=full, judgments=1).n_removed == 3 + 4
    judgments_wanted.change_wanted(batch=full, actor=None, judgments=1)
    assert sorted(full.hits.values_list("places_wanted", flat=True)) == [0, 1]


def test_a_withdrawn_candidate_asks_for_no_more_judgments_of_the_others(project: Project, manager: Membership) -> None:
    """Its judgments of the trial count no longer, and nobody is shown it any more."""
    in_trial = make_corpus(project, name="in trial", n_candidates=3)
    trial = run_trial(project, judgments=2, n_annotators=2, n_items=3)
    full = make(project, judgments=3, trial=trial, use_of_trial="count")
    broken = in_trial.candidates.first()
    assert broken is not None
    withdraw_candidate(project=project, actor=manager, candidate=broken, why="Cut off.")
    assert judgments_wanted.plan_wanted(batch=full, judgments=4).n_added == 1
    judgments_wanted.change_wanted(batch=full, actor=None, judgments=4)
    assert full.hits.get().places_wanted == 2


def test_a_counted_trial_says_what_opening_it_again_means(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_corpus(project, n_candidates=3)
    trial = run_trial(project, judgments=3, n_annotators=2, n_items=3)
    client, page = client_of(manager), reverse("annotate:batch-show", args=[project.slug, trial.number])
    assert "are added to the number" not in client.get(page).content.decode()
    make(project, judgments=5, trial=trial, use_of_trial="count")
    assert "are added to the number required there" in client.get(page).content.decode()
    lifecycle.reopen(batch=trial, actor=None, why="More are needed")
    assert "are added to the number" not in client.get(page).content.decode()


def test_collected_again_everything_is_asked_once_more_of_other_people(project: Project, annotator: Membership) -> None:
    make_corpus(project, n_candidates=3)
    trial = run_trial(project, judgments=1, n_annotators=1, n_items=3)
    full = make(project, judgments=1, trial=trial, use_of_trial="anew")
    assert list_candidates(full) == list_candidates(trial)
    lifecycle.open_batch(batch=full, actor=None)
    submit(annotator, 3)
    assert set(n_counted(project).values()) == {2}


@pytest.mark.parametrize("state", ["draft", "open", "paused"])
def test_the_full_collection_waits_for_the_trial_unless_there_is_a_reason(project: Project, state: str) -> None:
    make_corpus(project)
    trial = make_batch(project, kind=TRIAL, is_open=state != "draft")
    if state == "paused":
        lifecycle.pause(batch=trial, actor=None)
    full = make(project)
    with pytest.raises(Refused, match="is a draft" if state == "draft" else f"is {state}"):
        lifecycle.open_batch(batch=full, actor=None)
    with pytest.raises(Refused):
        lifecycle.open_batch(batch=full, actor=None, why="  ")
    lifecycle.open_batch(batch=full, actor=None, why="The deadline is near.")
    entry = LogEntry.objects.filter(act="open batch").latest("pk")
    assert (entry.object_id, entry.why) == (str(full.pk), "The deadline is near.")
    lifecycle.pause(batch=full, actor=None)
    lifecycle.open_batch(batch=full, actor=None)


def test_after_the_trial_is_closed_nothing_waits(project: Project) -> None:
    make_corpus(project)
    lifecycle.close(batch=make_batch(project, kind=TRIAL), actor=None)
    full = make(project)
    assert trials.explain_waiting_for_trial(full) == ""
    lifecycle.open_batch(batch=full, actor=None)


def test_a_trial_is_counted_only_when_it_is_over_and_under_the_same_rubric(project: Project) -> None:
    make_corpus(project, n_candidates=2)
    trial = make_batch(project, kind=TRIAL, judgments=1)
    claimed = claim(annotator := make_membership(project))
    count: dict[str, Any] = {"judgments": 2, "trial": trial, "use_of_trial": "count"}
    with pytest.raises(Refused, match="Close the trial first"):
        make(project, **count)
    lifecycle.close(batch=trial, actor=None)
    with pytest.raises(Refused, match="in progress"):
        make(project, **count)
    submitting.submit(annotator=annotator, assignment_uuid=claimed, sent=answered(2))
    full = make(project, **count)
    make_rubric(project)
    with pytest.raises(Refused, match="rubric has changed"):
        make(project, **count)
    with pytest.raises(Refused, match="older rubric"):
        lifecycle.adopt_newest_texts(batch=full, actor=None)


def test_impossible_options_of_a_trial_are_refused(project: Project, annotator: Membership) -> None:
    make_corpus(project)
    trial = make(project, kind=TRIAL)
    full = make(project)
    other = make(project, kind=TRIAL)
    refused: list[dict[str, Any]] = [
        {"trial": full, "use_of_trial": "anew"},
        {"trial": trial, "use_of_trial": ""},
        {"trial": trial, "use_of_trial": "burn"},
        {"trial": None, "use_of_trial": "anew"},
        {"trial": trial, "use_of_trial": "anew", "kind": TRIAL},
        {"trial": trial, "use_of_trial": "count", "judgments": None, "annotators": (annotator,)},
    ]
    for over in refused:
        with pytest.raises(Refused):
            make(project, **over)
    make(project, trial=other, use_of_trial="anew")
    with pytest.raises(Refused, match="Delete that batch first"):
        lifecycle.delete_draft(batch=other, actor=None)
    lifecycle.delete_draft(batch=trial, actor=None)


def test_the_form_of_a_trial_begins_with_200_candidates_and_5_judgments(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_corpus(project, n_passages=3)
    address = reverse("annotate:batch-new", args=[project.slug])
    form = client_of(manager).get(address, {"kind": "trial"}).context["form"]
    assert (form["kind"].value(), form["sample"].value(), form["judgments"].value()) == ("trial", 200, 5)
    assert "use_of_trial" not in form.fields
    assert "requires_qualification" not in form.fields
    plain = client_of(manager).get(address).context["form"]
    assert (plain["kind"].value(), plain["sample"].value(), plain["judgments"].value()) == ("full", None, 1)


def test_the_form_of_a_full_batch_asks_about_the_trial_and_keeps_to_the_answer(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_corpus(project, n_passages=3)
    trial = make(project, kind=TRIAL, selection=Selection(sample=10))
    rubric = project.rubrics.get()
    QualificationTest.objects.create(project=project, rubric=rubric)
    address = reverse("annotate:batch-new", args=[project.slug])
    client = client_of(manager)
    page = client.get(address)
    form = page.context["form"]
    assert form["use_of_trial"].value() == "leave_out"
    assert form["requires_qualification"].value() is True
    data = {name: form[name].value() for name in form.fields} | {"judgments": 3}
    data = {name: value for name, value in data.items() if value is not None and not isinstance(value, bool)}
    planned = condense(client.get(address, data).content.decode())
    assert "10 candidates in this selection are excluded because the trial covers them" in planned
    response = confirm(client, address, data)
    assert response.status_code == 302
    made = project.batches.latest("number")
    assert (made.trial, made.use_of_trial, made.n_items) == (trial, "leave_out", 20)
    assert not made.requires_qualification
    shown = client.get(response["Location"]).content.decode()
    assert "its candidates are excluded" in shown
    assert "Open before the trial is closed" in shown
    state = reverse("annotate:batch-state", args=[project.slug, made.number])
    client.post(state, {"act": "open"})
    made.refresh_from_db()
    assert made.state == "draft"
    client.post(state, {"act": "open", "why": "No time."})
    made.refresh_from_db()
    assert made.state == "open"


def test_the_command_creates_a_trial_and_prints_its_use(project: Project) -> None:
    make_corpus(project, n_passages=30)
    made = run("create_batch", "--project", project.slug, "--kind", "trial")
    assert (made["candidates"], made["judgments_per_candidate"], made["judgments"]) == (200, 5, 1000)
    full = ("create_batch", "--project", project.slug, "--judgments", "2")
    plan = run(*full, "--trial", "leave_out", "--dry-run")["plan"]
    assert (plan["candidates"], plan["left_to_the_trial"]) == (100, 200)
    with pytest.raises(CommandError, match="should follow the trial"):
        run(*full, "--trial", "leave_out", "--open")
    assert run(*full, "--trial", "leave_out", "--open", "--why", "Now")["state"] == "open"
    made = run("create_batch", "--project", project.slug, "--kind", "trial", "--sample", "all", "--judgments", "2")
    assert (made["candidates"], made["judgments_per_candidate"]) == (300, 2)
