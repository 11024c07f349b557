"""The rows of a frozen judgment set: its own texts and gold scores, as LERC learns from them."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from measures.gold_rules import GoldRule
from measures.neural.lerc.rows import HIGHEST, Row
from measures.rubric import has_order
from projects.errors import Refused
from results.metrics.candidate_slices import join_documents
from results.models import JudgmentSet
from results.sets import archive, freezing
from results.sets.canonical import ANNOTATORS, CANDIDATES, LONG_JSONL, PASSAGES
from results.sets.scores import Judgments, Line, read_adjudicated, read_gold, read_judgments, read_norms, score
from results.sets.selecting import ScaledCriterion
from results.sets.settings import Settings as SetSettings
from results.sets.tables import list_candidates

LOWEST = 1.0


@dataclass(frozen=True)
class Judged:
    """The judged answers of a set under one criterion, and how many it has without a use here."""

    rows: list[Row]
    criterion: ScaledCriterion
    n_withdrawn: int
    n_of_pairs: int
    n_without_gold: int

    @property
    def datasets(self) -> list[str]:
        return sorted({row.dataset for row in self.rows})


def check_set(judgment_set: JudgmentSet) -> None:
    """Raise Refused for a set that cannot be trained on, with what to do instead."""
    if not judgment_set.is_frozen:
        raise Refused(f"Judgment set {judgment_set.number} is not frozen yet.", field="set")
    if judgment_set.retired_at is not None:
        raise Refused(
            f"Judgment set {judgment_set.number} is retired. Choose another, or freeze a new one.", field="set"
        )
    settings = SetSettings.from_dict(judgment_set.settings)
    if not settings.with_texts:
        raise Refused(
            f"Judgment set {judgment_set.number} has no texts. Freeze one with texts to train on it.", field="set"
        )
    if settings.gold == GoldRule.Z:
        raise Refused(
            f"The gold scores of judgment set {judgment_set.number} are z scores, which have no highest score. Freeze "
            "a set whose gold scores are means or medians.",
            field="set",
        )
    if not freezing.find_path(judgment_set).is_file():
        raise Refused(f"The archive of judgment set {judgment_set.number} is missing.", field="set")


def list_criteria(judgment_set: JudgmentSet) -> list[str]:
    """Return the keys of the criteria of a frozen set that can be learned: categories have no scores to predict."""
    parts = judgment_set.facts.get("criteria", [])
    ordered = (each for each in parts if has_order(each["level"], each["scale_low"], each["scale_high"]))
    return list(dict.fromkeys(each["criterion"] for each in ordered))


def read_set(judgment_set: JudgmentSet, key: str) -> Judged:
    """Return the judged answers of a set under a criterion, in the order of its files.

    An answer has the first reference that is not the answer itself. Second answers of minimal pairs, and first ones,
    are left out: they are a test of their own. Raises Refused for a set or criterion that cannot be trained on.
    """
    check_set(judgment_set)
    settings = SetSettings.from_dict(judgment_set.settings)
    path, inside = freezing.find_path(judgment_set), judgment_set.facts["folder"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in (CANDIDATES, LONG_JSONL, ANNOTATORS, PASSAGES):
            with (folder / each).open("wb") as file:
                file.writelines(archive.read_file(path, inside, each))
        judgments = read_judgments(folder, lambda _n_read: None)
        criterion = _choose_criterion(judgments, key)
        golds = score(judgments, criterion, read_norms(folder))
        passages = _read_passages(folder)
        rows: list[Row] = []
        n_withdrawn = n_of_pairs = n_without_gold = 0
        for unit, line in enumerate(list_candidates(folder)):
            if line["is_withdrawn"]:
                n_withdrawn += 1
                continue
            if line["minimal_pair"] or line["is_second_of_pair"]:
                n_of_pairs += 1
                continue
            gold = read_gold(golds, settings, unit, read_adjudicated(line, criterion))
            if gold is None or np.isnan(gold):
                n_without_gold += 1
                continue
            rows.append(_make_row(line, passages[line["dataset"], line["passage_id"]], _scale(gold, criterion)))
    return Judged(rows, criterion, n_withdrawn, n_of_pairs, n_without_gold)


def _choose_criterion(judgments: Judgments, key: str) -> ScaledCriterion:
    found = [criterion for criterion in judgments.parts if criterion.key == key]
    if not found:
        known = ", ".join(dict.fromkeys(criterion.key for criterion in judgments.parts)) or "none"
        raise Refused(f"The set has no criterion “{key}”. It has: {known}.", field="criterion")
    if len(found) > 1:
        raise Refused(
            f"The set has “{key}” on several scales. Freeze a set with batches of one scale.", field="criterion"
        )
    return found[0]


def _scale(gold: float, criterion: ScaledCriterion) -> float:
    """Return a gold score on 1 to 5, the scale of LERC; one on 1 to 5 stays as it is."""
    if (criterion.low, criterion.high) == (LOWEST, HIGHEST):
        return gold
    return LOWEST + (gold - criterion.low) * (HIGHEST - LOWEST) / (criterion.high - criterion.low)


def _read_passages(folder: Path) -> dict[tuple[str, str], str]:
    with (folder / PASSAGES).open("rb") as file:
        return {
            (line["dataset"], line["passage_id"]): join_documents(line["text"], line["documents"])
            for line in map(orjson.loads, file)
        }


def _make_row(line: Line, passage: str, gold: float) -> Row:
    references = [each["text"] for each in line["references"]]
    others = [text for text in references if text.strip() != line["candidate"].strip()]
    return Row(
        key=line["candidate_id"],
        dataset=line["dataset"],
        group=line["passage_id"],
        split=line["split"] or "",
        source=line["source"] or "",
        passage=passage,
        question=line["question"],
        reference=next(iter([*others, *references]), ""),
        candidate=line["candidate"],
        score=gold,
    )
