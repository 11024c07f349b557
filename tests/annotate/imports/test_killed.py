"""An import whose worker is killed at 10, 50 and 90 %: nothing is half done, and it ends with exactly the file's rows.

100,000 rows in `make soak`, a few hundred otherwise.
"""

from collections.abc import Callable

import pytest
from django.test import Client

from annotate import tasks
from annotate.imports import uploading
from annotate.models import Import
from projects.models import Candidate, Membership, Passage, Project, Question, Reference
from tests.annotate.imports.import_steps import Pages, rows, write_csv
from tests.projects.jobs.killing import SHARES, kill_at, start_again

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race, pytest.mark.soak]


def test_a_worker_killed_at_any_share_leaves_nothing_half_done(
    project: Project, manager: Membership, client_of: Callable[[Membership], Client], scale: int
) -> None:
    n_rows = 300 if scale == 1 else 100_000
    pages = Pages(client_of(manager), project)
    job = pages.upload(write_csv(rows(n_rows)))
    pages.choose(job)
    pages.work(job)
    pages.confirm(job)
    n_before = job.attempt
    for share in SHARES:
        kill_at(share, job, tasks.run_import)
        assert [model.objects.count() for model in (Passage, Question, Reference, Candidate)] == [0, 0, 0, 0]
        start_again(job, by_hand=lambda: uploading.retry(job=job))
    pages.work(job)
    assert (job.state, job.attempt) == (Import.State.DONE, n_before + len(SHARES) + 1)
    assert set(Candidate.objects.values_list("text", flat=True)) == {row["candidate"] for row in rows(n_rows)}
    assert [model.objects.count() for model in (Passage, Candidate)] == [-(-n_rows // 3), n_rows]
