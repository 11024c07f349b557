"""Data frames from answers: rows of lists, figures, and files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from .errors import ConcordError

TEXTS = ("dataset", "split", "source", "annotator", "batch_kind", "criterion", "question_type")
"""Columns of CSV files that stay texts, besides those that end in `_id`: an id such as 007 is no number."""

SUFFIXES = (".csv", ".jsonl", ".parquet")
"""Files of a judgment set that are tables."""

YES_NO = {"yes": True, "no": False}
TRUTHS = ("enters",)
"""Columns of yes and no, besides those that begin with `is_` or `has_`."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def make_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame, with times as times and nested objects as columns such as `progress.n_open`."""
    frame = pd.json_normalize([dict(row) for row in rows])
    for name in frame.columns:
        if str(name).endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame


def read_csv(text: str) -> pd.DataFrame:
    """Return a CSV file of the site as a frame. Ids stay texts, and an answer such as “NA” is no missing value.

    The apostrophe that keeps spreadsheets from running a text as a formula is removed.
    """
    names = pd.read_csv(StringIO(text), nrows=0).columns
    texts = {str(name): str for name in names if str(name).endswith("_id") or name in TEXTS}
    frame = pd.read_csv(StringIO(text), dtype=texts, keep_default_na=False, na_values=[""])
    for name in frame.columns:
        # The files of the site say yes and no.
        is_truth = str(name).startswith(("is_", "has_")) or name in TRUTHS
        if is_truth and set(frame[name].dropna()) <= set(YES_NO):
            frame[name] = frame[name].map(YES_NO).astype("boolean")
        elif not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].map(_unguard, na_action="ignore")
    return frame


def _unguard(value: Any) -> Any:
    is_guarded = isinstance(value, str) and value[:1] == "'" and value.lstrip("'").startswith(FORMULA_STARTS)
    return value[1:] if is_guarded else value


def read_file(path: Path) -> pd.DataFrame:
    """Return a file of a judgment set as a frame: CSV, JSON lines or Parquet."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".jsonl":
        return pd.read_json(path, lines=True, dtype=False)
    return read_csv(path.read_text(encoding="utf-8-sig"))


def make_agreement_frame(figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each level of measurement over all judgments, then one for each part of the data.

    `low` and `high` are the interval that the page shows, over the units that `unit` names.
    """
    report = figures["report"]
    lines = [("", line) for line in report["levels"]]
    lines += [(group["name"], group["line"]) for group in report["groups"]]
    return make_frame({"part": part, **_choose_interval(line)} for part, line in lines)


def _choose_interval(line: Mapping[str, Any]) -> dict[str, Any]:
    intervals = {"items": line.get("by_unit"), "passages": line.get("by_passage")}
    chosen = intervals[line["unit"]] or {}
    rest = {name: value for name, value in line.items() if name not in ("by_unit", "by_passage")}
    return {**rest, "low": chosen.get("low"), "high": chosen.get("high"), "interval_undefined": chosen.get("undefined")}


def make_pairs_frame(figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each pair of annotators. Raises ConcordError with the reason where there are none."""
    return make_frame(_require(figures["pairs"], "computed"))


def make_time_frame(figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each period. Raises ConcordError with the reason where there are none."""
    return make_frame(_require({"periods": figures["periods"]}, "periods"))


def _require(found: Mapping[str, Any], name: str) -> Any:
    """Return what the figures have under a name, which may be undefined, alone or with all that is beside it."""
    undefined = found if "reason" in found else found[name]
    if isinstance(undefined, Mapping) and "reason" in undefined:
        raise ConcordError(f"These figures are undefined: {undefined['reason']}.")
    return found[name]


def make_systems_frame(figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each system and criterion; the empty criterion is the mean of all."""
    scores: Mapping[str, Sequence[Mapping[str, Any]]] = figures["scores"]
    return make_frame({"criterion": key, **line} for key, lines in scores.items() for line in lines)


def make_golds_frame(figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each rule of aggregation and part of the data; the part “all” is all of it."""
    rows = []
    for rule in figures["rules"]:
        if rule["undefined"]:
            continue
        parts = {"all": [rule["whole"]], **rule["parts"]}
        rows += [
            {"rule": rule["rule"], "by": by, **{name: line[name] for name in line if name != "counts"}}
            for by, lines in parts.items()
            for line in lines
        ]
    return make_frame(rows)


MAKERS: Mapping[str, Callable[[Mapping[str, Any]], pd.DataFrame]] = {
    "agreement": make_agreement_frame,
    "annotators": make_pairs_frame,
    "time": make_time_frame,
    "systems": make_systems_frame,
    "golds": make_golds_frame,
}
"""What makes a frame of each kind of figures."""
