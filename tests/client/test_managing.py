"""The client's methods call the API as it is: each is sent to the real views, without a server in between."""

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.test import Client as Browser
from requests.adapters import BaseAdapter

from annotate.models import Batch
from concord_client import Client, ConcordError, JobFailed, MisleadingFigures
from concord_client import Project as RemoteProject
from concord_client.frames import make_pairs_frame
from projects.api import tokens
from projects.models import Criterion, Membership, Project
from results import tasks
from results.models import Study
from results.reports import reports
from tests import sized_projects
from tests.annotate.qualification.factories import make_test
from tests.results.judged_batches import canonical, judge
from tests.results.studies.factories import do, give_scores, list_candidates

pytestmark = pytest.mark.django_db

SITE = "http://127.0.0.1"


class InThisProcess(BaseAdapter):
    """Sends requests to the views of this process, in the transaction of the test."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        headers: Mapping[str, Any] = request.headers
        parts = urlsplit(str(request.url))
        answer: Any = Browser(headers=headers).generic(
            str(request.method),
            f"{parts.path}?{parts.query}",
            request.body or b"",
            content_type=str(headers.get("Content-Type", "application/json")),
        )
        response = requests.Response()
        response.status_code = answer.status_code
        response.headers.update(answer.headers)
        response.raw = BytesIO(b"".join(answer))
        return response

    def close(self) -> None:
        pass


@pytest.fixture
def remote(project: Project, manager: Membership) -> RemoteProject:
    _, secret = tokens.make_token(membership=manager, name="client", can_write=True)
    concord = Client(SITE, token=secret)
    concord._connection._session.mount(SITE, InThisProcess())
    return concord.project(project.slug)


def test_a_managers_week_has_methods(
    project: Project, manager: Membership, annotator: Membership, remote: RemoteProject
) -> None:
    sized_projects.run_trial(project)
    make_test(project)
    who = annotator.pseudonym

    assert remote.change_role(who, "researcher")["role"] == "researcher"
    assert remote.change_role(who, "annotator")["role"] == "annotator"
    assert remote.suspend(who, "Too fast", text="Please read on.")["standing"] == "suspended"
    assert remote.restore(who, "By mistake")["standing"] == "active"
    plan = remote.plan_removal(who, "all")
    assert remote.remove(who, "At random", "all", n_assignments=plan["n_assignments"]) == plan
    with pytest.raises(ConcordError, match="nothing more to exclude"):
        remote.remove(who, "Again")
    assert set(remote.people(standing="removed")["pseudonym"]) == {who}
    remote.restore(who, "By mistake", with_work=False)

    batch = remote.create_batch(judgments=2)
    assert remote.change_batch(batch["number"], max_hits_per_day=3)["max_hits_per_day"] == 3
    assert remote.change_batch(batch["number"], max_hits_per_day=None)["max_hits_per_day"] is None
    assert remote.change_judgments(batch["number"], 3)["n_removed"] == 0
    remote.delete_batch(batch["number"])
    assert batch["number"] not in set(remote.batches()["number"])
    made = remote.create_plan("Main", [{"kind": "*", "split": "*", "judgments": 2}])
    assert remote.plan(made["number"])["missing"] == made["missing"]
    assert remote.start_plan(made["number"]).keys() == {"batches", "n_places"}
    assert list(remote.plans()["number"]) == [made["number"]]

    assert remote.change_qualification(pass_share=0.5)["pass_share"] == remote.qualification()["pass_share"] == 0.5
    assert len(remote.qualification_items(purpose="test")) == len(remote.qualification_items())
    assert remote.decide_qualification(who, "granted", "Pilot")["kind"] == "granted"

    key = "0b6c1a52-3f0e-4c38-9a53-0f1c8f5e2d11"
    assert len({remote.add_pay(who, 50, "Care", key=key)["id"] for _ in range(2)}) == 1
    assert remote.balances().set_index("annotator")["approved"][who] == 50
    assert remote.record_payment(50, note="May")["cents"] == remote.payments()["cents"].sum() == 50


@pytest.mark.filterwarnings("ignore:Few passages")
def test_figures_are_those_of_the_job_that_was_asked_for(
    project: Project, manager: Membership, remote: RemoteProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    monkeypatch.setattr(reports, "AT_ONCE", 0)
    rows = project.reports.order_by("pk")
    pauses: list[float] = []
    acts: list[Callable[[], Any]] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        acts.pop(0)()

    def end(state: str, **fields: int) -> Callable[[], Any]:
        return lambda: rows.filter(pk=rows.latest("pk").pk).update(state=state, **fields)

    def compute() -> None:
        tasks.make_report(rows.latest("pk").pk)

    monkeypatch.setattr(time, "sleep", pause)
    acts[:] = [end("failed")]
    with pytest.raises(JobFailed, match="ended as “failed”"):
        remote.figures("agreement")
    # An older job that failed says nothing about the new one.
    acts[:] = [compute]
    assert remote.figures("agreement")["report"]["levels"]
    assert [each.state for each in rows] == ["failed", "done"]
    n_ratings = remote.agreement()["n_ratings"].max()
    assert len(rows) == 2, "The figures are current, so no job is asked for."

    # After one interruption a job runs again by itself; after two somebody has to ask.
    acts[:] = [end("interrupted", n_interruptions=1), end("queued"), end("interrupted", n_interruptions=2)]
    with pytest.raises(JobFailed, match="ended as “interrupted”"):
        remote.scores()
    assert not acts

    # Judgments that came while the job ran are in the figures of the next one.
    def compute_and_judge() -> None:
        compute()
        judge(project, {list_candidates(project)[0]: {manager: 3.0}})

    acts[:] = [compute_and_judge, compute]
    assert remote.agreement(level="interval")["n_ratings"].max() == n_ratings + 1
    assert not acts


@pytest.mark.filterwarnings("ignore:Few passages")
def test_what_the_site_warns_of_is_a_warning(project: Project, remote: RemoteProject) -> None:
    canonical(project)
    with pytest.warns(MisleadingFigures, match=r"^Few passages"):
        remote.agreement()
    Criterion.objects.update(level="nominal")
    for read in (remote.agreement, partial(remote.scores, kind="golds")):
        with pytest.warns(MisleadingFigures, match="categories without an order"):
            read()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert remote.agreement(kind="annotators")["kappa"].notna().all()


def test_figures_that_are_undefined_say_why(project: Project, remote: RemoteProject) -> None:
    canonical(project)
    periods = remote.agreement(kind="time")
    assert len(periods) == 1
    assert periods["outcome.alpha"].iloc[0] == periods["so_far"].iloc[0]
    Batch.objects.update(kind="imported")
    with pytest.raises(ConcordError, match=r"^These figures are undefined: .+[^.]\.$"):
        # Another level, as figures are kept until somebody acts on the site.
        remote.agreement(kind="time", level="interval")
    with pytest.raises(ConcordError, match=r"^These figures are undefined: some annotators are unknown\.$"):
        make_pairs_frame({"pairs": {"reason": "some annotators are unknown"}})


def test_evaluations_are_repeated_cancelled_and_deleted(
    project: Project, manager: Membership, remote: RemoteProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized_projects.run_trial(project)
    give_scores(project, manager, "One", {each.pk: each.pk % 3 / 3 for each in list_candidates(project)})

    def work_and_read(path: str, *_: Any) -> Any:
        do(Study.objects.latest("pk"))
        return remote.get(path)

    monkeypatch.setattr(remote, "_wait", work_and_read)
    first = remote.evaluate("correlation", metrics=["one"], stage="trial", resamples=100, seed=1)
    again = remote.repeat_study(first["number"])
    assert (again["settings"], again["result"]["figures"]) == (first["settings"], first["result"]["figures"])
    with pytest.raises(ConcordError, match="already finished"):
        remote.cancel_study(again["number"])
    remote.delete_study(again["number"])
    assert list(remote.studies()["number"]) == [first["number"]]
