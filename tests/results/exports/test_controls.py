"""Ratings of controls as a file, and how many annotators and HITs passed."""

import csv
import io
from copy import copy

import pytest
from django.urls import reverse

from annotate.models import Assignment, Item, Judgment
from annotate.quality import monitoring
from annotate.quality.control_summary import summarise_controls
from projects.models import Membership, Project
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from tests.annotate.quality.scripted_annotators import GOOD, crew
from tests.factories import make_membership
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated(project: Project) -> list[Membership]:
    """Two annotators of six HITs: the first passes all controls, the second has one degraded answer and fails that."""
    batch, people = crew(project, GOOD, GOOD, n_hits=6, n_items=4)
    criterion = batch.rubric.criteria.get()
    for who, annotator in enumerate(people):
        for number, assignment in enumerate(Assignment.objects.filter(annotator=annotator).order_by("pk")):
            source = Judgment.objects.filter(assignment=assignment).order_by("-value", "pk")[0]
            if who and number:
                continue
            low, high = (source.value, 1.0) if who else (1.0, 5.0)
            for kind, value in (("degraded", low), ("repeat", source.value), ("known_answer", high)):
                item = Item.objects.create(
                    pool_of=batch,
                    question=source.item.question,
                    position=number,
                    control=kind,
                    recipe="reference" if kind == "known_answer" else "",
                    made_from=None if kind == "known_answer" else source.item,
                    expected={"correctness": [4, 5]} if kind == "known_answer" else None,
                    shown_text="=SUM(1)" if kind == "degraded" else "shown",
                )
                Judgment.objects.create(
                    assignment=assignment, item=item, annotator=annotator, criterion=criterion, value=value
                )
    monitoring.refresh_figures(project=project)
    return people


def list_rows(project: Project, **over: bool) -> list[dict[str, str]]:
    file = io.BytesIO()
    write(make_statement("controls", Choices(project=project, **over)), file)  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))


def test_each_control_rating_with_its_kind_expected_value_and_outcome(
    project: Project, rated: list[Membership]
) -> None:
    rows = list_rows(project, with_texts=True)
    assert len(rows) == Judgment.objects.filter(candidate=None).count() == 21
    mine = {row["control"]: row for row in rows if row["annotator"] == rated[1].pseudonym}
    known, degraded, repeat = (mine[kind] for kind in ("known_answer", "degraded", "repeat"))
    assert (known["expected_low"], known["expected_high"], known["value"], known["outcome"]) == (
        *("4", "5", "1", "incorrect"),
    )
    assert (known["recipe"], known["original_value"], known["hit_purpose"]) == ("reference", "", "work")
    assert (degraded["outcome"], degraded["original_value"]) == ("equal", degraded["value"])
    # A text that a spreadsheet would take for a formula is guarded, as in every CSV file.
    assert degraded["shown_text"] == "'=SUM(1)"
    assert degraded["original_text"].startswith("Candidate answer")
    assert degraded["candidate_id"]
    assert repeat["outcome"] == "identical"
    first = [row["outcome"] for row in rows if row["annotator"] == rated[0].pseudonym]
    assert sorted(set(first)) == ["correct", "identical", "lower"]
    assert "shown_text" not in list_rows(project)[0]


def test_a_control_is_compared_with_its_annotators_own_counted_rating_by_the_same_criterion(
    project: Project, rated: list[Membership]
) -> None:
    other, own = rated
    control = Judgment.objects.select_related("item__made_from", "criterion").get(
        annotator=own, item__control="degraded"
    )
    source = Judgment.objects.get(annotator=own, item=control.item.made_from)
    Judgment.objects.filter(annotator=other, candidate=source.candidate).update(value=2)
    fluency = copy(control.criterion)
    fluency.pk, fluency.key, fluency.position = None, "fluency", 2
    fluency.save()
    for rating, value in ((source, 4.0), (control, 3.0)):
        second = copy(rating)
        second.pk, second.criterion, second.value = None, fluency, value
        second.save()

    def find_pairs() -> list[tuple[str, str, str]]:
        rows = [row for row in list_rows(project) if row["annotator"] == own.pseudonym and row["control"] == "degraded"]
        return [(row["criterion"], row["original_value"], row["outcome"]) for row in rows]

    assert find_pairs() == [("correctness", f"{source.value:g}", "equal"), ("fluency", "4", "lower")]
    Judgment.objects.filter(pk=source.pk).update(is_counted=False, not_counted_reason="set aside")
    assert find_pairs() == [("correctness", "", "no pair"), ("fluency", "4", "lower")]


def test_the_summary_counts_annotators_and_hits_that_passed(project: Project, rated: list[Membership]) -> None:
    make_membership(project)
    summary = summarise_controls(project)
    assert [(line.outcome, line.n_annotators, line.n_hits) for line in summary.lines] == [
        ("passed", 1, 6),
        ("failed", 0, 0),
        ("too few", 1, 6),
        ("none", 0, 0),
    ]
    known = summary.known
    assert (known.n_correct, known.n_ratings) == (6, 7)
    assert (known.n_hits_all_correct, known.n_hits) == (6, 7)
    assert (known.n_annotators_good, known.n_annotators) == (1, 2)
    # Whoever failed and was removed still failed; a control that was set aside says nothing of anybody.
    theirs = Judgment.objects.filter(annotator=rated[1])
    theirs.update(is_counted=False, not_counted_reason="removed")
    assert summarise_controls(project).known == known
    theirs.update(not_counted_reason="set aside")
    assert summarise_controls(project).known.n_ratings == 6
    theirs.update(not_counted_reason="consent withdrawn")
    assert summarise_controls(project).known.n_ratings == 6


def test_managers_see_and_download_it_and_researchers_do_not(
    project: Project, rated: list[Membership], manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    page, file = (
        reverse(name, args=[project.slug]) for name in ("annotate:quality-controls", "results:export-controls")
    )
    office, reader = client_of(manager), client_of(researcher)
    shown = office.get(page).content.decode()
    outcomes = {
        row["Outcome"]: (row["Annotators"], row["HITs"]) for row in read(shown).rows("Outcomes of the degraded test")
    }
    assert outcomes == {
        "Passed": ("1", "6"),
        "Failed": ("0", "0"),
        "Too few": ("1", "6"),
        "No degraded answers rated": ("0", "0"),
        "All": ("2", "12"),
    }
    tables = reverse("annotate:quality-list", args=[project.slug]) + "tables/"
    for name in ("degraded-test", "known-answers"):
        check_latex(office.get(f"{tables}{name}.tex").content.decode())
    assert "| All | 2 | 12 |" in office.get(f"{tables}degraded-test.md").content.decode()
    assert reader.get(f"{tables}known-answers.csv").status_code == 403
    assert file in shown
    answer = office.get(file)
    assert answer["Content-Disposition"] == 'attachment; filename="bridges-controls.csv"'
    assert b"".join(answer).count(b"known_answer") == 7
    assert "Control ratings CSV" in office.get(reverse("results:export-list", args=[project.slug])).content.decode()
    assert (reader.get(page).status_code, reader.get(file).status_code) == (403, 403)
    assert "Control ratings" not in reader.get(reverse("results:export-list", args=[project.slug])).content.decode()
