"""A project with nasty text in every column that keeps text, and values for the path of every page of it."""

from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

from django.apps import apps
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import models
from django.db.models.functions import Now

from annotate.imports import uploading
from annotate.models import Import
from annotate.payments import paying
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects import log
from projects.importing import Kind
from projects.models import Act, Criterion, Instructions, Membership, Passage, Project, User
from projects.people import invitations
from tests import factories
from tests.annotate.open_batches import open_batch
from tests.annotate.payments.paid_work import earn
from tests.every_page import make_samples

LONG = "donaudampfschifffahrtsgesellschaft" * 40
NAMED = {
    "script": "<script>window.__xss=1</script>",
    "image": "<img src=x onerror=window.__xss=1>",
    "template": '"><svg onload=window.__xss=1>{{7*7}}',
    "markup": "</textarea></script>'\"`${7*7}{% now %}<b>",
    "mixed directions": "\u202etfel ot thgir\u202c \u2066alone\u2069 שלום",
    "marks and emoji": "Z" + "\u0334\u0335\u0336\u0348\u0353\u030e\u0344" * 12 + "algo 👩‍👩‍👧‍👦",
    "a long address": "javascript:window.__xss=1//" + LONG,
    "a long word": LONG,
}
PAYLOADS = tuple(NAMED.values())
ALL = "\n".join(PAYLOADS)

APPS = ("projects", "annotate", "results")
KEPT = {
    "User.password",
    "Project.slug",
    "Membership.pseudonym",
    "Criterion.key",
    "Import.stored_name",
    "LogEntry.act",
    "LogEntry.object_type",
    "LogEntry.object_id",
    "Pulse.process",
    "Judgment.not_counted_reason",
    "Assignment.answers_sha256",
    "Import.sha256",
    "Invitation.token_sha256",
}
"""Columns that are no text of people: the app writes them, and reads its own words in them."""

CSV = f'question,reference,candidate,"{PAYLOADS[1]}","{LONG[:60]}"\n"{PAYLOADS[0]}",Ann,"{PAYLOADS[1]}",1,2\n'
PLAN = (
    "batches/new/?kind=full&seed=0&judgments=2&hit_size=10&cents_per_hit=40&cents_per_item=0&fee_percent=20"
    "&time_limit_minutes=60&order=breadth&priority=0"
)
MORE = [
    "agreement/?by=source&level=nominal",
    PLAN,
    "data/candidates/?q=nothing",
    "people/?q=nothing",
    "log/?act=nothing",
]
"""Pages of the project that look otherwise by what is asked of them."""

Role = Membership.Role


@dataclass(frozen=True)
class World:
    """People by what they may, and a value for each parameter of a path."""

    owner: User
    annotator: User
    samples: dict[str, Any]
    more: list[str]


def make_world(*, is_nasty: bool = True) -> World:
    project = factories.make_project("nasty")
    member = factories.make_membership
    owner = member(project, factories.make_user("owner", can_create_projects=True), role=Role.OWNER)
    annotator, rater = member(project), member(project)
    member(project, kind=Membership.Kind.IMPORTED, imported_name="somebody")
    batch = open_batch(project, n_hits=2, n_items=4, judgments=2)
    _rate(rater)
    assert isinstance(serving.claim(annotator), UUID)
    _waiting, done, failed = (_upload(project, owner).number for _ in range(3))
    report = {"rows": 3, "passages": 1, "removed": {"repeated": 1}, "by_dataset": {LONG[:99]: {"a": 1}, ALL: {"b": 2}}}
    finished = {"started_at": Now(), "finished_at": Now()}
    project.imports.filter(number=done).update(state="done", step="write", report=report, **finished)
    project.imports.filter(number=failed).update(state="failed", report=None, **finished)
    _, token = invitations.create_invitation(actor=owner, role=Role.RESEARCHER, note="x")
    log.record(project, owner, Act.CHANGE_CAPS, batch, before={ALL: ALL}, after=[ALL], why=ALL)
    for amount in (5, 7):
        earn(rater, amount, is_approved=True, note="x")
    paying.make_payment(project=project, actor=owner, note="x")
    earn(rater, 3)
    if is_nasty:
        plant()
    assert owner.user
    assert annotator.user
    samples = make_samples(annotator, batch=batch.number, token=token)
    samples |= {"pseudonym": rater.pseudonym, "annotate:import-file number": done}
    more = [f"data/imports/{done}/", f"data/imports/{failed}/", f"batches/{batch.number}/judgments/?judgments=5", *MORE]
    return World(owner.user, annotator.user, samples, more)


def plant() -> None:
    """Nasty text in every row: the rows of a table take the payloads in turn, columns start at different ones."""
    starts = count()
    for model in (model for app in APPS for model in apps.get_app_config(app).get_models()):
        columns = [(field, next(starts)) for field in model._meta.concrete_fields if _is_planted(field)]
        if not columns or model._meta.object_name == "LogEntry":
            continue
        for place, row in enumerate(model._base_manager.order_by("pk")):
            values = {field.name: _payload(field, start + place, row.pk) for field, start in columns}
            model._base_manager.filter(pk=row.pk).update(**values)
    Passage.objects.filter(pk=Passage.objects.earliest("pk").pk).update(
        documents=[{"title": payload, "text": payload} for payload in PAYLOADS]
    )
    Criterion.objects.update(anchors=[{"value": n, "text": PAYLOADS[n]} for n in range(1, 6)])
    Instructions.objects.update(text="\n\n".join(f"# {each}\n\n- {each}\n\n[{each}]({each})" for each in PAYLOADS))
    for job in Import.objects.exclude(report=None):
        job.report = {**(job.report or {}), "warnings": list(PAYLOADS)}
        job.save(update_fields=["report"])


def _is_planted(field: Any) -> bool:
    is_text = isinstance(field, models.CharField | models.TextField) and not isinstance(field, models.SlugField)
    return is_text and not field.choices and f"{field.model._meta.object_name}.{field.name}" not in KEPT


def _payload(field: Any, n: int, pk: int) -> str:
    """A payload that fits; where no two rows may be alike, with the row's number."""
    longest = field.max_length or 100_000
    payload = (PAYLOADS if longest > len(PAYLOADS[1]) else PAYLOADS[4:])[n % (8 if longest > len(PAYLOADS[1]) else 4)]
    return f"{pk}{payload}"[:longest]


def _rate(annotator: Membership) -> None:
    found = serving.claim(annotator)
    assert isinstance(found, UUID)
    values: dict[int, dict[str, float | str]] = {place: {"correctness": 4} for place in range(4)}
    remarks = dict.fromkeys(range(4), "x")
    sent = SentAnswers(values=values, flags=frozenset({0, 1}), comments=remarks)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=sent)


def _upload(project: Project, manager: Membership) -> Import:
    upload = TemporaryUploadedFile("rows.csv", "text/csv", len(CSV.encode()), "utf-8")
    upload.write(CSV.encode())
    upload.seek(0)
    job = uploading.receive(project=project, actor=manager, upload=upload, kind=Kind.CANDIDATES)
    upload.close()
    return job
