"""The client's notebook runs from top to bottom against a running site with a worker, which tells a webhook."""

import hashlib
import hmac
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from annotate.models import Batch, Judgment
from config.celery import app
from config.schedule import SCHEDULE
from measures.bootstrap import JACKKNIFE
from projects.api import tokens
from projects.models import Delivery, Membership, Project, Webhook
from projects.webhooks import endpoints
from results.models import JudgmentSet, Study
from tests import sized_projects
from tests.conftest import Site
from tests.page_reader import condense
from tests.people import SignIn
from tests.processes import wait_until
from tests.projects.webhooks.listener import listen

NOTEBOOK = Path(settings.BASE_DIR) / "client" / "notebooks" / "analysis.ipynb"


def read_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_is_stored_without_results() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["outputs"] or cell["execution_count"] for cell in cells] == [None] * len(cells)


@pytest.fixture
def webhooks_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow them, here and in the worker that is started afterwards."""
    monkeypatch.setenv("WEBHOOK_ALLOWED_HOSTS", "127.0.0.1")
    monkeypatch.setattr(settings, "WEBHOOK_ALLOWED_HOSTS", ["127.0.0.1"])


@pytest.mark.filterwarnings("ignore:Few passages")
@pytest.mark.usefixtures("webhooks_to_this_machine", "celery_worker")
@pytest.mark.django_db(transaction=True)
def test_the_notebook_runs_and_a_webhook_is_told_of_its_set(
    project: Project,
    manager: Membership,
    live_site: Site,
    client_of: SignIn,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sized_projects.run_trial(project)
    with listen() as receiver:
        receiver.statuses = [500, 204]
        webhook, secret = endpoints.add_webhook(actor=manager, url=receiver.url, events=["set.frozen"])
        names = run_notebook(project, manager, live_site, monkeypatch, capsys)
        let_the_worker_deliver(webhook)
    # The set was frozen by the worker, and the message of it delivered by the worker at the second attempt.
    first, second = (read_signed(received, secret) for received in receiver.got)
    assert first == second, "the same message with the same id"
    assert (first["event"], first["data"]["set"]) == ("set.frozen", names["frozen"]["number"])
    assert first["data"]["sha256"] == JudgmentSet.objects.get(project=project).sha256
    page = client_of(manager).get(reverse("projects:webhook-show", args=[project.slug, webhook.pk]))
    log = condense(page.content.decode())
    assert first["id"] in log
    assert log.index("status 204") < log.index("status 500") < log.index("The answer was no success.")


def run_notebook(
    project: Project,
    manager: Membership,
    live_site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> dict[str, Any]:
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
    frozen = JudgmentSet.objects.get(project=project)
    assert frozen.number == names["frozen"]["number"]
    assert frozen.settings["intervals"] == JACKKNIFE, "intervals of a set for a paper are those of the pages"
    assert len(names["long"]) == Judgment.objects.filter(assignment__hit__batch__project=project).count()
    assert names["long"]["is_counted"].sum() == len(names["judgments"])
    assert "409" in capsys.readouterr().out
    assert secret not in repr(names)
    return names


def test_the_notebook_names_what_projects_with_several_criteria_need() -> None:
    text = "".join(read_cells())
    assert "criterion=criterion" in text
    assert '["enters"]' in text, "counted judgments may lie outside the selection of a set"


def let_the_worker_deliver(webhook: Webhook) -> None:
    """Send the task that the scheduler sends every few seconds, twice; the pause after the failure is over."""
    task = str(SCHEDULE["deliver"]["task"])
    for state in ({"n_failures": 1}, {"n_failures": 0, "deliveries__state": Delivery.State.DELIVERED}):
        Webhook.objects.update(retry_at=timezone.now() - timedelta(seconds=1))
        app.send_task(task)
        wait_until(Webhook.objects.filter(pk=webhook.pk, **state).exists, f"The message is not at {state}.")


def read_signed(received: tuple[dict[str, str], bytes], secret: str) -> dict[str, Any]:
    """Return a message after checking its signature, as the guide for receivers does."""
    headers, body = received
    signed = hmac.new(secret.encode(), headers["Concord-Timestamp"].encode() + b"." + body, hashlib.sha256)
    assert hmac.compare_digest(headers["Concord-Signature"], f"sha256={signed.hexdigest()}")
    return dict(json.loads(body))
