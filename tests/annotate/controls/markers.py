"""Markers in every column that annotators are not to see, and what was found of them in what they got."""

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models.functions import Cast, Concat, Left

from annotate.models import Assignment, Draft, Judgment, Remark
from projects.models import Membership

MARK = "zqzmarker"
SEED = 918_273_645
WORDS = re.compile(
    rf"{MARK}|{SEED}|known.?answer|degraded|personal|gold\b|reserved|made.?from|expected|recipe|pool|control_|is_control",
    re.IGNORECASE,
)
HARMLESS = re.compile(rf"cache-control|personal-data|\b(?!\w*{MARK})(?:[a-z0-9]{{32}}){{1,2}}\b", re.IGNORECASE)
"""Also tokens of sessions and forms: they are random, and so may spell a word."""
SHOWN = {
    *("Passage.text", "Passage.title", "Passage.documents", "Question.text", "Question.span"),
    *("Reference.text", "Reference.opinion", "Candidate.text", "Item.shown_text"),
    *("Project.slug", "Project.name", "Project.description", "Instructions.text"),
    *("Criterion.key", "Criterion.name", "Criterion.statement", "Criterion.anchors"),
}
"""What annotators do see."""
OF_A_PERSON = {
    Assignment: "annotator",
    Draft: "assignment__annotator",
    Judgment: "annotator",
    Remark: "assignment__annotator",
}
"""What annotators see of themselves, and never of others."""
KEPT = {  # what other rows or checks of the database lean on
    *("Membership.pseudonym", "Passage.split", "User.password", "Import.sha256", "Assignment.answers_sha256"),
    *("Draft.answers", "Judgment.not_counted_reason"),
}


def plant(viewer: Membership) -> set[str]:
    """Put the marker into every other text and JSON column, but for the viewer's own work; which columns have it."""
    planted = set()
    for model in apps.get_models():
        if model._meta.app_label not in ("projects", "annotate", "results") or model.__name__ == "LogEntry":
            continue
        for field in model._meta.concrete_fields:
            name = f"{model.__name__}.{field.name}"
            if name not in SHOWN | KEPT and not field.choices and _plant_in(model, field, viewer):
                planted.add(name)
    return planted


def _plant_in(model: type[models.Model], field: models.Field[Any, Any], viewer: Membership) -> int:
    rows = model._default_manager.all()
    if model in OF_A_PERSON:
        rows = rows.exclude(**{OF_A_PERSON[model]: viewer})
    if model is Membership:
        rows = rows.exclude(pk=viewer.pk)
    if model.__name__ == "User":
        rows = rows.exclude(pk=viewer.user_id)
    if isinstance(field, models.JSONField):
        return sum(_plant_json(row, field.name) for row in rows)
    if not isinstance(field, models.CharField | models.TextField):
        return 0
    number = Cast("pk", models.TextField())
    text: Any = Concat(models.Value(MARK), number, models.F(field.name), output_field=models.TextField())
    return rows.update(**{field.name: Left(text, field.max_length) if field.max_length else text})


def _plant_json(row: models.Model, name: str) -> int:
    value = getattr(row, name)
    if not isinstance(value, dict):
        return 0
    setattr(row, name, {**value, f"{MARK}_key": [1, 1]})
    row.save(update_fields=[name])
    return 1


def leaks(value: Any, path: str = "", words: re.Pattern[str] = WORDS) -> Iterator[str]:
    """Every hidden word in a text, or in the keys and values of what was read from JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaks(str(key), f"{path} key", words)
            yield from leaks(inner, f"{path}.{key}", words)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaks(inner, f"{path}[{place}]", words)
    else:
        yield from (f"{path}: {found[0]}" for found in words.finditer(HARMLESS.sub("", str(value))))


def find_leaks(response: Any) -> list[str]:
    """What a response of the test client tells: headers, cookies, and HTML or JSON."""
    found = [*leaks(dict(response.headers), "headers"), *leaks(response.cookies.output(), "cookies")]
    if "json" in response.headers.get("Content-Type", ""):
        return [*found, *leaks(response.json(), "json")]
    return [*found, *leaks(response.content.decode(), response.request["PATH_INFO"])]
