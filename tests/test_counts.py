"""Every count on every screen, in every command and in every file is the number that plain SQL gives."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.urls import reverse

from annotate.integrity.verifying import verify
from annotate.models import Batch
from projects.models import Membership, Project
from tests import sized_projects
from tests.factories import make_membership, make_project, make_user
from tests.page_reader import Screen, number, numbers, read
from tests.people import SignIn
from tests.results.judged_batches import answer
from tests.shared_rows import thrown_away
from tests.sized_projects import Truth, ask, ask_one, judgments

See = Callable[..., Screen]

# Each size of the project is made once, in one process.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("counts")]


@dataclass(frozen=True)
class Site:
    """A project of one size, beside another project that no count may take in."""

    project: Project
    annotator: Membership
    truth: Truth


@pytest.fixture(scope="module", params=sized_projects.SIZES)
def site(
    request: pytest.FixtureRequest, module_transaction: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """One for all tests of a size."""
    with thrown_away():
        yield make_site(request.param, tmp_path_factory.mktemp("scores"))


def make_site(size: str, folder: Path) -> Site:
    project, elsewhere = make_project("bridges", name="Bridges"), make_project()
    make_membership(project, make_user("olga"), role=Membership.Role.OWNER)
    annotator, other_annotator = (make_membership(project, make_user(name)) for name in ("anna", "otto"))
    sized_projects.fill(elsewhere, make_membership(elsewhere), make_membership(elsewhere), size="one", folder=folder)
    sized_projects.fill(project, annotator, other_annotator, size=size, folder=folder)
    assert verify() == []
    truth = sized_projects.count(project)
    assert truth.judgments >= {"none": 0, "one": 1, "trial": 24, "thousand": 950}[size]
    assert bool(truth.not_counted) is (size in ("trial", "thousand"))
    assert truth.stage == ("trial" if size == "trial" else "full")
    assert truth.kept_apart == (24 if size == "thousand" else 0)
    return Site(project=project, annotator=annotator, truth=truth)


@pytest.fixture
def project(site: Site, db: None) -> Project:
    return Project.objects.get(pk=site.project.pk)


@pytest.fixture
def annotator(site: Site, project: Project) -> Membership:
    return Membership.objects.get(pk=site.annotator.pk)


@pytest.fixture
def truth(site: Site, project: Project) -> Iterator[Truth]:
    """The project's true numbers, before the test and after it."""
    yield site.truth
    assert sized_projects.count(project) == site.truth


@pytest.fixture
def see(project: Project, client_of: SignIn) -> See:
    """A page of the project as somebody sees it."""

    def see(person: Membership, name: str, *arguments: object) -> Screen:
        address = reverse(name, args=[project.slug, *arguments])
        response = client_of(person).get(address)
        assert response.status_code == 200, address
        return read(response.content.decode())

    return see


def test_the_overview(truth: Truth, see: See, researcher: Membership, project: Project) -> None:
    page = see(researcher, "results:project-overview")
    assert page.number("Passages") == truth.passages
    assert page.number("Questions") == truth.questions
    assert page.number("Candidates") == truth.candidates
    assert page.number("Judgments") == truth.counted
    assert page.number("Annotators") == ask_one(
        project,
        """SELECT count(*) FROM projects_membership WHERE project_id = %(project)s AND is_annotator
           AND kind = 'person' AND standing = 'active'""",
    )
    if truth.judgments:
        assert_judgments_add_up(page, truth)
        assert page.number("Total") == truth.judgments + truth.kept_apart
    shown = {number(row["No."]): row for row in page.rows("Batch progress")}
    archived = set(project.batches.filter(state=Batch.State.ARCHIVED).values_list("number", flat=True))
    assert shown.keys() == truth.batches.keys() - archived
    for key, row in shown.items():
        batch = truth.batches[key]
        assert numbers(row["Assignments submitted"])[-2:] == [batch.n_done, batch.n_wanted]
        assert number(row["Candidates"]) == batch.n_candidates
        assert numbers(row["HITs completed"]) == [batch.n_complete, batch.n_hits]


def test_the_batches(truth: Truth, see: See, researcher: Membership) -> None:
    page = see(researcher, "annotate:batch-list")
    assert page.count_listed("Batches") == len(truth.batches) == len(page.rows("Batches"))
    for row in page.rows("Batches"):
        batch = truth.batches[number(row["No."])]
        assert numbers(row["Done"])[-2:] == [batch.n_done, batch.n_wanted]
        assert (number(row["Candidates"]), number(row["HITs"])) == (batch.n_candidates, batch.n_hits)


def test_each_batch_with_its_hits(truth: Truth, see: See, researcher: Membership, project: Project) -> None:
    for key, batch in truth.batches.items():
        page = see(researcher, "annotate:batch-show", key)
        assert numbers(page.facts["HITs complete"]) == [batch.n_complete, batch.n_hits, batch.n_candidates]
        hits = page.rows("HITs")
        assert page.count_listed("HITs") == len(hits) == batch.n_hits
        sums = {
            name: sum(number(row[name]) for row in hits)
            for name in ("Items", "Required", "Done", "In progress", "Unfilled")
        }
        assert sums == {
            "Items": batch.n_candidates,
            "Required": batch.n_wanted,
            "Done": batch.n_done,
            "In progress": batch.n_held,
            "Unfilled": batch.n_open,
        }
        if project.batches.get(number=key).kind != Batch.Kind.IMPORTED:
            assert page.number("Unfilled assignments") == batch.n_open
            assert page.number("In progress") == batch.n_held
        for row in hits[:8]:
            hit = see(researcher, "annotate:hit-show", key, number(row["HIT"]))
            places = [hit.number(label) for label in ("Assignments", "Done", "In progress", "Unfilled")]
            assert places == [number(row[name]) for name in ("Required", "Done", "In progress", "Unfilled")]
            assert len(hit.rows("Items")) == number(row["Items"])


def test_the_data(truth: Truth, see: See, researcher: Membership) -> None:
    page = see(researcher, "annotate:data-overview")
    total = page.rows("Data by dataset and split")[-1]
    wanted = {
        "Passages": truth.passages,
        "Questions": truth.questions,
        "References": truth.references,
        "Candidates": truth.candidates,
        "Judgments": truth.counted,
    }
    lines = page.rows("Data by dataset and split")[:-1]
    for name, n in wanted.items():
        assert page.number(name) == number(total[name]) == sum(number(line[name]) for line in lines) == n, name
    for noun in ("passages", "questions", "candidates"):
        found = see(researcher, f"annotate:data-{noun}").count_listed(noun.capitalize())
        assert found == getattr(truth, noun)


def test_the_minimal_pairs(truth: Truth, see: See, researcher: Membership, project: Project) -> None:
    pairs = """SELECT {} FROM projects_minimalpair m JOIN projects_question q ON q.id = m.question_id
        JOIN projects_dataset d ON d.id = q.dataset_id WHERE d.project_id = %(project)s"""
    page = see(researcher, "annotate:pair-list")
    n = ask_one(project, pairs.format("count(*)"))
    if not n:
        return
    assert page.number("Minimal pairs") == page.n_listed == n
    for label, says in (("Better scored higher", ">"), ("Better not scored higher", "<=")):
        assert page.number(label) == ask_one(project, pairs.format(f"count(*) FILTER (WHERE score_1 {says} score_2)"))
    assert sum(number(row["All"]) for row in page.rows("Pairs by dataset and phenomenon")) == n


def test_people_and_remarks(truth: Truth, see: See, manager: Membership, project: Project) -> None:
    members = "SELECT count(*) FROM projects_membership WHERE project_id = %(project)s"
    remarks = """SELECT count(*) FROM annotate_remark r JOIN annotate_assignment a ON a.id = r.assignment_id
        JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
        WHERE b.project_id = %(project)s AND r.resolved_at IS NULL"""
    assert see(manager, "projects:people-list").n_listed == ask_one(project, members)
    assert (see(manager, "annotate:remark-list").n_listed or 0) == ask_one(project, remarks)


def test_the_agreement(truth: Truth, see: See, researcher: Membership, project: Project) -> None:
    page = see(researcher, "results:agreement")
    of_stage = judgments(truth.stage)
    rated = f"""SELECT j.candidate_id, count(*) AS n {of_stage} AND j.is_counted AND j.value IS NOT NULL
        AND c.withdrawn_at IS NULL GROUP BY 1"""
    n_units, n_ratings, n_single = ask(
        project,
        f"""SELECT count(*) FILTER (WHERE n > 1), coalesce(sum(n) FILTER (WHERE n > 1), 0),
                   count(*) FILTER (WHERE n = 1) FROM ({rated}) rated""",
    )[0]
    assert page.number("Candidates") == n_units
    assert page.number("Ratings") == n_ratings
    assert page.number("Single ratings") == n_single
    *groups, whole = page.rows("Alpha by dataset") if truth.counted else [{"Ratings": "0"}]
    assert sum(number(row["Ratings"]) for row in groups) == number(whole["Ratings"]) == n_ratings
    output = answer("agreement", "--project", project.slug)
    assert [output[name] for name in ("n_units", "n_ratings", "n_single")] == [n_units, n_ratings, n_single]
    n_annotators = f"""SELECT count(DISTINCT j.annotator_id) {of_stage} AND j.is_counted AND j.candidate_id IN (
        SELECT candidate_id FROM ({rated}) rated WHERE n > 1) AND j.value IS NOT NULL"""
    assert page.number("Annotators") == output["n_annotators"] == ask_one(project, n_annotators)


def test_the_export_page_and_the_files(
    truth: Truth, see: See, researcher: Membership, project: Project, tmp_path: Path
) -> None:
    page = see(researcher, "results:export-list")
    assert_judgments_add_up(page, truth)
    assert page.number("Rows in total") == truth.judgments
    if truth.kept_apart:
        assert page.number("In another stage") == truth.kept_apart
    long = exported(project, "long", tmp_path)
    counted = [row for row in long if row["is_counted"] == "yes"]
    reasons = {name: sum(row["not_counted_reason"] == name for row in long) for name in truth.not_counted}
    assert (len(long), len(counted), reasons) == (truth.judgments, truth.counted, truth.not_counted)
    aggregated = exported(project, "aggregated", tmp_path)
    of_stage = judgments(truth.stage)
    n_withdrawn = ask_one(project, f"SELECT count(*) {of_stage} AND j.is_counted AND c.withdrawn_at IS NOT NULL")
    in_means = sum(int(row["n"]) + int(row["n_cannot_judge"]) for row in aggregated)
    assert in_means + n_withdrawn == truth.counted
    assert sum(row["is_withdrawn"] == "yes" for row in counted) == n_withdrawn
    mocha = json.loads(exported_text(project, "mocha", tmp_path))
    scores = [entry["metadata"].get("scores", []) for entries in mocha.values() for entry in entries.values()]
    assert sum(map(len, scores)) == sum(int(row["n"]) for row in aggregated)


@pytest.mark.parametrize("stage", ["full", "trial", "all"])
def test_each_stage_in_every_file_and_figure(
    truth: Truth, see: See, client_of: SignIn, researcher: Membership, project: Project, stage: str, tmp_path: Path
) -> None:
    n = ask_one(project, f"SELECT count(*) {judgments(stage)}")
    n_counted = ask_one(project, f"SELECT count(*) {judgments(stage)} AND j.is_counted")
    long = exported(project, "long", tmp_path, "--stage", stage)
    assert (len(long), sum(row["is_counted"] == "yes" for row in long)) == (n, n_counted)
    assert {row["batch_kind"] for row in long} <= ({"trial"} if stage == "trial" else {"trial", "full", "imported"})
    assert stage != "full" or "trial" not in {row["batch_kind"] for row in long}
    n_rated = ask_one(
        project,
        f"SELECT count(*) {judgments(stage)} AND j.is_counted AND j.value IS NOT NULL AND c.withdrawn_at IS NULL",
    )
    aggregated = exported(project, "aggregated", tmp_path, "--stage", stage)
    mocha = json.loads(exported_text(project, "mocha", tmp_path, "--stage", stage))
    scores = [entry["metadata"].get("scores", []) for entries in mocha.values() for entry in entries.values()]
    assert sum(map(len, scores)) == sum(int(row["n"]) for row in aggregated) == n_rated
    output = answer("agreement", "--project", project.slug, "--stage", stage)
    assert output["n_ratings"] + output["n_single"] == n_rated
    if Batch.objects.filter(project=project, kind=Batch.Kind.TRIAL).exists():
        address = reverse("results:agreement", args=[project.slug])
        page = read(client_of(researcher).get(address, {"stage": stage}).content.decode())
        assert page.number("Ratings") + page.number("Single ratings") == n_rated


def test_the_commands(truth: Truth, project: Project) -> None:
    total = answer("data_table", "--project", project.slug)["total"]
    assert total == {
        "passages": truth.passages,
        "questions": truth.questions,
        "references": truth.references,
        "candidates": truth.candidates,
        "judgments": truth.counted,
    }
    for key, batch in truth.batches.items():
        output = answer("batch", str(key), "--project", project.slug)
        assert (output["candidates"], output["hits"], output["hits_complete"]) == (
            batch.n_candidates,
            batch.n_hits,
            batch.n_complete,
        )
        places = [output[f"places_{name}"] for name in ("wanted", "open", "held", "done")]
        assert places == [batch.n_wanted, batch.n_open, batch.n_held, batch.n_done]
    assert answer("verify", "--no-count")["breaches"] == []


def test_the_annotators_own_pages(
    truth: Truth, see: See, annotator: Membership, project: Project, client_of: SignIn
) -> None:
    mine = """FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
        JOIN annotate_batch b ON b.id = h.batch_id WHERE b.project_id = %(project)s AND a.annotator_id = %(me)s"""
    submitted = f"{mine} AND a.state IN ('submitted', 'approved')"
    n, cents = ask(
        project,
        f"SELECT count(*), coalesce(sum(b.cents_per_hit + b.cents_per_item * cardinality(a.layout)), 0) {submitted}",
        me=annotator.pk,
    )[0]
    # Who has earned nothing, and can't here, reads nothing of money.
    n_paid = ask_one(
        project,
        """SELECT count(*) FROM annotate_batch WHERE project_id = %(project)s AND state IN ('open', 'paused')
           AND cents_per_hit + cents_per_item > 0""",
    )
    dollars = f"${cents / 100:,.2f}" if cents or n_paid else None
    every_desk = read(client_of(annotator).get(reverse("annotate:desk")).content.decode())
    for desk in (every_desk, see(annotator, "annotate:project-desk")):
        assert desk.number("HIT submitted" if n == 1 else "HITs submitted") == n
        assert desk.facts.get("earned") == dollars
    history = see(annotator, "annotate:history")
    assert history.number("Submitted") == n
    assert history.facts.get("Earned", "").partition(" ")[0] == (dollars or "")
    n_given = ask_one(project, f"SELECT count(*) {mine}", me=annotator.pk)
    assert history.count_listed("Your HITs") == len(history.rows("Your HITs")) == n_given


def assert_judgments_add_up(page: Screen, truth: Truth) -> None:
    reasons = {
        label.removeprefix("Not counted: "): number(fact)
        for label, fact in page.facts.items()
        if label.startswith("Not counted: ")
    }
    assert reasons == truth.not_counted
    assert page.number("Counted") == truth.counted
    assert page.number("Counted") + sum(reasons.values()) == truth.judgments


def exported(project: Project, form: str, folder: Path, *options: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported_text(project, form, folder, *options))))


def exported_text(project: Project, form: str, folder: Path, *options: str) -> str:
    file = folder / form
    output = answer("export_judgments", "--project", project.slug, "--format", form, "--output", str(file), *options)
    text = file.read_text()
    if form != "mocha":
        assert output["n_rows"] == len(list(csv.DictReader(io.StringIO(text))))
    return text
