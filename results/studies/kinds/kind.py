"""What a kind of metric evaluation is: its settings, its computation, and how its result is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms

from measures.correlation import LEAST_PAIRS
from projects.charts.drawing import Chart
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.language.amounts import plural
from projects.models import Project
from results.models import MetricRun, Study
from results.scope.gold_settings import RESAMPLES
from results.studies.frame import Frame, read_frame
from results.studies.settings import Settings
from results.studies.tables import ONE_PERSON, Table, Wording

Figures = Mapping[str, Any]
# `compute` runs in a job and its figures are stored, `sections` runs on every view of the page: tables can be worded
# and laid out anew without computing anything.
Compute = Callable[[Frame, Settings, int, OnProgress], Mapping[str, Any]]
"""From a frame, settings and a seed to figures that JSON can hold; an undefined one is an object with its reason."""


@dataclass(frozen=True)
class About:
    """What every kind needs to show a result, with the figures that its `compute` returned."""

    number: int
    criterion: str
    gold: str
    n: int
    one_against_others: Mapping[str, Any]
    reliability: Mapping[str, Any] | None
    """The reliability of the gold scores with the ceiling; None in an evaluation that was stored without it."""
    labels: Mapping[str, str]
    """The label of each metric by its subject, in the order in which they were chosen."""
    resampling: str
    """How intervals are computed, as a part of a sentence."""
    basis: str
    """What the figures are of: criterion and gold rule; a part of a sentence too."""
    counted: str
    """How many candidates, with the least number of judgments of each; another part."""
    least_judgments: int
    """That number."""
    notes: Sequence[str]
    """Sentences below each table in files, such as the settings of the metrics."""
    figures: Figures
    resampling_of_parts: str
    """The same for parts of the candidates, which have fewer passages."""
    bootstrap: str
    """How intervals of means and differences are computed."""
    is_in_z_scores: bool = False
    """Whether gold scores are means of z scores."""
    wording: int = 1
    """The version of the words of captions: files of evaluations that were stored before the newest keep theirs."""

    @property
    def one_person(self) -> str:
        """The name of one person against the others in tables.

        Files of evaluations that were stored under the earlier name keep it.
        """
        return ONE_PERSON if self.reliability is not None else Wording("Human ceiling", page=ONE_PERSON)

    @property
    def axis_of_people(self) -> str:
        """The title of the axis of human scores in charts."""
        return f"{self.criterion.rstrip('. ')}, mean z score" if self.is_in_z_scores else self.criterion

    @property
    def drawn(self) -> tuple[str, ...]:
        """What the brackets of one person against the others hold, as captions have it; empty without them."""
        is_drawn = "n_draws" in self.one_against_others
        return (f"brackets of “{ONE_PERSON}” hold 95 % of its draws",) if self.wording > 1 and is_drawn else ()

    def captioned(self, title: str, *methods: str, counted: str = "") -> str:
        """Return the caption of a table, as files have it: one sentence with n, unit and methods.

        `counted` tells n where the figures are not of all candidates.
        """
        basis = "; ".join(dict.fromkeys([self.basis, counted or self.counted, *methods]))
        return f"{title.rstrip('. ')} ({basis})."


@dataclass(frozen=True)
class Section:
    """A part of an evaluation's page: charts, and a table with their figures.

    Of sections with one title and a `choice` each, one is shown at a time, with links to the others.
    """

    name: str
    title: str
    table: Table
    charts: Sequence[Chart] = ()
    note: str = ""
    choice: str = ""
    template: str = "projects/tables/_table.html"
    """The template of the table; `detail` is what it needs beside the table."""
    detail: Any = None


def format_least(least: int, *, wording: int, unit: str = "") -> str:
    """Return the least number of judgments as a part of a caption; `unit` says of what, where n counts other things."""
    each = f"each {unit}".strip()
    if wording < 6:
        return f"judgments of {each} at least {least}"
    return f"at least {least} {plural(least, 'judgment', 'judgments')} of {each}"


def check_candidates(frame: Frame, settings: Settings) -> None:
    """Refuse a correlation over fewer than three candidates."""
    n = len(frame.table)
    if n < LEAST_PAIRS:
        some = "1 candidate has" if n == 1 else f"{n} candidates have"
        lacking = "; ".join(
            f"{each.label}: no score for {each.n_missing:,}" for each in frame.metrics if each.n_missing
        )
        raise Refused(
            f"Only {some} a gold score and a score from every metric, and a correlation needs {LEAST_PAIRS}. Collect "
            f"more judgments, or leave out metrics that lack scores. {lacking}".strip()
        )


@dataclass(frozen=True)
class Kind:
    """A kind of metric evaluation; its name is one of `Study.Kind`."""

    name: str
    title: str
    about: str
    """The question that it answers."""
    compute: Compute
    sections: Callable[[About], list[Section]]
    limits: Callable[[Settings, Figures], list[str]] = lambda _settings, _figures: []
    """Caveats of the figures, in sentences."""
    warnings: Callable[[Figures], list[str]] = lambda _figures: []
    """Why the figures may mislead, in sentences for the top of the page and for scripts."""
    fields: Callable[[Project], Mapping[str, forms.Field]] = lambda _project: {}
    """Form fields of this kind alone; their values are stored in the options."""
    read: Callable[[Project, Settings], Frame] = field(default=read_frame)
    """Reads the frame for `compute`; a kind that needs more than gold scores has its own."""
    beside: Callable[[Study], Mapping[str, Any]] = lambda _study: {}
    """What people have added to a result since it was computed; it joins the figures, and is frozen with them."""
    texts: Callable[[Study], Mapping[str, Any]] = lambda _study: {}
    """Texts that a page shows beside the figures; they join the figures for the page alone."""
    check: Callable[[Frame, Settings], None] = lambda _frame, _settings: None
    """Raises Refused, before an evaluation runs, where all of its figures would be undefined."""
    is_of_pairs: bool = False
    """Whether it counts minimal pairs, not candidates. Pairs may come with scores, before anything is judged."""
    compares_one_person: bool = False
    """Whether its tables show one person against the others beside the metrics."""
    shows_splits: bool = False
    """Whether its tables show splits side by side. Of other kinds an evaluation can be requested for each split."""
    has_ceiling: bool = True
    """Whether the ceiling of the gold scores of single candidates holds for its correlations."""
    without_metrics: str = ""
    """What to do where no metric of the project fits, if the kind needs certain ones."""
    takes: Callable[[MetricRun], bool] = lambda _run: True
    """Which metrics of the project the form offers."""
    least_metrics: int = 1
    choose_resamples: Callable[[int], int] = lambda _n_metrics: RESAMPLES
    """The default number of resamples for so many metrics."""
    is_resampled: bool = True
    """Whether the form offers a number of resamples."""
    resampled_for: str = ""
    """What resamples are for, where not all intervals come from them."""
    has_resamples: Callable[[Figures], bool] | None = None
    """Whether a result depends on the number of resamples, where that differs between results."""
    has_seed: bool = True
    """Whether anything is drawn."""
    has_intervals: bool = False
    """Whether its intervals are of `results.studies.intervals`; those of earlier versions are bootstraps."""
