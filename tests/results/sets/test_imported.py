"""What a set says of judgments that were collected elsewhere, and of the consent for all others."""

from pathlib import Path

import pytest

from projects.importing import Kind
from projects.models import Membership, Project
from tests.factories import make_consent, make_membership
from tests.results.judged_batches import canonical, judge, take_file
from tests.results.sets.frozen_sets import freeze, read
from tests.results.studies.factories import list_candidates

pytestmark = pytest.mark.django_db

ELSEWHERE = "were collected elsewhere and imported into Concord."
NOT_KNOWN = "What the annotators consented to there is not known to Concord."


def take_judgments(project: Project, folder: Path, annotator: str, *, value: int = 3) -> None:
    content = f"candidate_id,annotator,value\nunit-01,{annotator},{value}\nunit-02,{annotator},{value}\n"
    criteria = ("value=correctness:1-5",)
    take_file(project, content, f"{annotator}.csv", folder, kind=Kind.JUDGMENTS, criteria=criteria)


def test_a_set_of_imported_judgments_does_not_claim_to_know_instructions_or_consent(
    project: Project, owner: Membership, tmp_path: Path
) -> None:
    canonical(project)
    take_judgments(project, tmp_path, "ann")
    made = freeze(project, owner, batches=(2,))
    texts = {name: read(made, name).decode() for name in ("README.md", "datasheet.md")}
    for text in texts.values():
        assert f"The judgments of this set {ELSEWHERE}" in text
        assert "annotators may have read other wording" in text
    assert f"- Batch 2 was collected elsewhere and imported. {NOT_KNOWN}" in texts["datasheet.md"]
    assert "no consent text" not in texts["datasheet.md"]
    assert "| 2 Imported from ann.csv | imported | – | – | 1 | not known | 2 | not known |" in texts["datasheet.md"]
    assert "| `rubric.md` | criteria and scales |" in texts["README.md"]


def test_a_mixed_set_says_which_batches_were_imported(project: Project, owner: Membership, tmp_path: Path) -> None:
    canonical(project, consent=make_consent(project))
    judge(project, {list_candidates(project)[0]: {make_membership(project): 4.0}}, cents_per_hit=30)
    for annotator in ("ann", "ben"):
        take_judgments(project, tmp_path, annotator)
    made = freeze(project, owner)
    datasheet = read(made, "datasheet.md").decode()
    for text in (datasheet, read(made, "README.md").decode()):
        assert f"The judgments of batches 3 and 4 {ELSEWHERE}" in text
    assert "- The annotators of batch 1 agreed to `consent.md` (version 1) before they rated." in datasheet
    assert "- The annotators of batch 2 were shown no consent text." in datasheet
    assert f"- Batches 3 and 4 were collected elsewhere and imported. {NOT_KNOWN}" in datasheet
    assert "| USD 0.30 per HIT |" in datasheet


def test_a_set_without_imported_judgments_does_not_speak_of_them(project: Project, manager: Membership) -> None:
    canonical(project, consent=make_consent(project))
    made = freeze(project, manager)
    for name in ("README.md", "datasheet.md"):
        assert b"elsewhere" not in read(made, name)
