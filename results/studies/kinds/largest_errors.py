"""Largest errors: candidates on which a metric differs most from human scores, or from another metric, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django import forms

from measures.gold_rules import GoldRule
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.largest_errors import Gap, bring_to_scale, find_span, largest_gaps, share_causes
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.causes import BETWEEN, read_causes, read_texts
from results.studies.frame import DATASET, Frame
from results.studies.joining import CANDIDATE, EXTERNAL_ID
from results.studies.kinds.kind import About, Figures, Kind, Section
from results.studies.settings import Settings
from results.studies.stored import Steps, store
from results.studies.tables import Column, Table, Value, Wording, word_for_page

# MOCHA (2020, section 4.2) reads the ten largest errors of each dataset.
N, N_ANSWERS, MOST_ANSWERS = "n_answers", 10, 100
# Four metrics make six lists beside those against human scores; each list is read by a person.
MOST_PAIRED = 4
"""Metrics that are compared with each other, those chosen first; all are compared with human scores."""


HUMAN = Wording("People", page="Human score")


@dataclass(frozen=True)
class ErrorItem:
    """A candidate of a list as the page shows it; `cause` is in the words of the person who named it."""

    candidate: int
    external_id: str
    first: float
    second: float
    cause: str
    texts: Mapping[str, Any]

    @property
    def gap(self) -> float:
        return self.second - self.first


@dataclass(frozen=True)
class ErrorList:
    """What the page needs of a list beside its table: the names of both sides, and the candidates of each dataset."""

    compared: str
    first: str
    second: str
    parts: list[tuple[str, list[ErrorItem]]]
    causes: list[str]
    """Causes that have been named in the project so far."""


def check_rule(_frame: Frame, settings: Settings) -> None:
    """Refuse gold scores that are not on the scale to which metrics are mapped."""
    if settings.gold == GoldRule.Z:
        raise Refused(
            "Choose the mean or the median as gold score. Metrics are mapped to the scale, and z scores are not on it.",
            field="gold",
        )


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return the largest gaps of each dataset, for each metric with human scores and for pairs of metrics."""
    check_rule(frame, settings)
    scale = {"low": float(frame.scope.criterion.low), "high": float(frame.scope.criterion.high)}
    n = int(settings.options.get(N) or N_ANSWERS)
    spans = {
        metric.subject: find_span(frame.scores(metric), low=metric.low, high=metric.high) for metric in frame.metrics
    }
    scaled: dict[str, Floats] = {
        metric.subject: bring_to_scale(frame.scores(metric), span, **scale)
        for metric in frame.metrics
        if not isinstance(span := spans[metric.subject], Undefined)
    }
    pairs = list(combinations(list(scaled)[:MOST_PAIRED], 2))
    steps = Steps(on_progress, len(scaled) + len(pairs))
    lists = []
    # An empty first side stands for human scores.
    for first, second in [("", subject) for subject in scaled] + pairs:
        one = scaled[first] if first else frame.gold
        gaps = largest_gaps(one, scaled[second], frame.table[DATASET].to_numpy(), n=n)
        lists.append(
            {
                "compared": f"{first}{BETWEEN}{second}" if first else second,
                "first": first,
                "second": second,
                "parts": {part: [_make_entry(frame, gap) for gap in found] for part, found in gaps.items()},
            }
        )
        steps.take()
    return {"scale": scale, "n": n, "spans": {subject: store(span) for subject, span in spans.items()}, "lists": lists}


def _make_entry(frame: Frame, gap: Gap) -> dict[str, Any]:
    row = frame.table.iloc[gap.row]
    return {"candidate": int(row[CANDIDATE]), "id": row[EXTERNAL_ID], "first": gap.first, "second": gap.second}


def fetch_causes(study: Study) -> dict[str, Any]:
    """Return the causes that people have named for the candidates of an evaluation, and all of the project."""
    return read_causes(study.project, list_candidates(study))


def fetch_texts(study: Study) -> dict[str, Any]:
    return {"texts": read_texts(study.project, list_candidates(study))}


def list_candidates(study: Study) -> set[int]:
    """Return the ids of the candidates in the lists of an evaluation."""
    # A study without a result, such as a failed one, lists nothing.
    lists = (study.result or {"figures": {"lists": []}})["figures"]["lists"]
    return {each["candidate"] for one in lists for part in one["parts"].values() for each in part}


def make_sections(about: About) -> list[Section]:
    lists = about.figures["lists"]
    found = [_list_section(about, each, place) for place, each in enumerate(lists, start=1)]
    with_causes = [(place, each) for place, each in enumerate(lists, start=1) if any(_list_causes(about, each))]
    return found + [_causes_section(about, each, place) for place, each in with_causes]


def _name_sides(about: About, one: Figures) -> tuple[str, str]:
    """Return the names of both sides of a list."""
    return (about.labels[one["first"]] if one["first"] else HUMAN), about.labels[one["second"]]


def _find_cause(about: About, one: Figures, candidate: int) -> str:
    causes: Mapping[str, str] = about.figures.get("causes", {}).get(one["compared"], {})
    return causes.get(str(candidate), "")


def _list_causes(about: About, one: Figures) -> list[str]:
    """Return the cause of each candidate of a list, in its order; empty where none was named."""
    return [
        _find_cause(about, one, each["candidate"]) for _part, found in sorted(one["parts"].items()) for each in found
    ]


def _list_section(about: About, one: Figures, place: int) -> Section:
    first, second = _name_sides(about, one)
    name = f"errors-{place}"
    columns = [
        Column("dataset", "Dataset"),
        Column("candidate", Wording("Answer", page="Candidate")),
        Column("first", first, "number", 2),
        Column("second", second, "number", 2),
        Column("gap", "Gap", "number", 2),
        Column("cause", "Cause"),
    ]
    rows: list[list[Value]] = [
        [
            part,
            each["id"],
            each["first"],
            each["second"],
            each["second"] - each["first"],
            _find_cause(about, one, each["candidate"]),
        ]
        for part, answers in sorted(one["parts"].items())
        for each in answers
    ]
    sides = f"{word_for_page(first)} and {second}"
    caption = f"Largest gaps between {first} and {second}"
    notes = _explain_scale(about, one)
    return Section(
        name,
        "Largest gaps",
        Table(name, f"Largest gaps: {sides}", columns, rows, about.captioned(caption), n_keys=2, notes=notes),
        note=" ".join(notes),
        choice=sides,
        template="results/studies/_errors.html",
        detail=_make_error_list(about, one, word_for_page(first), second),
    )


def _make_error_list(about: About, one: Figures, first: str, second: str) -> ErrorList:
    read = about.figures.get("texts", {})
    return ErrorList(
        compared=one["compared"],
        first=first,
        second=second,
        parts=[
            (
                part,
                [
                    ErrorItem(
                        candidate=each["candidate"],
                        external_id=each["id"],
                        first=each["first"],
                        second=each["second"],
                        cause=_find_cause(about, one, each["candidate"]),
                        texts=read.get(each["candidate"], {}),
                    )
                    for each in answers
                ],
            )
            for part, answers in sorted(one["parts"].items())
            if answers
        ],
        causes=about.figures.get("causes_known", []),
    )


def _causes_section(about: About, one: Figures, place: int) -> Section:
    first, second = _name_sides(about, one)
    name = f"causes-{place}"
    given = _list_causes(about, one)
    shares = share_causes(given)
    columns = [
        Column("cause", "Cause"),
        Column("n", Wording("Answers", page="Candidates"), "count"),
        Column("share", "Share", "number", 3),
    ]
    rows: list[list[Value]] = [[each.cause, each.n, each.share] for each in shares]
    n_given = sum(each.n for each in shares)
    foot: list[list[Value]] = [["All with a cause", n_given, 1.0]]
    caption = f"Causes of the gaps between {first} and {second}"
    sides = f"{word_for_page(first)} and {second}"
    return Section(
        name,
        "Shares by cause",
        Table(name, f"Causes of gaps: {sides}", columns, rows, about.captioned(caption), foot=foot),
        note=f"{n_given} of {len(given)} candidates have a cause; shares are of these.",
        choice=sides,
    )


def _explain_scale(about: About, one: Figures) -> list[str]:
    """Return how each metric of a list is mapped to the scale of the criterion."""
    scale = about.figures["scale"]
    sentences = []
    for subject in filter(None, (one["first"], one["second"])):
        span = about.figures["spans"][subject]
        origin = "its declared range" if span["is_declared"] else "the range of its scores here"
        sentences.append(
            f"{about.labels[subject]} is mapped linearly from {origin}, {span['low']:.3g} to {span['high']:.3g}, to "
            f"{scale['low']:g} to {scale['high']:g}."
        )
    return sentences


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    flat = [span for span in figures["spans"].values() if "reason" in span]
    return [
        "Metrics are mapped linearly to the scale. A gap may come from this mapping as well as from the metric.",
        "Causes are one person's interpretation. They are kept when the evaluation is run again.",
        *(["Metrics whose scores are all equal have no list."] if flat else []),
        *(
            [f"Only the first {MOST_PAIRED} metrics are compared with each other."]
            if len(figures["spans"]) > MOST_PAIRED
            else []
        ),
    ]


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        N: forms.IntegerField(
            label="Candidates per dataset",
            required=False,
            initial=N_ANSWERS,
            min_value=1,
            max_value=MOST_ANSWERS,
        )
    }


KIND = Kind(
    name=Study.Kind.ERRORS,
    title="Largest errors",
    about="On which candidates does a metric differ most from human scores or from another metric, and why?",
    compute=compute,
    check=check_rule,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    beside=fetch_causes,
    is_resampled=False,
    texts=fetch_texts,
)
