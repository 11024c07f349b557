"""Acts of the log, and the figures that they make stale."""

import pytest
from django.conf import settings

from projects import log
from projects.log import freshness
from projects.log.messages import NAMES, VERBS
from projects.models import Act, FigureChange, Membership, Project

Reach = FigureChange.Reach


def test_every_act_has_words_and_is_done_somewhere() -> None:
    assert set(VERBS) == set(Act.values)
    assert set(NAMES) <= set(Act.values)
    code = "".join(
        path.read_text()
        for app in ("annotate", "demo", "projects", "results")
        for path in (settings.BASE_DIR / app).rglob("*.py")
        if path.name not in ("log.py", "freshness.py", "messages.py")
    )
    composed = {f"{act} batch" for act in ("open", "pause", "close", "reopen", "archive")}
    composed |= {f"withdraw {name}" for name in ("candidate", "passage")}
    composed |= {f"import {name}" for name in ("candidates", "judgments")}
    former = {Act.CHANGE_STANDING}  # in old logs only
    never_done = [act for act in {*Act} - former if f"Act.{act.name}" not in code and act.value not in composed]
    assert never_done == []


def test_no_act_reaches_everybody_and_nobody() -> None:
    assert not freshness.ANNOTATORS & freshness.NOTHING
    assert Act.REVISE_WORK not in freshness.ANNOTATORS | freshness.NOTHING


@pytest.mark.django_db
@pytest.mark.parametrize("act", Act)
def test_an_act_marks_what_it_reaches(project: Project, manager: Membership, act: Act) -> None:
    """What is in neither list makes results stale: a new act is never forgotten."""
    log.record(project, manager, act, manager)
    expected = [] if act in freshness.NOTHING else [Reach.ANNOTATORS if act in freshness.ANNOTATORS else Reach.RESULTS]
    if act == Act.REVISE_WORK:
        expected = [Reach.WORK]
    assert list(FigureChange.objects.values_list("reach", flat=True)) == expected
