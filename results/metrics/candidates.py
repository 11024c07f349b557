"""The candidates of a run with their scores and gold scores, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, OrderBy, Q, QuerySet

from annotate.frames.criteria_in_use import CriterionInUse, Scope
from annotate.frames.stages import default_stage
from annotate.reviews.adjudication import read_gold_rule
from measures.gold_rules import GoldRule
from measures.outcome import Undefined
from projects.models import Project
from projects.web.lists import order_with_empty_last, split_sort
from results.models import MetricRun, MetricScore

SORTS = {
    # Datasets in the order of their creation: an index leads to the first page, where by names all would be sorted.
    "candidate": ("candidate__dataset_id", "candidate__external_id"),
    "source": (),
    "score": ("value",),
}


@dataclass(frozen=True)
class Filters:
    """Which candidates of a run; an empty field means all."""

    text: str = ""
    dataset: str = ""
    source: str = ""
    reason: str = ""


def find_scores(run: MetricRun, filters: Filters) -> QuerySet[MetricScore]:
    rows = run.scores.all()
    if filters.text:
        rows = rows.filter(
            Q(candidate__external_id__icontains=filters.text) | Q(candidate__text__icontains=filters.text)
        )
    if filters.dataset:
        rows = rows.filter(candidate__dataset__name=filters.dataset)
    if filters.source:
        rows = rows.filter(candidate__source=filters.source)
    if filters.reason:
        # A reason may go on with the value that was no number, so its beginning is compared.
        rows = rows.filter(value=None, reason__startswith=filters.reason)
    return rows


class ScoresBySource:
    """Scores in the order of their candidates' sources, and within a source in that of the candidates' ids.

    The sources are counted, and a page reads those that are on it. Sorted as rows, 300,000 names of sources would be
    compared with each other, which takes several times as long as all the rest of the page.
    """

    def __init__(self, rows: QuerySet[MetricScore], *, is_descending: bool) -> None:
        self.rows = rows
        counted = rows.order_by().values_list("candidate__source").annotate(n=Count("pk"))
        self.sources = list(counted.order_by(OrderBy(F("candidate__source"), descending=is_descending)))

    def count(self) -> int:
        return sum(n for _source, n in self.sources)

    def __getitem__(self, part: slice) -> list[MetricScore]:
        keys: list[int] = []
        first = 0
        for source, n in self.sources:
            start, stop = max(part.start - first, 0), min(part.stop - first, n)
            if start < stop:
                keys += self._find_keys(source, start, stop, n)
            first += n
        found = self.rows.in_bulk(keys)
        # Scores go with their run, which may have been deleted since their keys were read.
        return [found[pk] for pk in keys if pk in found]

    def _find_keys(self, source: str, start: int, stop: int, n: int) -> list[int]:
        """Return the keys of some of the n scores of a source, those of its second half from the end."""
        own = self.rows.filter(candidate__source=source).values_list("pk", flat=True)
        if start > n // 2:
            return list(own.order_by("-candidate_id")[n - stop : n - start])[::-1]
        return list(own.order_by("candidate_id")[start:stop])


def sort_scores(run: MetricRun, rows: QuerySet[MetricScore], sort: str) -> QuerySet[MetricScore] | ScoresBySource:
    """Return the scores in the requested order; a candidate without a score comes last either way."""
    # Passages are long, and the list shows none of them.
    rows = rows.defer("candidate__question__passage__text", "candidate__question__passage__documents").select_related(
        "candidate__dataset", "candidate__question__passage"
    )
    column, is_descending = split_sort(sort)
    if column == "source":
        return ScoresBySource(rows, is_descending=is_descending)
    if column == "score":
        order = [order_with_empty_last(F("value"), is_descending=is_descending)]
    else:
        order = [OrderBy(F(name), descending=is_descending) for name in SORTS[column]]
    if column == "candidate":
        # This leaves out no score. Without it the index would be read from the datasets of other projects on.
        rows = rows.filter(candidate__dataset__in=run.project.find_ids().datasets)
    return rows.order_by(*order, "candidate_id")


def fetch_golds(project: Project, criterion: CriterionInUse, ids: Sequence[int]) -> dict[int, float]:
    """Return gold scores of these candidates: the median where the project's rule is that, otherwise the mean."""
    from annotate.frames.shared_ratings import fetch_shared_judgments, share_scores
    from measures.gold_scores import apply_adjudications, gold_by
    from results.scores.gold import fetch_adjudicated

    scope = Scope(project=project, criterion=criterion, stage=default_stage(project))
    rule = read_gold_rule(project)
    # A z score needs the norms of all annotators, too much for a column beside a metric.
    by = GoldRule.MEDIAN if rule.rule == GoldRule.MEDIAN else GoldRule.MEAN
    judgments = fetch_shared_judgments(scope, only=list(ids))
    golds = gold_by(by, judgments)
    if isinstance(golds, Undefined):
        return {}
    if rule.adjudication_wins:
        golds = apply_adjudications(golds, share_scores(fetch_adjudicated(scope), judgments), rule=by)
    return dict(zip(golds.index.tolist(), golds.tolist(), strict=True))
