"""MOCHA's JSON of a set: train, dev and test with scores, test without, and minimal pairs; one criterion a file.

The entries are those of the export (`results.exports.mocha`) and can be imported again, with the same limits. A
candidate is in a file if it has a gold score, or categories without an order, which have no mean under `score`; a
minimal pair always, with its imported scores, if any.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import orjson

from projects.database.csv import trim_number
from results.sets.canonical import CANDIDATES, PASSAGES
from results.sets.scores import EVERY, Judgments, Line, read_adjudicated, read_gold
from results.sets.selecting import ScaledCriterion
from results.sets.settings import Settings
from results.sets.tables import Golds, list_candidates, list_ratings

SPLITS = ("train", "dev", "test")
OTHER = "other"
"""The file of candidates whose split has another name or none; each entry names its split."""
NO_SCORES, PAIRS = "test-no-scores", "minimal_pairs"

_SECOND = b'"is_second_of_pair":true'
"""What the line of a second candidate contains, as the database writes JSON."""

Ratings = list[tuple[float, str | None]]


def write_mocha(
    folder: Path, judgments: Judgments, golds: Golds, settings: Settings, on_rows: Callable[[int], None]
) -> None:
    """Write the files that have at least one entry."""
    names = _name_files(judgments)
    pairs = _read_second_candidates(folder, judgments)
    with ExitStack() as stack, (folder / PASSAGES).open("rb") as passages:
        read_passage = _index_passages(passages)
        files = _Files(folder, stack)
        for unit, line in enumerate(list_candidates(folder)):
            if unit % EVERY == 0:
                on_rows(unit)
            # A second candidate is written with the first of its pair.
            if line["is_withdrawn"] or line["is_second_of_pair"]:
                continue
            passage = read_passage(line["dataset"], line["passage_id"])
            for criterion, scores in golds.items():
                ratings = list_ratings(judgments, criterion, unit)
                if line["minimal_pair"]:
                    pair = pairs.get((line["dataset"], line["minimal_pair"]["candidate_id"]))
                    if pair:
                        files.add(
                            f"{names[criterion]}-{PAIRS}.json",
                            line,
                            _make_pair(line, pair, passage, criterion, ratings),
                        )
                    continue
                gold = read_gold(scores, settings, unit, read_adjudicated(line, criterion))
                # Of categories there is no mean, but the entry has the single scores.
                if gold is None and (scores.has_order or not scores.n[unit]):
                    continue
                split = line["split"] if line["split"] in SPLITS else OTHER
                files.add(
                    f"{names[criterion]}-{split}.json",
                    line,
                    _make_entry(line, passage, None if gold is None else trim_number(gold), ratings),
                )
                # Written a second time without scores, for those who predict them.
                if split == "test":
                    files.add(f"{names[criterion]}-{NO_SCORES}.json", line, _make_entry(line, passage, None, []))


class _Files:
    """Files of entries by dataset, opened with their first entry."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._open: dict[str, tuple[IO[bytes], list[str]]] = {}

    def add(self, name: str, line: Line, entry: dict[str, Any]) -> None:
        if name not in self._open:
            opened = self._stack.enter_context((self._folder / name).open("wb"))
            self._open[name] = (opened, [])
            # The stack unwinds backwards, so the closing braces are written before the file is closed.
            self._stack.callback(opened.write, b"\n}}\n")
        file, datasets = self._open[name]
        if not datasets:
            file.write(b"{" + orjson.dumps(line["dataset"]) + b":{\n")
        elif datasets[-1] != line["dataset"]:
            file.write(b"\n},\n" + orjson.dumps(line["dataset"]) + b":{\n")
        else:
            file.write(b",\n")
        if not datasets or datasets[-1] != line["dataset"]:
            datasets.append(line["dataset"])
        key = line["candidate_id"].removesuffix("-1") if line["minimal_pair"] else line["candidate_id"]
        file.write(orjson.dumps(key) + b":" + orjson.dumps(entry))


def _name_files(judgments: Judgments) -> dict[ScaledCriterion, str]:
    """Return the file name of each criterion, with its key and scale as far as these tell criteria apart."""
    parts = list(judgments.parts)
    keys = [criterion.key for criterion in parts]
    if len(parts) == 1:
        return {parts[0]: "mocha"}
    return {
        criterion: f"mocha-{criterion.key}"
        + (f"-{criterion.kind}-{criterion.low}-to-{criterion.high}" if keys.count(criterion.key) > 1 else "")
        for criterion in parts
    }


def _make_entry(line: Line, passage: Line, score: float | None, ratings: Ratings) -> dict[str, Any]:
    reference = _choose_reference(line)
    return _drop_none(
        {
            "context": passage["text"],
            "question": line["question"],
            "reference": reference["text"] if reference else None,
            "candidate": line["candidate"],
            "score": score,
            "metadata": _drop_none(
                {
                    **_list_scores("", ratings),
                    "source": line["source"] or None,
                    "concord": _list_own_keys(line, passage, reference),
                }
            ),
        }
    )


def _make_pair(
    line: Line,
    second: tuple[Line, dict[ScaledCriterion, Ratings]],
    passage: Line,
    criterion: ScaledCriterion,
    ratings: Ratings,
) -> dict[str, Any]:
    other, other_ratings = second
    reference, given = _choose_reference(line), line["minimal_pair"]
    return _drop_none(
        {
            "context": passage["text"],
            "question": line["question"],
            "reference": reference["text"] if reference else None,
            "candidate1": line["candidate"],
            "candidate2": other["candidate"],
            **{f"score{n}": trim_number(given[f"score_{n}"]) for n in (1, 2) if given[f"score_{n}"] is not None},
            "metadata": _drop_none(
                {
                    **_list_scores("1", ratings),
                    **_list_scores("2", other_ratings[criterion]),
                    "source": line["source"] or None,
                    "concord": {
                        **_list_own_keys(line, passage, reference),
                        **_drop_none({"phenomenon": given["phenomenon"]}),
                    },
                }
            ),
        }
    )


def _list_scores(ending: str, ratings: Ratings) -> dict[str, Any]:
    """Return scores and raters; no raters where one of them is unknown."""
    if not ratings:
        return {}
    names = [name for _, name in ratings]
    return _drop_none(
        {
            f"scores{ending}": [trim_number(value) for value, _ in ratings],
            f"raters{ending}": None if None in names else names,
        }
    )


def _list_own_keys(line: Line, passage: Line, reference: Line | None) -> dict[str, Any]:
    """Return what MOCHA has no key for, by the names that the import reads."""
    # An id made of the text needs no writing: the import makes it again.
    has_own_id = passage["text"] != "" or passage["documents"] is not None or not line["passage_is_text_hash"]
    references = [each if each["opinion"] else each["text"] for each in line["references"]]
    return _drop_none(
        {
            "dataset_kind": line["dataset_kind"],
            "split": line["split"] or None,
            "passage_id": line["passage_id"] if has_own_id else None,
            "title": passage["title"],
            "documents": passage["documents"],
            "question_id": line["question_id"],
            "question_type": line["question_type"] or None,
            "entities": line["entities"] or None,
            "span": line["span"],
            "reference_opinion": reference["opinion"] if reference else None,
            "references": references if len(references) > 1 else None,
            "opinion": line["opinion"],
            "rank": line["rank"],
            "confidence": line["confidence"],
            "metadata": line["metadata"] or None,
        }
    )


def _choose_reference(line: Line) -> Line | None:
    """Return the first reference that is not the candidate itself: otherwise a metric would compare it with itself."""
    references: list[Line] = line["references"]
    others = (each for each in references if each["text"] != line["candidate"])
    return next(others, references[0] if references else None)


def _read_second_candidates(
    folder: Path, judgments: Judgments
) -> dict[tuple[str, str], tuple[Line, dict[ScaledCriterion, Ratings]]]:
    """Return the second candidates of the minimal pairs with their ratings. Pairs are few, so they fit into memory."""
    found = {}
    with (folder / CANDIDATES).open("rb") as file:
        for unit, text in enumerate(file):
            # Most files have no pair at all, and need no reading of every line.
            if _SECOND not in text:
                continue
            line: Line = orjson.loads(text)
            if line["is_second_of_pair"] and not line["is_withdrawn"]:
                ratings = {criterion: list_ratings(judgments, criterion, unit) for criterion in judgments.parts}
                found[line["dataset"], line["candidate_id"]] = (line, ratings)
    return found


def _index_passages(file: IO[bytes]) -> Callable[[str, str], Line]:
    """Return a function that reads a passage by dataset and id: all of them might not fit into memory."""
    places: dict[tuple[str, str], int] = {}
    while text := file.readline():
        line = orjson.loads(text)
        places[line["dataset"], line["passage_id"]] = file.tell() - len(text)

    # Candidates come sorted by id, and those of one passage are mostly together.
    @lru_cache(maxsize=32)
    def read(dataset: str, passage_id: str) -> Line:
        file.seek(places[dataset, passage_id])
        line: Line = orjson.loads(file.readline())
        return line

    return read


def _drop_none(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}


def list_names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.glob("mocha*.json"))
