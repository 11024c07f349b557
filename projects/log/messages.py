"""The words of the log: an act and its object as a sentence that anybody can read."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Model
from django.urls import reverse
from django.utils.translation import pgettext_lazy
from django_stubs_ext import StrOrPromise

from projects.models import LogEntry, Project

WORDS: dict[str, StrOrPromise] = {
    "accept controls": pgettext_lazy("log", "accepted controls of"),
    "accept work after all": pgettext_lazy("log", "accepted after all"),
    "act on a finding": pgettext_lazy("log", "acted on a finding of"),
    "add qualification items": pgettext_lazy("log", "added items to"),
    "adjudicate": pgettext_lazy("log", "settled on a score for"),
    "adjust pay": pgettext_lazy("log", "adjusted the pay of"),
    "agree to consent": pgettext_lazy("log", "agreed to"),
    "answer rejection": pgettext_lazy("log", "answered the rejection of"),
    "approve pay": pgettext_lazy("log", "approved pay that belongs to no HIT"),
    "approve work": pgettext_lazy("log", "approved"),
    "ask for judgment set": pgettext_lazy("log", "asked for"),
    "ask for study": pgettext_lazy("log", "asked for"),
    "archive batch": pgettext_lazy("log", "archived"),
    "change caps": pgettext_lazy("log", "changed caps of"),
    "change consent": pgettext_lazy("log", "changed"),
    "change gold rule": pgettext_lazy("log", "changed the rule for gold scores"),
    "change instructions": pgettext_lazy("log", "changed"),
    "change minimal pair": pgettext_lazy("log", "changed"),
    "change plan": pgettext_lazy("log", "changed"),
    "change qualification test": pgettext_lazy("log", "changed"),
    "change quality rules": pgettext_lazy("log", "changed quality rules"),
    "change role": pgettext_lazy("log", "changed role of"),
    "change rubric": pgettext_lazy("log", "changed"),
    "change settings": pgettext_lazy("log", "changed settings"),
    "change standing": pgettext_lazy("log", "changed standing of"),
    "change whether annotates": pgettext_lazy("log", "changed whether HITs are rated by"),
    "close batch": pgettext_lazy("log", "closed"),
    "close qualification test": pgettext_lazy("log", "closed"),
    "count judgment again": pgettext_lazy("log", "counted again a judgment of"),
    "create project": pgettext_lazy("log", "made the project"),
    "delete batch": pgettext_lazy("log", "deleted"),
    "delete metric run": pgettext_lazy("log", "deleted"),
    "delete minimal pair": pgettext_lazy("log", "deleted"),
    "delete project": pgettext_lazy("log", "deleted the project"),
    "delete study": pgettext_lazy("log", "deleted"),
    "dismiss a finding": pgettext_lazy("log", "dismissed a finding of"),
    "download payment": pgettext_lazy("log", "took the file, which names people, of"),
    "draw spot checks": pgettext_lazy("log", "drew spot checks"),
    "edit control": pgettext_lazy("log", "edited a control of"),
    "edit qualification item": pgettext_lazy("log", "edited"),
    "fail qualification test": pgettext_lazy("log", "failed the qualification test by"),
    "freeze judgment set": pgettext_lazy("log", "froze"),
    "retire judgment set": pgettext_lazy("log", "retired"),
    "find": pgettext_lazy("log", "raised a finding about"),
    "finish a review": pgettext_lazy("log", "finished a review of"),
    "give bonus": pgettext_lazy("log", "gave a bonus to"),
    "grant qualification": pgettext_lazy("log", "granted the qualification to"),
    "import candidates": pgettext_lazy("log", "wrote the candidates of"),
    "import judgments": pgettext_lazy("log", "wrote the judgments of"),
    "invite": pgettext_lazy("log", "made"),
    "issue reset link": pgettext_lazy("log", "made a link for a new password for"),
    "join": pgettext_lazy("log", "joined the project as"),
    "make batch": pgettext_lazy("log", "made"),
    "make controls": pgettext_lazy("log", "made controls of"),
    "make payment": pgettext_lazy("log", "made"),
    "make plan": pgettext_lazy("log", "made"),
    "make token": pgettext_lazy("log", "made"),
    "revoke token": pgettext_lazy("log", "revoked"),
    "rotate token": pgettext_lazy("log", "rotated"),
    "make qualification test": pgettext_lazy("log", "made"),
    "move qualification test": pgettext_lazy("log", "moved"),
    "name cause of error": pgettext_lazy("log", "gave a cause for an error in"),
    "open batch": pgettext_lazy("log", "opened"),
    "open qualification test": pgettext_lazy("log", "opened"),
    "pass qualification test": pgettext_lazy("log", "passed the qualification test by"),
    "pause batch": pgettext_lazy("log", "paused"),
    "pin versions": pgettext_lazy("log", "took the newest rubric, instructions and consent for"),
    "plan controls": pgettext_lazy("log", "planned controls of"),
    "rate for a review": pgettext_lazy("log", "rated blind, for a review, work of"),
    "read instructions": pgettext_lazy("log", "read"),
    "read message": pgettext_lazy("log", "confirmed reading"),
    "reject work": pgettext_lazy("log", "rejected"),
    "remove": pgettext_lazy("log", "removed"),
    "renew demo passwords": pgettext_lazy("log", "renewed the passwords of the demo"),
    "reopen batch": pgettext_lazy("log", "reopened"),
    "resolve remark": pgettext_lazy("log", "resolved"),
    "restore": pgettext_lazy("log", "restored"),
    "restore project": pgettext_lazy("log", "brought back the project"),
    "retire controls": pgettext_lazy("log", "retired controls of"),
    "retire qualification item": pgettext_lazy("log", "retired"),
    "revise work": pgettext_lazy("log", "changed answers in"),
    "revoke invitation": pgettext_lazy("log", "revoked"),
    "revoke qualification": pgettext_lazy("log", "revoked the qualification of"),
    "set judgment aside": pgettext_lazy("log", "set aside a judgment of"),
    "split passages": pgettext_lazy("log", "split passages"),
    "start plan": pgettext_lazy("log", "started"),
    "suspend": pgettext_lazy("log", "suspended"),
    "take back adjudication": pgettext_lazy("log", "took back the settled score of"),
    "take up remark again": pgettext_lazy("log", "took up again"),
    "want judgments": pgettext_lazy("log", "asked for another number of judgments of"),
    "take scores": pgettext_lazy("log", "took the scores of"),
    "warn": pgettext_lazy("log", "warned"),
    "run metric": pgettext_lazy("log", "asked for"),
    "withdraw candidate": pgettext_lazy("log", "withdrew"),
    "withdraw consent": pgettext_lazy("log", "withdrew the consent of"),
    "withdraw passage": pgettext_lazy("log", "withdrew"),
    "write minimal pair": pgettext_lazy("log", "wrote"),
}
"""What was done, up to the object that stands after it: “opened”, “changed standing of”."""

MANY: dict[str, StrOrPromise] = {
    "approve work": pgettext_lazy("log", "approved submitted work"),
    "reject work": pgettext_lazy("log", "rejected submitted work"),
}
"""The same of acts on many things at once, which name the project."""

KINDS: dict[str, StrOrPromise] = {
    "API token": pgettext_lazy("log", "API token"),
    "assignment": pgettext_lazy("log", "assignment"),
    "attempt": pgettext_lazy("log", "attempt"),
    "batch": pgettext_lazy("log", "batch"),
    "candidate": pgettext_lazy("log", "candidate"),
    "consent": pgettext_lazy("log", "consent"),
    "finding": pgettext_lazy("log", "finding"),
    "grant": pgettext_lazy("log", "grant"),
    "import": pgettext_lazy("log", "import"),
    "instructions": pgettext_lazy("log", "instructions"),
    "invitation": pgettext_lazy("log", "invitation"),
    "judgment": pgettext_lazy("log", "judgment"),
    "judgment set": pgettext_lazy("log", "judgment set"),
    "ledger entry": pgettext_lazy("log", "ledger entry"),
    "membership": pgettext_lazy("log", "membership"),
    "metric run": pgettext_lazy("log", "metric run"),
    "minimal pair": pgettext_lazy("log", "minimal pair"),
    "notice": pgettext_lazy("log", "notice"),
    "overlap plan": pgettext_lazy("log", "overlap plan"),
    "passage": pgettext_lazy("log", "passage"),
    "payment": pgettext_lazy("log", "payment"),
    "project": pgettext_lazy("log", "project"),
    "qualification item": pgettext_lazy("log", "qualification item"),
    "qualification test": pgettext_lazy("log", "qualification test"),
    "quality rules": pgettext_lazy("log", "quality rules"),
    "remark": pgettext_lazy("log", "remark"),
    "score file": pgettext_lazy("log", "file of scores"),
    "review": pgettext_lazy("log", "review"),
    "rubric": pgettext_lazy("log", "rubric"),
    "study": pgettext_lazy("log", "study"),
}
"""Kinds of objects, by what Django calls them."""

PAGES = {
    "assignment": ("annotate:assignment-show", "uuid"),
    "batch": ("annotate:batch-show", "number"),
    "consent": ("projects:consent-version", "version"),
    "import": ("annotate:import-show", "number"),
    "instructions": ("projects:instructions-version", "version"),
    "judgmentset": ("results:set-show", "number"),
    "membership": ("projects:member-show", "pseudonym"),
    "metricrun": ("results:metric-show", "pk"),
    "minimalpair": ("annotate:pair-edit", "pk"),
    "overlapplan": ("annotate:plan-show", "number"),
    "passage": ("annotate:passage-show", "pk"),
    "payment": ("annotate:payment-show", "number"),
    "scorefile": ("results:score-file", "number"),
    "study": ("results:study-show", "number"),
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
    """What was done, up to the object; an act that has no words here is said as it is stored."""
    known = MANY if of is None and act in MANY else WORDS
    return str(known.get(act, act))


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
        label = label_of(kind)
        rows = _fetch(model, ids)
        for pk in ids:
            named[kind, pk] = _name(project, kind, label, pk, rows.get(pk))
    return named


def label_of(kind: str) -> str:
    """A kind of object in words."""
    models = {model._meta.model_name: model for model in apps.get_models()}
    label = str(models[kind]._meta.verbose_name) if kind in models else kind
    return str(KINDS.get(label, label))


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
