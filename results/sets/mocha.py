"""MOCHA's JSON of a set: train, dev and test with scores, test without, and minimal pairs; one criterion a file.

The entries are those of the export (`results.exports.mocha`): they import again to the same thing. A candidate stands
in a file if it has a gold score; a minimal pair always, with the scores it came with, if any.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import orjson

from projects.database.csv import trim_number
from results.sets.canonical import PASSAGES
from results.sets.scores import EVERY, Judgments, Line, read_adjudicated, read_gold
from results.sets.selecting import Asked
from results.sets.settings import Settings
from results.sets.tables import Golds, describe_judgment, list_candidates

SPLITS = ("train", "dev", "test")
OTHER = "other"
"""The file of candidates whose split has another name, or none; its name stands in each entry."""
NO_SCORES, PAIRS = "test-no-scores", "minimal_pairs"

Answer = list[tuple[float, str | None]]


def write_mocha(
    folder: Path, judgments: Judgments, golds: Golds, settings: Settings, on_rows: Callable[[int], None]
) -> None:
    """Write the files that have an entry."""
    stems = _stems(judgments)
    pairs = _said_of_pairs(folder, judgments)
    with ExitStack() as stack, (folder / PASSAGES).open("rb") as passages:
        passage_of = _passages(passages)
        files = _Files(folder, stack)
        for unit, line in enumerate(list_candidates(folder)):
            if unit % EVERY == 0:
                on_rows(unit)
            if line["is_withdrawn"] or line["is_second_of_pair"]:
                continue
            passage = passage_of(line["dataset"], line["passage_id"])
            for asked, scores in golds.items():
                said = describe_judgment(judgments, asked, unit)
                if line["minimal_pair"]:
                    pair = pairs.get((line["dataset"], line["minimal_pair"]["candidate_id"]))
                    if pair:
                        files.add(f"{stems[asked]}-{PAIRS}.json", line, _pair(line, pair, passage, asked, said))
                    continue
                gold = read_gold(scores, settings, unit, read_adjudicated(line, asked))
                if gold is None:
                    continue
                split = line["split"] if line["split"] in SPLITS else OTHER
                files.add(f"{stems[asked]}-{split}.json", line, _entry(line, passage, trim_number(gold), said))
                if split == "test":
                    files.add(f"{stems[asked]}-{NO_SCORES}.json", line, _entry(line, passage, None, []))


class _Files:
    """Files of entries by dataset, opened when the first entry comes."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._open: dict[str, tuple[IO[bytes], list[str]]] = {}

    def add(self, name: str, line: Line, entry: dict[str, Any]) -> None:
        if name not in self._open:
            opened = self._stack.enter_context((self._folder / name).open("wb"))
            self._open[name] = (opened, [])
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


def _stems(judgments: Judgments) -> dict[Asked, str]:
    """What the files of a criterion are called: by its key where there are several, by its scale too where need be."""
    parts = list(judgments.parts)
    keys = [asked.key for asked in parts]
    if len(parts) == 1:
        return {parts[0]: "mocha"}
    return {
        asked: f"mocha-{asked.key}"
        + (f"-{asked.kind}-{asked.low}-to-{asked.high}" if keys.count(asked.key) > 1 else "")
        for asked in parts
    }


def _entry(line: Line, passage: Line, score: float | None, said: Answer) -> dict[str, Any]:
    reference = _shown_reference(line)
    return _without_none(
        {
            "context": passage["text"],
            "question": line["question"],
            "reference": reference["text"] if reference else None,
            "candidate": line["candidate"],
            "score": score,
            "metadata": _without_none(
                {**_scores("", said), "source": line["source"] or None, "concord": _concord(line, passage, reference)}
            ),
        }
    )


def _pair(
    line: Line, second: tuple[Line, dict[Asked, Answer]], passage: Line, asked: Asked, said: Answer
) -> dict[str, Any]:
    other, said_of_other = second
    reference, given = _shown_reference(line), line["minimal_pair"]
    return _without_none(
        {
            "context": passage["text"],
            "question": line["question"],
            "reference": reference["text"] if reference else None,
            "candidate1": line["candidate"],
            "candidate2": other["candidate"],
            **{f"score{n}": trim_number(given[f"score_{n}"]) for n in (1, 2) if given[f"score_{n}"] is not None},
            "metadata": _without_none(
                {
                    **_scores("1", said),
                    **_scores("2", said_of_other[asked]),
                    "source": line["source"] or None,
                    "concord": {
                        **_concord(line, passage, reference),
                        **_without_none({"phenomenon": given["phenomenon"]}),
                    },
                }
            ),
        }
    )


def _scores(ending: str, said: Answer) -> dict[str, Any]:
    """Scores and raters; no raters where one of them is unknown."""
    if not said:
        return {}
    names = [name for _, name in said]
    return _without_none(
        {
            f"scores{ending}": [trim_number(value) for value, _ in said],
            f"raters{ending}": None if None in names else names,
        }
    )


def _concord(line: Line, passage: Line, reference: Line | None) -> dict[str, Any]:
    """What MOCHA has no key for, by the names that the import knows."""
    has_own_id = passage["text"] != "" or passage["documents"] is not None or not line["passage_is_text_hash"]
    references = [each if each["opinion"] else each["text"] for each in line["references"]]
    return _without_none(
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


def _shown_reference(line: Line) -> Line | None:
    """The question's first reference that is not the candidate itself: a metric would compare it with itself."""
    references: list[Line] = line["references"]
    others = (each for each in references if each["text"] != line["candidate"])
    return next(others, references[0] if references else None)


def _said_of_pairs(folder: Path, judgments: Judgments) -> dict[tuple[str, str], tuple[Line, dict[Asked, Answer]]]:
    """The second candidates of the minimal pairs with what was said of them; pairs are few."""
    return {
        (line["dataset"], line["candidate_id"]): (
            line,
            {asked: describe_judgment(judgments, asked, unit) for asked in judgments.parts},
        )
        for unit, line in enumerate(list_candidates(folder))
        if line["is_second_of_pair"] and not line["is_withdrawn"]
    }


def _passages(file: IO[bytes]) -> Callable[[str, str], Line]:
    """A passage by dataset and id, read when it is wanted: all of them might not fit into memory."""
    places: dict[tuple[str, str], int] = {}
    while text := file.readline():
        line = orjson.loads(text)
        places[line["dataset"], line["passage_id"]] = file.tell() - len(text)

    @lru_cache(maxsize=32)
    def read(dataset: str, passage_id: str) -> Line:
        file.seek(places[dataset, passage_id])
        line: Line = orjson.loads(file.readline())
        return line

    return read


def _without_none(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}


def list_names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.glob("mocha*.json"))
