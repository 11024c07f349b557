"""An import beside acts on the annotators whose judgments it has."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from annotate.imports import full_hits
from annotate.integrity import verifying
from annotate.models import Judgment
from annotate.moderation import members
from annotate.moderation.members import Exclusion, Scope
from projects.importing import Kind
from projects.models import Membership, Project
from tests.annotate.imports.import_steps import import_text
from tests.processes import wait_until

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

    def remove_beside() -> None:
        try:
            members.remove(target=imported, actor=None, why="Careless.", exclusion=Exclusion(scope=Scope.ALL))
        finally:
            connections.close_all()

    removal = threading.Thread(target=remove_beside)

    def is_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return not removal.is_alive() or cursor.fetchone()[0] > 0

    def write_during_removal(*arguments: Any) -> None:
        removal.start()
        wait_until(is_waiting)
        write(*arguments)

    monkeypatch.setattr(full_hits, "write", write_during_removal)
    take(f"{HEADER}c1,w1,5\n")
    removal.join()
    assert Judgment.objects.count() == 2
    assert not Judgment.objects.filter(is_counted=True).exists()
    assert verifying.verify() == []
