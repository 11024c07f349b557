"""What a kind of study is: what it asks, how it is computed, and how its result is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms

from projects.charts.drawing import Chart
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import MetricRun, Study
from results.studies.frame import Frame, read_frame
from results.studies.settings import Settings
from results.studies.tables import Table

Figures = Mapping[str, Any]
Compute = Callable[[Frame, Settings, int, OnProgress], Mapping[str, Any]]
"""From a frame, settings and a seed to figures that JSON can hold; what is undefined is an object with its reason."""


@dataclass(frozen=True)
class About:
    """What a result says of itself beside the figures of its kind; `figures` are what `compute` gave."""

    number: int
    criterion: str
    gold: str
    n: int
    ceiling: Mapping[str, Any]
    labels: Mapping[str, str]
    """The metrics in the order in which they were chosen: subject, and what it is called."""
    resampling: str
    caption: str
    """What each caption ends with: criterion, gold rule, answers, settings of the metrics."""
    figures: Figures

    def captioned(self, title: str) -> str:
        """The caption of a table of this title."""
        return f"{title}. {self.caption} {self.resampling}"


@dataclass(frozen=True)
class Section:
    """A part of the page of a study: charts, and the table with their figures below them.

    Of sections that share a `choice` one is shown at a time, with links to the others.
    """

    name: str
    title: str
    table: Table
    charts: Sequence[Chart] = ()
    note: str = ""
    choice: str = ""
    template: str = "results/studies/_table.html"
    """What shows the table on a page; `detail` is what it needs beside the table."""
    detail: Any = None


@dataclass(frozen=True)
class Kind:
    """A kind of study by its name, which is one of `Study.Kind`."""

    name: str
    title: str
    about: str
    """The question that it answers, in a sentence."""
    compute: Compute
    sections: Callable[[About], list[Section]]
    limits: Callable[[Settings, Figures], list[str]] = lambda _settings, _figures: []
    """What a reader must know before leaning on the figures, in sentences."""
    fields: Callable[[Project], Mapping[str, forms.Field]] = lambda _project: {}
    """Fields of the form beside those of every study; what they hold is stored in the options."""
    read: Callable[[Project, Settings], Frame] = field(default=read_frame)
    """Reads what `compute` takes; a kind that rests on something else than gold scores brings its own."""
    beside: Callable[[Study], Mapping[str, Any]] = lambda _study: {}
    """What people have said of a result since it was computed; it joins the figures, and is frozen with them."""
    texts: Callable[[Study], Mapping[str, Any]] = lambda _study: {}
    """Texts that a page shows beside the figures; they join them for the page alone."""
    is_of_pairs: bool = False
    """Whether it counts minimal pairs, and not answers; these may have come with scores, before anything is judged."""
    without_metrics: str = ""
    """What to do where no metric of the project can be taken, if it is not just any metric that is wanted."""
    takes: Callable[[MetricRun], bool] = lambda _run: True
    """Which metrics of the project the form offers."""
    least_metrics: int = 1
    is_resampled: bool = True
    """Whether it asks for a number of resamples."""
