"""The results of one batch: agreement, spread, and the items that annotators differ on most."""

import csv
import re

import pytest
from django.urls import reverse

from annotate.models import Batch, Judgment, Remark
from projects.jobs.running import run
from projects.models import Membership, Project
from results.models import Report
from results.reports import reports
from tests.factories import make_corpus
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex
from tests.results.judged_batches import judge

pytestmark = pytest.mark.django_db


def test_the_page_shows_alpha_the_worst_items_and_comments_on_them(
    trial: Batch, project: Project, researcher: Membership, client_of: SignIn
) -> None:
    worst = Judgment.objects.get(value=5)
    assert worst.candidate is not None
    Remark.objects.create(assignment=worst.assignment, item=worst.item, comment="Is a half right?", is_flagged=True)
    address = reverse("results:batch-results", args=[project.slug, trial.number])
    response = client_of(researcher).get(address)
    page = response.content.decode()
    assert "Is a half right?" in page
    assert worst.annotator.pseudonym in page
    # One short answer may be among the worst several times, to different questions.
    heads = [each for each in re.findall(r"<summary>(.*?)</summary>", page, re.DOTALL) if "std. dev." in each]
    assert worst.candidate.question.text in heads[0]
    screen = read(page)
    assert [row["Candidates"] for row in screen.rows("Alpha by criterion")] == ["3"]
    assert [row["Dataset"] for row in screen.rows("Alpha by dataset")] == ["one", "all"]
    assert screen.number("Comments & flags") == 1
    for name in ("criteria", "parts", "spread"):
        check_latex(client_of(researcher).get(f"{address}tables/{name}.tex").content.decode())
    (row,) = csv.DictReader(client_of(researcher).get(f"{address}tables/criteria.csv").content.decode().splitlines())
    assert (row["Criterion"], row["Level"], row["Candidates"]) == ("Correctness", "ordinal", "3")
    again = client_of(researcher).get(address, {"criterion": "nonsense"})
    assert again.status_code == 200


def test_managers_go_on_from_a_trial_to_the_instructions(
    trial: Batch, project: Project, manager: Membership, client_of: SignIn
) -> None:
    page = client_of(manager).get(reverse("results:batch-results", args=[project.slug, trial.number])).text
    edit = reverse("projects:instructions-edit", args=[project.slug])
    assert f'<a class="button" href="{edit}">Instructions</a>' in page


def test_a_batch_without_judgments_says_so(project: Project, researcher: Membership, client_of: SignIn) -> None:
    make_corpus(project)
    batch = judge(project, {}, kind="trial")
    page = client_of(researcher).get(reverse("results:batch-results", args=[project.slug, batch.number]))
    assert "No candidate has two ratings yet." in page.content.decode()
    assert "undefined" in page.content.decode()


def test_a_large_batch_has_its_figures_computed_by_a_job(
    trial: Batch, project: Project, researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 5)
    client, address = client_of(researcher), reverse("results:batch-results", args=[project.slug, trial.number])
    assert "Compute figures" in client.get(address).content.decode()
    assert client.get(f"{address}tables/criteria.csv").status_code == 404
    assert client.post(address).status_code == 302
    assert run(Report, Report.objects.get().pk, reports.make, only_reads=True) == Report.State.DONE
    screen = read(client.get(address).content.decode())
    assert [row["Candidates"] for row in screen.rows("Alpha by criterion")] == ["3"]
    assert not reports.has_many_judgments(project, "", batch=trial.number + 1), "only those of the batch are counted"


def test_annotators_are_refused(trial: Batch, project: Project, annotator: Membership, client_of: SignIn) -> None:
    address = reverse("results:batch-results", args=[project.slug, trial.number])
    assert client_of(annotator).get(address).status_code == 403
