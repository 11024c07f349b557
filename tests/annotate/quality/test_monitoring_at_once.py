"""Figures of one project, computed by several processes at the same time."""

import pytest

from annotate.models import Finding
from annotate.quality import monitoring
from projects.models import LogEntry, Project
from tests.annotate.quality.scripted_annotators import GOOD, SAME, crew, noisy
from tests.concurrency import all_at_once


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_refreshes_at_once_open_each_finding_once(project: Project) -> None:
    crew(project, GOOD, noisy(1), noisy(2), noisy(3), SAME)
    all_at_once(_refresh, [project.pk] * 6)
    assert Finding.objects.filter(kind="straight_line", state=Finding.State.OPEN).count() == 1
    assert LogEntry.objects.filter(act="find", after__kind="straight_line").count() == 1


def _refresh(project_id: int) -> None:
    project = Project.objects.get(pk=project_id)
    monitoring.refresh_figures(project=project, annotators=list(project.memberships.all()))
