"""An import beside acts on the annotators whose judgments it has."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from annotate.imports import full_hits, writing
from annotate.integrity import verifying
from annotate.models import Judgment
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from projects.importing import Checked, FileRefused, Kind
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
        members.remove(target=imported, actor=None, why="Careless.", exclusion=Exclusion(scope=ExclusionScope.ALL))

    def write_during_removal(*arguments: Any) -> None:
        removals.append(start_beside(remove))
        write(*arguments)

    monkeypatch.setattr(full_hits, "write", write_during_removal)
    take(f"{HEADER}c1,w1,5\n")
    assert [finish() for finish in removals] == [None]
    assert Judgment.objects.count() == 2
    assert not Judgment.objects.filter(is_counted=True).exists()
    assert verifying.verify() == []


def test_a_check_beside_an_import_of_the_same_new_datasets_compares_with_them(
    project: Project, owner: Membership, tmp_path: Path
) -> None:
    header = "dataset,id,passage,question,reference,candidate\n"
    paths = {name: tmp_path / name for name in ("one.csv", "other.csv", "third.csv")}
    paths["one.csv"].write_text(f"{header}b,c0,P,Q,R,A\na,c1,P,Q,R,A\n")
    paths["other.csv"].write_text(f"{header}a,c1,P,Q,R,B\nb,c0,P,Q,R,B\n")
    paths["third.csv"].write_text(f"{header}a,c2,P,Q,R,B\n")

    def check(name: str) -> Checked:
        return writing.check_file(project=project, path=paths[name], name=name, folder=tmp_path / f"{name}.spool")

    one = check("one.csv")
    beside: list[Any] = []

    def start() -> None:
        beside.extend(start_beside(partial(check, name)) for name in ("other.csv", "third.csv"))

    writing.write(project=project, checked=one, actor=owner, finish=start)
    refused, fine = (finish() for finish in beside)
    assert isinstance(refused, FileRefused), refused
    assert "is already in the project" in str(refused.problems[0])
    assert isinstance(fine, Checked), fine
    assert fine.report.linked == {"passages": 1, "questions": 1}
