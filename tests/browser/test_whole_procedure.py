"""The whole procedure on the demo corpus: from the test that keeps people out to the payment of those who worked."""

import csv
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from playwright.sync_api import Locator, Page, expect

from annotate import tasks
from annotate.models import Assignment, Attempt, Batch, Finding, Hit, Item, Judgment, LedgerEntry, Payment, Review
from demo import corpus
from demo.annotators import SimulatedAnnotator
from projects.models import Membership, Project
from tests.annotate.open_batches import assert_equation
from tests.browser import crew as people
from tests.browser.conftest import SignedIn
from tests.browser.rating import wait_for_keys
from tests.browser.walking import go_to
from tests.browser.watching import Watch

PLANNED = {
    ("generative", "train"): 1,
    ("generative", "dev"): 3,
    ("generative", "test"): 3,
    ("span", "train"): 1,
    ("span", "dev"): 2,
    ("span", "test"): 2,
}
N_COPIES = 2
"""The corpus has 175 candidates: with a trial of 200 the full collection needs it twice."""
N_IN_TRIAL, N_TRIAL_JUDGMENTS = 200, 5
TEST_CENTS = 50


@dataclass
class Walk:
    """Who walks: the manager at the desk, an annotator at the page, and a crew that needs no browser."""

    project: Project
    annotator: Membership
    desk: Page
    page: Page
    folder: Path
    crew: list[SimulatedAnnotator] = field(default_factory=list)

    @property
    def bad_one(self) -> Membership:
        return self.crew[len(people.GOOD)].membership


def test_the_whole_procedure_of_a_study(
    signed_in: SignedIn,
    celery_worker: None,
    project: Project,
    manager: Membership,
    annotator: Membership,
    watch: Watch,
    tmp_path: Path,
) -> None:
    walk = Walk(
        project=project,
        annotator=annotator,
        desk=watch.over(signed_in(manager.user)),
        page=watch.over(signed_in(annotator.user)),
        folder=tmp_path,
    )
    for step in STEPS:
        started = time.monotonic()
        step(walk)
        print(f"{step.__name__}: {time.monotonic() - started:.1f} s")
    assert watch.n_pages > 60


def import_corpus(walk: Walk) -> None:
    desk, path = walk.desk, walk.folder / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in copied_rows(N_COPIES)), encoding="utf-8")
    desk.goto(f"/p/{walk.project.slug}/")
    desk.get_by_role("link", name="Import file").click()
    desk.get_by_label("File", exact=True).set_input_files(path)
    desk.get_by_role("button", name="Preview").click()
    desk.get_by_role("button", name="Validate").click()
    desk.get_by_role("button", name="Import").click()
    desk.get_by_role("link", name="View data").click()


def copied_rows(n_copies: int) -> list[dict[str, object]]:
    """The corpus, and copies of it as further datasets, with ids of their own."""
    rows = []
    for n in range(n_copies):
        for row in corpus.rows():
            new = {name: f"{row[name]}{people.COPY}{n}" for name in ("passage_id", "question_id", "candidate_id")}
            rows.append({**row, **new, "dataset": f"{row['dataset']}{people.COPY}{n}"})
    return rows


def make_the_test(walk: Walk) -> None:
    desk = walk.desk
    go_to(desk, "Task", "Qualification test")
    desk.get_by_role("button", name="Create test").click()
    desk.get_by_role("link", name="From a file").click()
    desk.get_by_label("File").set_input_files(write_items(walk.folder / "test.csv"))
    desk.get_by_role("button", name="Add the items").click()
    desk.get_by_role("link", name="Edit settings").click()
    desk.get_by_label("score, answers and explanations").check()
    desk.get_by_label("Pay for the test (US cents)").fill(str(TEST_CENTS))
    desk.get_by_role("button", name="Save").click()
    expect(stat(desk, "Pass mark")).to_have_text("8")
    desk.get_by_role("button", name="Open test").click()
    expect(desk.get_by_role("button", name="Close test")).to_be_visible()


def write_items(path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["passage_title", "passage", "question", "reference", "answer", "expected", "tolerance", "explanation"]
        )
        for passage in corpus.qualification()["passages"]:
            for question in passage["questions"]:
                for item in question["items"]:
                    about = [passage["title"], passage["passage"], question["text"], question["references"][0]["text"]]
                    known = [item[name] for name in ("candidate", "expected", "tolerance", "explanation")]
                    writer.writerow([*about, *known])
    return path


def fail_once_then_pass(walk: Walk) -> None:
    page = walk.page
    page.goto("/desk/")
    page.get_by_role("link", name="Take the test").click()
    page.get_by_role("button", name="Start the test").click()
    answer_the_test(page, people.wrong_in_test)
    expect(page.get_by_role("heading", name="You didn't pass this time")).to_be_visible()
    expect(page.get_by_text("0 of 10 correct. The pass mark is 8.")).to_be_visible()
    expect(page.get_by_text(corpus.qualification_answers()[0].explanation)).to_be_visible()
    page.get_by_role("link", name="Back to the test").click()
    page.get_by_role("button", name="Start the test").click()
    answer_the_test(page, people.right_in_test)
    expect(page.get_by_role("heading", name="You passed")).to_be_visible()
    found = Attempt.objects.filter(annotator=walk.annotator).order_by("n")
    assert list(found.values_list("state", "n_right")) == [("failed", 0), ("passed", 10)]
    walk.crew = people.hire_crew(walk.project)


def answer_the_test(page: Page, value_of: Callable[[str, str], int]) -> None:
    for _ in corpus.qualification()["passages"]:
        address = page.url
        rate_by_keys(page, value_of)
        page.keyboard.press("Control+Enter")
        expect(page).not_to_have_url(address)


def run_the_trial(walk: Walk) -> None:
    desk = walk.desk
    go_to(desk, "Collection", "Batches")
    desk.get_by_role("link", name="New trial").click()
    expect(desk.get_by_label("Sample size")).to_have_value(str(N_IN_TRIAL))
    expect(desk.get_by_label("Judgments per candidate")).to_have_value(str(N_TRIAL_JUDGMENTS))
    desk.get_by_role("button", name="Preview batch").click()
    desk.get_by_role("button", name="Create batch").click()
    desk.get_by_role("button", name="Open batch").click()
    rate_one_and_return_the_next(walk)
    people.work_until_done(walk.crew)
    tasks.check()
    go_to(desk, "Overview")
    desk.get_by_role("link", name="Open trial").click()
    expect(desk.locator(".page-head")).to_contain_text("complete")
    close(desk)
    go_to(desk, "Overview")
    desk.get_by_role("link", name="Read results").click()
    expect(desk.get_by_role("heading", name="Largest disagreements")).to_be_visible()
    n_items = Item.objects.filter(hit__batch__kind=Batch.Kind.TRIAL).count()
    assert abs(n_items - N_IN_TRIAL) <= 13
    expect(stat(desk, "Candidates")).to_have_text(str(n_items))
    alpha = desk.get_by_role("region", name="Alpha by criterion").locator("tbody td")
    value, _, interval = alpha.nth(0).inner_text().partition("\n")
    assert 0 < float(value) < 1
    assert re.search(r"0\.\d+.*0\.\d+", interval)
    assert desk.locator(".disclosure").count() > 3


def rate_one_and_return_the_next(walk: Walk) -> None:
    """By keyboard; the next HIT comes by itself and is given back."""
    page, before = walk.page, Assignment.objects.submitted().filter(annotator=walk.annotator).count()
    page.goto("/desk/")
    page.get_by_role("button", name="Start rating").click()
    address = page.url
    rate_by_keys(page, people.find_score)
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(address)
    assert Assignment.objects.submitted().filter(annotator=walk.annotator).count() == before + 1
    wait_for_keys(page)
    page.locator("summary", has_text="Return HIT").click()
    page.locator(".give-back").get_by_role("button", name="Return HIT").click()
    page.get_by_role("dialog").get_by_role("button", name="Return HIT").click()
    page.wait_for_url("**/desk/")


def rate_by_keys(page: Page, value_of: Callable[[str, str], int]) -> None:
    wait_for_keys(page)
    for _ in range(page.locator(".item").count()):
        current = page.locator(".item.is-current")
        place = current.get_attribute("data-place")
        question = page.locator(".question", has=current).locator("h2").inner_text()
        page.keyboard.press(str(value_of(question, current.locator(".candidate").inner_text())))
        expect(page.locator(f"#item{place} input:checked")).to_have_count(1)


def start_the_plan(walk: Walk) -> None:
    desk = walk.desk
    desk.get_by_role("link", name="Plan the full collection").click()
    desk.get_by_role("link", name="New plan").click()
    desk.get_by_role("link", name="Use MOCHA's numbers").click()
    desk.get_by_role("button", name="Create plan").click()
    wanted = sum(fetch_planned(walk.project).values()) - in_trial() * N_TRIAL_JUDGMENTS
    expect(stat(desk, "Judgments")).to_have_text(f"{wanted:,}")
    costs = desk.get_by_role("region", name="Expected cost")
    expect(costs.get_by_role("row", name=re.compile("^Re-collection"))).to_be_visible()
    expect(costs).to_contain_text("$")
    desk.get_by_text("presentation and controls").click()
    desk.get_by_label("Known answers per HIT").fill("1")
    desk.get_by_label("Degraded answers per HIT").fill("0.5")
    with desk.expect_navigation():
        desk.get_by_role("button", name="Recalculate").click()
    expect(desk.get_by_label("Known answers per HIT")).to_have_value("1")
    n_hits = int(stat(desk, "HITs").inner_text())
    desk.get_by_role("button", name="Start plan").click()
    expect(desk.get_by_text("3 batches created.")).to_be_visible()
    assert sum(Batch.objects.filter(kind=Batch.Kind.FULL).values_list("n_hits", flat=True)) == n_hits
    expect(desk.get_by_text("Nothing is missing")).to_be_visible()


def accept_controls_and_open(walk: Walk) -> None:
    desk = walk.desk
    plan = desk.url
    for each in ("3 judgments each", "2 judgments each", "1 judgment each"):
        desk.goto(plan)
        expect(desk.get_by_text("not visible to annotators")).to_be_visible()
        desk.get_by_role("link", name=f"Overlap plan: {each}").click()
        address = desk.url
        desk.get_by_role("link", name="Review controls").click()
        desk.get_by_role("button", name="Generate controls").click()
        expect(desk.get_by_text("generated on")).to_be_visible(timeout=60_000)
        accept = desk.get_by_role("button", name=re.compile("^Accept the [0-9]+ shown"))
        while accept.is_visible():
            accept.click()
        desk.locator(".crumbs a").last.click()
        expect(desk).to_have_url(address)
        expect(desk.get_by_text("none is accepted yet")).to_have_count(0)
        desk.get_by_role("button", name="Open batch").click()
        expect(desk.locator(".page-head .status")).to_have_text("open")


def collect(walk: Walk) -> None:
    desk = walk.desk
    go_to(desk, "Review", "Annotator quality")
    desk.get_by_role("link", name="Rules").click()
    desk.get_by_label("Share of each annotator’s submitted HITs").fill("0.1")
    desk.get_by_label("Minimum per annotator").fill("1")
    desk.get_by_role("button", name="Save").click()
    rate_one_and_return_the_next(walk)
    people.work_until_done(walk.crew, after_each_round=tasks.check)
    tasks.check()
    # a degraded answer is shown only to somebody who had its source before, which the draw need not bring about here
    assert Judgment.objects.filter(item__control=Item.Control.KNOWN_ANSWER).exists()
    found = Finding.objects.filter(state=Finding.State.OPEN, evidence__is_serious=True)
    assert walk.bad_one.pk in found.values_list("annotator", flat=True)


def review_a_spot_check(walk: Walk) -> None:
    desk, bad = walk.desk, walk.bad_one
    review = Review.objects.filter(assignment__annotator=bad, state=Review.State.WAITING).first()
    assert review is not None
    go_to(desk, "Overview")
    desk.get_by_role("link", name=re.compile("[0-9]+ spot checks?")).click()
    desk.locator(f'a[href$="/reviews/{review.pk}/"]').click()
    items = desk.locator(".item")
    for place in range(items.count()):
        items.nth(place).get_by_role("radio").nth(4).check()
    desk.get_by_role("button", name="Submit ratings").first.click()
    expect(desk.get_by_role("heading", name="Accept or reject")).to_be_visible()
    verdicts = desk.locator(".verdict")
    for place in range(verdicts.count()):
        verdicts.nth(place).get_by_label("Reject").check()
    desk.get_by_role("button", name="Finish", exact=True).click()
    review.refresh_from_db()
    assert review.state == Review.State.DONE
    assert review.verdicts.filter(is_poor=True).count() == len(review.assignment.layout)
    tasks.check()


def remove_a_bad_one(walk: Walk) -> None:
    desk, bad = walk.desk, walk.bad_one
    n_done = Assignment.objects.submitted().filter(annotator=bad).count()
    go_to(desk, "Overview")
    desk.get_by_role("link", name=re.compile("open alerts?")).click()
    desk.get_by_role("row").filter(has_text="indicates poor quality").filter(has_text=bad.pseudonym).get_by_role(
        "link", name=bad.pseudonym
    ).first.click()
    expect(desk.get_by_text("indicates poor quality").first).to_be_visible()
    expect(desk.get_by_role("link", name="Warn")).to_have_count(0)  # nobody signs in with a simulated place
    desk.get_by_role("link", name="Remove").click()
    desk.get_by_label("all work").check()
    desk.get_by_role("button", name="Preview removal").click()
    expect(stat(desk, "Excluded")).to_have_text(str(n_done))
    desk.get_by_label("Reopen closed batches").check()
    desk.get_by_label("Reason").fill("The controls and the review speak against it.")
    expect(desk.get_by_label("Resolve their open alerts as acted on")).to_be_checked()
    desk.get_by_role("button", name=f"Remove {bad.pseudonym}").click()
    expect(desk.get_by_text(f"{bad.pseudonym} has been removed. {n_done} assignments excluded")).to_be_visible()
    assert not Judgment.objects.filter(annotator=bad, is_counted=True).exists()
    assert not Finding.objects.filter(annotator=bad, state=Finding.State.OPEN).exists()


def collect_again(walk: Walk) -> None:
    desk = walk.desk
    go_to(desk, "Overview")
    # The removed annotator's work waits for a person, as automatic approval leaves it; collection goes on meanwhile.
    expect(desk.get_by_role("heading", name=re.compile("^Decide on [0-9]+ submissions$"))).to_be_visible()
    expect(desk.get_by_text(re.compile("assignments remaining"))).to_be_visible()
    assert people.work_until_done([each for each in walk.crew if each.membership != walk.bad_one]) > 0
    desk.reload()
    for number in (1, 2, 3, 4):
        desk.goto(f"/p/{walk.project.slug}/batches/{number}/")
        expect(desk.locator(".page-head")).to_contain_text("complete")
        close(desk)


def restore_with_surplus(walk: Walk) -> None:
    desk, bad = walk.desk, walk.bad_one
    left_out = Assignment.objects.filter(annotator=bad, mark=Assignment.Mark.EXCLUDED)
    n_surplus = left_out.filter(hit__purpose=Hit.Purpose.WORK).count()
    n_free = left_out.exclude(hit__purpose=Hit.Purpose.WORK).count()
    """What was made for them alone nobody else has taken: controls, which are in no result."""
    go_to(desk, "Admin", "Members")
    desk.get_by_role("row").filter(has_text=bad.pseudonym).get_by_role("link").first.click()
    desk.get_by_role("link", name="Restore").click()
    expect(stat(desk, "Counted again")).to_have_text(str(n_free))
    expect(stat(desk, "Surplus")).to_have_text(str(n_surplus))
    desk.get_by_label("Reason").fill("Our mistake.")
    desk.get_by_role("button", name="Restore").click()
    counted = "1 assignment counts" if n_free == 1 else f"{n_free} assignments count"
    surplus = "1 is surplus" if n_surplus == 1 else f"{n_surplus} are surplus"
    expect(desk.get_by_text(f"{counted} again; {surplus}.")).to_be_visible()
    go_to(desk, "Review", "Submissions")
    desk.get_by_role("combobox", name="Counted").select_option("surplus")
    desk.get_by_role("button", name="Filter").click()
    expect(desk.get_by_text(f"all {n_surplus} in this list")).to_be_visible()


def find_surplus_in_the_export(walk: Walk) -> None:
    desk = walk.desk
    go_to(desk, "Releases", "Judgment sets")
    desk.locator("main").get_by_role("link", name="Raw export").click()
    desk.get_by_label("Stage").select_option(label="full collection and trial")
    with desk.expect_download() as download:
        desk.get_by_role("button", name="Download long CSV").click()
    rows = read_csv(download.value.path())
    theirs = [row for row in rows if row["annotator"] == walk.bad_one.pseudonym]
    assert {(row["is_counted"], row["not_counted_reason"]) for row in theirs} == {("no", "surplus")}
    n_items = Judgment.objects.filter(annotator=walk.bad_one, candidate__isnull=False).count()
    assert len(theirs) == n_items > 0
    counted = Counter(row["candidate_id"] for row in rows if row["is_counted"] == "yes")
    assert counted == planned_by_external_id(walk.project)


def pay(walk: Walk) -> None:
    desk = walk.desk
    go_to(desk, "Review", "Submissions")
    desk.get_by_label(re.compile("all [0-9]+ in this list")).check()
    desk.get_by_role("button", name="Approve …").click()
    desk.get_by_role("button", name=re.compile("^Approve [0-9]+ assignments")).click()
    go_to(desk, "Admin", "Payments")
    desk.get_by_role("button", name="Approve them").click()
    expect(desk.get_by_role("button", name="Record payment")).to_be_visible()
    old = desk.context.new_page()
    old.goto(desk.url)
    make_payment(desk)
    expect(desk.get_by_role("heading", name="Payment 1", exact=True)).to_be_visible()
    payment = Payment.objects.get()
    with desk.expect_download() as download:
        desk.get_by_role("button", name="Download CSV").click()
    rows = read_csv(download.value.path())
    entries = LedgerEntry.objects.filter(project=walk.project)
    assert not entries.filter(payment=None).exists()
    assert sum(int(row["cents"]) for row in rows) == payment.cents == sum(entries.values_list("cents", flat=True))
    assert {row["annotator"] for row in rows} == {
        *(each.membership.pseudonym for each in walk.crew),
        walk.annotator.pseudonym,
    }
    make_payment(old)
    expect(old.locator(".message--error")).to_be_visible()
    assert Payment.objects.count() == 1
    go_to(desk, "Admin", "Payments")
    expect(desk.get_by_text("No approved pay is due.")).to_be_visible()
    walk.page.goto("/desk/")
    walk.page.get_by_role("link", name="Earnings").first.click()
    # The test, a HIT of the trial and one of a batch with personal HITs, which pays short HITs by item.
    own = list(entries.filter(annotator=walk.annotator).order_by("cents").values_list("cents", flat=True))
    assert len(own) == 3
    assert {TEST_CENTS, walk.project.cents_per_hit} <= set(own)
    expect(stat(walk.page, "Paid")).to_have_text(f"${sum(own) / 100:.2f}")


def make_payment(page: Page) -> None:
    page.get_by_role("button", name="Record payment").click()
    page.get_by_role("dialog").get_by_role("button", name="Record payment").click()


def assert_exactly_as_planned(walk: Walk) -> None:
    """Every place is done, every HIT's sums hold, every candidate has its judgments, nobody judged one twice."""
    assert_equation()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM annotate_hit WHERE purpose = 'work' AND places_done <> places_wanted")
        assert cursor.fetchone() == (0,)
        cursor.execute(
            """SELECT candidate_id, count(*), count(DISTINCT annotator_id) FROM annotate_judgment
               WHERE is_counted AND candidate_id IS NOT NULL GROUP BY 1"""
        )
        counts = cursor.fetchall()
        assert {candidate: n for candidate, n, _ in counts} == fetch_planned(walk.project)
        assert all(n == n_annotators for _, n, n_annotators in counts)
        cursor.execute(
            """SELECT count(*) FROM (SELECT 1 FROM annotate_judgment WHERE candidate_id IS NOT NULL
               GROUP BY annotator_id, candidate_id, criterion_id HAVING count(*) > 1) twice"""
        )
        assert cursor.fetchone() == (0,)
    call_command("verify")


def fetch_planned(project: Project) -> dict[int, int]:
    """The judgments that each candidate is to have: five in the trial, else what MOCHA's plan asks for."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.id, d.kind, p.split, EXISTS (
                   SELECT 1 FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
                   JOIN annotate_batch b ON b.id = h.batch_id WHERE i.candidate_id = c.id AND b.kind = 'trial')
               FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
               JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
               WHERE d.project_id = %s""",
            [project.pk],
        )
        return {
            pk: N_TRIAL_JUDGMENTS if is_in_trial else PLANNED[kind, split]
            for pk, kind, split, is_in_trial in cursor.fetchall()
        }


def planned_by_external_id(project: Project) -> dict[str, int]:
    by_id = fetch_planned(project)
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, external_id FROM projects_candidate WHERE id = ANY(%s)", [list(by_id)])
        return {external_id: by_id[pk] for pk, external_id in cursor.fetchall()}


def in_trial() -> int:
    return Item.objects.filter(hit__batch__kind=Batch.Kind.TRIAL, candidate__isnull=False).count()


def close(page: Page) -> None:
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="Close batch").click()
    expect(page.locator(".page-head .status")).to_have_text("closed")


def stat(page: Page, label: str) -> Locator:
    return (
        page.locator(".stat")
        .filter(has=page.locator(".stat-label", has_text=re.compile(rf"^\s*{label}\s*$")))
        .locator(".stat-value")
    )


def read_csv(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


STEPS: tuple[Callable[[Walk], None], ...] = (
    import_corpus,
    make_the_test,
    fail_once_then_pass,
    run_the_trial,
    start_the_plan,
    accept_controls_and_open,
    collect,
    review_a_spot_check,
    remove_a_bad_one,
    collect_again,
    assert_exactly_as_planned,
    restore_with_surplus,
    assert_exactly_as_planned,
    find_surplus_in_the_export,
    pay,
    assert_exactly_as_planned,
)
