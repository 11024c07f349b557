"""A training in words: what it costs, what its parts are, and how good it is."""

from collections.abc import Mapping
from typing import Any

from results.learned.computing_time import format_seconds
from results.models import Training
from results.training.card import describe
from results.training.figures import METRIC

MINUS = "\N{MINUS SIGN}"


def describe_cost(training: Training) -> str:
    """Return what a training costs, as measured on the machine of the worker; empty before that."""
    estimate = training.estimate
    if not estimate:
        return ""
    return (
        f"About {format_seconds(estimate['seconds'])}: {estimate['n_rows']:,.0f} rows at "
        f"{estimate['rows_per_second']:,.1f} rows a second, measured on this site's worker"
        f"{' (' + estimate['device'] + ')' if estimate['device'] else ''}."
    )


def list_parts(training: Training) -> list[Mapping[str, Any]]:
    """Return each training of the plan with the answers of its parts."""
    return list((training.estimate or {}).get("variants", ()))


def list_stats(training: Training) -> list[tuple[str, str, str]]:
    """Return label, value and note of the figures at the top of the page of a trained model."""
    result = training.result
    if not result or training.table != Training.Table.ALL:
        return []
    (variant,) = result["variants"]
    found = []
    for name, label in (("test", "Pearson on test"), ("dev", "Pearson on dev")):
        stored = variant[name]["metrics"][METRIC]["value"]
        value = "–" if isinstance(stored, Mapping) else f"{stored:.3f}".replace("-", MINUS)
        text = describe(variant[name], variant, name)
        found.append((label, value, text if isinstance(stored, Mapping) else _drop_value(text).replace("-", MINUS)))
    rate = f"of {len({run['rate'] for run in variant['runs']})}, by the mean of the seeds on dev"
    return [*found, ("Learning rate", f"{variant['rate']:g}", rate)]


def _drop_value(text: str) -> str:
    """Return the note without the number above it."""
    _value, _space, rest = text.partition(" ")
    return f"95 % CI {rest}" if rest.startswith("[") else rest
