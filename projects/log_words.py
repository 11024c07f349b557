"""The words of the log: an act and its object as a sentence that anybody can read."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Model
from django.urls import reverse

from projects.models import LogEntry, Project

WORDS = {
    "accept work after all": "accepted after all",
    "add qualification items": "added items to",
    "adjudicate": "settled on a score for",
    "answer rejection": "answered the rejection of",
    "approve work": "approved",
    "change gold rule": "changed the rule for gold scores",
    "count judgment again": "counted again a judgment of",
    "read message": "confirmed reading",
    "reject work": "rejected",
    "set judgment aside": "set aside a judgment of",
    "take back adjudication": "took back the settled score of",
    "adjust pay": "adjusted the pay of",
    "approve pay": "approved pay that belongs to no HIT",
    "change whether annotates": "changed whether HITs are rated by",
    "download payment": "took the file, which names people, of",
    "edit control": "edited a control of",
    "fail qualification test": "failed the qualification test by",
    "find": "raised a finding about",
    "give bonus": "gave a bonus to",
    "grant qualification": "granted the qualification to",
    "import candidates": "wrote the candidates of",
    "import judgments": "wrote the judgments of",
    "create project": "made the project",
    "delete project": "deleted the project",
    "invite": "made",
    "issue reset link": "made a link for a new password for",
    "join": "joined the project as",
    "pass qualification test": "passed the qualification test by",
    "pin versions": "took the newest rubric, instructions and consent for",
    "rate for a review": "rated blind, for a review, work of",
    "restore project": "brought back the project",
    "renew demo passwords": "renewed the passwords of the demo",
    "revise work": "changed answers in",
    "revoke qualification": "revoked the qualification of",
    "take up remark again": "took up again",
    "withdraw consent": "withdrew the consent of",
    "want judgments": "asked for another number of judgments of",
}
"""Where the rule for acts, a verb and its noun, would make no good sentence."""

MANY = {"approve work": "approved submitted work", "reject work": "rejected submitted work"}
"""The same of acts on many things at once, which name the project."""

PAST = {
    "make": "made",
    "give": "gave",
    "take": "took",
    "withdraw": "withdrew",
    "set": "set",
    "cut": "cut",
    "split": "split",
    "send": "sent",
    "draw": "drew",
    "begin": "began",
    "pay": "paid",
    "read": "read",
    "keep": "kept",
    "put": "put",
    "leave": "left",
    "choose": "chose",
    "write": "wrote",
    "undo": "undid",
    "plan": "planned",
    "pin": "pinned",
    "drop": "dropped",
    "stop": "stopped",
}
PAGES = {
    "assignment": ("annotate:assignment-show", "uuid"),
    "batch": ("annotate:batch-show", "number"),
    "consent": ("projects:consent-version", "version"),
    "import": ("annotate:import-show", "number"),
    "instructions": ("projects:instructions-version", "version"),
    "membership": ("projects:member-show", "pseudonym"),
    "overlapplan": ("annotate:plan-show", "number"),
    "passage": ("annotate:passage-show", "pk"),
    "payment": ("annotate:payment-show", "number"),
}
"""Objects with a page of their own, and what its address takes."""

LONGEST_ID = 60


@dataclass(frozen=True)
class Named:
    """An object of the log as people call it, and its page where it has one."""

    kind: str
    name: str
    url: str = ""


def words_of(act: str, of: Named | None) -> str:
    """What was done, up to the object: “opened”, “changed standing of”. The object stands after it."""
    if of is None and act in MANY:
        return MANY[act]
    if act in WORDS:
        return WORDS[act]
    verb, _, rest = act.partition(" ")
    said = f"{_past(verb)} {rest}".strip()
    if of is None:
        return said
    for noun in (of.kind, rest):
        if noun and f" {rest}".endswith(f" {noun}") and f" {of.kind}".endswith(f" {noun}"):
            return said.removesuffix(noun).strip().removesuffix(" a").removesuffix(" the")
    return f"{said} of" if rest else said


def name_objects(project: Project, entries: Iterable[LogEntry]) -> dict[tuple[str, str], Named]:
    """The objects of some lines: one query for each kind. The project itself is not named on its own page."""
    wanted: dict[str, set[str]] = {}
    for entry in entries:
        if entry.object_type and entry.object_type != "project":
            wanted.setdefault(entry.object_type, set()).add(entry.object_id)
    named = {}
    models = {str(model._meta.model_name): model for model in apps.get_models()}
    for kind, ids in wanted.items():
        model = models.get(kind)
        label = str(model._meta.verbose_name) if model else kind
        rows = _fetch(model, ids)
        for pk in ids:
            named[kind, pk] = _name(project, kind, label, pk, rows.get(pk))
    return named


def label_of(kind: str) -> str:
    """A kind of object in words."""
    models = {model._meta.model_name: model for model in apps.get_models()}
    return str(models[kind]._meta.verbose_name) if kind in models else kind


def _past(verb: str) -> str:
    if verb in PAST:
        return PAST[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


def _fetch(model: type[Model] | None, ids: Iterable[str]) -> dict[str, Model]:
    numbers = [int(pk) for pk in ids if pk.isascii() and pk.isdigit() and len(pk) < 19]
    if model is None or not numbers:
        return {}
    return {str(row.pk): row for row in model._default_manager.filter(pk__in=numbers)}


def _number(row: Model) -> str:
    """What people call the row by: its id in the data, its number, its version, or its key."""
    known = (str(getattr(row, field, "")) for field in ("external_id", "number", "version"))
    text = next(filter(None, known), str(row.pk))
    return text if len(text) <= LONGEST_ID else f"{text[:LONGEST_ID]}…"


def _name(project: Project, kind: str, label: str, pk: str, row: Model | None) -> Named:
    if row is None:
        return Named(label, f"{label} {pk}")
    if kind == "membership":
        name = str(row)
    else:
        name = f"{label} {_number(row)}"
        if title := getattr(row, "name", ""):
            name = f"{name}, {title}"
    if kind not in PAGES:
        return Named(label, name)
    page, field = PAGES[kind]
    return Named(label, name, reverse(page, args=[project.slug, getattr(row, field)]))
