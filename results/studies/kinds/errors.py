"""The largest errors: answers on which a metric is furthest from people, or from another metric, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django import forms

from measures.gold_rules import GoldRule
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.errors import Gap, bring_to_scale, find_span, largest_gaps, share_causes
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.causes import BETWEEN, read_causes, read_texts
from results.studies.frame import DATASET, Frame
from results.studies.joining import CANDIDATE, EXTERNAL_ID
from results.studies.kinds.kind import About, Figures, Kind, Section
from results.studies.settings import Settings
from results.studies.stored import Steps, stored
from results.studies.tables import Column, Table, Value

N, N_ANSWERS, MOST_ANSWERS = "n_answers", 10, 100
MOST_PAIRED = 4
"""So many metrics are compared with each other, those that were chosen first; all are compared with people."""


@dataclass(frozen=True)
class Shown:
    """An answer of a list as the page shows it, with its texts; `cause` is in the words of who gave it."""

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
    """What the page needs of a list beside its table: names of the two sides, and the answers of each dataset."""

    compared: str
    first: str
    second: str
    parts: list[tuple[str, list[Shown]]]
    causes: list[str]
    """Causes that have been given in the project so far."""


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Of each dataset the answers with the largest gaps, for each metric and people and for each pair of metrics."""
    if settings.gold is GoldRule.Z:
        raise Refused("Choose the mean or the median as gold score: z scores lie on no scale to bring metrics to.")
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
    for first, second in [("", subject) for subject in scaled] + pairs:
        one = scaled[first] if first else frame.gold
        gaps = largest_gaps(one, scaled[second], frame.table[DATASET].to_numpy(), n=n)
        lists.append(
            {
                "compared": f"{first}{BETWEEN}{second}" if first else second,
                "first": first,
                "second": second,
                "parts": {part: [_answer(frame, gap) for gap in found] for part, found in gaps.items()},
            }
        )
        steps.take()
    return {"scale": scale, "n": n, "spans": {subject: stored(span) for subject, span in spans.items()}, "lists": lists}


def _answer(frame: Frame, gap: Gap) -> dict[str, Any]:
    row = frame.table.iloc[gap.row]
    return {"candidate": int(row[CANDIDATE]), "id": row[EXTERNAL_ID], "first": gap.first, "second": gap.second}


def fetch_causes(study: Study) -> dict[str, Any]:
    """The causes that people have given for the answers of a study, and those known in the project."""
    return read_causes(study.project, list_candidates(study))


def texts(study: Study) -> dict[str, Any]:
    return {"texts": read_texts(study.project, list_candidates(study))}


def list_candidates(study: Study) -> set[int]:
    """The answers that the lists of a study hold."""
    lists = (study.result or {"figures": {"lists": []}})["figures"]["lists"]
    return {each["candidate"] for one in lists for part in one["parts"].values() for each in part}


def sections(about: About) -> list[Section]:
    lists = about.figures["lists"]
    found = [_list(about, each, place) for place, each in enumerate(lists, start=1)]
    with_causes = [(place, each) for place, each in enumerate(lists, start=1) if any(_given(about, each))]
    return found + [_causes(about, each, place) for place, each in with_causes]


def _names(about: About, one: Figures) -> tuple[str, str]:
    """What is compared, by the labels of the metrics."""
    return (about.labels[one["first"]] if one["first"] else "People"), about.labels[one["second"]]


def _cause(about: About, one: Figures, candidate: int) -> str:
    causes: Mapping[str, str] = about.figures.get("causes", {}).get(one["compared"], {})
    return causes.get(str(candidate), "")


def _given(about: About, one: Figures) -> list[str]:
    """The cause of each answer of a list, in its order; empty where none has been given."""
    return [_cause(about, one, each["candidate"]) for _part, found in sorted(one["parts"].items()) for each in found]


def _list(about: About, one: Figures, place: int) -> Section:
    first, second = _names(about, one)
    name = f"errors-{place}"
    columns = [
        Column("dataset", "Dataset"),
        Column("candidate", "Answer"),
        Column("first", first, "number", 2),
        Column("second", second, "number", 2),
        Column("gap", "Gap", "number", 2),
        Column("cause", "Cause"),
    ]
    rows: list[list[Value]] = [
        [part, each["id"], each["first"], each["second"], each["second"] - each["first"],
         _cause(about, one, each["candidate"])]
        for part, answers in sorted(one["parts"].items())
        for each in answers
    ]  # fmt: skip
    title = f"Largest gaps between {first} and {second}"
    return Section(
        name,
        "Largest gaps",
        Table(name, title, columns, rows, about.captioned(f"{title}. {_say_scale(about, one)}"), n_keys=2),
        note=_say_scale(about, one),
        choice=f"{first} and {second}",
        template="results/studies/_errors.html",
        detail=_shown(about, one, first, second),
    )


def _shown(about: About, one: Figures, first: str, second: str) -> ErrorList:
    read = about.figures.get("texts", {})
    return ErrorList(
        compared=one["compared"],
        first=first,
        second=second,
        parts=[
            (
                part,
                [
                    Shown(
                        each["candidate"], each["id"], each["first"], each["second"],
                        _cause(about, one, each["candidate"]), read.get(each["candidate"], {}),
                    )
                    for each in answers
                ],
            )
            for part, answers in sorted(one["parts"].items())
            if answers
        ],
        causes=about.figures.get("causes_known", []),
    )  # fmt: skip


def _causes(about: About, one: Figures, place: int) -> Section:
    first, second = _names(about, one)
    name = f"causes-{place}"
    given = _given(about, one)
    shares = share_causes(given)
    columns = [
        Column("cause", "Cause"),
        Column("n", "Answers", "count"),
        Column("share", "Share", "number", 3),
    ]
    rows: list[list[Value]] = [[each.cause, each.n, each.share] for each in shares]
    n_given = sum(each.n for each in shares)
    rows.append(["All with a cause", n_given, 1.0])
    title = f"Causes of the gaps between {first} and {second}"
    return Section(
        name,
        "Shares by cause",
        Table(name, title, columns, rows, about.captioned(title)),
        note=f"{n_given} of {len(given)} answers have a cause; shares are of those.",
        choice=f"{first} and {second}",
    )


def _say_scale(about: About, one: Figures) -> str:
    """How the metrics of a list came to the scale of the criterion."""
    scale = about.figures["scale"]
    said = []
    for subject in filter(None, (one["first"], one["second"])):
        span = about.figures["spans"][subject]
        words = (
            "%(metric)s is laid on %(low)g to %(high)g by its declared range, %(from)g to %(to)g."
            if span["is_declared"]
            else "%(metric)s is laid on %(low)g to %(high)g by the range of its scores here, %(from).3g to %(to).3g."
        )
        said.append(words % {"metric": about.labels[subject], **scale, "from": span["low"], "to": span["high"]})
    return " ".join(said)


def limits(settings: Settings, figures: Figures) -> list[str]:
    flat = [span for span in figures["spans"].values() if "reason" in span]
    return [
        "A straight line brings a metric to the scale; a gap may come from that line as well as from the metric.",
        "Causes are what a person read into an answer. They stay when the study is run again.",
        *(["Metrics whose scores are all equal here have no list."] if flat else []),
        *(
            [f"Only the first {MOST_PAIRED} metrics are compared with each other."]
            if len(figures["spans"]) > MOST_PAIRED
            else []
        ),
    ]


def fields(project: Project) -> dict[str, forms.Field]:
    return {
        N: forms.IntegerField(
            label="Answers of each dataset",
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
    sections=sections,
    limits=limits,
    fields=fields,
    beside=fetch_causes,
    texts=texts,
)
