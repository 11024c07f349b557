"""A file of another tool, imported as candidates and then as judgments; a folder on the command line."""

from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from django.core.management import call_command

from annotate.models import Judgment
from projects.models import Candidate, Membership, Project
from tests.projects.importing.test_peers import FILES

pytestmark = pytest.mark.django_db


def test_argillas_file_brings_texts_and_then_ratings(project: Project, owner: Membership) -> None:
    path = str(FILES / "argilla.json")
    call_command("import_candidates", path, "--project", project.slug, stdout=StringIO())
    call_command("import_judgments", path, "--project", project.slug, stdout=StringIO())
    ratings = Judgment.objects.filter(candidate__dataset__project=project).values_list(
        "candidate__external_id", "value", "criterion__key"
    )
    assert sorted(ratings) == [
        ("ferry-1", 4.0, "correctness"),
        ("ferry-1", 5.0, "correctness"),
        ("ferry-2", 1.0, "correctness"),
    ]
    assert set(Candidate.objects.values_list("source", flat=True)) == {"system-a", "system-b"}


def test_a_folder_of_parquet_is_imported_whole(project: Project, owner: Membership, tmp_path: Path) -> None:
    for name in ("train-00000-of-00001", "test-00000-of-00001"):
        row = {"passage": f"A text of {name}.", "question": "What?", "reference": "This.", "candidate": f"That {name}."}
        pd.DataFrame([row]).to_parquet(tmp_path / f"{name}.parquet")
    call_command("import_candidates", str(tmp_path), "--project", project.slug, stdout=StringIO())
    splits = Candidate.objects.values_list("question__passage__split", flat=True)
    assert sorted(splits) == ["test", "train"]
