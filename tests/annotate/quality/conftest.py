import pytest

from projects.models import Membership, Project


@pytest.fixture
def people(worked: list[Membership], project: Project) -> list[Membership]:
    """Those who have worked in a file's shared project, loaded anew for each test."""
    found = project.memberships.in_bulk([each.pk for each in worked])
    return [found[each.pk] for each in worked]
