from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotate.models import QualificationTest
from annotate.moderation import members
from projects.models import Membership, Project
from tests.annotate.qualification.factories import take
from tests.results.judged_batches import answer as ask

pytestmark = pytest.mark.django_db
ROWS = "question,answer,expected,purpose\n" + "".join(f"Q{n}?,A{n},4,\n" for n in range(3)) + "Q?,A,2,practice\n"


def test_a_test_from_a_file_is_opened_shown_and_closed(project: Project, annotator: Membership, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(ROWS)
    made = ask("qualification", "import", str(path), "--project", project.slug)
    assert (made["items_added"], made["items"], made["practice_items"], made["state"]) == (4, 3, 1, "draft")
    assert ask("qualification", "open", "--project", project.slug)["state"] == "open"
    take(annotator, n_right=3)
    shown = ask("qualification", "--project", project.slug)
    assert (shown["attempts_graded"], shown["attempts_passed"], shown["qualified"]) == (1, 1, 1)
    members.suspend(target=annotator, actor=None, why="Spam.")
    assert ask("qualification", "--project", project.slug)["qualified"] == 0
    first = shown["by_item"][0]
    assert (first["n"], first["right_share"], first["discrimination"]) == (1, 1.0, None)
    assert first["discrimination_undefined"] == "fewer than three ratings"
    assert ask("qualification", "close", "--project", project.slug)["state"] == "closed"


def test_wrong_rows_of_a_file_are_skipped_and_listed(project: Project, tmp_path: Path) -> None:
    path, listed = tmp_path / "items.csv", tmp_path / "skipped.csv"
    path.write_text("question|answer|expected\nQ?|A|4\nQ?|B|7\n")
    flags = ("--project", project.slug, "--delimiter", "pipe", "--skip-wrong-rows", str(listed))
    made = ask("qualification", "import", str(path), *flags)
    assert (made["items_added"], made["rows_skipped"]) == (1, 1)
    assert "3,expected: 7 is outside the scale" in listed.read_text()


def test_errors_are_printed_and_change_nothing(project: Project, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no qualification test yet"):
        ask("qualification", "open", "--project", project.slug)
    path = tmp_path / "items.csv"
    path.write_text("question,answer,expected\nQ?,A,4\nQ?,B,7\n")
    with pytest.raises(CommandError, match="line 3, column “expected”: 7 is outside the scale"):
        ask("qualification", "import", str(path), "--project", project.slug)
    assert not QualificationTest.objects.filter(items__isnull=False).exists()
    with pytest.raises(CommandError, match="There is no file"):
        ask("qualification", "import", str(tmp_path / "none.csv"), "--project", project.slug)
    for wrong in (["import"], ["open", str(path)]):
        with pytest.raises(CommandError):
            ask("qualification", *wrong, "--project", project.slug)


def test_columns_are_mapped(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("Frage,Antwort,score\nWho?,Ann,4\n")
    given = (str(path), "--project", project.slug, "--map=Frage=question")
    assert ask("qualification", "import", *given, "--map=Antwort=answer")["items_added"] == 1
    with pytest.raises(CommandError, match="Known fields: question, answer, expected"):
        ask("qualification", "import", *given, "--map=Antwort=nothing")
