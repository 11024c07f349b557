"""Agreement as README.md and datasheet.md state it, and the choice of the interval to report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from measures.rubric import has_order
from results.scope.equal_ratings import warn_of_equal_ratings_in_parts
from results.scope.gold_settings import PASSAGES
from results.scope.passage_counts import warn_of_few_in_parts


def write_agreement(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table with alpha of each criterion, and how to read it."""
    yield "| criterion | scale | level | alpha | 95 % interval | candidates | annotators | ratings | single |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for each in figures["criteria"]:
        found, interval = each["agreement"], choose_interval(each)
        alpha = f"{found['alpha']:.4f}" if found["alpha"] is not None else f"undefined: {found['undefined']}"
        is_defined = interval["low"] is not None
        ends = (
            f"{interval['low']:.4f} to {interval['high']:.4f}" if is_defined else f"undefined: {interval['undefined']}"
        )
        who = "unknown" if found["n_annotators"] is None else f"{found['n_annotators']:,}"
        yield (
            f"| {each['criterion']} | {each['scale']} | {each['level']} | {alpha} | {ends} | {found['n_units']:,} "
            f"| {who} | {found['n_ratings']:,} | {found['n_single']:,} |"
        )
    yield ""
    if figures["criteria"]:
        single, intervals = _describe_single(figures["criteria"]), _describe_intervals(figures["criteria"])
        yield (
            "Krippendorff's alpha over the candidates with at least two ratings. *single* is the number of candidates "
            f"with one rating, which {single}. {intervals}"
        )
        yield ""


def _describe_single(criteria: Sequence[Mapping[str, Any]]) -> str:
    """Return what the figures say of candidates with one rating, which categories have no gold score of."""
    are_ordered = [has_order(each["level"], each["scale_low"], each["scale_high"]) for each in criteria]
    if not any(are_ordered):
        return "are not part of alpha"
    kept = "have a gold score" if all(are_ordered) else "have a gold score, except for categories without an order,"
    return f"{kept} but are not part of alpha"


def choose_interval(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the interval to report: over passages where candidates share them, and always over candidates before."""
    is_over_passages = criterion["interval_over_passages"].get("method") and criterion["interval_unit"] == PASSAGES
    name = "interval_over_passages" if is_over_passages else "interval_over_candidates"
    interval: Mapping[str, Any] = criterion[name]
    return interval


def list_warnings(criteria: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[str]:
    """Return the warnings of the README: criteria on few passages, or with nearly equal ratings; `names` are by key."""
    named = [{**each, "criterion": names.get(each["criterion"], each["criterion"])} for each in criteria]
    few = _warn_of_few([each for each in named if _name_method(each)[1] == PASSAGES])
    return [warning for warning in (few, _warn_of_equal(named)) if warning]


def _warn_of_equal(criteria: Sequence[Mapping[str, Any]]) -> str:
    # Earlier sets don't count the candidates with another rating.
    counted = [
        (each["criterion"], each["agreement"]["n_off_mode"], each["agreement"]["n_units"])
        for each in criteria
        if "n_off_mode" in each["agreement"] and choose_interval(each)["low"] is not None
    ]
    return warn_of_equal_ratings_in_parts(counted, noun="Criteria")


def _warn_of_few(criteria: Sequence[Mapping[str, Any]]) -> str:
    return warn_of_few_in_parts(map(_count_passages, criteria), noun="Criteria")


def _count_passages(criterion: Mapping[str, Any]) -> tuple[str, int, float | None]:
    """Return a criterion with the passages of its interval, 0 without one, and as how many they count.

    Earlier sets don't tell the latter.
    """
    interval = choose_interval(criterion)
    return criterion["criterion"], interval.get("n_resampled") or 0, interval.get("n_effective")


def _describe_intervals(criteria: Sequence[Mapping[str, Any]]) -> str:
    # Criteria of one set may differ: one was asked in another batch, of other passages or of none.
    alike: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for each in criteria:
        alike.setdefault(_name_method(each), []).append(each)
    others = sorted({other for _method, _unit, other in alike})
    sentences = []
    for (method, unit, _other), those in alike.items():
        whose = (
            "The intervals" if len(alike) == 1 else f"The intervals of {', '.join(each['criterion'] for each in those)}"
        )
        numbers = [(each["criterion"], choose_interval(each).get("n_resampled")) for each in those]
        listed = ", ".join(f"{n:,} for {criterion}" for criterion, n in numbers if n is not None)
        sentences.append(f"{whose} are {method} over {unit}{f' ({listed})' if listed else ''}.")
        if unit == PASSAGES and (few := _warn_of_few(those)):
            sentences.append(few)
    if equal := _warn_of_equal(criteria):
        sentences.append(equal)
    sentences.append(
        f"`figures.json` also has the intervals over {' and '.join(others)}, alpha at the other levels of measurement, "
        "and alpha by dataset, split and source."
    )
    return " ".join(sentences)


def _name_method(criterion: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the method of the interval to report, the units it is over, and those of the other interval."""
    interval = choose_interval(criterion)
    if interval.get("method") is None:
        resamples = f"{interval['n_resamples']:,} resamples, seed {interval['seed']}"
        return f"percentile bootstrap intervals ({resamples})", "candidates", "passages"
    units = ("passages", "candidates") if criterion["interval_unit"] == PASSAGES else ("candidates", "passages")
    return "jackknife intervals with Student's t", *units
