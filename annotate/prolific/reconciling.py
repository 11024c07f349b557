"""Reconciliation: what this site and Prolific say of the same sessions, and where they differ."""

from dataclasses import dataclass

from django.db.models import Q

from annotate.models import Outcome, PanelSession, ProlificStudy, ProlificSubmission
from annotate.prolific import submissions

Status = ProlificSubmission.Status


@dataclass(frozen=True)
class Difference:
    """One session or submission on which both sides differ, with what to do."""

    session: PanelSession | None
    submission: ProlificSubmission | None
    what: str


def compare(study: ProlificStudy) -> list[Difference]:
    """Return every difference, as of the newest answer of the platform."""
    finished = PanelSession.objects.filter(panel=study.panel_id, outcome=Outcome.COMPLETED)
    related = finished.select_related("participant__membership", "submission").order_by("pk")
    unknown = related.filter(submission=None)
    found = [Difference(session, None, "Finished here, unknown to Prolific.") for session in unknown]
    gone = (Status.RETURNED, Status.TIMED_OUT)
    for session in related.filter(submission__status__in=gone):
        label = session.submission.status_label
        found.append(Difference(session, session.submission, f"Finished here, {label} on Prolific."))
    rows = study.submissions.select_related("session__participant__membership").order_by("pk")
    there = (Status.AWAITING_REVIEW, Status.APPROVED, Status.PARTIALLY_APPROVED)
    unfinished = Q(session=None) | ~Q(session__outcome=Outcome.COMPLETED)
    for row in rows.filter(status__in=there).filter(unfinished):
        if row.session is None:
            what = "unknown here, or erased."
        elif row.session.outcome:
            what = f"here the code for {row.session.get_outcome_display()} was shown."
        else:
            what = "not finished here."
        found.append(Difference(row.session, row, f"{row.status_label.capitalize()} on Prolific; {what}"))
    repeats = rows.filter(status__in=there, session__outcome=Outcome.COMPLETED).annotate(
        is_again=submissions.is_sent_again(), is_rejected=submissions.is_rejected_work()
    )
    for row in repeats.filter(Q(is_again=True) | Q(is_rejected=True, status=Status.AWAITING_REVIEW)):
        what = "another submission was sent for the same HITs. Approve one alone."
        if not vars(row)["is_again"]:
            what = "another submission for the same HITs was rejected. Approve or reject this one by itself."
        found.append(Difference(row.session, row, f"{row.status_label.capitalize()} on Prolific; {what}"))
    for row in submissions.without_code(rows.filter(status=Status.AWAITING_REVIEW)):
        what = "entered no code" if row.entered_code == submissions.NO_CODE else "entered another code"
        found.append(Difference(row.session, row, f"Finished here, {what} on Prolific. The data are complete."))
    seen = {each.submission.pk for each in found if each.submission is not None}
    for row in submissions.list_differing(study).exclude(pk__in=seen):
        state = row.session.get_state_display() if row.session else ""
        found.append(Difference(row.session, row, f"{row.status_label.capitalize()} on Prolific, {state} here."))
    return found
