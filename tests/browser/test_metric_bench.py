"""The metric bench in a real browser: judged answers, metrics, scores by others, a study with its table and chart."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from projects.models import Membership, Project
from results.models import MetricRun
from tests.browser.conftest import SignedIn
from tests.browser.walking import go_to
from tests.browser.watching import Watch
from tests.factories import make_corpus
from tests.results.metrics.samples import compute

WORDS = ("the cat", "the cat sat", "the cat sat on", "on the mat", "a dog ran", "the cat sat on the mat")
WRONG = {
    2: ("nobody", "0.5", "matches no candidate of the project"),
    3: ("c0", "nan", "is “nan”, not a number"),
    4: ("c1", "0,5", "has a decimal comma; choose comma as the decimal mark, or use a point"),
    5: ("c2", "Infinity", "is “Infinity”, not a number"),
    6: ("c3", "n/a", "is “n/a”, not a number"),
    8: ("c4", "0.7", "is on line 7 already; the first score is used"),
    9: ("", "0.5", "the ID is empty"),
    10: ("somebody", "0.5", "matches no candidate of the project"),
    11: ("c5", "1.2.3", "is “1.2.3”, not a number"),
    12: ("c6", "=1", "is “=1”, not a number"),
}
"""Ten wrong rows of a file: on their lines the id, the score, and what the page says of it."""


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Thirty answers of five passages with the scores that came in their file."""
    lines = ["passage_id,passage,question_id,question,reference,candidate_id,candidate,source,scores"]
    for n in range(30):
        text, scores = WORDS[n % 6], f"{1 + n % 5}|{1 + (n + n % 2) % 5}"
        lines.append(
            f"p{n % 5},passage {n % 5},q{n},What {n}?,the cat sat on the mat,c{n},{text} {n},m{n % 2},{scores}"
        )
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rows = {line: f'{name},"{score}"' for line, (name, score, _why) in WRONG.items()} | {7: "c4,0.25"}
    path = tmp_path / "bleurt.csv"
    right = [f"c{n},{n / 40}" for n in range(7, 30)]
    path.write_text("\n".join(["candidate_id,bleurt", *(rows[line] for line in sorted(rows)), *right]))
    return path


def test_from_metrics_to_a_table_for_a_paper(
    signed_in: SignedIn,
    celery_worker: None,
    project: Project,
    manager: Membership,
    watch: Watch,
    judged: Path,
    scores: Path,
) -> None:
    page = watch.over(signed_in(manager.user))
    page.goto(f"/p/{project.slug}/data/imports/new/")
    import_scored(page, judged)
    go_to(page, "Results", "Automatic metrics")
    page.get_by_role("link", name="Compute metrics").first.click()
    page.get_by_role("button", name="Compute metrics").click()
    table = page.get_by_role("region", name="Metrics")
    for title in ("ROUGE-L", "Token F1", "BLEU-1"):
        expect(table.get_by_role("row", name=title)).to_contain_text("done")
    upload(page, scores)
    run_study(page)
    assert not watch.wrong, "\n".join(watch.wrong)


def test_a_job_that_ends_undoes_no_click(signed_in: SignedIn, project: Project, manager: Membership) -> None:
    """The page reloads itself then, while a slow server has yet to answer who has just followed a link."""
    make_corpus(project)
    compute(project, manager)
    MetricRun.objects.update(state=MetricRun.State.RUNNING)
    page = signed_in(manager.user)
    page.goto(f"/p/{project.slug}/metrics/")
    slow: list[Route] = []

    def hold(route: Route) -> None:
        slow.append(route)

    page.route("**/metrics/files/new/", hold)
    page.get_by_role("link", name="Upload scores").click(no_wait_after=True)
    MetricRun.objects.update(state=MetricRun.State.DONE)
    with page.expect_response("**/metrics/jobs/**") as polled:
        pass
    assert polled.value.headers["hx-refresh"] == "true"
    page.wait_for_timeout(200)
    slow[0].continue_()
    expect(page.get_by_role("heading", name="Upload scores")).to_be_visible()


def import_scored(page: Page, judged: Path) -> None:
    page.get_by_label("File", exact=True).set_input_files(judged)
    page.get_by_role("button", name="Preview").click()
    page.get_by_label(re.compile("^Also import scores as judgments")).check()
    page.get_by_role("button", name="Validate").click()
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="View data").click()


def upload(page: Page, scores: Path) -> None:
    page.get_by_role("link", name="Upload scores").click()
    page.get_by_label("File", exact=True).set_input_files(scores)
    page.get_by_role("button", name="Upload and validate").click()
    wrong = page.get_by_role("region", name="Errors")
    for line, (name, score, why) in WRONG.items():
        row = find_row(wrong, line)
        expect(row).to_contain_text(why)
        expect(row).to_contain_text(name or "–")
        if "number" in why or "decimal" in why or "already" in why:
            expect(row).to_contain_text(score)
    expect(wrong.locator("tbody tr")).to_have_count(len(WRONG))
    page.get_by_role("button", name="Import valid scores").click()
    expect(page.get_by_text("Scores of 1 metric imported")).to_be_visible()
    page.get_by_role("link", name="bleurt", exact=True).click()
    expect(page.locator("#refused")).to_contain_text("Not a number")


def run_study(page: Page) -> None:
    go_to(page, "Results", "Metric evaluation")
    page.get_by_role("link", name="New evaluation").first.click()
    page.get_by_role("button", name="Run evaluation").click()
    expect(page.locator("figure.chart").first).to_be_visible()
    expect(page.get_by_role("rowheader", name="bleurt").first).to_be_visible()
    with page.expect_download() as svg:
        page.locator("figure.chart").first.get_by_role("link", name="SVG").click()
    assert svg.value.path().read_bytes().startswith(b"<svg")
    with page.expect_download() as latex:
        page.get_by_role("link", name="LaTeX").first.click()
    assert "bleurt" in latex.value.path().read_text()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = page.get_by_role("button", name="Copy Correlation with human scores as Markdown")
    copy.dblclick()
    expect(page.get_by_role("status").get_by_text("Copied as Markdown.")).to_be_visible()
    expect(copy).to_have_text("Copy")
    assert "| bleurt |" in page.evaluate("navigator.clipboard.readText()")
    sort_table(page.get_by_role("region", name="Correlation with human scores"))
    page.evaluate("navigator.clipboard.writeText('before')")
    page.context.clear_cookies()
    copy.click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "before"


def sort_table(table: Locator) -> None:
    """Sort by a click and by the keyboard, and come back to the order of the server."""
    names = table.locator("tbody th")
    in_order = names.all_inner_texts()
    head = table.get_by_role("columnheader", name="Metric")
    head.get_by_role("button", name="Metric").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert names.all_inner_texts() == sorted(in_order, key=str.lower)
    pearson = table.get_by_role("columnheader", name=re.compile("^Pearson ")).first
    pearson.get_by_role("button", name="Pearson", exact=True).press("Enter")
    expect(pearson).to_have_attribute("aria-sort", "descending")
    assert head.get_attribute("aria-sort") is None, "sorted by one column at a time"
    values = [
        float(each)
        for each in table.locator("tbody td:nth-child(2)").evaluate_all("all => all.map(c => c.dataset.value ?? -9)")
    ]
    assert values == sorted(values, reverse=True), "undefined figures are last"
    page = table.page
    page.keyboard.press("Space")
    expect(pearson).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")
    assert pearson.get_attribute("aria-sort") is None
    assert names.all_inner_texts() == in_order
    expect(table.locator("tfoot")).to_contain_text("Ceiling (for Pearson only)")


def find_row(table: Locator, line: int) -> Locator:
    return table.locator("tbody tr").filter(has=table.page.get_by_role("rowheader", name=str(line), exact=True))
