"""What makes two runs be of the same metric, and who they are for where nobody asks by name."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from projects.errors import Refused
from projects.models import Membership, Project


def make_metric_key(origin: str, name: str, settings: Mapping[str, Any]) -> str:
    """Names a configured metric: runs that share it are of the same metric."""
    named = orjson.dumps([str(origin), name, dict(settings)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(named).hexdigest()


def find_owner(project: Project) -> Membership:
    owner = project.memberships.filter(role=Membership.Role.OWNER).order_by("id").first()
    if owner is None:
        raise Refused("This project has no owner, and scores need somebody they are for.")
    return owner
