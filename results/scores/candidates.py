"""The candidates of a scope with their gold scores, page by page: only what a page shows is computed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from annotate.frames.criteria_in_use import Scope
from annotate.frames.kept import Order, fetch_order, keep
from annotate.frames.rating_patterns import IS_NOT_WITHDRAWN, execute_analytic, select_counted
from annotate.models.conditions import is_judgeable
from measures.gold_rules import GoldRule
from projects.models import Candidate
from projects.web.lists import split_sort
from results.scope.scopes import scope_settings

SORTS = ("candidate", "n", "mean", "median", "z", "sd")
SHALLOW_SORTS = ("candidate", "-candidate")
MOST_SHALLOW = 1_000
"""Candidates that are read by name without a look at the others, as those of the first pages are."""
_MEDIAN = "percentile_cont(0.5) WITHIN GROUP (ORDER BY j.value)"
_FIGURES = {
    "n": "count(*)",
    "mean": "avg(j.value)",
    "median": _MEDIAN,
    "z": "avg((j.value - w.mean) / nullif(w.sd, 0))",
    "sd": "stddev_samp(j.value)",
}


@dataclass(frozen=True)
class Filters:
    """Which candidates; an empty field means all."""

    text: str = ""
    dataset: str = ""
    split: str = ""
    source: str = ""


@dataclass(frozen=True)
class Row:
    """A candidate with its aggregated score; None where that is undefined."""

    candidate: Candidate
    n: int
    mean: float
    median: float
    z: float | None
    sd: float | None
    adjudicated: float | None
    gold: float | None


class CandidateScores:
    """The rated candidates of a scope in the requested order, fetched by the slice, as a paginator asks for them."""

    def __init__(
        self,
        scope: Scope,
        filters: Filters,
        *,
        sort: str,
        rule: GoldRule,
        adjudication_wins: bool,
        figures: Mapping[str, Any] | None,
        has_adjudicated: bool = True,
        n_known: int | None = None,
    ) -> None:
        self.scope, self.filters, self.sort = scope, filters, sort
        self.rule, self.adjudication_wins = rule, adjudication_wins
        self.has_adjudicated = has_adjudicated
        self.n_known = n_known
        # Without a number of annotators some are unknown, and then no candidate of the scope has a z score.
        self.norms = figures["norms"] if figures and figures["n_annotators"] is not None else []
        """The annotators' means and deviations from the stored figures; without them no z score is shown yet."""

    def count(self) -> int:
        # Current figures hold the number already.
        return len(self.order) if self.n_known is None else self.n_known

    def __len__(self) -> int:
        return self.count()

    def __getitem__(self, part: slice) -> list[Row]:
        start = part.start or 0
        if self.sort in SHALLOW_SORTS and part.stop <= MOST_SHALLOW:
            return self._make_rows(self._fetch_first(part.stop)[start:])
        return self._make_rows(self.order[part])

    @cached_property
    def order(self) -> Order:
        """The ids of all candidates in their order, kept while no judgment changes."""
        settings = [scope_settings(self.scope), asdict(self.filters), self.sort, self.norms if "z" in self.sort else ""]
        return keep(self.scope.project, "scores", settings, self._fetch_order)

    def _fetch_order(self) -> Order:
        judgments, parameters = select_counted(self.scope)
        name, is_descending = split_sort(self.sort)
        direction = "DESC" if is_descending else "ASC"
        norms = _JOIN_NORMS if name == "z" else ""
        order = f"figure {direction} NULLS LAST, candidate_id"
        # Without filters all rated candidates are listed, so the order follows from judgments and withdrawals alone.
        # Joining a million judgments to texts first takes too long for a page.
        if name != "candidate" and self.filters == Filters():
            statement = _RANKED.format(figure=_FIGURES[name], judgments=judgments, norms=norms)
        else:
            figure = "1" if name == "candidate" else _FIGURES[name]
            rated = f"SELECT j.candidate_id, {figure} AS figure FROM ({judgments}) j {norms} GROUP BY 1"
            statement = f"{_LISTED} JOIN ({rated}) r ON r.candidate_id = c.id WHERE {_IS_LISTED}"
        if name == "candidate":
            order = f"name {direction}, external_id {direction}, candidate_id"
        return fetch_order(statement, order, self._complete(parameters), key="candidate_id")

    def _fetch_first(self, n: int) -> list[int]:
        """Return the first candidates by name, without a look at the others."""
        judgments, parameters = select_counted(self.scope)
        direction = "DESC" if split_sort(self.sort)[1] else "ASC"
        statement = _FIRST.format(judgments=judgments, direction=direction)
        with execute_analytic(statement, self._complete(parameters | {"n": n})) as cursor:
            return [row[0] for row in cursor.fetchall()]

    def _make_rows(self, ids: list[int]) -> list[Row]:
        """Return the rows of these candidates in their order, computed by `measures` from their judgments alone."""
        # pandas loads slowly, and pages that compute no scores should not wait for it.
        import pandas as pd

        from annotate.frames.judgments_frame import fetch_judgments
        from measures.columns import ANNOTATOR
        from measures.gold_scores import apply_adjudications, gold_by, gold_scores
        from results.scores.gold import fetch_adjudicated, read_baselines

        frame = fetch_judgments(self.scope, only=ids)
        scores = gold_scores(frame)
        adjudicated = fetch_adjudicated(self.scope) if self.has_adjudicated else pd.Series(dtype="float64")
        # Nameless scores that are newer than the norms have no z score, and take none from others on this page.
        known = frame[frame[ANNOTATOR].notna()]
        z = gold_by(GoldRule.Z, known, norms=read_baselines({"norms": self.norms}))
        golds = z if self.rule is GoldRule.Z else gold_by(self.rule, frame)
        if self.adjudication_wins and isinstance(golds, pd.Series):
            golds = apply_adjudications(golds, adjudicated, rule=self.rule)
        found = Candidate.objects.select_related("question__passage", "dataset").in_bulk(ids)
        figures = scores.to_dict("index")

        def read_score(values: Any, unit: int) -> float | None:
            return float(values[unit]) if isinstance(values, pd.Series) and unit in values.index else None

        return [
            Row(
                candidate=found[unit],
                n=figures[unit]["n"],
                mean=figures[unit]["mean"],
                median=figures[unit]["median"],
                z=read_score(z, unit),
                sd=None if figures[unit]["n"] == 1 else figures[unit]["sd"],
                adjudicated=read_score(adjudicated, unit),
                gold=read_score(golds, unit),
            )
            for unit in ids
            if unit in figures
        ]

    def _complete(self, parameters: dict[str, Any]) -> dict[str, Any]:
        filters = self.filters
        return parameters | {
            "project": self.scope.project.pk,
            # What people type is searched literally.
            "text": f"%{connection.ops.prep_for_like_query(filters.text)}%" if filters.text else None,
            "in_dataset": filters.dataset or None,
            "in_split": filters.split or None,
            "of_source": filters.source or None,
            "names": [name for name, *_row in self.norms],
            "means": [mean for _name, _n, mean, _sd in self.norms],
            "sds": [sd for _name, _n, _mean, sd in self.norms],
        }


_FROM = """
FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
"""
_LISTED = f"SELECT c.id AS candidate_id, r.figure, d.name, c.external_id {_FROM}"
# The casts tell PostgreSQL the type of a parameter that is NULL.
_IS_LISTED = f"""
d.project_id = %(project)s AND {is_judgeable("c", "p")}
AND (%(text)s::text IS NULL OR c.external_id ILIKE %(text)s OR c.text ILIKE %(text)s)
AND (%(in_dataset)s::text IS NULL OR d.name = %(in_dataset)s)
AND (%(in_split)s::text IS NULL OR p.split = %(in_split)s)
AND (%(of_source)s::text IS NULL OR c.source = %(of_source)s)
"""
# Ranks every candidate without looking one up: sorting a million judgments takes long enough.
_RANKED = f"""
SELECT j.candidate_id, {{figure}} AS figure FROM ({{judgments}}) j {{norms}}
WHERE {IS_NOT_WITHDRAWN} GROUP BY 1
"""
# Each dataset's names come from an index in their order, so that its part is full after a few candidates.
_FIRST = f"""
SELECT c.id FROM projects_dataset d CROSS JOIN LATERAL (
    SELECT c.id, c.external_id
    FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    WHERE c.dataset_id = d.id AND {_IS_LISTED}
      AND EXISTS (SELECT 1 FROM ({{judgments}}) j WHERE j.candidate_id = c.id)
    ORDER BY c.external_id {{direction}} LIMIT %(n)s) c
WHERE d.project_id = %(project)s ORDER BY d.name {{direction}}, c.external_id {{direction}}, c.id LIMIT %(n)s
"""
# The z scores of the list come from the norms that the page's figures were computed with, so that the two agree even
# while newer work arrives. An annotator without variation has no z score, hence the LEFT JOIN and NULL.
_JOIN_NORMS = """
JOIN projects_membership m ON m.id = j.annotator_id AND m.project_id = %(project)s
LEFT JOIN unnest(%(names)s::text[], %(means)s::float8[], %(sds)s::float8[]) AS w (name, mean, sd)
  ON w.name = m.pseudonym
"""
