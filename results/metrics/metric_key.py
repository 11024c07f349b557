"""The key that runs of one metric share, and the member in whose name a command computes."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from projects.errors import Refused
from projects.models import Membership, Project


def make_metric_key(origin: str, name: str, settings: Mapping[str, Any]) -> str:
    """Return the hash of a configured metric: runs that share it are of the same metric."""
    # Keys are sorted, so that the order in which settings were sent does not make another metric.
    named = orjson.dumps([str(origin), name, dict(settings)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(named).hexdigest()


def find_owner(project: Project) -> Membership:
    """Return the owner of a project. Raises Refused where there is none."""
    owner = project.memberships.filter(role=Membership.Role.OWNER).order_by("id").first()
    if owner is None:
        raise Refused("The project has no owner. Scores are computed in an owner's name, so add one first.")
    return owner
