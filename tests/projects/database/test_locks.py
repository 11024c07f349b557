"""Advisory locks have names, no two share a key, and row locks lock one table."""

import ast
import re

from django.conf import settings

from projects.database.locks import MIGRATIONS, AdvisoryLock
from tests.database import TEMPLATE_LOCK

NAMED = "projects/database/locks.py"


def test_no_two_locks_share_a_key() -> None:
    keys = [*AdvisoryLock.__members__.values(), MIGRATIONS, TEMPLATE_LOCK]
    assert len(AdvisoryLock.__members__) == len(set(AdvisoryLock))
    assert len(set(keys)) == len(keys)


def test_code_names_its_locks() -> None:
    """A key written where it is used could be used twice again."""
    for app in ("annotate", "config", "demo", "projects", "results"):
        for path in sorted((settings.BASE_DIR / app).rglob("*.py")):
            name = path.relative_to(settings.BASE_DIR).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                takes = re.search(r"pg_(try_)?advisory", line)
                assert not takes or name == NAMED or "MIGRATIONS" in line, f"{name}:{number} takes a nameless lock"


def test_only_the_row_itself_is_locked_and_not_those_joined_to_it() -> None:
    """A project that is locked on the way makes everybody wait for an import, and acts that lock it first deadlock."""
    found = [
        f"{path.relative_to(settings.BASE_DIR)}: {function.name}"
        for app in ("annotate", "demo", "projects", "results")
        for path in sorted((settings.BASE_DIR / app).rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and locks_joined_rows(function)
    ]
    assert found == []


def locks_joined_rows(function: ast.FunctionDef) -> bool:
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    named = {each.func.attr: {keyword.arg for keyword in each.keywords} for each in calls}  # type: ignore[attr-defined]
    return "select_related" in named and "of" not in named.get("select_for_update", {"of"})
