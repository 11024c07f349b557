"""The words of the log: an act and its object as a sentence that anybody can read."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Model
from django.urls import reverse

from projects.models import LogEntry, Project

WORDS = {
    "accept work after all": "accepted after all",
    "adjudicate": "settled on a score for",
    "answer rejection": "answered the rejection of",
    "approve work": "approved submitted work",
    "change gold rule": "changed the rule for gold scores",
    "count judgment again": "counted again a judgment of",
    "read message": "confirmed reading",
    "reject work": "rejected submitted work",
    "set judgment aside": "set aside a judgment of",
    "take back adjudication": "took back the settled score of",
    "adjust pay": "adjusted the pay of",
    "approve pay": "approved pay that belongs to no HIT",
    "change whether annotates": "changed whether HITs are rated by",
    "download payment": "took the file, which names people, of",
    "give bonus": "gave a bonus to",
    "create project": "made the project",
    "delete project": "deleted the project",
    "invite": "made",
    "issue reset link": "made a link for a new password for",
    "join": "joined the project as",
    "pin versions": "took the newest rubric and instructions for",
    "restore project": "brought back the project",
    "renew demo passwords": "renewed the passwords of the demo",
    "take up remark again": "took up again",
    "want judgments": "asked for another number of judgments of",
}
"""Where the rule for acts, a verb and its noun, would make no good sentence."""

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
    "batch": ("annotate:batch-show", "number"),
    "import": ("annotate:import-show", "number"),
    "membership": ("projects:member-show", "pseudonym"),
    "payment": ("annotate:payment-show", "number"),
}
"""Objects with a page of their own, and what its address takes."""


@dataclass(frozen=True)
class Named:
    """An object of the log as people call it, and its page where it has one."""

    kind: str
    name: str
    url: str = ""


def words_of(act: str, of: Named | None) -> str:
    """What was done, up to the object: “opened”, “changed standing of”. The object stands after it."""
    if act in WORDS:
        return WORDS[act]
    verb, _, rest = act.partition(" ")
    said = f"{_past(verb)} {rest}".strip()
    if of is None:
        return said
    if f" {rest}".endswith(f" {of.kind}"):
        return said.removesuffix(of.kind).strip().removesuffix(" a").removesuffix(" the")
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


def _name(project: Project, kind: str, label: str, pk: str, row: Model | None) -> Named:
    if row is None:
        return Named(label, f"{label} {pk}")
    if kind == "membership":
        name = str(row)
    else:
        name = f"{label} {getattr(row, 'number', getattr(row, 'version', pk))}"
        if title := getattr(row, "name", ""):
            name = f"{name}, {title}"
    if kind not in PAGES:
        return Named(label, name)
    page, field = PAGES[kind]
    return Named(label, name, reverse(page, args=[project.slug, getattr(row, field)]))
