"""The client's notebook runs from top to bottom against a running site with a worker."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from annotate.models import Batch, Judgment
from projects.api import tokens
from projects.models import Membership, Project
from results.models import JudgmentSet, Study
from tests import sized_projects
from tests.conftest import Site

NOTEBOOK = Path(settings.BASE_DIR) / "client" / "notebooks" / "analysis.ipynb"


def read_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_is_stored_without_results() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["outputs"] or cell["execution_count"] for cell in cells] == [None] * len(cells)


@pytest.mark.django_db(transaction=True)
def test_the_notebook_runs(
    project: Project,
    manager: Membership,
    live_site: Site,
    celery_worker: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sized_projects.run_trial(project)
    _, secret = tokens.make_token(membership=manager, name="notebook", can_write=True)
    for name, value in (("URL", live_site.url), ("TOKEN", secret), ("PROJECT", project.slug)):
        monkeypatch.setenv(f"CONCORD_{name}", value)
    names: dict[str, Any] = {}
    for cell in read_cells():
        exec(compile(cell, NOTEBOOK.name, "exec"), names)
    assert len(names["judgments"]) == names["agreement"]["n_ratings"].max() + names["agreement"]["n_single"].max()
    assert names["imported"]["report"]["candidates"] == 2
    assert Study.objects.get(project=project).state == "done"
    assert project.batches.get(name="From the notebook").state == Batch.State.DRAFT
    assert JudgmentSet.objects.get(project=project).number == names["frozen"]["number"]
    assert len(names["long"]) == Judgment.objects.filter(assignment__hit__batch__project=project).count()
    assert names["long"]["is_counted"].sum() == len(names["judgments"])
    assert "409" in capsys.readouterr().out
    assert secret not in repr(names)
