"""The candidates of a scope with their gold scores, page by page: only what a page shows is computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotate.frames.criteria_in_use import Scope
from annotate.frames.rating_patterns import IS_NOT_WITHDRAWN, execute_analytic, select_counted
from annotate.models.conditions import is_judgeable
from measures.gold_rules import GoldRule
from projects.models import Candidate
from projects.web.lists import split_sort

SORTS = {
    "candidate": "d.name, c.external_id",
    "n": "r.n",
    "mean": "r.mean",
    "median": "r.median",
    "z": "r.z",
    "sd": "r.sd",
}
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
        self.norms = figures["norms"] if figures else []
        """The annotators' means and deviations from the stored figures; without them no z score is shown yet."""

    def count(self) -> int:
        # Current figures hold the number already, and counting takes another pass over all judgments.
        if self.n_known is not None:
            return self.n_known
        judgments, parameters = select_counted(self.scope)
        rows = self._execute(
            f"{_FROM} WHERE {_IS_LISTED} AND EXISTS (SELECT 1 FROM ({judgments}) j WHERE j.candidate_id = c.id)",
            "SELECT count(*)",
            parameters,
        )
        return int(rows[0][0])

    def __len__(self) -> int:
        return self.count()

    def __getitem__(self, part: slice) -> list[Row]:
        start = part.start or 0
        judgments, parameters = select_counted(self.scope)
        parameters |= {"start": start, "n": part.stop - start}
        name, is_descending = split_sort(self.sort)
        direction = "DESC" if is_descending else "ASC"
        order = ", ".join(f"{column} {direction} NULLS LAST" for column in SORTS[name].split(", "))
        # Without filters all rated candidates are listed, so the order follows from judgments and withdrawals alone.
        # Joining a million judgments to texts first takes too long for a page.
        if name != "candidate" and self.filters == Filters():
            statement = _RANKED.format(
                figure=_FIGURES[name], judgments=judgments, norms=_JOIN_NORMS if name == "z" else ""
            )
            order = f"ORDER BY figure {direction} NULLS LAST, candidate_id OFFSET %(start)s LIMIT %(n)s"
            return self._make_rows([row[0] for row in self._execute(order, statement, parameters)])
        if name == "candidate":
            # In the order of ids an EXISTS ends at the first judgment of each candidate, and the page is full after a
            # few.
            joined, where = "", f"AND EXISTS (SELECT 1 FROM ({judgments}) j WHERE j.candidate_id = c.id)"
        else:
            norms = _JOIN_NORMS if name == "z" else ""
            rated = f"SELECT j.candidate_id, {_FIGURES[name]} AS {name} FROM ({judgments}) j {norms} GROUP BY 1"
            joined, where = f"JOIN ({rated}) r ON r.candidate_id = c.id", ""
        tail = f"ORDER BY {order}, c.id OFFSET %(start)s LIMIT %(n)s"
        rows = self._execute(f"{_FROM} {joined} WHERE {_IS_LISTED} {where} {tail}", "SELECT c.id", parameters)
        return self._make_rows([row[0] for row in rows])

    def _make_rows(self, ids: list[int]) -> list[Row]:
        """Return the rows of these candidates in their order, computed by `measures` from their judgments alone."""
        # pandas loads slowly, and pages that compute no scores should not wait for it.
        import pandas as pd

        from annotate.frames.judgments_frame import fetch_judgments
        from measures.gold_scores import apply_adjudications, gold_by, gold_scores
        from results.scores.gold import fetch_adjudicated, read_baselines

        frame = fetch_judgments(self.scope, only=ids)
        scores = gold_scores(frame)
        adjudicated = fetch_adjudicated(self.scope) if self.has_adjudicated else pd.Series(dtype="float64")
        z = gold_by(GoldRule.Z, frame, norms=read_baselines({"norms": self.norms}))
        golds = gold_by(self.rule, frame, norms=read_baselines({"norms": self.norms}))
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
        ]

    def _execute(self, rest: str, select: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        filters = self.filters
        parameters = parameters | {
            "project": self.scope.project.pk,
            "text": f"%{_escape(filters.text)}%" if filters.text else None,
            "in_dataset": filters.dataset or None,
            "in_split": filters.split or None,
            "of_source": filters.source or None,
            "names": [name for name, *_row in self.norms],
            "means": [mean for _name, _n, mean, _sd in self.norms],
            "sds": [sd for _name, _n, _mean, sd in self.norms],
        }
        with execute_analytic(f"{select} {rest}", parameters) as cursor:
            return list(cursor.fetchall())


def _escape(text: str) -> str:
    # What people type is searched literally: % and _ are wildcards of LIKE.
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_FROM = """
FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
"""
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
# The z scores of the list come from the norms that the page's figures were computed with, so that the two agree even
# while newer work arrives. An annotator without variation has no z score, hence the LEFT JOIN and NULL.
_JOIN_NORMS = """
JOIN projects_membership m ON m.id = j.annotator_id AND m.project_id = %(project)s
LEFT JOIN unnest(%(names)s::text[], %(means)s::float8[], %(sds)s::float8[]) AS w (name, mean, sd)
  ON w.name = m.pseudonym
"""
