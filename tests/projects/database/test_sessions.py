"""Nothing is kept in a connection for longer than a transaction: behind a pooler, another gets the connection then."""

import re

from django.conf import settings

KEEPS = re.compile(
    r"set_config\([^()]*,\s*false\)|[\"'; ]RESET [a-z_]+"
    r"|[\"';] ?SET (?!LOCAL|CONSTRAINTS|TRANSACTION)[a-z_]+ (=|TO) "
    r"|pg_(try_)?advisory_(un)?lock|\bLISTEN |\bWITH HOLD\b|\bPREPARE \{|\bTEMPORARY TABLE (?!.* ON COMMIT DROP)"
    r"|pg_cancel_backend|pg_terminate_backend"
)
MAY = {
    "config/backups/moving.py": "moves a private database, which has no pooler",
    "config/management/commands/migrate.py": "goes past the pooler",
    "config/migrating.py": "goes past the pooler",
    "projects/database/prepared.py": "prepares nothing behind a pooler",
    "projects/database/timeouts.py": "limits each transaction behind a pooler",
}


def test_only_what_is_named_keeps_anything_in_its_connection() -> None:
    found = {
        path.relative_to(settings.BASE_DIR).as_posix()
        for app in ("annotate", "config", "demo", "projects", "results")
        for path in (settings.BASE_DIR / app).rglob("*.py")
        if "migrations" not in path.parts and KEEPS.search(path.read_text())
    }
    assert found == MAY.keys()
