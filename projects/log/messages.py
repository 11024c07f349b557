"""The audit log in words: an act and its object as a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from django.apps import apps
from django.db.models import Model
from django.urls import reverse

from projects.models import LogEntry, Project
from projects.web.whole_numbers import ID_DIGITS, parse_whole_number

VERBS: dict[str, str] = {
    "accept controls": "approved control items of",
    "accept work after all": "reversed the rejection of",
    "act on a finding": "acted on an alert about",
    "add panel": "added",
    "add qualification items": "added items to",
    "add webhook": "added",
    "adjudicate": "adjudicated",
    "adjust pay": "adjusted the pay of",
    "agree to consent": "agreed to",
    "answer rejection": "replied to the rejection of",
    "approve pay": "approved the pay for qualification tests",
    "approve work": "approved",
    "ask for judgment set": "requested",
    "ask for study": "requested",
    "archive batch": "archived",
    "change caps": "changed the limits of",
    "change consent": "changed",
    "change gold rule": "changed the gold-score method",
    "change instructions": "changed",
    "change minimal pair": "changed",
    "change panel": "changed",
    "change plan": "changed",
    "change qualification test": "changed",
    "change quality rules": "changed the quality rules",
    "change role": "changed the role of",
    "change rubric": "changed",
    "change settings": "changed the project settings",
    "change pay of short HITs": "changed the pay for short HITs of",
    "change standing": "changed the status of",
    "change survey": "saved",
    "change whether annotates": "changed the annotating right of",
    "choose human sources": "chose what to do with human sources",
    "close batch": "closed",
    "close qualification test": "closed",
    "count judgment again": "counted a judgment again in",
    "count session again": "counted the work of a session again, of",
    "create project": "created the project",
    "delete batch": "deleted",
    "delete metric run": "deleted",
    "delete minimal pair": "deleted",
    "delete project": "deleted the project",
    "delete study": "deleted",
    "delete training": "deleted",
    "delete webhook": "deleted",
    "disable account": "disabled the account of",
    "dismiss a finding": "dismissed an alert about",
    "download payment": "downloaded the payment file, with names, of",
    "download survey": "downloaded answers to surveys",
    "draw spot checks": "drew spot checks",
    "edit control": "edited a control item of",
    "edit qualification item": "edited",
    "enable account": "enabled the account of",
    "end panel": "ended",
    "end survey": "stopped asking",
    "erase account": "deleted the account of",
    "exclude session": "excluded the work of a session of",
    "fail qualification test": "failed the qualification test with",
    "freeze judgment set": "froze",
    "retire judgment set": "retired",
    "replace judgment set": "named the replacement of",
    "change DOI": "changed the DOI of",
    "find": "raised an alert about",
    "finish a review": "completed a spot check of",
    "give bonus": "gave a bonus to",
    "grant qualification": "granted the qualification to",
    "import candidates": "imported candidates from",
    "import judgments": "imported judgments from",
    "invite": "created",
    "issue reset link": "created a password reset link for",
    "join": "joined the project as",
    "let in": "let in, from another browser,",
    "make batch": "created",
    "make controls": "created control items of",
    "make payment": "created",
    "make plan": "created",
    "make token": "created",
    "revoke token": "revoked",
    "rotate token": "rotated",
    "make qualification test": "created",
    "move qualification test": "changed the rubric of",
    "move session": "recorded the state of a session of",
    "name cause of error": "entered the cause of an error in",
    "open batch": "opened",
    "open qualification test": "opened",
    "pass qualification test": "passed the qualification test with",
    "pause batch": "paused",
    "pin versions": "updated rubric, instructions and consent of",
    "plan controls": "planned control items of",
    "rate for a review": "rated blind for a spot check of",
    "read instructions": "read",
    "read message": "confirmed reading",
    "reject work": "rejected",
    "remove": "removed",
    "renew demo passwords": "renewed the demo passwords",
    "renew webhook secret": "renewed the secret of",
    "reopen batch": "reopened",
    "reset second factor": "reset the second factor of",
    "resolve remark": "resolved",
    "restore": "restored",
    "restore project": "restored the project",
    "retire controls": "retired control items of",
    "retire qualification item": "retired",
    "revise work": "revised",
    "revoke invitation": "revoked",
    "revoke qualification": "revoked the qualification of",
    "set judgment aside": "set aside a judgment in",
    "split passages": "assigned splits to passages",
    "start plan": "started",
    "suspend": "suspended",
    "take back adjudication": "withdrew the adjudicated score of",
    "take up remark again": "reopened",
    "train metric": "requested",
    "turn off webhook": "turned off",
    "turn on webhook": "turned on",
    "want judgments": "changed the number of judgments of",
    "take scores": "imported scores from",
    "warn": "warned",
    "run metric": "requested",
    "withdraw candidate": "withdrew",
    "withdraw consent": "withdrew the consent of",
    "withdraw passage": "withdrew",
    "write minimal pair": "created",
    "connect Prolific": "connected a Prolific account to",
    "disconnect Prolific": "disconnected Prolific from",
    "renew Prolific secret": "renewed the secret of Prolific’s messages to",
    "draft Prolific study": "drafted the Prolific study of",
    "publish Prolific study": "published the Prolific study of",
    "pause Prolific study": "paused the Prolific study of",
    "start Prolific study": "started the Prolific study of",
    "raise Prolific places": "raised the maximum places of the Prolific study of",
    "approve Prolific submissions": "approved submissions on Prolific of",
    "reject Prolific submission": "rejected the submission on Prolific of",
    "set up Prolific bonuses": "set up bonuses on Prolific for",
    "pay Prolific bonuses": "paid bonuses on Prolific for",
    "settle Prolific bonuses": "noted what happened to bonuses of",
    "cancel Prolific bonuses": "cancelled bonuses of",
    "make participant groups": "created participant groups on Prolific for",
}
"""The verb of each act, up to the object that follows it: “opened”, “changed the status of”."""

BULK_VERBS: dict[str, str] = {
    "approve work": "approved submissions",
    "reject work": "rejected submissions",
}
"""Acts on many objects at once: their line names the project instead of one object."""

NAMES: dict[str, str] = {
    "accept work after all": "reverse rejection",
    "act on a finding": "act on alert",
    "answer rejection": "reply to rejection",
    "ask for judgment set": "request judgment set",
    "ask for study": "request metric evaluation",
    "change caps": "change limits",
    "change gold rule": "change gold-score method",
    "change standing": "change status",
    "change whether annotates": "change annotating right",
    "count session again": "count work of session again",
    "delete metric run": "delete metric",
    "delete study": "delete metric evaluation",
    "dismiss a finding": "dismiss alert",
    "end survey": "stop survey",
    "erase account": "delete account",
    "exclude session": "exclude work of session",
    "find": "raise alert",
    "finish a review": "complete spot check",
    "invite": "create invitation",
    "issue reset link": "create password reset link",
    "join": "join project",
    "let in": "let in from another browser",
    "make batch": "create batch",
    "make controls": "create control items",
    "make participant groups": "create participant groups",
    "make payment": "create payment",
    "make plan": "create overlap plan",
    "make qualification test": "create qualification test",
    "make token": "create token",
    "move qualification test": "change rubric of qualification test",
    "move session": "record state of session",
    "name cause of error": "enter cause of error",
    "pin versions": "update rubric, instructions and consent",
    "rate for a review": "rate for spot check",
    "remove": "remove member",
    "resolve remark": "resolve comment",
    "restore": "restore member",
    "run metric": "request metric",
    "settle Prolific bonuses": "note what happened to Prolific bonuses",
    "suspend": "suspend member",
    "take back adjudication": "withdraw adjudicated score",
    "take scores": "import scores",
    "take up remark again": "reopen comment",
    "want judgments": "change number of judgments",
    "warn": "warn member",
    "write minimal pair": "create minimal pair",
}
"""What an act is called in a list of acts, where its stored value has other words than the pages."""

KINDS: dict[str, str] = {
    "API token": "API token",
    "assignment": "assignment",
    "attempt": "attempt",
    "batch": "batch",
    "candidate": "candidate",
    "consent": "consent",
    "finding": "alert",
    "grant": "qualification grant",
    "import": "import",
    "instructions": "instructions",
    "invitation": "invitation",
    "judgment": "judgment",
    "judgment set": "judgment set",
    "ledger entry": "ledger entry",
    "membership": "member",
    "metric run": "metric",
    "minimal pair": "minimal pair",
    "notice": "message",
    "overlap plan": "overlap plan",
    "panel": "panel",
    "passage": "passage",
    "payment": "payment",
    "project": "project",
    "qualification item": "qualification item",
    "qualification test": "qualification test",
    "quality rules": "quality rules",
    "remark": "comment",
    "score file": "score file",
    "review": "spot check",
    "rubric": "rubric",
    "study": "metric evaluation",
    "survey": "survey",
    "training": "trained metric",
    "webhook": "webhook",
}
"""Kinds of objects, by Django's verbose name of their model."""

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
    "panel": ("annotate:panel-show", "number"),
    "passage": ("annotate:passage-show", "pk"),
    "payment": ("annotate:payment-show", "number"),
    "scorefile": ("results:score-file", "number"),
    "study": ("results:study-show", "number"),
    "training": ("results:training-show", "number"),
}
"""Objects that have a page: its URL name, and the field that its address contains."""

LONGEST_ID = 60
"""Characters of an imported id that fit into a line of the log; the file may have had 200."""


def name_act(act: str) -> str:
    """“create batch”; an act of another version keeps its stored value."""
    return NAMES.get(act, act)


@dataclass(frozen=True)
class Named:
    """An object of the log: its kind, its name for people, and the address of its page, empty if it has none."""

    kind: str
    name: str
    url: str = ""

    @property
    def this(self) -> str:
        return f"{'these' if self.kind in _list_plural_kinds() else 'this'} {self.kind}"


def describe_act(act: str, target: Named | None) -> str:
    """Return the verb of an act, up to its object; an act without a verb here is returned as it is stored."""
    verbs = BULK_VERBS if target is None and act in BULK_VERBS else VERBS
    return verbs.get(act, act)


def name_objects(project: Project, entries: Iterable[LogEntry]) -> dict[tuple[str, str], Named]:
    """Return the objects of some lines by kind and id, with one query for each kind.

    The project itself is left out: its own log needs not name it. An object that was deleted gets its kind and id.
    """
    wanted: dict[str, set[str]] = {}
    for entry in entries:
        if entry.object_type and entry.object_type != "project":
            wanted.setdefault(entry.object_type, set()).add(entry.object_id)
    named = {}
    models = {str(model._meta.model_name): model for model in apps.get_models()}
    for kind, ids in wanted.items():
        model = models.get(kind)
        label = find_label(kind)
        rows = _fetch(model, ids)
        for pk in ids:
            named[kind, pk] = _name(project, kind, label, pk, rows.get(pk))
    return named


def find_label(kind: str) -> str:
    """Return a kind of object in words."""
    models = {model._meta.model_name: model for model in apps.get_models()}
    label = str(models[kind]._meta.verbose_name) if kind in models else kind
    return str(KINDS.get(label, label))


@cache
def _list_plural_kinds() -> frozenset[str]:
    """Return the kinds of which one object is named in the plural, such as instructions."""
    options = [model._meta for model in apps.get_models()]
    names = {str(each.verbose_name) for each in options if str(each.verbose_name) == str(each.verbose_name_plural)}
    return frozenset(KINDS.get(name, name) for name in names)


def _fetch(model: type[Model] | None, ids: Iterable[str]) -> dict[str, Model]:
    # Ids are stored as text, and the database raises an error for one that is not a bigint.
    numbers = {parse_whole_number(pk, most_digits=ID_DIGITS) for pk in ids} - {None}
    if model is None or not numbers:
        return {}
    return {str(row.pk): row for row in model._default_manager.filter(pk__in=numbers)}


def _number(row: Model) -> str:
    """Return what people call the row by: its id in the data, its number, its version, or its primary key."""
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
