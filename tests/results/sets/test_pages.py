"""The pages of judgment sets: the preview, the set, its downloads; who may do what."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.stages import Stage, default_stage
from annotate.models import Judgment
from measures.gold_rules import GoldRule
from projects.models import LogEntry, Membership, Project
from projects.web.previews import SEAL
from results.models import JudgmentSet
from results.scope.excluded import count_inclusion
from results.sets import freezing
from results.sets.forms import SetForm
from results.sets.selecting import Selection, preview
from results.sets.settings import Settings
from results.sets.views import OTHER_SET
from tests import sized_projects
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import condense
from tests.page_reader import read as read_page
from tests.people import SignIn
from tests.previews import confirm, find_seal
from tests.results.judged_batches import canonical, judge
from tests.results.sets.frozen_sets import freeze, lines, read, table
from tests.test_counts import Site, make_site

NEW, LIST = "/p/bridges/sets/new/", "/p/bridges/sets/"


@pytest.fixture
def desk(manager: Membership, client_of: SignIn) -> Client:
    return client_of(manager)


def body(response: Any) -> bytes:
    return b"".join(response)


@pytest.fixture
def site(db: None, size: str, tmp_path: Path) -> Iterator[Site]:
    site = make_site(size, tmp_path)
    yield site
    assert sized_projects.count(site.project) == site.truth


@pytest.mark.parametrize("size", sized_projects.SIZES)
def test_the_preview_counts_what_the_screens_count(site: Site, client_of: SignIn) -> None:
    project, truth = site.project, site.truth
    owner = project.memberships.get(role=Membership.Role.OWNER)
    for stage in Stage:
        counts = preview(Selection(project, Settings(stage=stage)))
        for criterion in criteria_in_use(project):
            on_screen = count_inclusion(Scope(project=project, criterion=criterion, stage=stage))
            assert counts.whole == on_screen
        whole = counts.whole
        assert whole.n_included + whole.n_excluded == whole.n_total == truth.judgments + truth.kept_apart
    for batch in project.batches.all():
        of_batch = preview(Selection(project, Settings(batches=(batch.number,))))
        (criterion,) = criteria_in_use(project, batch)
        assert (
            of_batch.n_included == count_inclusion(Scope(project=project, criterion=criterion, batch=batch)).n_included
        )
    if not truth.judgments:
        return
    page = read_page(client_of(owner).get(NEW).content.decode())
    counts = preview(Selection(project, Settings(stage=default_stage(project))))
    assert page.number("Judgments included") == counts.n_included
    assert page.number("Judgments in total") == counts.whole.n_total
    made = freeze(project, owner, stage=default_stage(project))
    rows = lines(made, "long.jsonl")
    assert len(rows) == counts.n_rows == truth.judgments
    assert sum(row["enters"] for row in rows) == counts.n_included
    assert sum(int(row["n"]) for row in table(made, "aggregated.csv")) == counts.n_included


def test_a_manager_looks_and_freezes(project: Project, manager: Membership, desk: Client) -> None:
    canonical(project)
    page = desk.get(NEW, {"look": "1", "splits": "dev", "texts": "on", "gold": "median"}).content.decode()
    assert read_page(page).number("Judgments included") == 23
    assert 'Licence <span class="optional">optional</span>' in condense(page)
    asked = {"splits": "dev", "texts": "on", "gold": "median"}
    response = confirm(desk, NEW, asked, name="Dev alone")
    assert (response.status_code, response["Location"]) == (302, f"{LIST}1/")
    made = JudgmentSet.objects.get()
    assert Settings.from_dict(made.settings) == Settings(splits=("dev",), gold=GoldRule.MEDIAN, controls_in_z=False)
    waiting = desk.get(f"{LIST}1/").content.decode()
    assert "Freezing the judgment set" in waiting
    assert 'http-equiv="refresh"' in waiting
    assert "HX-Refresh" not in desk.get(f"{LIST}1/job/")
    freezing.run(made.pk)
    assert desk.get(f"{LIST}1/job/")["HX-Refresh"] == "true"
    shown = desk.get(f"{LIST}1/").content.decode()
    assert read_page(shown).number("Judgments included") == 23
    made.refresh_from_db()
    assert made.sha256 in shown
    assert all(file["sha256"] in shown for file in made.files)


def test_a_form_that_is_sent_twice_freezes_one_set(project: Project, desk: Client) -> None:
    """A set can't be deleted, and another one of the same judgments would be as citable as the first."""
    canonical(project)
    asked = {"splits": "dev", "gold": "median"}
    sent = {**asked, "name": "Once", SEAL: find_seal(desk.get(NEW, asked).content.decode())}
    for _ in range(2):
        answer = desk.post(NEW, sent)
        assert (answer.status_code, answer["Location"]) == (302, f"{LIST}1/")
    assert [each.number for each in JudgmentSet.objects.all()] == [1]
    other = desk.post(NEW, {**sent, "name": "Twice"})
    assert other.status_code == 422
    page = other.content.decode()
    assert OTHER_SET in page
    assert JudgmentSet.objects.count() == 1
    assert desk.post(NEW, {**sent, "name": "Twice", SEAL: find_seal(page)}).status_code == 302


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"name": " "}, "Enter a name for the set."),
        ({"name": "A", "splits": "elsewhere"}, "elsewhere"),
        ({"name": "A", "gold": "best"}, "best"),
    ],
)
def test_wrong_input_is_shown_again(project: Project, desk: Client, asked: dict[str, str], words: str) -> None:
    canonical(project)
    response = confirm(desk, NEW, asked)
    assert response.status_code == 422
    assert words in response.content.decode()
    assert not JudgmentSet.objects.exists()


def test_a_set_warns_of_few_passages_as_its_files_do(project: Project, manager: Membership, desk: Client) -> None:
    people, dataset = [make_membership(project) for _ in range(2)], make_dataset(project, "news")
    ratings = {
        candidate: dict(zip(people, (n % 4 + 1.0, n % 4 + 1.0 + place), strict=True))
        for n in range(5)
        for place, candidate in enumerate(make_candidates(make_question(make_passage(dataset)), 2))
    }
    judge(project, ratings)
    made = freeze(project, manager)
    few = "Few passages: with fewer than 20 the intervals are rough. Criteria with fewer:"
    assert f"{few} correctness (5)." in read(made, "README.md").decode()
    assert f"{few} Correctness (5)." in condense(desk.get(f"{LIST}{made.number}/").content.decode())


def test_a_project_without_judgments_has_nothing_to_freeze(project: Project, desk: Client) -> None:
    assert "No judgments yet" in desk.get(NEW).content.decode()
    assert "No judgment sets yet" in desk.get(LIST).content.decode()
    make_dataset(project)
    canonical(project)
    Judgment.objects.update(value=None)
    page = desk.get(NEW).content.decode()
    assert "nothing to freeze" in page
    assert "Freeze set" not in page


def test_every_download_is_the_same_bytes(
    project: Project, manager: Membership, desk: Client, caplog: pytest.LogCaptureFixture
) -> None:
    canonical(project)
    made = freeze(project, manager)
    first, second = (desk.get(f"{LIST}1/archive/") for _ in range(2))
    data = body(first)
    assert data == body(second)
    assert hashlib.sha256(data).hexdigest() == made.sha256
    assert int(first["Content-Length"]) == len(data)
    assert first["Content-Disposition"] == 'attachment; filename="bridges-set-1.zip"'
    for file in made.files:
        response = desk.get(reverse("results:set-file", args=["bridges", 1, file["name"]]))
        assert int(response["Content-Length"]) == file["n_bytes"]
        assert hashlib.sha256(body(response)).hexdigest() == file["sha256"]
        assert "sandbox" in response["Content-Security-Policy"]
    # A download that broke off goes on, of a packed file as of one that is stored as it is.
    for name in ("long.csv", "judgments.parquet"):
        place = f"{LIST}1/files/{name}"
        whole = body(desk.get(place))
        rest = desk.get(place, headers={"Range": "bytes=100-"})
        assert (rest.status_code, body(rest)) == (206, whole[100:])
        assert rest["Content-Range"] == f"bytes 100-{len(whole) - 1}/{len(whole)}"
        for other in ("bytes=0-", "bytes=5-9", "bytes=-5", f"bytes={len(whole)}-", "items=1-"):
            assert body(desk.get(place, headers={"Range": other})) == whole
    for name in ("nothing.csv", "..%2flong.csv", "RETIRED.md"):
        assert desk.get(f"{LIST}1/files/{name}").status_code == 404
    assert body(desk.head(f"{LIST}1/archive/")) == b""
    freezing.find_path(made).unlink()
    for place in (f"{LIST}1/archive/", f"{LIST}1/files/long.csv"):
        gone = desk.get(place)
        assert gone.status_code == 404
        assert "The files of this judgment set are missing on the server." in gone.content.decode()
    assert f"has lost its archive {freezing.find_path(made)}" in caplog.text


def test_a_researcher_reads_and_does_not_freeze(
    project: Project, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    freeze(project, manager)
    reader = client_of(researcher)
    page = reader.get(f"{LIST}1/").content.decode()
    assert "Retire" not in page
    assert "New set" not in reader.get(LIST).content.decode()
    assert reader.get(f"{LIST}1/archive/").status_code == 200
    for path in (NEW, f"{LIST}1/retire/", f"{LIST}1/again/", f"{LIST}1/cancel/", f"{LIST}1/succeed/"):
        assert reader.post(path, {"name": "A", "why": "B"}).status_code == 403


def test_a_set_says_what_changed(project: Project, manager: Membership, desk: Client) -> None:
    canonical(project)
    freeze(project, manager, "First")
    some = list(Judgment.objects.order_by("pk")[:3])
    Judgment.objects.filter(pk=some[0].pk).update(value=5 if some[0].value != 5 else 1)
    Judgment.objects.filter(pk=some[1].pk).update(is_counted=False, not_counted_reason="rejected")
    Judgment.objects.filter(pk=some[2].pk).delete()
    made = freeze(project, manager, "Second", splits=("dev", "test"), gold="median")
    changes = json.loads(read(made, "changes.json"))
    assert changes == made.facts["changes"]
    assert changes["against"]["number"] == 1
    assert changes["judgments"] == {"added": 0, "gone": 1, "changed_score": 1, "changed_entering": 1, "same": 38}
    assert [each["name"] for each in changes["settings"]] == ["Splits", "Gold score"]
    assert changes["n_included"] == {"before": 41, "after": 39}
    page = desk.get(f"{LIST}2/").content.decode()
    assert "41 → 39" in page
    assert "## Changes since set 1, First" in read(made, "README.md").decode()


def test_a_retired_set_says_so_everywhere_and_names_its_successor(
    project: Project, manager: Membership, desk: Client
) -> None:
    canonical(project)
    made = freeze(project, manager)
    desk.post(f"{LIST}1/succeed/")
    desk.post(f"{LIST}1/retire/", {"why": " "})
    assert "Enter the reason" in desk.get(f"{LIST}1/").content.decode()
    desk.post(f"{LIST}1/retire/", {"why": "A wrong rubric"})
    page = desk.get(f"{LIST}1/").content.decode()
    assert "A wrong rubric" in page
    assert "It has no replacement yet." in page
    assert "retired" in desk.get(LIST).content.decode()
    response = desk.post(f"{LIST}1/succeed/")
    assert response["Location"] == f"{LIST}2/"
    desk.post(f"{LIST}1/succeed/")
    assert JudgmentSet.objects.count() == 2, "One successor is enough."
    freezing.run(JudgmentSet.objects.get(number=2).pk)
    assert "This set replaces" in desk.get(f"{LIST}2/").content.decode()
    answer = desk.get(f"{LIST}1/archive/")
    data = body(answer)
    assert int(answer["Content-Length"]) == len(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        note = archive.read("bridges-set-1/RETIRED.md").decode()
        assert archive.read("bridges-set-1/long.csv") == read(made, "long.csv")
    assert "A wrong rubric" in note
    assert "replaced by judgment set 2" in note
    assert body(desk.get(f"{LIST}1/files/RETIRED.md")).decode() == note
    made.refresh_from_db()
    assert freezing.verify(made) == [], "What was frozen is as it was."


def test_a_name_that_was_typed_outlives_a_refusal(project: Project, desk: Client) -> None:
    canonical(project)
    refused = desk.get(NEW, {"look": "1", "languages": "deutsch", "name": "Ferry"})
    assert refused.status_code == 422
    assert '<input type="hidden" name="name" value="Ferry">' in refused.content.decode()
    page = desk.get(NEW, {"look": "1", "languages": "de", "name": "Ferry"}).content.decode()
    assert page.count('name="name"') == 1
    assert 'value="Ferry"' in page


def test_an_existing_set_is_named_as_the_replacement_on_retiring(
    project: Project, manager: Membership, desk: Client
) -> None:
    canonical(project)
    freeze(project, manager)
    assert 'name="replacement"' not in desk.get(f"{LIST}1/").content.decode()
    freeze(project, manager, "Second")
    assert '<option value="2">2 · Second</option>' in desk.get(f"{LIST}1/").content.decode()
    for number in ("1", "7", "x"):
        page = desk.post(f"{LIST}1/retire/", {"why": "Wrong", "replacement": number}, follow=True).content.decode()
        assert "Choose a frozen set that is not retired as the replacement." in page
    desk.post(f"{LIST}1/retire/", {"why": "A judgment was missing.", "replacement": "2"})
    assert read_replacement() == 2
    page = condense(desk.get(f"{LIST}1/").content.decode())
    assert f'It is replaced by <a href="{LIST}2/">judgment set 2</a>. Its files are unchanged' in page
    assert "Its files never change" not in page
    assert "UTC, retired on" in page
    assert "Save replacement" not in page
    assert "It is replaced by judgment set 2, “Second”." in body(desk.get(f"{LIST}1/files/RETIRED.md")).decode()
    assert "This set replaces" in desk.get(f"{LIST}2/").content.decode()
    entry = LogEntry.objects.get(act="retire judgment set")
    assert (entry.why, entry.after) == ("A judgment was missing.", {"successor": 2})
    desk.post(f"{LIST}2/retire/", {"why": "Wrong too"})
    assert "which is retired too" in condense(desk.get(f"{LIST}1/").content.decode())
    assert "which is retired too" in body(desk.get(f"{LIST}1/files/RETIRED.md")).decode()


def read_replacement() -> int | None:
    """Return the number of the set that replaces the first one."""
    return JudgmentSet.objects.values_list("successor__number", flat=True).get(number=1)


def test_the_replacement_of_a_retired_set_is_chosen_later(project: Project, manager: Membership, desk: Client) -> None:
    canonical(project)
    freeze(project, manager)
    freeze(project, manager, "Second")
    desk.post(f"{LIST}1/succeed/", {"replacement": "2"})
    assert read_replacement() is None, "A set that is not retired has no replacement."
    desk.post(f"{LIST}1/retire/", {"why": "Wrong", "replacement": ""})
    assert "Save replacement" in desk.get(f"{LIST}1/").content.decode()
    page = desk.post(f"{LIST}1/succeed/", {"replacement": ""}, follow=True).content.decode()
    assert "Choose a frozen set" in page
    assert desk.post(f"{LIST}1/succeed/", {"replacement": "2"})["Location"] == f"{LIST}1/"
    assert read_replacement() == 2
    acts = LogEntry.objects.filter(act__endswith="judgment set").order_by("pk").values_list("act", flat=True)
    assert list(acts)[-2:] == ["retire judgment set", "replace judgment set"]
    page = desk.post(f"{LIST}1/succeed/", {"replacement": "2"}, follow=True).content.decode()
    assert "It is replaced by judgment set 2 already." in page
    assert JudgmentSet.objects.count() == 2


@pytest.mark.parametrize("character", ["\0", "\x01", "\ufffe"])
def test_names_and_reasons_of_sets_have_no_forbidden_characters(
    project: Project, manager: Membership, desk: Client, character: str
) -> None:
    canonical(project)
    page = confirm(desk, NEW, {"texts": "on"}, name=f"a{character}b")
    assert page.status_code == 422
    assert "haracter" in page.text.split('role="alert">')[1].split("</p>")[0]
    assert not JudgmentSet.objects.exists()
    freeze(project, manager)
    page = desk.post(f"{LIST}1/retire/", {"why": f"a{character}b"}, follow=True)
    assert page.status_code == 200
    desk.post(f"{LIST}1/retire/", {"why": "x" * 2_001})
    assert JudgmentSet.objects.get().retired_at is None
    desk.post(f"{LIST}1/retire/", {"why": "x" * 2_000})
    assert len(JudgmentSet.objects.get().retired_why) == 2_000


def test_the_sources_of_a_set_are_named_and_ordered_as_in_a_new_batch(project: Project) -> None:
    question = make_question(make_passage(make_dataset(project)))
    make_candidates(question, 2, source="human")
    for source in ("Longformer", "mT5", "GPT", ""):
        make_candidates(question, source=source)
    offered = [label for _value, label in SetForm(project).fields["sources"].choices]  # type: ignore[attr-defined]
    assert offered == ["not given", "GPT", "human", "Longformer", "mT5"]
