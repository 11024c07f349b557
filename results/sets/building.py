"""Building a set: read the database as of one moment, derive the other files from what was read, pack them.

`derive` asks the database nothing: from the canonical files and `set.json` it writes the same files again. What is made
of the long file alone, `read` makes while the database still writes the others.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import orjson

from measures.rubric import Level, has_order
from projects.errors import Refused
from projects.jobs.running import Cancelled
from results.sets import archive, canonical, citing, parquet, readme, studies
from results.sets.changes import CHANGES, Earlier, describe
from results.sets.figures import measure
from results.sets.mocha import write_mocha
from results.sets.parquet import release_memory
from results.sets.provenance import Terms, read_terms
from results.sets.scores import Judgments, read_judgments, read_norms, score
from results.sets.selecting import Preview, ScaledCriterion, Selection, preview
from results.sets.settings import Settings
from results.sets.tables import write_tables

SET, FIGURES = "set.json", "figures.json"
NOTHING = "No judgments are included. Select more batches, criteria or data, or wait for the first judgments."

OnProgress = Callable[[int, int], None]

STEPS = {
    "long.jsonl": 30,
    "long.csv": 15,
    "tables": 15,
    "mocha": 10,
    "changes": 10,
    "archive": 20,
}
"""About how many hundredths of the time each step takes."""


class Progress:
    """The progress of a build, in judgments; each call may raise Cancelled."""

    def __init__(self, on_progress: OnProgress, n_rows: int) -> None:
        self._on_progress, self._n_rows = on_progress, max(1, n_rows)
        self._n_done = 0

    def track(self, step: str, total: int = 0) -> Callable[[int], None]:
        """Return what a step calls with how many of its `total` are done; without a total, of the judgments."""
        before = 0
        for name, weight in STEPS.items():
            if name == step:
                break
            before += weight
        weight, out_of = STEPS.get(step, 0), max(1, total or self._n_rows)

        def at(n_done: int) -> None:
            share = (before + weight * min(1.0, n_done / out_of)) / 100
            self._n_done = int(share * self._n_rows)
            self._on_progress(self._n_done, self._n_rows)

        return at

    def check(self, _n_done: int) -> None:
        """Raise Cancelled if the build is to stop: for what runs beside a step, whose progress alone is shown."""
        self._on_progress(self._n_done, self._n_rows)


@dataclass(frozen=True)
class Identity:
    """Number, name and folder of a set, and the address of its page; empty where the site has no public address."""

    number: int
    name: str
    folder: str
    url: str = ""


@dataclass(frozen=True)
class Reading:
    """What was read: the counts of the selection, and the judgments as numbers."""

    counts: Preview
    judgments: Judgments


def read(selection: Selection, identity: Identity, folder: Path, on_progress: OnProgress) -> Reading:
    """Write the canonical files and `set.json`, and the long file as Parquet.

    Raises Refused where no judgment is included. The caller holds the snapshot that makes all files belong to one
    moment.
    """
    on_progress(0, 0)
    counts = preview(selection)
    if not counts.n_included:
        raise Refused(NOTHING)
    progress = Progress(on_progress, counts.n_rows)

    def on_rows(name: str, n: int) -> None:
        progress.track(name)(n)

    has_failed = Event()

    def check(n_done: int) -> None:
        if has_failed.is_set():
            raise Cancelled
        progress.check(n_done)

    canonical.write_first(selection, folder, on_rows)
    # While the database writes the rest this process would only wait, and a core is free.
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_read_long, folder, selection.settings, check)
        try:
            canonical.write_rest(selection, folder, on_rows)
            _write_json(folder / SET, _describe(selection, identity, folder, counts))
        except BaseException:
            has_failed.set()  # the thread would be waited for otherwise
            raise
        judgments = reading.result()
    # What the thread and the driver left free is given back, as the next steps cannot use all of it.
    release_memory()
    return Reading(counts, judgments)


def _describe(selection: Selection, identity: Identity, folder: Path, counts: Preview) -> dict[str, Any]:
    """Write the evaluations, and return what `set.json` says of the set."""
    evaluations = studies.read_studies(selection, folder)
    whole = counts.whole
    return {
        "set": {"number": identity.number, "name": identity.name},
        "settings": selection.settings.as_dict(),
        **read_terms(selection, identity.url),
        "counts": {
            "n_included": whole.n_included,
            "left_out": dict(whole.left_out),
            "n_total": whole.n_total,
            "n_rows": counts.n_rows,
        },
        "studies": evaluations,
    }


def derive(
    folder: Path, progress: Progress, earlier: Earlier | None = None, judgments: Judgments | None = None
) -> dict[str, Any]:
    """Write every other file from those in the folder; return the figures and the changes since the earlier set.

    Where the judgments are given, their Parquet file is there too.
    """
    about: Terms = orjson.loads((folder / SET).read_bytes())
    settings = Settings.from_dict(about["settings"])
    if judgments is None:
        judgments = _read_long(folder, settings, progress.check)
    figures = _derive_scores(folder, about, settings, judgments, progress)
    release_memory()
    parquet.write_tables(folder, settings)
    studies.write_tables(folder)
    _write_json(folder / FIGURES, figures)
    changes = None
    if earlier is not None:
        # The earlier set's long file is read out of its archive at the same time; neither is held in memory.
        with (folder / canonical.LONG_JSONL).open("rb") as lines:
            changes = describe(earlier, settings, figures, lines, progress.track("changes"))
        _write_json(folder / CHANGES, changes)
    citation = readme.cite(folder, about, figures)
    header = readme.write_cards(folder, about, figures, citation)
    # Last, as the README lists the files that are there.
    readme.write_texts(folder, about, figures, changes, citation=citation, header=header)
    sentence = citing.format_sentence(citation)
    annotators = sorted(judgments.everybody)
    return {**figures, "annotators": annotators, "changes": changes, "citation": sentence, "about": about}


def _read_long(folder: Path, settings: Settings, check: Callable[[int], None]) -> Judgments:
    """Write the long file as Parquet and return its judgments as numbers, whose memory is then all that is taken."""
    parquet.write_judgments(folder, settings, check)
    release_memory()
    return read_judgments(folder, check)


def _derive_scores(
    folder: Path, about: Terms, settings: Settings, judgments: Judgments, progress: Progress
) -> dict[str, Any]:
    """Write the files for which all judgments are in memory, and return the figures."""
    levels = _read_levels(about, judgments)
    figures: dict[str, Any] = {
        "n_included": about["counts"]["n_included"],
        "left_out": about["counts"]["left_out"],
        "n_total": about["counts"]["n_total"],
        "n_rows": judgments.n_rows,
        "n_annotators": len(judgments.names),
        "has_unknown_annotators": "unknown" in judgments.kinds,
        "has_simulated_annotators": "simulated" in judgments.kinds,
        "criteria": measure(judgments, settings, levels),
    }
    # What each step leaves free is given back, as the next ones cannot use all of it.
    release_memory()
    # From the frozen file and not from the judgments: norms may rest on controls, which are in no file.
    norms = read_norms(folder)
    golds = {
        each: score(judgments, each, norms, has_order=has_order(levels[each], each.low, each.high))
        for each in judgments.parts
    }
    write_tables(folder, judgments, golds, settings, progress.track("tables", judgments.n_units))
    if settings.with_texts:
        write_mocha(folder, judgments, golds, settings, progress.track("mocha", judgments.n_units))
    return figures


def pack(folder: Path, path: Path, identity: Identity, progress: Progress) -> list[archive.File]:
    n_bytes = sum(each.stat().st_size for each in folder.iterdir())
    about = {"set": {"number": identity.number, "name": identity.name}}
    return archive.write_archive(
        folder, path, inside=identity.folder, about=about, on_bytes=progress.track("archive", n_bytes)
    )


def _read_levels(about: Terms, judgments: Judgments) -> dict[ScaledCriterion, Level]:
    """Return the level of measurement of each criterion and scale, as the newest rubric with that scale has it."""
    levels: dict[ScaledCriterion, Level] = {}
    # Rubrics come with the newest first, whose level wins; own rubrics win over imported ones, as on pages.
    for rubric in sorted(about["rubrics"], key=lambda each: bool(each["is_imported"])):
        for each in rubric["criteria"]:
            criterion = ScaledCriterion(each["key"], each["kind"], each["low"], each["high"])
            levels.setdefault(criterion, Level(each["level"]))
    return {criterion: levels[criterion] for criterion in judgments.parts}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
