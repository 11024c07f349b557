"""The page of a project's audit log: who did what to what, before and after, and why."""

import re
from datetime import UTC, date, datetime, time, timedelta
from operator import itemgetter
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from projects.access import ProjectRequest, Right, requires
from projects.language.amounts import format_moment
from projects.log.messages import describe_act, find_label, name_act, name_objects
from projects.models import LogEntry, Project
from projects.web.lists import paginate

NEWEST_ENTRIES = 5_000
"""Lines from which the choices of the filters are taken: a busy project has too many to look through."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+(Z|[+-]\d\d:\d\d)$")
HASH = re.compile("[0-9a-f]{64}")
EMPTY_VALUES: tuple[Any, ...] = (None, False, [], {}, "")
Pairs = list[tuple[str, str]]


@requires(Right.MANAGE)
@require_safe
def log_list(request: ProjectRequest, project: Project) -> HttpResponse:
    form = LogFilterForm(request.GET)
    is_clear = form.is_valid()
    wanted = form.cleaned_data
    page = paginate(request, _filtered(project, wanted))
    # The choices of the filters are what occurs among the newest lines, plus the current choice itself.
    newest = project.log.order_by("-id").values_list("act", "actor__pseudonym", "object_type")[:NEWEST_ENTRIES]
    seen = set(newest)
    lines = _lines(project, list(page))
    acts = {act for act, _actor, _kind in seen} | {wanted.get("act") or ""} - {""}
    kinds = sorted({kind for _act, _actor, kind in seen} | {wanted.get("kind") or ""} - {""})
    context = {
        "page": page,
        "form": form,
        "is_clear": is_clear,
        "acts": sorted(((act, name_act(act)) for act in acts), key=itemgetter(1)),
        "actors": sorted({actor for _act, actor, _kind in seen if actor}),
        "kinds": [(kind, find_label(kind)) for kind in kinds if kind],
        "wanted": wanted,
        "lines": lines,
    }
    return render(request, "projects/log/list.html", context)


def _filtered(project: Project, wanted: dict[str, Any]) -> "QuerySet[LogEntry]":
    entries: QuerySet[LogEntry] = project.log.select_related("actor")
    if act := wanted.get("act"):
        entries = entries.filter(act=act)
    if actor := wanted.get("actor"):
        entries = entries.filter(actor=None) if actor == "system" else entries.filter(actor__pseudonym=actor)
    if kind := wanted.get("kind"):
        entries = entries.filter(object_type=kind)
        if pk := wanted.get("id"):
            entries = entries.filter(object_id=pk)
    if since := wanted.get("since"):
        entries = entries.filter(at__gte=_start_day(since))
    if until := wanted.get("until"):
        # The whole last day is included; date.max has no day after it.
        entries = entries.filter(at__lt=_start_day(until) + timedelta(days=1)) if until < date.max else entries
    # A pseudonym finds lines about that member; any other text is searched in the reasons.
    if text := wanted.get("q"):
        members = project.memberships.filter(pseudonym=text).values_list("pk", flat=True)
        about = Q(object_type="membership", object_id__in=[str(pk) for pk in members])
        entries = entries.filter(Q(why__icontains=text) | about)
    return entries


def _start_day(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _lines(project: Project, entries: list[LogEntry]) -> list[dict[str, Any]]:
    """Return the entries as the page shows them: a sentence each, and the values that changed, by name."""
    named = name_objects(project, entries)
    lines = []
    for entry in entries:
        target = named.get((entry.object_type, entry.object_id))
        changes = _changes(entry.before, entry.after)
        lines.append({"entry": entry, "verb": describe_act(entry.act, target), "target": target, "changes": changes})
    return lines


def _changes(before: Any, after: Any) -> list[tuple[str, str | None, str | None]]:
    """Return name, before and after of each value; None where a side does not contain it."""
    was, now = dict(_pairs(before)), dict(_pairs(after))
    return [(name, was.get(name), now.get(name)) for name in dict.fromkeys([*was, *now])]


def _pairs(values: Any, inside: str = "") -> Pairs:
    """Return a stored value as pairs of name and text; empty values inside another value are left out."""
    if isinstance(values, dict):
        kept = {name: value for name, value in values.items() if not inside or value not in EMPTY_VALUES}
        return [pair for name, value in kept.items() for pair in _pairs(value, f"{inside} {name}".replace("_", " "))]
    return [] if values is None and not inside else [(inside.strip(), _in_words(values))]


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        # One hash is evidence and stays whole; of several, such as the keys of metrics, the first characters tell them
        # apart.
        return ", ".join(f"{each[:8]}…" if HASH.fullmatch(str(each)) else _in_words(each) for each in value) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return _moment_in_words(str(value)) or str(value)


def _moment_in_words(text: str) -> str:
    """Return a stored moment as people write it; empty for a text that is none, or only looks like one."""
    try:
        moment = parse_datetime(text) if MOMENT.match(text) else None
        return format_moment(moment.astimezone(UTC)) + " UTC" if moment else ""
    except (ValueError, OverflowError):
        return ""


class LogFilterForm(forms.Form):
    """The filters of the log. An invalid field is ignored and the others still apply."""

    act = forms.CharField(required=False, max_length=60)
    actor = forms.CharField(required=False, max_length=40)
    kind = forms.CharField(required=False, max_length=40)
    id = forms.CharField(required=False, max_length=60)
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    q = forms.CharField(required=False, max_length=200)
