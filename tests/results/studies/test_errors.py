from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from projects.models import LogEntry, Membership, Project
from results.models import ErrorCause, MetricRun, Study
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import read
from tests.people import SignIn
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, study

HUMAN = [1.0, 2, 3, 4, 5, 5]
METRIC = [0.0, 0.25, 0.5, 0.75, 1.0, 0.0]


@pytest.fixture
def runs(project: Project, owner: Membership) -> list[MetricRun]:
    """Two datasets of six answers; by the first metric each one's last is wrong by the whole scale."""
    person = make_membership(project)
    ratings, scores, others = {}, {}, {}
    for name in ("birds", "trees"):
        question = make_question(make_passage(make_dataset(project, name)))
        for at, made in enumerate(make_candidates(question, 6)):
            ratings[made] = {person: HUMAN[at]}
            scores[made.pk], others[made.pk] = METRIC[at], float(at)
    judge(project, ratings)
    about = {"about": {"low": 0.0, "high": 1.0}}
    return [
        give_scores(project, owner, "Overlap", scores, report=about),
        give_scores(project, owner, "Other", others),
    ]


@pytest.fixture
def made(project: Project, owner: Membership, runs: list[MetricRun]) -> Study:
    return study(project, owner, runs, "errors", n_resamples=100, options={"n_answers": 2})


def worst(made: Study, place: int = 0, part: str = "birds") -> Any:
    return made.result["figures"]["lists"][place]["parts"][part][0]


def test_lists_hold_the_widest_gaps_on_the_scale_of_the_criterion(made: Study, runs: list[MetricRun]) -> None:
    assert made.state == Study.State.DONE, made.error
    figures = made.result["figures"]
    assert [each["compared"] for each in figures["lists"]] == [
        *(run.subject for run in runs),
        "|".join(run.subject for run in runs),
    ]
    assert (worst(made)["first"], worst(made)["second"]) == (5.0, 1.0)
    assert [len(part) for part in figures["lists"][0]["parts"].values()] == [1, 1]
    assert figures["spans"][runs[0].subject] == {"low": 0.0, "high": 1.0, "is_declared": True}
    assert figures["spans"][runs[1].subject] == {"low": 0.0, "high": 5.0, "is_declared": False}


def test_a_cause_is_given_kept_and_counted(
    made: Study,
    runs: list[MetricRun],
    researcher: Membership,
    owner: Membership,
    project: Project,
    client_of: SignIn,
) -> None:
    client, url = client_of(researcher), f"{made.get_absolute_url()}causes/"
    of = {"candidate": worst(made)["candidate"], "compared": runs[0].subject, "section": "errors-1"}
    response = client.post(url, {**of, "cause": "  other   words "})
    assert response.headers["Location"].endswith(f"?show=errors-1%2Ccauses-1#errors-1-{of['candidate']}")
    client.post(url, {**of, "candidate": worst(made, part="trees")["candidate"], "cause": "Other words"})
    entry = LogEntry.objects.filter(act="name cause of error").earliest("pk")
    assert entry.after is not None
    assert (entry.actor, entry.after["cause"]) == (researcher, "other words")
    again = study(project, owner, runs, "errors", n_resamples=100, options={"n_answers": 2})
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(again.get_absolute_url()).content.decode()
    assert len(queries) <= 20
    page = read(answer)
    assert '<option value="other words">' in answer
    assert 'value="Other words"' in answer
    rows = page.rows("Causes of gaps: Human score and Overlap")
    assert [(row["Cause"], row["Candidates"], row["Share"]) for row in rows] == [
        ("other words", "2", "1.000"),
        ("All with a cause", "2", "1.000"),
    ]
    table = client.get(f"{again.get_absolute_url()}tables/errors-1.csv").content.decode().splitlines()
    assert table[1].startswith("birds,c")
    assert table[1].endswith(",5.0,1.0,-4.0,other words")
    assert client.get(f"{again.get_absolute_url()}tables/causes-2.csv").status_code == 404  # nobody has given one
    client.post(url, {**of, "cause": ""})
    assert ErrorCause.objects.count() == 1


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"cause": "a\0"}, "Null characters are not allowed."),
        ({"cause": "a\x01"}, "the character U+0001"),
        ({"cause": "x" * 61}, "The cause is longer than 60 characters."),
        ({"candidate": 2**40}, "This candidate is not in the list."),
        ({"compared": "f" * 64}, "This candidate is not in the list."),
    ],
)
def test_what_is_not_in_the_list_is_refused(
    made: Study, runs: list[MetricRun], researcher: Membership, client_of: SignIn, over: dict[str, Any], message: str
) -> None:
    of = {"candidate": worst(made)["candidate"], "compared": runs[0].subject, "section": "errors-1", "cause": "a"}
    answer = client_of(researcher).post(f"{made.get_absolute_url()}causes/", {**of, **over}, follow=True)
    assert message in answer.content.decode()
    assert not ErrorCause.objects.exists()


def test_z_scores_have_no_scale_to_rescale_a_metric_to(
    project: Project, owner: Membership, runs: list[MetricRun]
) -> None:
    made = study(project, owner, runs, "errors", n_resamples=100, gold="z")
    assert made.error.startswith("Choose the mean or the median as gold score")


def test_an_evaluation_by_z_scores_is_refused_before_it_runs(
    project: Project, researcher: Membership, runs: list[MetricRun], client_of: SignIn
) -> None:
    sent = {"metrics": [run.subject for run in runs], "criterion": "correctness", "gold": "z", "resamples": 100}
    page = client_of(researcher).post(f"/p/{project.slug}/studies/new/?kind=errors", sent).content.decode()
    assert "Choose the mean or the median as gold score" in page
    assert not Study.objects.exists()
