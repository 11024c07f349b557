"""A set whose worker is killed at 10, 50 and 90 %: no half archive is published, and it ends as if nothing had been.

100,000 judgments in `make soak`, a few dozen otherwise.
"""

from typing import Any

import pytest

from benchmarks.filling import fill_project
from projects.models import Membership, Project
from results.models import JudgmentSet
from results.sets import freezing
from results.sets.settings import Settings
from tests.factories import make_membership
from tests.people import SignIn
from tests.projects.jobs.killing import SHARES, kill_at, start_again
from tests.results.judged_batches import canonical
from tests.results.sets.frozen_sets import freeze

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race, pytest.mark.soak]
DIFFERING = {"README.md", "datasheet.md", "manifest.json", "set.json", "SHA256SUMS"}
DIFFERING |= {"CITATION.cff", "citation.bib", "croissant.json", "changes.json"}
"""What names the set, or the one before it."""


def hashes(made: JudgmentSet) -> dict[str, str]:
    return {file["name"]: file["sha256"] for file in made.files if file["name"] not in DIFFERING}


def test_a_worker_killed_at_any_share_leaves_no_half_archive(
    project: Project, manager: Membership, client_of: SignIn, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scale == 1:
        canonical(project)
    else:
        project = fill_project("many", 100_000, base=10_000_000)
        manager = make_membership(project, role=Membership.Role.MANAGER)
    whole = freeze(project, manager)
    made = freezing.request_set(project=project, actor=manager, name="Killed", settings=Settings())
    client = client_of(manager)
    for share in SHARES:
        kill_at(share, made, freezing.run)
        response: Any = client.get(f"{made.get_absolute_url()}archive/")
        assert response.status_code in {302, 404, 409}
        start_again(made, by_hand=lambda: freezing.start_again(judgment_set=made))
    freezing.run(made.pk)
    made.refresh_from_db()
    assert (made.state, made.attempt) == (JudgmentSet.State.DONE, len(SHARES) + 1)
    assert hashes(made) == hashes(whole)
    assert freezing.verify(made) == []
    monkeypatch.setattr(freezing, "ORPHAN_SECONDS", -1)
    freezing.delete_files()
    kept = {path.name for path in freezing.folder().iterdir()}
    assert kept == {whole.stored_name, made.stored_name}, "What the killed ones began is gone."
