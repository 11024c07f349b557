"""Advisory locks have names, and no two share a key."""

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
