"""The rows that every route is requested for: two projects with everything in them, and a member of each role."""

import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile
from django.utils import timezone

from annotate.imports import uploading
from annotate.models import Assignment, ControlJob, Remark
from annotate.payments import paying
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects.accounts import passwords
from projects.api import tokens
from projects.importing import Kind
from projects.models import ApiToken, Membership, Project, User
from projects.people import invitations
from tests import factories
from tests.annotate.panels.samples import panel_samples
from tests.annotate.payments.paid_work import earn
from tests.annotate.prolific.samples import prolific_samples
from tests.annotate.qualification.factories import path_samples
from tests.annotate.quality.scripted_annotators import quality_samples
from tests.annotate.submitted_work import acting_samples
from tests.annotate.surveys.samples import survey_samples
from tests.every_page import chart_samples, find_report, pair_samples, read_token
from tests.people import start_session
from tests.projects.webhooks.samples import webhook_samples
from tests.results.metrics.samples import metric_samples
from tests.results.sets.frozen_sets import set_samples
from tests.results.studies.factories import study_samples
from tests.results.training.factories import training_samples
from tests.routes import all_routes

CSV = b"question,reference,candidate\nWho?,Ann,Bob\n"
Role, Standing = Membership.Role, Membership.Standing
ROUTES = [route for route in all_routes() if not route.is_admin]


@dataclass(frozen=True)
class World:
    """Two projects with everything in them, a session or a token for each identity, and values for the paths."""

    sessions: dict[str, str]
    tokens: dict[str, str]
    memberships: dict[str, Membership | None]
    samples: dict[str, Any]
    foreign: dict[str, Any]
    missing: dict[str, Any]
    users: dict[str, User]
    savepoint: str = ""


def make_world() -> World:
    ours, theirs = factories.make_project("ours"), factories.make_project("theirs")
    member = factories.make_membership
    memberships: dict[str, Membership | None] = {
        "annotator": member(ours),
        "annotator of another project": member(theirs),
        "researcher": member(ours, role=Role.RESEARCHER),
        "manager": member(ours, role=Role.MANAGER),
        "owner": member(ours, role=Role.OWNER),
        "manager of another project": member(theirs, role=Role.MANAGER),
        "removed manager": member(ours, role=Role.MANAGER, standing=Standing.REMOVED),
        "suspended annotator": member(ours, standing=Standing.SUSPENDED),
        "superuser": None,
    }
    users = {name: m.user for name, m in memberships.items() if m is not None and m.user is not None}
    users["owner"].can_create_projects = True
    users["owner"].save()
    users["superuser"] = factories.make_user("root", is_superuser=True, is_staff=True)
    for project in (theirs, theirs, theirs):
        factories.make_rubric(project)
        factories.make_instructions(project)
    samples = _children(ours, member(ours), _asserted(memberships["annotator"]), _asserted(memberships["manager"]))
    other_manager = _asserted(memberships["manager of another project"])
    held = make_tokens(memberships)
    foreign = _children(
        theirs, member(theirs), _asserted(memberships["annotator of another project"]), other_manager, n_before=4
    )
    samples |= chart_samples(of_ours=True)
    foreign |= chart_samples(of_ours=False)
    for name in ("report-job", "report-cancel"):
        key = f"results:{name} pk"
        samples[key], foreign[key] = find_report(ours), find_report(theirs)
    samples["token_id"], foreign["token_id"] = read_token(_asserted(memberships["owner"])), read_token(other_manager)
    for route in ROUTES:  # numbers count from one in each project: take those that only the other one has
        foreign |= {f"{route.name} version": 3}
    return World(
        sessions={name: start_session(user) for name, user in users.items()},
        tokens=held,
        memberships=memberships,
        samples=samples,
        foreign={
            **foreign,
            "slug": "ours",
            "page": 9,
            "place": 9,
            "moment": "during",
            "results:set-file name": "wide.csv ",
            "api:set-file name": "wide.csv ",
        },
        missing={
            "slug": "ours",
            "pseudonym": "a-nobody22",
            "invitation_id": 2**40,
            "item_id": 2**40,
            "token_id": 2**40,
            "webhook_id": 2**40,
            "session_id": 2**40,
            "delivery_id": 2**40,
            "submission_id": 2**40,
            "bonus_number": 2**20,
            "version": 2**20,
            "number": 2**20,
            "plan_number": 2**20,
            "hit_number": 2**20,
            "pk": 2**40,
            "moment": "never",
            "name": "none-such",
            "form": "doc",
            "assignment_uuid": uuid.UUID(int=7),
            "attempt_uuid": uuid.UUID(int=7),
            "page": 2**20,
            "place": 2**20,
        },
        users=users,
    )


def make_tokens(memberships: dict[str, Membership | None]) -> dict[str, str]:
    """A token for each way in which one may reach too little; `memberships` then says whose they are."""
    of = {
        "token that reads": memberships["manager"],
        "token that writes": memberships["manager"],
        "revoked token": memberships["manager"],
        "expired token": memberships["manager"],
        "token of another project": memberships["manager of another project"],
        "token of a removed manager": memberships["removed manager"],
    }
    held = {}
    for name, each in of.items():
        member = _asserted(each)
        standing, member.standing = member.standing, Standing.ACTIVE
        member.save()
        token, held[name] = tokens.make_token(membership=member, name=name, can_write=name != "token that reads")
        member.standing = standing
        member.save()
        if name == "revoked token":
            tokens.revoke(token=token, actor=member)
        if name == "expired token":
            past = {"created_at": timezone.now() - timedelta(days=2), "expires_at": timezone.now() - timedelta(days=1)}
            ApiToken.objects.filter(pk=token.pk).update(**past)
    memberships |= of
    return held


def _children(
    project: Project, rater: Membership, annotator: Membership, manager: Membership, n_before: int = 0
) -> dict[str, Any]:
    """Something of each kind in a project; the values of every path parameter, some for one route alone."""
    dataset = factories.make_corpus(project, n_passages=2 + n_before, n_candidates=3)
    for _ in range(n_before):
        factories.make_batch(project, is_open=False)
        _import(project, manager)
    batch = factories.make_batch(project, judgments=3)
    ControlJob.objects.create(batch=batch, requested_by=manager, state=ControlJob.State.DONE)
    flagged = serving.claim(rater)
    assert isinstance(flagged, uuid.UUID)
    answers: dict[int, dict[str, float | str]] = {place: {"correctness": 4} for place in range(3)}
    submitting.submit(annotator=rater, assignment_uuid=flagged, sent=SentAnswers(values=answers, flags=frozenset({0})))
    assert isinstance(serving.claim(annotator), uuid.UUID)
    _, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    *_, uidb64, reset_token, _ = passwords.link_path(factories.make_user()).split("/")
    passage = dataset.passages.first()
    assert passage is not None
    sent = _import(project, manager)
    samples = {
        "slug": project.slug,
        "pseudonym": rater.pseudonym,
        "invitation_id": project.invitations.get().pk,
        "version": 1,
        "projects:guide name": "managers",
        "uidb64": uidb64,
        "token": token,
        "projects:password-reset token": reset_token,
        "projects:factor-remove pk": 1,  # of nobody: removing what is not one's own does nothing
        "number": batch.number,
        "plan_number": factories.make_plan(project, number=n_before + 1).number,
        "hit_number": batch.hits.latest("number").number,
        "assignment_uuid": Assignment.objects.open().get(annotator=annotator).uuid,
        "annotate:passage-show pk": passage.pk,
        "results:item pk": passage.questions.earliest("pk").candidates.earliest("pk").pk,
        "annotate:remark-resolve pk": Remark.objects.get(assignment__annotator=rater).pk,
    }
    for route in ROUTES:
        if route.name.startswith(("annotate:import-", "api:import-")):
            samples[f"{route.name} number"] = sent
    for _ in range(n_before + 1):
        earn(rater, 5, is_approved=True)
        paying.make_payment(project=project, actor=manager)
    for name in ("payment-show", "payment-file"):
        samples[f"annotate:{name} number"] = n_before + 1
    samples["api:payment-show number"] = n_before + 1
    samples |= webhook_samples(manager)
    samples |= panel_samples(manager, n_before=n_before)
    samples |= prolific_samples(manager, n_before=n_before)
    samples |= survey_samples(manager)
    samples["annotate:import-file number"] = _import(project, manager)  # no walk cancels this one
    samples["annotate:import-skipped number"] = with_list = _import(project, manager)
    uploading.find_skipped_file(project.imports.get(number=with_list)).write_text("line\n")
    samples |= set_samples(project, manager, n_before=n_before)
    samples |= metric_samples(project, manager, n_before=n_before)
    samples |= study_samples(project, manager, n_before=n_before)
    samples |= training_samples(project, manager, n_before=n_before)
    samples |= path_samples(annotator) | quality_samples(project) | acting_samples(annotator) | pair_samples(project)
    for _ in range(1 if n_before == 0 else 3):  # after the work: what was begun without a consent goes on without
        factories.make_consent(project)
    return samples


def _import(project: Project, manager: Membership) -> int:
    upload = TemporaryUploadedFile("rows.csv", "text/csv", len(CSV), "utf-8")
    upload.write(CSV)
    upload.seek(0)
    number = uploading.receive(project=project, actor=manager, upload=upload, kind=Kind.CANDIDATES).number
    with suppress(FileNotFoundError):  # the file has moved to where uploads are kept
        upload.close()
    return number


def _asserted(membership: Membership | None) -> Membership:
    assert membership is not None
    return membership
