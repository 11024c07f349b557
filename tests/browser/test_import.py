"""A manager's first import: a spreadsheet's file with all its faults, from the upload to the imported data."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from annotate import tasks
from annotate.models import Import, Judgment
from projects.models import Candidate, Membership, Project, Reference
from tests.browser.conftest import WIDE, SignedIn
from tests.browser.watching import Watch

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("browser")]
MOST_CLICKS = 12
LABELS = ("Excellent", "Good", "Fair", "Poor", "Bad")


def messy_file(n: int = 600) -> bytes:
    """What Excel saves in German: semicolons, windows-1252, `sep=`, empty columns, and some rows gone wrong."""
    header = "id;passage;question;reference;Referenz 2;Referenz 3;candidate;system;rater1;rater2;rater3;Länge;;"
    lines = ["sep=;", header]
    for place in range(n):
        town = place // 6
        labels = [LABELS[(place + shift) % 5] for shift in range(3)]
        if place % 7 == 0:
            labels[2] = ""
        text = f'"Größe; Lage von Stadt {town}.\nFläche: „{town}“"'
        row = [str(place), text, f"Wie groß ist Stadt {town}?", f"{town} km²", f"etwa {town}", "", f"süß {place}"]
        lines.append(";".join([*row, f"System {place % 3}", *labels, f"{place / 10:.1f}".replace(".", ","), "", ""]))
    lines[12] = lines[12].replace("süß 10;", ";")
    lines[102] = lines[102].replace("Wie groß ist Stadt 16?", "")
    lines[202] = lines[202].replace("süß 200", "#NAME?")
    lines[302] = lines[302].replace("Excellent", "gut??")
    lines[402] = lines[402].replace("400;", "399;", 1)
    lines[502] = "500;cut off"
    return "\r\n".join(lines).encode("windows-1252")


class Clicks:
    """Counts what the manager clicks, each choice in a list included."""

    def __init__(self) -> None:
        self.n = 0

    def on(self, target: Locator) -> None:
        self.n += 1
        target.click()

    def choose(self, target: Locator, label: str) -> None:
        self.n += 1
        target.select_option(label=label)


def work(page: Page) -> None:
    """What the worker does, after which the page reloads itself."""
    page.wait_for_url(re.compile(r"/imports/\d+/$"))
    tasks.run_import(Import.objects.get().pk)


def test_a_messy_file_is_imported_with_few_clicks_and_one_upload(
    signed_in: SignedIn, project: Project, manager: Membership, watch: Watch
) -> None:
    page, clicks = watch.over(signed_in(manager.user, viewport=WIDE)), Clicks()
    page.goto(f"/p/{project.slug}/data/imports/new/")
    clicks.n += 1
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "Städte.csv", "mimeType": "text/csv", "buffer": messy_file()}
    )
    clicks.on(page.get_by_role("button", name="Preview"))
    expect(page.get_by_text("Read as CSV, WINDOWS-1252, separated by semicolons.")).to_be_visible()
    expect(page.get_by_text("Columns without a name at the end of the table are ignored")).to_be_visible()
    for n in (2, 3):
        clicks.choose(page.get_by_label(f"Referenz {n}"), f"Reference {n}")
    expect(page.get_by_label("Labels")).to_have_value(re.compile("excellent=5\ngood=4\nfair=3\npoor=2|bad=1"))
    clicks.on(page.get_by_label("Also import scores as judgments"))
    clicks.on(page.get_by_role("button", name="Validate"))
    work(page)

    problems = page.get_by_role("region", name="Errors").get_by_role("row")
    expect(problems).to_have_count(6)
    found = [row.inner_text().split("\t") for row in problems.all()[1:]]
    assert [(line, column) for line, column, _reason, _times in found] == [
        ("23", "candidate"),
        ("203", "question"),
        ("603", "rater1"),
        ("803", "id"),
        ("1003", "–"),
    ]
    expect(page.get_by_label("Referenz 3")).to_have_value("reference_3")
    expect(page.get_by_label("Also import scores as judgments")).to_be_checked()
    clicks.on(page.get_by_role("button", name="Skip 5 rows and validate"))
    work(page)

    expect(page.get_by_role("heading", name="Skipped rows")).to_be_visible()
    expect(page.get_by_text("such as #NAME?")).to_be_visible()
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Download skipped rows").click()
    assert downloaded.value.path().read_text().count("\n") == 1 + 5 + 4, "Four of the passages have a second line."
    clicks.on(page.get_by_role("button", name="Import", exact=True))
    work(page)

    expect(page.get_by_role("link", name="View data")).to_be_visible()
    assert clicks.n <= MOST_CLICKS
    assert Import.objects.get().state == "done"
    assert Candidate.objects.in_project(project).count() == 595
    assert set(Reference.objects.filter(position=1).values_list("text", flat=True)) >= {"etwa 0", "etwa 99"}
    assert set(Judgment.objects.values_list("value", flat=True)) == {1, 2, 3, 4, 5}
