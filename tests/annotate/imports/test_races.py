"""An import beside acts on the annotators whose judgments it has."""

from pathlib import Path
from typing import Any

import pytest

from annotate.imports import full_hits
from annotate.integrity import verifying
from annotate.models import Judgment
from annotate.moderation import members
from annotate.moderation.members import Exclusion, Scope
from projects.importing import Kind
from projects.models import Membership, Project
from tests.annotate.imports.import_steps import import_text
from tests.concurrency import start_beside

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]

HEADER = "id,rater,correctness\n"


def test_a_removal_waits_for_an_import_of_the_same_annotator(
    project: Project, owner: Membership, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the import would count judgments of someone whose removal has excluded all that it saw."""

    def take(content: str, kind: Kind = Kind.JUDGMENTS) -> None:
        import_text(content, kind, project=project, actor=owner, folder=tmp_path)

    take("id,passage,question,reference,candidate\nc0,P,Q,R,A\nc1,P,Q,R,B\n", Kind.CANDIDATES)
    take(f"{HEADER}c0,w1,4\n")
    imported = Membership.objects.get(imported_name="w1")
    write = full_hits.write

    removals = []

    def remove() -> None:
        members.remove(target=imported, actor=None, why="Careless.", exclusion=Exclusion(scope=Scope.ALL))

    def write_during_removal(*arguments: Any) -> None:
        removals.append(start_beside(remove))
        write(*arguments)

    monkeypatch.setattr(full_hits, "write", write_during_removal)
    take(f"{HEADER}c1,w1,5\n")
    assert [finish() for finish in removals] == [None]
    assert Judgment.objects.count() == 2
    assert not Judgment.objects.filter(is_counted=True).exists()
    assert verifying.verify() == []
