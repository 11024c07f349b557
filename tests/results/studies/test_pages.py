"""The pages of studies: asked for by a form, read as tables and charts, run again, compared, cancelled and deleted."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from projects.models import LogEntry, Membership, Passage, Project
from projects.tables.writing import write
from results.models import MetricRun, Study
from results.studies.comparison import compare
from results.studies.freshness import VERSION
from results.studies.kinds import KINDS
from results.studies.presentation import list_sections
from tests.factories import make_membership
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.projects.tables.latex import check_latex
from tests.results.judged_batches import judge
from tests.results.studies.factories import do, give_scores, list_candidates, study

pytestmark = pytest.mark.django_db

STUDIES = "/p/bridges/studies/"


def ask(client: Client, runs: list[MetricRun], kind: str = "correlation", **over: Any) -> Any:
    sent = {"metrics": [run.subject for run in runs], "criterion": "correctness", "gold": "mean", "resamples": 100}
    own: dict[str, dict[str, Any]] = {
        "systems": {"n_questions": 5, "n_draws": 20},
        "significance": {"over": "answers"},
    }
    return client.post(f"{STUDIES}new/?kind={kind}", {**sent, **own.get(kind, {}), **over})


def read_page(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_a_researcher_runs_a_study_reads_it_and_takes_its_tables_and_charts(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    for kind in ("correlation", "systems", "significance"):
        response = ask(client, runs, kind, name=f"My {kind}")
        made = do(Study.objects.get(name=f"My {kind}"))
        assert made.state == Study.State.DONE, made.error
        assert response.headers["Location"] == made.get_absolute_url()
        response = client.get(made.get_absolute_url())
        page = response.content.decode()
        assert "all scores are equal" in page, "a constant metric is undefined, with its reason"
        assert "Single annotator vs. rest" in page
        for metric in (made.result or {})["metrics"]:
            assert f">{MetricRun.objects.get(pk=metric['run']).signature}<" in page
        assert "<b>away</b>" not in page
        files = re.findall(rf'href="({re.escape(made.get_absolute_url())}(?:tables|charts)/[^"]+)"', page)
        assert len(files) >= 12
        for address in files:
            response = client.get(address)
            assert response.status_code == 200, address
            assert response.headers["Content-Disposition"].startswith("attachment")
            assert response.headers["Content-Security-Policy"].startswith("sandbox")
            assert len(response.content) > 50
    log: Any = LogEntry.objects.filter(act="ask for study").earliest("pk")
    assert (log.actor, log.after["seed"], log.after["settings"]["criterion"]) == (researcher, 1000, "correctness")
    listed = read(client.get(STUDIES).content.decode()).rows("Metric evaluations")
    assert [row["Name"] for row in listed] == ["My significance", "My systems", "My correlation"]


@pytest.mark.parametrize("kind", ["correlation", "groups", "significance"])
def test_an_error_rate_is_named_as_falling_with_human_scores(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn, kind: str
) -> None:
    """On the page alone: the sentence is in no file."""
    client, scores = client_of(researcher), runs[0].scores.all()
    ter = give_scores(judged, researcher, "TER", {each.candidate_id: 1 - (each.value or 0) for each in scores})
    options = {"group_by": "none"} if kind == "groups" else {}
    with_ter, without = (
        study(judged, researcher, chosen, kind, n_resamples=100, options=options)
        for chosen in ([*runs[:2], ter], runs[:2])
    )
    assert (with_ter.state, without.state) == (Study.State.DONE, Study.State.DONE), with_ter.error
    sentence = "TER: scores fall as human scores rise. If lower is better for this metric, negate its scores."
    assert read_page(client.get(with_ter.get_absolute_url())).count("scores fall") == 1
    assert sentence in read_page(client.get(with_ter.get_absolute_url()))
    assert "scores fall" not in read_page(client.get(without.get_absolute_url()))
    assert not any("scores fall" in write(each.table, "md") for each in list_sections(with_ter))


def test_a_script_reads_what_the_page_shows(judged: Project, runs: list[MetricRun], researcher: Membership) -> None:
    made, script = study(judged, researcher, runs, n_resamples=100), Script(researcher)
    study(judged, researcher, runs[:1], least_judgments=9)
    given = script.read(f"studies/{made.number}/")
    assert (given["kind"], given["seed"], given["settings"]) == ("correlation", 1, made.settings)
    assert given["result"] == made.result
    assert [each["signature"] for each in given["result"]["metrics"]] == [run.signature for run in runs]
    listed = script.read("studies/", state="failed")
    assert [(each["number"], "too few judgments" in each["error"]) for each in listed["results"]] == [(2, True)]
    assert "result" not in listed["results"][0]


def test_each_split_is_evaluated_by_itself_and_shown_side_by_side(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client, new = client_of(researcher), f"{STUDIES}new/?kind=significance"
    assert "One evaluation per split" not in read_page(client.get(new)), "the project has no splits"
    passages = Passage.objects.filter(dataset__project=judged).order_by("pk")
    passages.update(split="dev")
    Passage.objects.filter(pk__in=passages.values("pk")[:5]).update(split="test")
    assert "One evaluation per split" in read_page(client.get(new))
    assert "One evaluation per split" not in read_page(client.get(f"{STUDIES}new/?kind=correlation"))
    refused = ask(client, runs, "significance", each_split="on", splits=["dev"])
    assert (refused.status_code, Study.objects.count()) == (422, 0)
    assert "Choose 2 to 10 splits" in read_page(refused)
    refused = ask(client, runs, "significance", each_split="on", least=9)
    assert (refused.status_code, Study.objects.count()) == (422, 0), "all or none"
    answer = ask(client, runs, "significance", each_split="on", name="Both")
    dev, test = Study.objects.order_by("number")
    assert [(each.name, each.settings["splits"]) for each in (dev, test)] == [
        ("Both, dev", ["dev"]),
        ("Both, test", ["test"]),
    ]
    assert answer["Location"] == f"{STUDIES}compare/?first={dev.number}&second={test.number}"
    assert "no result yet" in read_page(client.get(answer["Location"]))
    for each in (dev, test):
        assert do(each).state == Study.State.DONE, each.error
    page = read(client.get(answer["Location"]).content.decode())
    assert [row["Setting"] for row in page.rows("Differences in settings")] == ["Splits"]
    rows = page.rows("Pearson's r of each metric with human scores")
    assert {f"Pearson ({dev.number})", f"Pearson ({test.number})", "change"} <= set(rows[0])


def test_a_form_of_a_new_evaluation_that_is_sent_twice_is_one(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client, new = client_of(researcher), f"{STUDIES}new/?kind=significance"
    newest = client.get(new).context["newest"]
    made = ask(client, runs, newest=newest)["Location"]
    assert ask(client, runs, newest=newest)["Location"] == made
    assert ask(client, runs, newest=newest, name="Another")["Location"] != made
    assert ask(client, runs, newest=client.get(new).context["newest"])["Location"] != made, "asked for once more"
    assert (Study.objects.count(), LogEntry.objects.filter(act="ask for study").count()) == (3, 3)
    passages = Passage.objects.filter(dataset__project=judged).order_by("pk")
    passages.update(split="dev")
    Passage.objects.filter(pk__in=passages.values("pk")[:5]).update(split="test")
    newest = client.get(new).context["newest"]
    made = ask(client, runs, "significance", each_split="on", newest=newest)["Location"]
    assert ask(client, runs, "significance", each_split="on", newest=newest)["Location"] == made
    assert Study.objects.count() == 5
    Study.objects.update(state=Study.State.CANCELLED)
    assert ask(client, runs, "significance", each_split="on", newest=newest)["Location"] != made


@pytest.mark.django_db(transaction=True)
def test_what_a_form_asks_for_is_checked_as_of_one_moment(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others write meanwhile, and the check compares what several statements have read."""
    seen = []

    def note(*args: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            seen.append(cursor.fetchone()[0])

    monkeypatch.setitem(KINDS, "significance", replace(KINDS["significance"], check=note))
    assert ask(client_of(researcher), runs, "significance").status_code == 302
    assert seen == ["repeatable read"]


def test_each_part_can_be_looked_at_by_each_coefficient_and_metric(
    judged: Project, runs: list[MetricRun], owner: Membership, client_of: SignIn
) -> None:
    passages = Passage.objects.filter(dataset__project=judged)
    passages.update(split="dev")
    passages.filter(external_id__endswith="4").update(split="test")
    made = study(judged, owner, runs, n_resamples=100)
    client = client_of(owner)
    page = read(client.get(made.get_absolute_url(), {"show": "dataset-kendall,scatter-2"}).content.decode())
    by_split = page.rows("Pearson by split")
    assert [row["dev"] for row in by_split][-1] == "16", "dev and test stand side by side, with their candidates"
    assert [row["test"] for row in by_split][-1] == "4"
    assert [row["Metric"] for row in page.rows("Kendall by dataset")][:1] == ["Near"]
    assert "Pearson by dataset" not in page.tables
    rows = page.rows("Far & <b>away</b> vs. human scores")
    assert sum(int(row["Candidates"]) for row in rows) == 20
    points = client.get(f"{made.get_absolute_url()}charts/scatter-1.csv").content.decode()
    assert len(list(csv.reader(io.StringIO(points, newline="")))) == 21
    assert client.get(f"{made.get_absolute_url()}tables/scatter-9.csv").status_code == 404
    assert client.get(f"{made.get_absolute_url()}tables/overall.exe").status_code == 404


def test_running_again_creates_a_new_study_beside_the_old_one(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    first = study(judged, researcher, runs, n_resamples=100)
    client.post(f"{first.get_absolute_url()}again/")
    second = do(Study.objects.get(number=first.number + 1))
    asked = {"first": first.number, "second": second.number}
    same = client.get(f"{STUDIES}compare/", asked).content.decode()
    assert "None: both have the same settings" in same
    rows = read(same).rows("Correlation with human scores")
    assert {row["change"] for row in rows if row["Metric"] == "Near"} == {"0.000"}
    tex = client.get(f"{STUDIES}compare/tables/overall.tex", asked).content.decode()
    check_latex(tex)
    assert r"\label{tab:studies-1-2-overall}" in tex
    assert client.get(f"{STUDIES}compare/tables/overall.tex", {"first": 1}).status_code == 404
    third = study(judged, researcher, runs[:2], n_resamples=100, seed=9, least_judgments=2, as_zero=True)
    page = read(client.get(f"{STUDIES}compare/", {**asked, "second": third.number}).content.decode())
    rows = page.rows("Correlation with human scores")
    (absent,) = (row["Spearman (3)"] for row in rows if row["Metric"] == "Constant")
    assert re.fullmatch(r"— ?(not in evaluation 3|[a-z])", absent), "an empty cell would not say why"
    assert not [name for name in rows[0] if "CI over passages" in name], "the page of neither evaluation repeats it"
    settings = {row["Setting"]: row for row in page.rows("Differences in settings")}
    assert (settings["Seed"]["Evaluation 1"], settings["Seed"]["Evaluation 3"]) == ("1", "9")
    assert {"Metrics", "Minimum judgments per candidate", "Missing metric scores"} <= set(settings)
    other = study(judged, researcher, runs[:2], "significance", n_resamples=100, options={"over": "answers"})
    assert "different types" in read_page(client.get(f"{STUDIES}compare/", {**asked, "second": other.number}))
    assert client.get(f"{STUDIES}compare/", {"first": "x", "second": "1"}).status_code == 302


def test_an_evaluation_says_that_judgments_have_changed_since(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    first = study(judged, researcher, runs, n_resamples=100)
    script = Script(researcher)
    for is_outdated in (False, True):
        assert ("Judgments have changed since this" in client.get(first.get_absolute_url()).text) == is_outdated
        assert ("judgments have changed since" in client.get(STUDIES).text) == is_outdated
        assert script.read("studies/1/")["is_outdated"] == is_outdated
        judge(judged, {list_candidates(judged)[0]: {make_membership(judged): 5.0}})
    # One that an earlier version computed names no version: nothing is known of it.
    Study.objects.update(result={**(first.result or {}), VERSION: None})
    assert "have changed since" not in client.get(first.get_absolute_url()).text + client.get(STUDIES).text
    assert script.read("studies/1/")["is_outdated"] is None


def test_a_form_that_is_wrong_comes_back_with_what_is_wrong(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    for over, sentence in (
        ({"metrics": []}, "Choose at least one metric."),
        ({"metrics": ["0" * 64]}, "is not one of the available choices"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"seed": "many"}, "whole number"),
        ({"resamples": "5"}, "greater than or equal to 100"),
        ({"criterion": "style"}, "is not one of the available choices"),
        ({"least": "0"}, "greater than or equal to 1"),
        ({"name": "x" * 121}, "at most 120 characters"),
    ):
        response = ask(client, runs, **over)
        assert response.status_code == 422, over
        assert sentence in read_page(response), over
    assert "at least two" in read_page(ask(client, runs[:1], "significance"))
    assert not Study.objects.exists()


def test_what_cannot_be_studied_fails_with_a_sentence_and_what_is_undefined_says_why(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    failed = study(judged, researcher, runs, least_judgments=5)
    assert failed.state == Study.State.FAILED
    assert "20 have too few judgments" in read_page(client.get(failed.get_absolute_url()))
    one = give_scores(judged, researcher, "One", {list_candidates(judged)[0].pk: 0.5})
    made = study(judged, researcher, [one, runs[0]], n_resamples=100)
    html = client.get(made.get_absolute_url()).content.decode()
    page = read(html)
    assert {row["Pearson"] for row in page.rows("Correlation with human scores")[:2]} == {"—a"}
    assert "<sup>a</sup> fewer than three pairs." in html
    assert page.number("Candidates") == 1
    assert "One: no score for 19 candidates" in read_page(client.get(made.get_absolute_url()))
    options = {"n_questions": 30, "n_draws": 5}
    made = study(judged, researcher, runs, "systems", options=options)
    assert "only 10 questions have an answer of every system; a draw needs 30" in read_page(
        client.get(made.get_absolute_url())
    )


def test_a_study_is_cancelled_and_deleted_by_who_asked_for_it_or_a_manager(
    judged: Project, runs: list[MetricRun], researcher: Membership, manager: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    ask(client, runs)
    waiting = Study.objects.get()
    client.post(f"{waiting.get_absolute_url()}delete/")
    assert Study.objects.exists(), "what is under way is cancelled first"
    client.post(f"{waiting.get_absolute_url()}cancel/")
    assert do(waiting).state == Study.State.CANCELLED
    assert "Only its settings are stored" in read_page(client.get(waiting.get_absolute_url()))
    other = make_membership(judged, role=Membership.Role.RESEARCHER)
    client_of(other).post(f"{waiting.get_absolute_url()}delete/")
    assert Study.objects.exists()
    client.post(f"{waiting.get_absolute_url()}delete/")
    assert not Study.objects.exists()
    assert LogEntry.objects.filter(act="delete study", actor=researcher).count() == 1
    assert study(judged, researcher, runs[:1], n_resamples=100).number == 2, "a paper may name the first"
    client_of(manager).post(f"{STUDIES}2/delete/")
    assert not Study.objects.exists()


def test_without_judgments_or_metrics_the_form_says_what_comes_first(
    project: Project, judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    assert "No metric evaluations yet" in read_page(client.get(STUDIES))
    for kind in KINDS:
        response = client.get(f"{STUDIES}new/", {"kind": kind})
        assert '<form method="post" action="?kind=' not in response.content.decode()
    assert ask(client, []).status_code == 422


def test_a_list_that_is_named_by_its_heading_shows_its_own_name_to_screen_readers_alone(
    judged: Project, runs: list[MetricRun], manager: Membership, client_of: SignIn
) -> None:
    study(judged, manager, runs[:1], n_resamples=100)
    for address, name in ((f"{STUDIES}new/", "Metrics"), ("/p/bridges/sets/new/", "Metric evaluations")):
        page = condense(client_of(manager).get(address).content.decode())
        assert f"<h2>{name}</h2>" in page
        (legend,) = re.findall(rf"<legend([^>]*)>\s*{name}\b", page)
        assert "visually-hidden" in legend


def test_two_evaluations_are_compared_metric_by_metric_in_whatever_order(
    judged: Project, runs: list[MetricRun], researcher: Membership
) -> None:
    near, far, _constant = runs
    first, second = (
        study(judged, researcher, chosen, "errors", n_resamples=100) for chosen in ([near, far], [far, near])
    )
    assert [section.choice for section in list_sections(first)] != [section.choice for section in list_sections(second)]
    compared = compare(first, second)
    gaps = [f"Largest gaps: {pair}" for pair in ("Near and Far & <b>away</b>", "Far & <b>away</b> and Near")]
    assert compared.left_out == [f"Only evaluation {n} has the table: {name}." for n, name in enumerate(gaps, 1)]
    assert len({section.table.title for section in compared.sections}) == len(compared.sections) >= 2
    for section in compared.sections:
        table = section.table
        assert not section.note
        of_one = [table.columns.index(each) for each in table.columns if each.key.endswith("-1")]
        assert of_one
        assert all(row[at] == row[at + 1] for row in table.rows for at in of_one), table.title


def test_a_comparison_tells_metrics_of_one_name_apart(
    judged: Project, runs: list[MetricRun], researcher: Membership
) -> None:
    """In an evaluation of its own each is called by its title alone."""
    for run, model in zip(runs, "ab", strict=False):
        MetricRun.objects.filter(pk=run.pk).update(title="Score", settings={"model": model})
        run.refresh_from_db()
    near, far, constant = runs
    first, second = (study(judged, researcher, [each, constant], n_resamples=100) for each in (near, far))
    both = study(judged, researcher, [near, far], n_resamples=100)
    table = compare(first, second).sections[0].table
    assert [row[0] for row in table.rows] == ["Score (model a)", constant.title, "Score (model b)"]
    table = compare(first, both).sections[0].table
    (row,) = (row for row in table.rows if row[0] == "Score (model a)")
    assert row[1] == row[2], "one metric is one row, however each evaluation calls it"


def test_a_comparison_names_what_one_evaluation_has_alone(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    near, far, constant = runs
    first = study(judged, researcher, [near, far], n_resamples=100)
    Passage.objects.filter(dataset__project=judged, external_id__endswith="4").update(split="test")
    second = study(judged, researcher, [near, far, constant], n_resamples=100)
    asked = {"first": first.number, "second": second.number}
    client = client_of(researcher)
    page = read_page(client.get(f"{STUDIES}compare/", asked))
    assert "Only evaluation 2 has the tables: Pearson by split; Spearman by split; Kendall by split." in page
    assert page.count("Only evaluation 2 has the column: Constant.") == 3, "once for each table by dataset and source"
    table = client.get(f"{STUDIES}compare/tables/dataset-source-pearson.md", asked).content.decode()
    assert "Only evaluation 2 has the column: Constant." in table
