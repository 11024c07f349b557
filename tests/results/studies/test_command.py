"""A study on the command line."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import Membership, Project
from results.models import MetricRun, Study
from tests.people import SignIn
from tests.results.judged_batches import answer
from tests.results.studies.factories import give_scores, list_candidates

pytestmark = pytest.mark.django_db

QUICK = ("--project", "bridges", "--bootstrap", "100")


def test_a_study_is_stored_and_printed_in_every_form(judged: Project, runs: list[MetricRun], owner: Membership) -> None:
    output = answer("study", "correlation", *QUICK, "--metric", "near", "--seed", "5", "--source", "weak", "--as-zero")
    made = Study.objects.get()
    assert (output["study"], output["seed"], output["settings"]) == (made.number, 5, made.settings)
    assert made.settings["metrics"] == [runs[0].subject]
    assert (made.settings["sources"], made.settings["as_zero"], made.settings["n_resamples"]) == (["weak"], True, 100)
    assert output["result"] == made.result
    assert output["result"]["n"] == 10
    for form, mark in (
        ("--latex", r"\begin{tabular}{lS[table-format="),
        ("--csv", "Metric,Pearson,"),
        ("--markdown", "| Metric |"),
    ):
        assert mark in printed("correlation", *QUICK, form, "--table", "overall")
    assert "Evaluation 5: System-level correlation" in printed(
        "systems", "--project", "bridges", "--option", "n_questions=5", "n_draws=10"
    )


def test_wrong_use_ends_with_2_and_what_the_project_lacks_with_1(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    for arguments, code, sentence in (
        (("--seed", "-1"), 2, "seed: "),
        (("--bootstrap", "3"), 2, "resamples: "),
        (("--option", "weight=1"), 2, "no option “weight”"),
        (("--csv", "--json"), 2, "not both"),
        (("--metric", "nonsense"), 1, "No metric “nonsense”"),
        (("--criterion", "style"), 1, "no criterion “style”"),
        (("--split", "dev"), 1, "no splits to choose from"),
        (("--stage", "trial"), 1, "has no trial"),
        (("--least", "9"), 1, "too few judgments"),
        (("--table", "nowhere"), 1, "has no table “nowhere”"),
    ):
        with pytest.raises(CommandError, match=sentence) as refused:
            printed("correlation", *QUICK, *arguments)
        assert refused.value.returncode == code, arguments


def printed(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["errors", "systems"])
def test_scores_of_any_size_are_printed_drawn_and_frozen(
    judged: Project, owner: Membership, client_of: SignIn, kind: str
) -> None:
    """A negated perplexity may be -2.6e22, which JSON in the database turns into a whole number."""
    for size in (2.6e22, 1e150):
        scores = {each.pk: -size / (n + 1) for n, each in enumerate(list_candidates(judged))}
        give_scores(judged, owner, f"Perplexity {size}", scores)
    options = ("--option", "n_questions=5", "n_draws=5") if kind == "systems" else ()
    output = answer("study", kind, "--project", "bridges", *options)
    made = Study.objects.get()
    assert output["result"] == made.result
    assert client_of(owner).get(made.get_absolute_url()).status_code == 200
    assert answer("freeze", "--project", "bridges", "--name", "Spring", "--study", str(made.number))["set"] == 1
