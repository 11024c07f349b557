"""Reads the code for what an attacker looks for first. Ruff's bandit rules hold the rest in `make check`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APPS = ("annotate", "config", "demo", "measures", "projects", "results")
FROM_A_REQUEST = re.compile(r"\brequest\.(GET|POST|FILES|META|COOKIES|headers|data|query_params|body)\b")
RUNS_DATA = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
SKIPS_THE_ORM = {"extra", "raw", "RawSQL"}
ORDERS = {"order_by", "values", "values_list", "only", "defer", "annotate", "aggregate", "select_related"}
MAKES_MARKUP = {
    "annotate/rating/form_parts.py": "parts of the rating form that format_html has escaped",
    "annotate/templatetags/rating.py": "rendered items of the rating form, one after another",
    "projects/charts/drawing.py": "drawings, of which an allow-list lets shapes and texts through",
    "projects/guides/guides.py": "the guides of this repository, through the allow-list of Markdown",
    "projects/web/cached_templates.py": "a rendered template, with escaped texts in its gaps",
    "projects/texts/markdown.py": "Markdown, through an allow-list",
    "results/templatetags/figures.py": "one constant",
}


def faults_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {node.module} if isinstance(node, ast.ImportFrom) else {alias.name for alias in node.names}
            yield from (f"imports {name}" for name in names if name and name.split(".")[0] in RUNS_DATA)
        elif isinstance(node, ast.Call):
            yield from faults_of(node)
        elif isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).split(".")[-1] == "csrf_exempt":
            yield "csrf_exempt"


def faults_of(call: ast.Call) -> Iterator[str]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if isinstance(call.func, ast.Name) and name in RUNS_TEXT:
        yield f"{name}(…)"
    if ast.unparse(call.func) in {"yaml.load", "yaml.unsafe_load", "yaml.full_load"}:
        yield "yaml.load(…)"
    if name in SKIPS_THE_ORM:
        yield f"{name}(…)"
    if name in ORDERS and any(FROM_A_REQUEST.search(ast.unparse(argument)) for argument in call.args):
        yield f"{name}({', '.join(map(ast.unparse, call.args))})"
    for keyword in call.keywords:
        if keyword.arg is None and FROM_A_REQUEST.search(ast.unparse(keyword.value)):
            yield f"{name}(**{ast.unparse(keyword.value)})"


KNOWN = {
    # It reads no session and no cookie: what it takes is signed, which `test_deciding` tries to forge.
    "annotate/prolific/hook_view.py": ["csrf_exempt"],
    # A constant text, with the participant's key bound: the same condition as in the statements beside it.
    "annotate/panels/participant_work.py": ["RawSQL(…)"],
}
"""Uses that are safe, and why."""


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "yaml.load(text)",
        "eval(text)",
        "Candidate.objects.raw(statement)",
        "candidates.extra(where=[text])",
        "candidates.filter(**request.GET.dict())",
        "candidates.filter(**{key: request.query_params[key] for key in keys})",
        "candidates.order_by(request.GET['sort'])",
        "view = csrf_exempt(view)",
        "@decorators.csrf_exempt\ndef view(request): ...",
    ],
)
def test_a_fault_is_found(source: str) -> None:
    assert list(faults_in(source))


def test_nothing_runs_data_or_takes_names_from_a_request() -> None:
    files = [path for app in APPS for path in (ROOT / app).rglob("*.py")]
    assert len(files) > 300
    found = {str(path.relative_to(ROOT)): list(faults_in(path.read_text(encoding="utf-8"))) for path in files}
    assert {path: faults for path, faults in found.items() if faults} == KNOWN


def test_markup_that_is_not_escaped_is_made_in_known_places() -> None:
    makers = {
        str(path.relative_to(ROOT))
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if re.search(r"\b(mark_safe|SafeString|SafeText)\(", path.read_text(encoding="utf-8"))
    }
    assert makers == set(MAKES_MARKUP)
    for template in (ROOT / "templates").rglob("*.*"):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*(safe|safeseq)\b|autoescape\s+off", text), template
