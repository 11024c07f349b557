"""The datasheet of a set: contents, annotators, collection, consent, agreement and limitations."""

from collections.abc import Iterator, Sequence
from typing import Any

from annotate.models import Batch
from measures.rubric import has_order
from projects.language.amounts import CURRENCY
from results.models import Study
from results.sets.agreement_text import write_agreement
from results.sets.provenance import Terms
from results.sets.settings import Settings

DATASHEET = "datasheet.md"
SIMULATED = "has_simulated_annotators"
"""The key of the figures that tells whether some judgments are by programs."""


def write_datasheet(
    about: Terms,
    figures: dict[str, Any],
    settings: Settings,
    *,
    title: str,
    evaluations: Sequence[Study],
    metrics: Sequence[Terms],
) -> Iterator[str]:
    """Yield the lines of datasheet.md; `metrics` are the columns of metric scores."""
    yield from (f"# Datasheet: {title}", "", "## Contents", "")
    for each in figures["criteria"]:
        yield (
            f"- {each['criterion']} ({each['scale']}): {each['n_judgments']:,} judgments of "
            f"{each['n_candidates']:,} candidates."
        )
    yield f"- Gold score: {settings.gold_in_words}."
    yield from ("", "## Annotators", "", *_describe_annotators(figures))
    yield from ("", "## Collection", "", *_list_batches(about), "")
    if note := describe_imported(about):
        yield from (note, "")
    yield from ("## Consent", "", *_describe_consent(about))
    yield from ("## Agreement", "", *write_agreement(figures), "## Limitations", "")
    yield from _list_limitations(about, figures, settings)
    yield from _list_limitations_of_evaluations(evaluations, metrics)


def describe_imported(about: Terms) -> str:
    """Return which judgments were collected elsewhere, and what is unknown about them; empty if there are none."""
    imported = [each["number"] for each in about["batches"] if _is_imported(each)]
    if not imported:
        return ""
    is_all = len(imported) == len(about["batches"])
    which = "The judgments of this set" if is_all else f"The judgments of {_name_batches(imported)}"
    return (
        f"{which} were collected elsewhere and imported into Concord. The instructions that their annotators read and "
        "the consent that they gave are not known to Concord. For these judgments, `rubric.md` gives the criteria and "
        "scales under which they were imported; the annotators may have read other wording."
    )


def _describe_annotators(figures: dict[str, Any]) -> Iterator[str]:
    yield f"- Identified annotators with included judgments: {figures['n_annotators']:,}."
    if figures["has_unknown_annotators"]:
        yield "- Some judgments were imported without annotator names: how many people gave them is unknown."
    if figures[SIMULATED]:
        yield "- Some judgments were given by simulated annotators: by programs, not by people."
    yield "- Annotators appear under random pseudonyms, which are used in this project only."


def _list_batches(about: Terms) -> Iterator[str]:
    yield (
        "| batch | kind | judgments wanted per candidate | HIT size | rubric version | instructions version "
        "| judgments | pay |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    for batch in about["batches"]:
        instructions = "not known" if _is_imported(batch) else _format_count(batch["instructions_version"])
        yield (
            f"| {batch['number']} {escape_cell(batch['name'])} | {batch['kind']} "
            f"| {_format_count(batch['judgments_wanted'])} | {_format_count(batch['hit_size'])} "
            f"| {batch['rubric_version']} | {instructions} | {batch['n_judgments']:,} | {_describe_pay(batch)} |"
        )


def _describe_pay(batch: Terms) -> str:
    if _is_imported(batch):
        return "not known"
    if not (batch["cents_per_hit"] or batch["cents_per_item"]):
        return "none"
    hit = "per HIT, in proportion for HITs with fewer items" if batch.get("is_pay_prorated") else "per HIT"
    parts = [(batch["cents_per_hit"], hit), (batch["cents_per_item"], "per item")]
    return ", ".join(f"{CURRENCY} {cents / 100:.2f} {unit}" for cents, unit in parts if cents)


def _describe_consent(about: Terms) -> Iterator[str]:
    imported: list[int] = []
    asked: list[int] = []
    without: list[int] = []
    for batch in about["batches"]:
        found = imported if _is_imported(batch) else asked if batch["consent_version"] is not None else without
        found.append(batch["number"])
    if asked:
        versions = ", ".join(str(each["version"]) for each in about["consents"])
        who = _name_batches(asked)
        yield f"- The annotators of {who} agreed to `consent.md` (version {versions}) before they rated."
    if without:
        yield f"- The annotators of {_name_batches(without)} were shown no consent text."
    if imported:
        were = "was" if len(imported) == 1 else "were"
        yield (
            f"- {_name_batches(imported).capitalize()} {were} collected elsewhere and imported. What the annotators "
            "consented to there is not known to Concord."
        )
    yield ""


def _list_limitations(about: Terms, figures: dict[str, Any], settings: Settings) -> Iterator[str]:
    if n_excluded := sum(about["counts"]["left_out"].values()):
        yield f"- {n_excluded:,} judgments are excluded from gold scores and agreement; README.md gives the reasons."
    if not settings.is_blind_only:
        yield (
            "- Judgments by people who could see which system wrote a candidate are included, if there are any; the "
            "column `is_blind` identifies them."
        )
    for each in figures["criteria"]:
        if each["agreement"]["alpha"] is None:
            yield f"- Agreement on {each['criterion']} is undefined: {each['agreement']['undefined']}."
        if not has_order(each["level"], each["scale_low"], each["scale_high"]):
            yield (
                f"- The points of {each['criterion']} are categories without an order, so it has no gold scores, "
                "z scores and ceiling. Use its single judgments."
            )
    yield (
        "- Candidates of the same passage are not independent of each other. Intervals over passages allow for this "
        "and are usually wider than intervals over candidates."
    )
    if not settings.with_texts:
        yield "- This set has IDs only, no texts."
    if settings.with_surveys:
        yield (
            "- Answers to surveys are those of annotators who allowed their publication, to questions that may be "
            "published. The other annotators may differ from them."
        )
    if settings.with_comments:
        yield "- Annotators' comments are included. They are free text: people may have written personal data."


def _list_limitations_of_evaluations(evaluations: Sequence[Study], metrics: Sequence[Terms]) -> Iterator[str]:
    if not evaluations:
        return
    yield (
        "- Each metric evaluation used the judgments and metric scores of the time when it was computed, which may "
        "differ from those of this set."
    )
    later = [each["column"] for each in metrics if not each["is_run_of_studies"]]
    if later:
        yield (
            f"- In `metric_scores.csv`, {', '.join(f'`{name}`' for name in later)} has newer scores than a metric "
            "evaluation used. `metrics.json` and the JSON file of the evaluation name both runs."
        )
    if any(study.kind == Study.Kind.ERRORS for study in evaluations):
        yield "- The causes of errors were named by the project's researchers in their own words."


def _is_imported(batch: Terms) -> bool:
    return bool(batch["kind"] == Batch.Kind.IMPORTED)


def _name_batches(numbers: Sequence[int]) -> str:
    *others, last = map(str, numbers)
    return f"batches {', '.join(others)} and {last}" if others else f"batch {last}"


def _format_count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def join_lines(text: str) -> str:
    """Return a text from outside on one line."""
    return " ".join(text.split())


def escape_cell(text: str) -> str:
    """Return a text that a cell of a table can hold."""
    return join_lines(text).replace("|", "\\|")
