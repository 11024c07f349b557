"""Warnings of evaluations: answers compared with themselves, human sources, and what cannot work."""

from importlib import import_module
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from projects.jobs import running
from projects.models import Candidate, LogEntry, Membership, Project, Reference
from results.metrics import computing
from results.models import MetricRun, Report, Study
from results.reports import reports
from results.scope.human_sources import explain_human_sources
from results.studies.pair_frame import GIVEN
from results.studies.presentation import list_warnings
from tests.page_reader import read
from tests.people import SignIn
from tests.results.judged_batches import answer
from tests.results.studies.factories import list_candidates, study

STUDIES = "/p/bridges/studies/"


@pytest.fixture
def with_humans(judged: Project, runs: list[MetricRun]) -> Project:
    """The strong system's answers are written by people, and are references of their questions."""
    for candidate in list_candidates(judged):
        text = f"{candidate.text} of {candidate.source}"
        Candidate.objects.filter(pk=candidate.pk).update(text=text)
        if candidate.source == "strong":
            Reference.objects.create(question=candidate.question, text=f" {text}\n", position=9)
    return judged


def compute(project: Project, against: str) -> MetricRun:
    return computing.run_now(project=project, name="token_f1", settings={"against": against})


def read_text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_answers_that_are_compared_with_themselves_are_counted(
    with_humans: Project, researcher: Membership, client_of: SignIn, owner: Membership
) -> None:
    output = answer("score", "--project", "bridges", "--metric", "token_f1")
    (warning,) = output["runs"][0]["warnings"]
    assert warning.startswith("10 answers that people may have written are also references of their questions and so")
    others = answer("score", "--project", "bridges", "--metric", "token_f1", "--set", "against=others")
    assert others["runs"][0]["warnings"] == []
    run = MetricRun.objects.get(pk=output["runs"][0]["run"])
    client = client_of(researcher)
    assert warning in read_text(client.get(f"/p/bridges/metrics/{run.pk}/"))
    assert "10 answers that people may have written are also references" in read_text(
        client.get("/p/bridges/metrics/new/")
    )
    other = MetricRun.objects.get(pk=others["runs"][0]["run"])
    made = study(with_humans, researcher, [run, other], n_resamples=100)
    differences, itself, *_rest = list_warnings(made)
    assert "compared with different references (against)" in differences
    assert "all: " in differences
    assert "others: " in differences
    assert itself.startswith("10 answers that people may have written are also references of their questions, and")
    assert "Token F1 (against all) uses all references, so these answers are compared with themselves" in itself
    page = read_text(client.get(made.get_absolute_url()))
    assert itself.replace("'", "&#x27;") in page
    assert list_warnings(study(with_humans, researcher, [other], n_resamples=100))[0].startswith("Few passages")


def test_scripts_without_spaces_are_named_where_a_metric_cannot_divide_them(
    judged: Project, researcher: Membership, owner: Membership
) -> None:
    Candidate.objects.filter(pk=list_candidates(judged)[0].pk).update(text="九点从旧码头出发")
    told = {}
    for tokeniser in ("words", "characters"):
        run = computing.run_now(project=judged, name="bleu_1", settings={"tokeniser": tokeniser})
        found = list_warnings(study(judged, researcher, [run], n_resamples=100))
        told[tokeniser] = [each for each in found if "without spaces between words" in each]
    assert told["characters"] == []
    (warning,) = told["words"]
    assert warning.startswith("1 candidate or its references are in a script")
    assert "The tokeniser “words” does not find" in warning


def test_a_systems_answer_with_the_words_of_a_reference_is_right_and_no_self_reference(
    judged: Project, runs: list[MetricRun], researcher: Membership
) -> None:
    # Six of the strong system's ten answers, as a good one has: too few for answers of people.
    strong = [candidate for candidate in list_candidates(judged) if candidate.source == "strong"]
    for candidate in strong[:6]:
        Reference.objects.create(question=candidate.question, text=candidate.text, position=9)
    run = answer("score", "--project", "bridges", "--metric", "token_f1")["runs"][0]
    assert run["warnings"] == []
    made = study(judged, researcher, [MetricRun.objects.get(pk=run["run"])], n_resamples=100)
    assert not any("references of their questions" in each for each in list_warnings(made))
    # Its name says that people wrote it.
    Candidate.objects.filter(pk__in=[each.pk for each in strong]).update(source="human")
    (warning,) = answer("score", "--project", "bridges", "--metric", "token_f1")["runs"][0]["warnings"]
    assert "6 answers that people may have written are also references" in warning
    assert "isn’t scored" in warning


def post(client: Client, runs: list[MetricRun], **over: Any) -> Any:
    sent = {"metrics": [run.subject for run in runs], "criterion": "correctness", "gold": "mean", "resamples": 100}
    return client.post(f"{STUDIES}new/?kind=correlation", {**sent, **over})


def test_human_sources_are_asked_for_once_and_left_out_apart_or_in(
    with_humans: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    form_page = read_text(client.get(f"{STUDIES}new/"))
    assert "Human sources (strong)" in form_page
    assert "10 of 10 candidates of strong are references, so people may have written them. If they are" in form_page
    asked = post(client, runs[:1])
    assert asked.status_code == 422
    assert "Choose what to do with candidates that people may have written." in read_text(asked)
    assert post(client, runs[:1], humans="apart").status_code == 302
    first = Study.objects.get()
    assert (first.settings["humans"], first.settings["human_sources"]) == ("apart", ["strong"])
    form = client.get(f"{STUDIES}new/").context["form"]
    assert form.get_initial_for_field(form.fields["humans"], "humans") == "apart"
    with_humans.refresh_from_db()
    assert with_humans.human_sources == "apart"

    chosen: dict[str, Any] = {"human_sources": ("strong",), "n_resamples": 100}
    left_out, apart, among = (
        study(with_humans, researcher, runs[:1], humans=humans, **chosen) for humans in ("leave_out", "apart", "in")
    )
    for one, n in ((left_out, 10), (apart, 10), (among, 20)):
        assert one.result is not None, one.error
        assert one.result["n"] == n
        assert one.result["left_out"]["human_sources"] == 20 - n
    assert left_out.result is not None
    assert apart.result is not None
    assert left_out.result["figures"]["whole"] == apart.result["figures"]["whole"]
    assert "human_sources" not in left_out.result["figures"]["parts"]
    (part,) = apart.result["figures"]["parts"]["human_sources"]
    alone = study(with_humans, researcher, runs[:1], sources=("strong",), n_resamples=100)
    assert alone.result is not None
    assert part["names"] == ["strong"]
    assert part["metrics"] == alone.result["figures"]["whole"]
    assert "Of human sources, which are in no other figure" in read_text(client.get(apart.get_absolute_url()))
    assert any(
        "Sources that people may have written count as systems here: strong." in each for each in list_warnings(among)
    )
    page = read_text(client.get(among.get_absolute_url()))
    assert f'<a href="{STUDIES}new/?kind=correlation">Choose in a new evaluation</a>' in page
    assert not any("may have written count" in each for each in [*list_warnings(left_out), *list_warnings(apart)])


def test_a_source_that_is_named_like_people_says_so(with_humans: Project) -> None:
    Candidate.objects.filter(source="weak").update(source="Human")
    assert explain_human_sources(with_humans) == {
        "Human": "The name “Human” suggests that people wrote its candidates.",
        "strong": "10 of 10 candidates of strong are references, so people may have written them.",
    }


def test_the_leaderboard_links_to_the_choice_about_human_sources(
    with_humans: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    client.post("/p/bridges/leaderboard/")
    running.run(Report, Report.objects.get().pk, reports.make, only_reads=True)
    page = read_text(client.get("/p/bridges/leaderboard/"))
    assert '<a href="/p/bridges/scores/systems/#human-sources">Choose on the Systems page</a>' in page
    assert 'id="human-sources"' in read_text(client.get("/p/bridges/scores/systems/"))


def test_scripts_go_on_without_a_choice_and_are_warned(with_humans: Project, runs: list[MetricRun]) -> None:
    asked = ("study", "correlation", "--project", "bridges", "--metric", "near")
    output = answer(*asked)
    assert output["settings"]["humans"] == "in"
    with_humans.refresh_from_db()
    assert with_humans.human_sources == "", "a default is no choice"
    assert any("may have written count as systems" in each for each in output["warnings"])
    assert answer(*asked, "--humans", "leave_out")["result"]["n"] == 10
    # The choice is kept for the project, and does not go with the evaluation.
    Study.objects.all().delete()
    assert answer(*asked)["settings"]["humans"] == "leave_out"
    assert LogEntry.objects.get(act="choose human sources").after == {"human_sources": "leave_out"}


def test_systems_ask_once_and_leave_human_sources_out_or_apart(
    with_humans: Project, researcher: Membership, client_of: SignIn, runs: list[MetricRun]
) -> None:
    client, address = client_of(researcher), "/p/bridges/scores/systems/"
    asked = client.get(address)
    assert "10 of 10 candidates of strong are references, so people may have written them." in read_text(asked)
    assert "If they are systems after all, choose “Count them as systems”" in read_text(asked)
    assert "Sources that people may have written count as systems here: strong." in read_text(asked)
    assert "Few passages" in read_text(asked)
    (among,) = [row for row in read(asked.content.decode()).rows("System scores") if row["System"] == "strong"]
    sent = {"humans": "apart", "query": "criterion=correctness&humans=in"}
    kept = client.post(f"{address}human-sources/", sent)
    assert kept["Location"] == f"{address}?criterion=correctness"
    page = client.get(kept["Location"])
    assert "count as systems here" not in read_text(page)
    rows = read(page.content.decode()).rows("System scores")
    assert [(row["Rank"], row["System"]) for row in rows] == [("1", "weak"), ("", "strong human source")]
    assert [rows[1][name] for name in ("Mean z", "Mean", "Ratings")] == [
        among[name] for name in ("Mean z", "Mean", "Ratings")
    ], "annotators' norms do not change"
    assert page.context["figures"]["pairs"]["correctness"] == []
    file = client.get(f"{address}tables/scores.md?criterion=correctness").content.decode()
    assert "Human sources, without a rank: strong" in file
    # The form of evaluations offers the same choice, and the API has it and can override it.
    form = client.get(f"{STUDIES}new/").context["form"]
    assert form.get_initial_for_field(form.fields["humans"], "humans") == "apart"
    scores = "/api/v1/projects/bridges/scores/?kind=systems"
    found = client.get(scores).json()
    assert found["settings"]["humans"] == "apart"
    assert [each["source"] for each in found["figures"]["people"]["correctness"]] == ["strong"]
    over = client.get(f"{scores}&humans=in").json()["figures"]
    assert any("may have written count as systems" in each for each in over["warnings"])
    assert [each["source"] for each in over["scores"]["correctness"]] == ["strong", "weak"]
    assert client.get(f"{scores}&humans=none").status_code == 400
    assert client.post(f"{address}human-sources/", {"humans": "none"}).status_code == 302
    with_humans.refresh_from_db()
    assert with_humans.human_sources == "apart"


def test_the_choice_of_the_newest_evaluation_becomes_that_of_the_project(
    with_humans: Project, researcher: Membership, runs: list[MetricRun]
) -> None:
    for humans in ("apart", "leave_out", ""):
        study(with_humans, researcher, runs[:1], humans=humans, n_resamples=100)
    fill = import_module("results.migrations.0008_keep_the_choice_about_human_sources").FILL
    with connection.cursor() as cursor:
        cursor.execute(fill)
    with_humans.refresh_from_db()
    assert with_humans.human_sources == "leave_out"


def test_what_cannot_work_is_refused_before_it_runs(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    for kind, over, sentence in (
        ("correlation", {"least": 5}, "20 have too few judgments. Filter less, lower the minimum of judgments"),
        (
            "systems",
            {"sources": "weak", "n_questions": 5, "n_draws": 5},
            "all candidates with scores are of one: “weak”",
        ),
        ("pairs", {"human": GIVEN}, "The project has no minimal pairs."),
    ):
        sent = {"metrics": runs[0].subject, "criterion": "correctness", "gold": "mean", "resamples": 100, **over}
        response = client.post(f"{STUDIES}new/?kind={kind}", sent)
        assert response.status_code == 422, kind
        assert sentence in read_text(response), kind
    few = [each.pk for each in list_candidates(judged)][:2]
    runs[0].scores.exclude(candidate__in=few).delete()
    with pytest.raises(
        CommandError, match="Only 2 candidates have a gold score and a score from every metric"
    ) as refused:
        call_command("study", "correlation", "--project", "bridges", "--metric", "near")
    assert "Near: no score for 18" in str(refused.value)
    assert not Study.objects.exists()
