"""Reads the code: only `places` writes assignment states, holds, counted flags and HIT counters."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
APPS = ("annotate", "config", "demo", "projects", "results")
WRITERS = {
    "annotate/places/taking.py": "the one writer",
    "annotate/places/ending.py": "the one writer",
    "annotate/places/creating.py": "the one writer",
    "annotate/places/deciding.py": "the one writer",
    "annotate/places/reserving.py": "the one writer",
    "annotate/places/retiring.py": "the one writer",
    "annotate/imports/full_hits.py": "writes imported judgments whole, in one statement a table, into a closed batch",
}
DATES_BACK = "Assignment.objects.filter(uuid=assignment_uuid).update(…)"
HARMLESS = {("demo/annotators.py", DATES_BACK): "dates simulated work back: times only"}
TABLES = {"Assignment", "Hit", "Judgment", "Reservation"}
WRITES = {"bulk_create", "bulk_update", "create", "delete", "get_or_create", "save", "update", "update_or_create"}
FIELDS = {
    "holds_place",
    "is_counted",
    "mark",
    "not_counted_reason",
    "places_done",
    "places_open",
    "places_wanted",
    "queue_key",
}
SQL = re.compile(
    r"\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|COPY|MERGE\s+INTO|TRUNCATE)\s+(ONLY\s+)?annotate_(hit|assignment|judgment|reservation)\b",
    re.IGNORECASE,
)


def writes_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            yield f"line {node.lineno}: {' '.join(node.value.split())[:80]}"
        elif isinstance(node, ast.Call) and (fault := wrong_call(node)):
            yield f"line {node.lineno}: {fault}"
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (f"line {node.lineno}: {ast.unparse(t)} = …" for t in targets if is_wrong_target(t))


def wrong_call(call: ast.Call) -> str:
    if isinstance(call.func, ast.Name) and call.func.id in TABLES:
        return f"{call.func.id}(…)"
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in WRITES:
        return ""
    receiver = ast.unparse(call.func.value)
    names = {keyword.arg for keyword in call.keywords}
    if call.func.attr == "update" and None not in names and not names & {*FIELDS, "state"}:
        return ""
    if re.match(r"(models\.)?(Assignment|Hit|Judgment|Reservation)\.objects\b", receiver):
        return f"{receiver}.{call.func.attr}(…)"
    written = names & FIELDS
    if call.func.attr == "save" and re.search(r"\b(assignment|hit|judgment)$", receiver):
        return f"{receiver}.save(…)"
    return f"{receiver}.{call.func.attr}({', '.join(sorted(map(str, written)))})" if written else ""


def is_wrong_target(target: ast.expr) -> bool:
    if not isinstance(target, ast.Attribute):
        return False
    return target.attr in FIELDS or (target.attr == "state" and ast.unparse(target.value) in ("assignment", "hit"))


def files() -> list[str]:
    found = [path.relative_to(ROOT) for app in APPS for path in (ROOT / app).rglob("*.py")]
    return sorted(str(path) for path in found if "migrations" not in path.parts)


def test_only_places_writes_places() -> None:
    found = [
        (name, line)
        for name in files()
        if name not in WRITERS
        for line in writes_in((ROOT / name).read_text())
        if (name, line.split(": ", 1)[1]) not in HARMLESS
    ]
    assert found == []


@pytest.mark.parametrize("name", WRITERS)
def test_the_named_writers_do_write(name: str) -> None:
    assert list(writes_in((ROOT / name).read_text()))


@pytest.mark.parametrize(
    "line",
    [
        'cursor.execute("UPDATE annotate_hit SET places_open = 3")',
        'cursor.execute(f"insert into  annotate_judgment (id) select {x}")',
        'cursor.copy_expert("COPY annotate_assignment (id) FROM STDIN", rows)',
        'Assignment.objects.filter(pk=1).update(state="expired")',
        "Assignment.objects.filter(pk=1).update(**changes)",
        "Assignment.objects.create(hit=hit)",
        "Judgment.objects.bulk_create(rows)",
        "rows = [Judgment(value=3)]",
        "hit.places_open += 1",
        'assignment.state = "submitted"',
        "assignment.save()",
        "batch.hits.update(places_wanted=3)",
        "work.judgments.update(is_counted=False)",
    ],
)
def test_a_write_anywhere_else_is_found(line: str) -> None:
    assert list(writes_in(line))


@pytest.mark.parametrize(
    "line",
    [
        'Batch.objects.filter(pk=1).update(state="open")',
        'cursor.execute("SELECT places_open FROM annotate_hit FOR UPDATE")',
        'batch.state = "open"',
        "Assignment.objects.filter(holds_place=True).count()",
        "Assignment.objects.filter(pk=1).update(opened_at=then)",
    ],
)
def test_reading_is_no_writing(line: str) -> None:
    assert not list(writes_in(line))
