"""The card of a trained model: what it learned from, how good it is on answers that it has not seen, and its limits."""

from collections.abc import Mapping
from typing import Any

from projects.tables.stored_values import read_value
from projects.tables.tables import Estimate, Missing
from results.models import Training
from results.training.figures import METRIC
from results.training.training_plan import TrainingPlan

_ABOUT = (
    "A metric of answers to questions, trained on human judgments with Concord (LERC: Chen et al. 2020, MOCHA). Its "
    "scores are about 1 (worst) to 5 (best), and are not cut to that range."
)


def write_card(training: Training, plan: TrainingPlan, result: Mapping[str, Any]) -> str:
    """Return the card in Markdown, without names of people."""
    (variant,) = result["variants"]
    judged = result["set"]
    lines = [
        f"# {training.metric}",
        "",
        _ABOUT,
        "",
        "## Judgments",
        "",
        f"- Judgment set {judged['number']}, SHA-256 `{judged['sha256']}`, criterion `{training.criterion}`",
        f"- Answers of training: {variant['n_train']:,}",
        f"- Answers of dev: {variant['dev']['n']:,}; of test: {variant['test']['n']:,}",
        "",
        "## Settings",
        "",
        *(f"- {name}: {value}" for name, value in plan.list_choices()),
        f"- Chosen: learning rate {variant['rate']:g} by the mean of the seeds on dev, seed {variant['seed']}",
        f"- Device: {result['device'] or 'unknown'}",
        "",
        "## Correlation with human scores (Pearson's r, 95 % interval over passages)",
        "",
        *(f"- {name}: {describe(variant[key], variant, key)}" for key, name in (("dev", "Dev"), ("test", "Test"))),
        "",
        "Dev chose rate, epoch and seed, so its correlation is somewhat too high.",
        "",
        "## Curve",
        "",
        "| learning rate | seed | epoch | loss | Pearson on dev |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {run['rate']:g} | {run['seed']} | {epoch} | {loss:.4f} | {_number(score)} |"
            for run in variant["runs"]
            for epoch, (loss, score) in enumerate(zip(run["losses"], run["scores"], strict=True), start=1)
        ),
        "",
        "## Limits",
        "",
        "- Answers that it has learned from are listed as hashes in `lerc-seen.json`, and have no score by default.",
        "- It has learned what these annotators thought of answers like these. On other data, test it first.",
        "- It can be fooled by answers that are written to please it; don't optimise a system against it.",
    ]
    return "\n".join(lines) + "\n"


def describe(part: Mapping[str, Any], variant: Mapping[str, Any], name: str) -> str:
    """Return a correlation with its interval, and the mean and range of the seeds."""
    value = read_value(part["metrics"][METRIC])
    if not isinstance(value, Estimate):
        return f"undefined, {value.reason}" if isinstance(value, Missing) else "undefined"
    ends = "" if value.low is None or value.high is None else f" [{value.low:.3f}, {value.high:.3f}]"
    seeds = [each[name] for each in variant["seeds"].values() if each[name] is not None]
    of_seeds = ""
    if len(seeds) > 1:
        mean = sum(seeds) / len(seeds)
        of_seeds = f"; {len(seeds)} seeds: mean {mean:.3f}, {min(seeds):.3f} to {max(seeds):.3f}"
    return f"{value.value:.3f}{ends}, {part['n']:,} answers of {part['n_passages']:,} passages{of_seeds}"


def _number(score: float | None) -> str:
    return "undefined" if score is None else f"{score:.4f}"
