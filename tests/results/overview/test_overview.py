"""The overview: what comes next, and how many batches there are."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.models import Assignment, Batch, Judgment, LedgerEntry, Outcome, PanelSession
from annotate.onboarding import consent
from annotate.panels import sessions as panel_sessions
from projects.models import Membership, Project
from results.overview.next_step import NextStep
from results.overview.overview import make_overview
from results.overview.progress_chart import Day, progress_by_day
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, session_of
from tests.annotate.panels.samples import rate as rate_hit
from tests.annotate.submitted_work import rate
from tests.factories import make_batch, make_consent, make_corpus, make_membership
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.results.judged_batches import judge
from tests.sized_projects import claim, submit

pytestmark = pytest.mark.django_db


def next_step(project: Project, *, can_manage: bool = True) -> NextStep:
    return make_overview(project, can_manage=can_manage).next_step


def test_a_project_is_led_from_its_first_file_to_its_agreement(project: Project) -> None:
    assert next_step(project).title == "Import candidates"
    make_corpus(project, n_candidates=3)
    assert next_step(project).title == "Create a batch"
    batch = make_batch(project, is_open=False, name="Pilot")
    assert next_step(project).title == "Open “Pilot”"
    lifecycle.open_batch(batch=batch, actor=None)
    assert next_step(project).title == "Invite annotators"
    annotator = make_membership(project)
    assert next_step(project).text == "1 assignment remaining."
    batch.refresh_from_db()
    lifecycle.pause(batch=batch, actor=None)
    assert next_step(project).title == "Work is paused"
    batch.refresh_from_db()
    lifecycle.open_batch(batch=batch, actor=None)
    submit(annotator)
    assert next_step(project).text == "All requested judgments are complete."


def test_a_project_without_a_rubric_is_told_to_define_one(project: Project) -> None:
    make_corpus(project, n_candidates=3)
    project.rubrics.all().delete()
    step = next_step(project)
    assert (step.title, step.url) == ("Define the rubric", f"/p/{project.slug}/rubric/")


def test_what_is_left_in_paused_batches_is_no_annotation_in_progress(project: Project) -> None:
    """A batch stays open after its last HIT, and one whose HITs no one can take does too."""
    make_membership(project)
    finished, paused = open_batch(project, n_hits=1), open_batch(project, n_hits=1, state=Batch.State.PAUSED)
    finished.hits.update(places_open=0, places_done=1)
    assert next_step(project).title == "Work is paused"
    finished.hits.update(places_open=1, places_done=0)
    assert next_step(project).title == "Annotation in progress"
    Batch.objects.filter(pk=finished.pk).update(has_named_annotators=True)
    step = next_step(project)
    assert (step.title, step.url) == ("No one can take the HITs yet", f"/p/bridges/batches/{finished.number}/")
    assert step.text.startswith("1 assignment remains.")
    assert paused.number != finished.number


def test_a_closed_batch_that_lacks_judgments_is_not_called_complete(project: Project) -> None:
    make_corpus(project)
    batch = make_batch(project, judgments=2)
    annotators = [make_membership(project) for _ in range(2)]
    submit(annotators[0], n_items=10)
    lifecycle.close(batch=batch, actor=None)
    step = next_step(project)
    assert step.title == "Collect missing judgments"
    assert step.text.startswith(
        "10 candidates have fewer than 2 judgments: 10 in batches that were closed with unfilled assignments. Reopen"
    )
    assert step.url == f"/p/bridges/batches/{batch.number}/"
    # A researcher reads what there is, and is told what comes next.
    step = next_step(project, can_manage=False)
    assert (step.title, step.url) == ("Check agreement", "/p/bridges/agreement/")
    assert step.text == "10 judgments count so far. Next step for a manager: Collect missing judgments."
    # Collected again elsewhere, nothing is missing; excluded work that nobody redoes and single judgments set aside
    # are missing once more.
    again = make_batch(project, judgments=1)
    submit(annotators[1], n_items=10)
    assert next_step(project).title == "Check agreement"
    done = Assignment.objects.get(hit__batch=again)
    Assignment.objects.filter(pk=done.pk).update(mark="excluded")
    done.judgments.update(is_counted=False, not_counted_reason="excluded")
    assert "10 with excluded work that nobody redoes" in next_step(project).text
    Assignment.objects.filter(pk=done.pk).update(mark="counted")
    done.judgments.update(is_counted=True, not_counted_reason="")
    first = done.judgments.earliest("pk")
    type(first).objects.filter(pk=first.pk).update(is_counted=False, not_counted_reason="set aside")
    assert "1 candidate has fewer than 2 judgments" in next_step(project).text
    assert "1 with judgments that were set aside" in next_step(project).text


def test_work_of_a_counted_trial_that_was_taken_out_is_missing_in_the_full_collection(project: Project) -> None:
    make_corpus(project, n_candidates=3)
    trial = make_batch(project, kind=Batch.Kind.TRIAL)
    removed = make_membership(project)
    submit(removed, n_items=3)
    lifecycle.close(batch=trial, actor=None)
    make_corpus(project, n_candidates=2)
    make_batch(project, judgments=2, trial=trial, use_of_trial=Batch.UseOfTrial.COUNT)
    others = [make_membership(project) for _ in range(2)]
    for annotator, n_items in ((others[0], 3), (others[0], 2), (others[1], 2)):
        submit(annotator, n_items=n_items)
    assert next_step(project).title == "Check agreement"
    done = Assignment.objects.filter(annotator=removed)
    done.update(mark="excluded")
    Judgment.objects.filter(annotator=removed).update(is_counted=False, not_counted_reason="excluded")
    assert next_step(project).text.startswith(
        "3 candidates have fewer than 2 judgments: 3 with excluded work that nobody redoes."
    )


def test_a_study_whose_batches_are_archived_is_not_begun_again(project: Project, annotator: Membership) -> None:
    make_corpus(project, n_candidates=3)
    batch = make_batch(project)
    submit(annotator)
    lifecycle.close(batch=batch, actor=None)
    lifecycle.archive(batch=batch, actor=None)
    step = next_step(project)
    assert (step.title, step.text) == ("Check agreement", "All batches are archived. 3 judgments count.")
    Judgment.objects.update(is_counted=False, not_counted_reason="excluded")
    assert next_step(project).title == "Create a batch"


def test_a_draft_waits_while_another_batch_is_worked_on(project: Project, annotator: Membership) -> None:
    make_corpus(project)
    make_batch(project, is_open=False)
    at_work = open_batch(project)
    assert next_step(project).title == "Annotation in progress"
    assert next_step(project).url.endswith(f"/batches/{at_work.number}/")


def test_a_trial_leads_to_the_full_collection(project: Project, annotator: Membership) -> None:
    make_corpus(project, n_candidates=3)
    trial = make_batch(project, kind=Batch.Kind.TRIAL, name="Pilot")
    assert next_step(project).title == "Annotation in progress"
    submit(annotator)
    assert next_step(project).title == "Close “Pilot”"
    assert next_step(project, can_manage=False).text.endswith("Next step for a manager: Close “Pilot”.")
    trial.refresh_from_db()
    lifecycle.close(batch=trial, actor=None)
    assert next_step(project).title == "Read the trial results"
    assert next_step(project).url.endswith("/batches/1/results/")
    full = [make_batch(project, is_open=False, name=name) for name in ("One", "Two")]
    assert next_step(project).title == "Open “Two”"
    lifecycle.open_batch(batch=full[1], actor=None)
    assert next_step(project).title == "No one can take the HITs yet"
    assert next_step(project).text == "1 assignment remains. The batch page says why no one can take it."
    newcomer = make_membership(project)
    assert next_step(project).title == "Annotation in progress"
    submit(newcomer)
    assert next_step(project).title == "Open “One”"
    lifecycle.open_batch(batch=full[0], actor=None)
    submit(make_membership(project))
    assert next_step(project).title == "Check agreement"


def test_researchers_read_what_managers_do_and_have_no_link_to_pages_of_theirs(project: Project) -> None:
    step = next_step(project, can_manage=False)
    assert step == NextStep("Import candidates", "A manager of the project has to do this.")
    open_batch(project)
    make_membership(project)
    assert next_step(project, can_manage=False).url


def test_submissions_that_wait_are_a_step_of_managers(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    project.approve_after_days = None
    open_batch(project, n_hits=4, judgments=1, cents_per_hit=40)
    rate(annotator, 2)
    rate(other_annotator)
    step = next_step(project)
    assert (step.title, step.url) == ("Approve 3 submissions", "/p/bridges/submitted/?state=submitted")
    assert step.text == "3 submissions are awaiting approval. 1 assignment remaining."
    assert next_step(project, can_manage=False).title == "Annotation in progress"
    Membership.objects.filter(pk=other_annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    step = next_step(project)
    assert step.title == "Approve 2 submissions"
    assert "1 more is of suspended or removed annotators." in step.text
    # Automatic approval leaves a manager nothing but these.
    project.approve_after_days = 7
    step = next_step(project)
    assert step.title == "Decide on 1 submission"
    assert step.url.endswith("?state=submitted&inactive=1")
    assert "Automatic approval leaves it to you." in step.text
    Membership.objects.filter(pk=other_annotator.pk).update(standing=Membership.Standing.ACTIVE)
    assert next_step(project).title == "Annotation in progress"
    # Without pay nothing depends on the approval, so it comes last.
    project.approve_after_days = None
    project.cents_per_hit = project.cents_per_item = 0
    Batch.objects.update(cents_per_hit=0)
    LedgerEntry.objects.all().delete()
    assert next_step(project).title == "Annotation in progress"
    rate(annotator)
    assert next_step(project).title == "Approve 4 submissions"


def test_all_batches_are_as_many_as_the_list_shows(
    project: Project, researcher: Membership, annotator: Membership, client_of: SignIn
) -> None:
    for _ in range(11):
        open_batch(project, n_hits=1)
    archived = open_batch(project, n_hits=1)
    lifecycle.close(batch=archived, actor=None)
    lifecycle.archive(batch=archived, actor=None)
    page = client_of(researcher).get(project.get_absolute_url()).content.decode()
    assert "All 12 batches" in page
    assert "1–12 of 12 batches" in client_of(researcher).get("/p/bridges/batches/").content.decode()


def test_its_queries_are_few_whatever_the_number_of_batches(
    project: Project, researcher: Membership, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project)
    client = client_of(researcher)
    client.get(project.get_absolute_url())  # the first request of a session asks whose it is
    with CaptureQueriesContext(connection) as alone:
        assert client.get(project.get_absolute_url()).status_code == 200
    for _ in range(9):
        open_batch(project)
    claim(annotator)
    with CaptureQueriesContext(connection) as together:
        page = client.get(project.get_absolute_url())
    assert page.content.count(b"/p/bridges/batches/") > 9
    # One batch is asked what no one can take in it, of so many none is.
    assert len(together) == len(alone) - 1 < 20


def test_participants_count_as_annotators_while_they_are_here_or_once_they_gave_something(
    project: Project, manager: Membership
) -> None:
    """Who declined, failed, was screened out or found nothing stays a member, and is no active annotator."""
    panel = make_panel(manager)
    open_batch(project, n_hits=9)
    for name in ("ada", "ben", "cem", "dia", "eve"):
        open_link(panel, name)
    make_membership(project)
    assert make_overview(project, can_manage=True).n_annotators == 6
    panel_sessions.end(session_of(panel, "ada"), Outcome.NO_CONSENT)
    panel_sessions.end(session_of(panel, "ben"), Outcome.SCREENED_OUT)
    panel_sessions.record(session_of(panel, "cem"), "returned", actor=manager)
    assert make_overview(project, can_manage=True).n_annotators == 3
    rate_hit(member_of(panel, "dia"))
    panel_sessions.end(session_of(panel, "dia"), Outcome.COMPLETED)
    PanelSession.objects.filter(participant__external_id="eve").update(access=PanelSession.Access.HELD)
    assert make_overview(project, can_manage=True).n_annotators == 2


def test_work_is_shown_day_by_day(project: Project, researcher: Membership, client_of: SignIn) -> None:
    """Imported work was done elsewhere, and rejected work holds no place."""
    candidates = list(make_corpus(project, n_candidates=4).candidates.order_by("pk"))
    people = [make_membership(project) for _ in range(2)]
    trial = judge(project, {each: dict.fromkeys(people, 3) for each in candidates[:2]}, kind="trial")
    judge(project, {candidates[2]: dict.fromkeys(people, 3)})
    judge(project, {candidates[3]: dict.fromkeys(people, 3)}, kind="imported")
    Assignment.objects.filter(hit__batch=trial).update(submitted_at=datetime(2026, 3, 1, 23, 59, tzinfo=UTC))
    first = Assignment.objects.filter(hit__batch=trial).earliest("pk")
    Assignment.objects.filter(pk=first.pk).update(state="rejected", holds_place=False)
    today = f"{timezone.now():%Y-%m-%d}"
    assert progress_by_day(project) == [Day("2026-03-01", 3, 0, 3), Day(today, 0, 2, 5)]
    client = client_of(researcher)
    rows = read(client.get("/p/bridges/").content.decode()).rows("HITs submitted per day")
    assert [(row["Trial"], row["Full collection"], row["Cumulative"]) for row in rows] == [
        ("3", "0", "3"),
        ("0", "2", "5"),
    ]
    assert client.get("/p/bridges/charts/progress.csv").content.decode().splitlines()[1:] == [
        "2026-03-01,3,3",
        f"{today},2,5",
    ]


def test_the_long_export_has_what_the_overview_says_it_has(
    project: Project, annotator: Membership, researcher: Membership, client_of: SignIn
) -> None:
    """All judgments with their reasons, and none that their annotator removed for good."""
    open_batch(project, n_hits=1, consent=make_consent(project))
    consent.agree(annotator=annotator, version=1)
    rate(annotator)
    assert make_overview(project, can_manage=True).n_annotators == 1
    consent.withdraw(annotator=annotator, removes_work=True)
    assert make_overview(project, can_manage=True).n_annotators == 0
    client = client_of(researcher)
    page = condense(client.get(f"/p/{project.slug}/").text)
    assert "each with the reason, except those that annotators removed" in page
    assert Judgment.objects.exists()
    assert len(client.get(f"/p/{project.slug}/export/long.csv").getvalue().splitlines()) == 1
