import csv
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.models import AnnotatorFigures, Finding, QualityRules
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.quality import monitoring
from annotate.quality.degraded_tests import NAMES
from annotate.quality.figure_formats import BY_KEY, FINDINGS, KINDS, format_figures
from measures.quality.degraded import DegradedTest, degraded_test
from measures.quality.figures import Figures, pack
from measures.quality.others import against_others
from projects.models import LogEntry, Membership, Project
from tests.annotate.quality.scripted_annotators import CONTRARY, GOOD, SAME, crew, noisy
from tests.factories import make_membership, make_project
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex

# The crew's work is made once, in one process.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("quality pages")]

State = Finding.State
BASE = "/p/bridges/quality/"


@pytest.fixture(scope="module")
def worked(module_transaction: None) -> list[Membership]:
    project = make_project("bridges", name="Bridges")
    found = crew(project, GOOD, noisy(1), noisy(2), CONTRARY, SAME)[1]
    monitoring.refresh_figures(project=project)
    return found


@pytest.fixture
def project(worked: list[Membership], db: None) -> Project:
    return Project.objects.get(slug="bridges")


@pytest.fixture
def office(client_of: SignIn, manager: Membership) -> Client:
    return client_of(manager)


def rows(client: Client, query: str = "") -> list[str]:
    answer = client.get(f"{BASE}?{query}")
    assert answer.status_code == 200
    return [row["Annotator"].split()[0] for row in read(answer.content.decode()).rows("Annotators")]


def test_empty_pages_say_what_to_do(client_of: SignIn) -> None:
    office = client_of(make_membership(make_project("empty"), role=Membership.Role.MANAGER))
    base = "/p/empty/quality/"
    assert "No indicators yet" in office.get(base).content.decode()
    assert "No alerts" in office.get(f"{base}findings/").content.decode()
    assert "No spot checks" in office.get(f"{base}reviews/").content.decode()


def test_every_annotator_with_every_figure(office: Client, people: list[Membership]) -> None:
    screen = read(office.get(BASE).content.decode())
    assert {row["Annotator"].split()[0] for row in screen.rows("Annotators")} == {each.pseudonym for each in people}
    assert {kind.short for kind in KINDS} <= set(screen.rows("Annotators")[0])
    same = next(row for row in screen.rows("Annotators") if people[-1].pseudonym in row["Annotator"])
    assert same["Longest run"] == "40"
    assert same["Known answers"] == "– no known-answer item rated yet"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_every_figure_sorts_both_ways(office: Client, people: list[Membership], kind: object) -> None:
    key = kind.key  # type: ignore[attr-defined]
    assert sorted(rows(office, f"sort={key}")) == sorted(rows(office, f"sort=-{key}"))


def test_sorted_by_a_figure_undefined_comes_last(office: Client, people: list[Membership]) -> None:
    AnnotatorFigures.objects.filter(pk=people[0].pk).update(figures=pack(Figures()))
    for sort in ("agreement", "-agreement"):
        assert rows(office, f"sort={sort}")[-1] in (people[0].pseudonym, people[-1].pseudonym)
    assert rows(office, "sort=agreement")[0] == people[3].pseudonym
    assert rows(office, "sort=-run")[0] == people[4].pseudonym


def test_filtered_by_a_figure(office: Client, people: list[Membership]) -> None:
    assert rows(office, "figure=agreement&to=0") == [people[3].pseudonym]
    assert rows(office, "figure=run&from=40") == [people[4].pseudonym]
    assert rows(office, f"q={people[1].pseudonym}") == [people[1].pseudonym]
    assert len(rows(office, "figure=agreement&from=nonsense&to=")) == 4
    assert "No matching annotators" in office.get(f"{BASE}?standing=removed").content.decode()
    assert office.get(f"{BASE}?sort=;drop&figure=x&from=1e99&page=99").status_code == 200


def test_the_list_is_downloaded_as_filtered_and_sorted_without_real_names(
    office: Client, people: list[Membership]
) -> None:
    query = "figure=agreement&sort=-agreement"
    assert f"tables/annotators.csv?{query.replace('&', '&amp;')}" in office.get(f"{BASE}?{query}").content.decode()
    file = office.get(f"{BASE}tables/annotators.csv?{query}").content.decode()
    found = list(csv.DictReader(file.splitlines()))
    assert [row["Annotator"] for row in found] == rows(office, query)
    assert not any(person.user.username in file for person in people if person.user)
    assert found[0]["Known answers correct, in %"] == ""
    assert found[0]["Known answers correct, in % undefined"] == "no known-answer item rated yet"
    assert {row["Items rated"] for row in found} == {"40"}
    check_latex(office.get(f"{BASE}tables/annotators.tex").content.decode())


def test_figures_after_a_removal_and_after_restoring_are_true(
    office: Client, project: Project, manager: Membership, people: list[Membership]
) -> None:
    gone, other = people[4], people[0]

    def show(annotator: Membership) -> str:
        return condense(office.get(f"{BASE}{annotator.pseudonym}/").content.decode())

    def count_rated(page: str) -> str:
        return page.split('stat-label">Items rated')[1].split('stat-value">')[1].split("<", maxsplit=1)[0]

    assert count_rated(show(gone)) == "40"
    compared = [row["Others’ median"] for row in read(show(other)).rows("Indicators")]
    members.remove(target=gone, actor=manager, why="Always 3.", exclusion=Exclusion(scope=ExclusionScope.ALL))
    page = show(gone)
    assert count_rated(page) == "0"
    assert "UTC</time>, before the removal" in page
    assert [row["Others’ median"] for row in read(show(other)).rows("Indicators")] != compared
    monitoring.refresh_figures(project=project)
    assert count_rated(show(gone)) == "0"
    members.restore(target=gone, actor=manager, why="A mistake.")
    page = show(gone)
    assert count_rated(page) == "40"
    assert "before the removal" not in page
    AnnotatorFigures.objects.filter(pk=gone.pk).update(figures={})
    assert project in monitoring.find_stale_projects()
    monitoring.refresh_figures(project=project)
    row = read(show(gone)).rows("Indicators")[0]
    assert row["Value"] == "40"


def test_check_now(office: Client, project: Project, people: list[Membership]) -> None:
    AnnotatorFigures.objects.all().delete()
    answer = office.post(f"{BASE}refresh/", follow=True)
    assert "Updated 5 annotators" in answer.content.decode()


def test_the_queue_filters_and_shows_the_evidence(office: Client, people: list[Membership]) -> None:
    listed = office.get(f"{BASE}findings/").content.decode()
    assert str(FINDINGS["straight_line"]) in listed
    assert "100 % of 40 scores are the same" in listed
    only = office.get(f"{BASE}findings/?kind=straight_line").content.decode()
    assert people[4].pseudonym in only
    assert people[3].pseudonym not in only
    assert "No alert matches" in office.get(f"{BASE}findings/?weight=hint&q=nobody").content.decode()
    assert office.get(f"{BASE}findings/?kind=x&state=y&weight=z&page=0").status_code == 200


def test_one_finding_is_previewed_then_dismissed(office: Client, people: list[Membership]) -> None:
    finding = Finding.objects.get(annotator=people[4], kind="straight_line")
    preview = office.get(f"{BASE}findings/settle/?id={finding.pk}").content.decode()
    assert "Resolve this alert" in preview
    finding.refresh_from_db()
    assert finding.state == State.OPEN
    sent = {"id": finding.pk, "state": "dismissed", "note": "All of them are a 3."}
    assert office.post(f"{BASE}findings/settle/", sent).url == f"{BASE}findings/"  # type: ignore[attr-defined]
    finding.refresh_from_db()
    assert (finding.state, finding.note) == (State.DISMISSED, "All of them are a 3.")
    entry = LogEntry.objects.get(act="dismiss a finding")
    assert (entry.why, entry.object_id) == ("All of them are a 3.", str(people[4].pk))
    office.post(f"{BASE}findings/settle/", sent)
    assert LogEntry.objects.filter(act="dismiss a finding").count() == 1
    again = condense(office.get(f"{BASE}findings/settle/?id={finding.pk}").content.decode())
    assert "<h1>Resolve alerts</h1>" in again
    assert "Nothing to resolve" in again


def test_a_filtered_list_is_resolved_as_it_was_shown(office: Client, people: list[Membership]) -> None:
    n_of_same = Finding.objects.filter(annotator=people[4], state=State.OPEN).count()
    preview = office.get(f"{BASE}findings/settle/?all=1&q={people[4].pseudonym}")
    assert len(read(preview.content.decode()).rows("Alerts to resolve")) == n_of_same
    ids = [row.finding.pk for row in preview.context["rows"]]
    office.post(f"{BASE}findings/settle/", {"id": ids, "state": "acted"})
    assert not Finding.objects.filter(annotator=people[4], state=State.OPEN).exists()
    assert Finding.objects.filter(annotator=people[3], state=State.OPEN).exists()


def test_settling_goes_nowhere_else(office: Client, people: list[Membership], project: Project) -> None:
    finding = Finding.objects.filter(state=State.OPEN).earliest("pk")
    sent = {"id": finding.pk, "state": "dismissed", "next": "//evil.example/"}
    assert office.post(f"{BASE}findings/settle/", sent).url == f"{BASE}findings/"  # type: ignore[attr-defined]
    other = Project.objects.create(slug="other", name="Other")
    foreign = Finding.objects.create(annotator=make_membership(other), kind="biased")
    office.post(f"{BASE}findings/settle/", {"id": [foreign.pk, "x", "9" * 30], "state": "dismissed"})
    foreign.refresh_from_db()
    assert foreign.state == State.OPEN
    refused = office.post(f"{BASE}findings/settle/", {"id": foreign.pk, "state": "open"})
    assert refused.status_code == 422


def test_the_rules_are_kept_and_wrong_ones_shown_again(office: Client, project: Project) -> None:
    form = office.get(f"{BASE}rules/").context["form"]
    sent = {name: form[name].value() for name in form.fields}
    assert office.post(f"{BASE}rules/", sent | {"spot_check_share": "0.1", "chance": "0.03"}).status_code == 302
    rules = QualityRules.objects.get()
    assert (rules.spot_check_share, rules.thresholds) == (0.1, {"chance": 0.03})
    assert monitoring.read_thresholds(project).chance == 0.03
    wrong = office.post(f"{BASE}rules/", sent | {"spot_check_share": "7", "known_poor": "0.95"})
    assert wrong.status_code == 422
    assert "must be below" in wrong.content.decode()
    assert QualityRules.objects.get().spot_check_share == 0.1


def test_each_degraded_test_can_be_chosen_and_is_explained(office: Client, project: Project) -> None:
    page = office.get(f"{BASE}rules/")
    form = page.context["form"]
    sent = {name: form[name].value() for name in form.fields}
    explained = read(page.content.decode()).rows("Degraded tests")
    assert [row["Test"].lower() for row in explained] == [name.lower() for name in NAMES.values()]
    assert all(row["Compares"] and row["Needs"] and row["Use it"] for row in explained)
    for test in DegradedTest:
        office.post(f"{BASE}rules/", sent | {"degraded_test": test.value})
        assert monitoring.read_thresholds(project).degraded_test is test
    assert office.get(f"{BASE}rules/").context["form"]["degraded_test"].value() == "ranksum"


def test_unpaired_tests_name_what_they_compare_with() -> None:
    degraded, source, ordinary = np.full(5, 1.0), np.full(5, 4.0), np.arange(1.0, 9.0)
    texts = {}
    for test in DegradedTest:
        figures = pack(Figures(degraded=degraded_test(degraded, source, test=test, ordinary=ordinary)))
        texts[test] = next(each.details for each in format_figures(figures) if each.kind.key == "degraded")
    assert "Wilcoxon signed rank over 5 of 5 pairs" in texts[DegradedTest.SIGNED_RANK]
    assert "rank sum over 5 degraded answers and all ordinary ones" in texts[DegradedTest.RANK_SUM]


def test_one_annotator_on_one_screen(office: Client, people: list[Membership]) -> None:
    shown = office.get(f"{BASE}{people[3].pseudonym}/").content.decode()
    screen = read(shown)
    figures = screen.rows("Indicators")
    assert len(figures) == len(KINDS)
    undefined = next(row for row in figures if row["Indicator"].startswith("Known answers"))
    assert undefined["Indicator"].endswith("Undefined: no known-answer item rated yet.")
    assert screen.number("Submitted this week") == 5
    assert str(FINDINGS["disagrees_with_others"]) in shown
    assert len(screen.rows("Scores over time")) == 5
    assert [row["This annotator"] for row in screen.rows("Use of the scale")] == ["8"] * 5
    assert "style=" not in shown.split("<main")[1]
    assert people[3].user is not None
    assert people[3].user.username in shown
    assert "Earned" in shown


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert [BY_KEY[key].format(-0.0004) for key in ("bias", "alpha", "agreement")] == ["0.00", "0.000", "0.00"]
    assert [BY_KEY[key].format(-0.25) for key in ("bias", "alpha", "agreement")] == ["−0.25", "−0.250", "−0.25"]
    assert BY_KEY["bias"].format(0.25) == "+0.25"


def test_agreement_with_the_reviewers_is_written_out() -> None:
    scores = np.array([1.0, 2, 3, 4])
    figures = {row.kind.key: row for row in format_figures(pack(Figures(reviewers=against_others(scores, scores - 1))))}
    assert (figures["reviewers"].text, figures["reviewers"].details, figures["reviewers"].n) == (
        *("1.00", "correlation 1.00, bias +1.00"),
        4,
    )
    few = format_figures(pack(Figures(reviewers=against_others(scores[:2], scores[:2]))))
    assert next(row.details for row in few if row.kind.key == "reviewers") == "bias 0.00"


def test_open_findings_come_before_resolved_ones(
    office: Client, people: list[Membership], manager: Membership, project: Project
) -> None:
    Finding.objects.filter(annotator=people[3]).delete()
    now = timezone.now()
    first = Finding.objects.create(annotator=people[3], kind="biased", evidence={"says": "higher"})
    for _ in range(25):
        Finding.objects.create(annotator=people[3], kind="too_fast", state="acted", settled_at=now, settled_by=manager)
    shown = office.get(f"{BASE}{people[3].pseudonym}/").context["findings"]
    assert [shown[0].finding.pk, shown[1].finding.state] == [first.pk, "acted"]


def test_an_annotator_without_work_has_a_page(office: Client, annotator: Membership, project: Project) -> None:
    Project.objects.update(cents_per_hit=0)
    shown = office.get(f"{BASE}{annotator.pseudonym}/").content.decode()
    assert "No indicators yet" in shown
    assert "Earned" not in shown
    assert office.get(f"{BASE}a-nobody22/").status_code == 404


def test_lists_ask_few_queries(
    office: Client, people: list[Membership], django_assert_max_num_queries: Callable[..., object]
) -> None:
    for path in ("", "findings/?state=all", "reviews/", f"{people[3].pseudonym}/", "rules/"):
        with django_assert_max_num_queries(20):  # type: ignore[attr-defined]
            assert office.get(BASE + path).status_code == 200


def test_many_annotators_ask_no_more_queries_than_few(office: Client, people: list[Membership]) -> None:
    pages = ("", "?sort=-alpha&figure=bias&from=-9", "findings/", "findings/settle/?all=1", f"{people[3].pseudonym}/")
    office.get(BASE)  # the first request of a session asks whose it is
    few = [n_queries(office, BASE + page) for page in (*pages, "../")]
    now = timezone.now()
    crowd = Membership.objects.bulk_create(
        Membership(project=people[0].project, kind="simulated", is_annotator=True, imported_name=f"{n:x>200}")
        for n in range(120)
    )
    figures = [pack(Figures()), AnnotatorFigures.objects.get(pk=people[0].pk).figures]
    AnnotatorFigures.objects.bulk_create(
        AnnotatorFigures(annotator=each, figures=figures[n % 2], computed_at=now) for n, each in enumerate(crowd)
    )
    Finding.objects.bulk_create(Finding(annotator=each, kind="biased", evidence={"says": "higher"}) for each in crowd)
    assert [n_queries(office, BASE + page) for page in (*pages, "../")] == few
    assert max(few) <= 20


def n_queries(client: Client, page: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(page.replace("quality/../", "")).status_code == 200
    return len(asked)


def test_the_overview_says_what_waits(office: Client, people: list[Membership], client_of: SignIn) -> None:
    n_open = Finding.objects.filter(state=State.OPEN).count()
    shown = condense(office.get("/p/bridges/").content.decode())
    assert f"{n_open} open alerts" in shown
    researcher = make_membership(people[0].project, role=Membership.Role.RESEARCHER)
    assert "open alerts" not in client_of(researcher).get("/p/bridges/").content.decode()


def test_old_figures_are_dated(office: Client, people: list[Membership]) -> None:
    AnnotatorFigures.objects.update(computed_at=timezone.now() - timedelta(days=400))
    assert (
        str((timezone.now() - timedelta(days=400)).year) in office.get(f"{BASE}{people[0].pseudonym}/").content.decode()
    )
