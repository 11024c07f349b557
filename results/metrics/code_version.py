"""The version of the program, which sets, runs of metrics and backups name."""

import subprocess
import tomllib
from functools import lru_cache
from pathlib import Path

from django.conf import settings as site


# Sets and runs name the version; reading a file and calling git once per process is enough.
@lru_cache(maxsize=1)
def code_version() -> str:
    """Return the version of the program, and the commit where it runs from a repository."""
    project = tomllib.loads((site.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = f"{project['name']} {project['version']}"
    commit = _find_commit(site.BASE_DIR)
    return f"{version} ({commit})" if commit else version


def _find_commit(folder: Path) -> str:
    # Installed inside another repository, git would answer with that one's commit.
    if not (folder / ".git").exists():
        return ""
    result = subprocess.run(
        ["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], check=False, capture_output=True, text=True
    )
    return result.stdout.strip()
