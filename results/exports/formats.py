"""The export formats, and the statement and file name of each."""

from collections.abc import Sequence
from dataclasses import replace

from annotate.frames.criteria_in_use import CriterionInUse, criteria_in_use
from annotate.frames.stages import Stage
from projects.errors import Refused
from results.exports.aggregated import select_aggregated
from results.exports.choices import Choices
from results.exports.control_ratings import select_controls
from results.exports.long import select_lines, select_long
from results.exports.mocha import ENTRIES_OPEN, close_entries, select_mocha
from results.exports.streaming import LINES, Statement
from results.scope.scopes import choose_criterion

__all__ = ["CONTROLS", "FILES", "FORMATS", "Choices", "file_name", "make_statement"]

FORMATS = {"long": "long.csv", "aggregated": "aggregated.csv", "jsonl": "long.jsonl", "mocha": "mocha.json"}
"""The file name of each format of judgments."""
CONTROLS = "controls"
"""The format of control ratings, which only managers get, because it tells which items are controls."""
FILES = {**FORMATS, CONTROLS: "controls.csv"}
_STAGE_NAMES = {Stage.TRIAL: "trial", Stage.ALL: "all-stages"}


def make_statement(form: str, choices: Choices) -> Statement:
    """Return the statement of a format.

    Raises Refused where no criterion fits, or where MOCHA would have to hold several.
    """
    if form == "mocha":
        return _make_mocha(choices)
    if choices.criterion:
        choose_criterion(choices.project, key=choices.criterion)
    if form == "jsonl":
        return Statement(select=select_lines(choices), parameters=choices.parameters(), form=LINES)
    select = {"long": select_long, "aggregated": select_aggregated, CONTROLS: select_controls}[form]
    return Statement(select=select(choices), parameters=choices.parameters())


def file_name(form: str, choices: Choices) -> str:
    """Return a name made of our own words and slugs alone, so that it is safe in a header and on a disk."""
    stem, ending = FILES[form].split(".")
    parts = [choices.project.slug, stem, *([choices.criterion] if choices.criterion else [])]
    # Five are enough to recognise the file; a header must not grow with the number of batches.
    parts += [f"batch-{batch.number}" for batch in choices.batches[:5]]
    # Only what is unusual is named.
    if choices.stage != Stage.FULL and not choices.batches:
        parts.append(_STAGE_NAMES[choices.stage])
    return f"{'-'.join(parts)}.{ending}"


def _make_mocha(choices: Choices) -> Statement:
    # Before the first judgment there is no criterion to choose; the file then holds candidates without scores.
    one = choices
    if choices.criterion or criteria_in_use(choices.project):
        one = replace(choices, criterion=_choose_criterion(choices))
    return Statement(
        select=select_mocha(one), parameters=one.parameters(), form=LINES, head=ENTRIES_OPEN, tail=close_entries
    )


def _choose_criterion(choices: Choices) -> str:
    batch = choices.batches[0] if len(choices.batches) == 1 else None
    stage = Stage.ALL if choices.batches else choices.stage
    criterion = choose_criterion(choices.project, key=choices.criterion, batch=batch, stage=stage)
    scales = _list_scales(choices, criterion)
    if len(scales) > 1:
        raise Refused(
            f"“{criterion.name}” was asked on several scales ({'; '.join(scales)}), which one file cannot mix. Choose "
            "one batch."
        )
    return criterion.key


def _list_scales(choices: Choices, criterion: CriterionInUse) -> Sequence[str]:
    """Return the scales on which a criterion was asked in the batches that are named, or else in the whole stage."""
    if criterion.has_one_scale or not choices.batches:
        return criterion.scales
    asked = (each for batch in choices.batches for each in criteria_in_use(choices.project, batch))
    found = {scale for each in asked if each.key == criterion.key for scale in each.scales}
    return [scale for scale in criterion.scales if scale in found]
