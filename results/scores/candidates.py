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
    """Which candidates; nothing named means all."""

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
    settled: float | None
    gold: float | None


class CandidateScores:
    """The rated candidates of a scope in the order asked for; fetched by the slice."""

    def __init__(
        self,
        scope: Scope,
        filters: Filters,
        *,
        sort: str,
        rule: GoldRule,
        settled_wins: bool,
        figures: Mapping[str, Any] | None,
        has_settled: bool = True,
        n_known: int | None = None,
    ) -> None:
        self.scope, self.filters, self.sort = scope, filters, sort
        self.rule, self.settled_wins = rule, settled_wins
        self.has_settled = has_settled
        self.n_known = n_known
        self.norms = figures["norms"] if figures else []
        """Without them there is no z yet."""

    def count(self) -> int:
        if self.n_known is not None:
            return self.n_known
        judgments, parameters = select_counted(self.scope)
        rows = self._ask(
            f"{_FROM} WHERE {_IS_THERE} AND EXISTS (SELECT 1 FROM ({judgments}) j WHERE j.candidate_id = c.id)",
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
        way = "DESC" if is_descending else "ASC"
        order = ", ".join(f"{column} {way} NULLS LAST" for column in SORTS[name].split(", "))
        if name != "candidate" and self.filters == Filters():
            statement = _RANKED.format(figure=_FIGURES[name], judgments=judgments, norms=_NORMS if name == "z" else "")
            order = f"ORDER BY figure {way} NULLS LAST, candidate_id OFFSET %(start)s LIMIT %(n)s"
            return self._rows([row[0] for row in self._ask(order, statement, parameters)])
        if name == "candidate":
            joined, where = "", f"AND EXISTS (SELECT 1 FROM ({judgments}) j WHERE j.candidate_id = c.id)"
        else:
            norms = _NORMS if name == "z" else ""
            rated = f"SELECT j.candidate_id, {_FIGURES[name]} AS {name} FROM ({judgments}) j {norms} GROUP BY 1"
            joined, where = f"JOIN ({rated}) r ON r.candidate_id = c.id", ""
        tail = f"ORDER BY {order}, c.id OFFSET %(start)s LIMIT %(n)s"
        rows = self._ask(f"{_FROM} {joined} WHERE {_IS_THERE} {where} {tail}", "SELECT c.id", parameters)
        return self._rows([row[0] for row in rows])

    def _rows(self, ids: list[int]) -> list[Row]:
        """Every figure by `measures`, from the judgments of these candidates alone."""
        import pandas as pd

        from annotate.frames.judgments_frame import fetch_judgments
        from measures.gold_scores import apply_adjudications, gold_by, gold_scores
        from results.scores.gold import fetch_adjudicated, read_baselines

        frame = fetch_judgments(self.scope, only=ids)
        scores = gold_scores(frame)
        settled = fetch_adjudicated(self.scope) if self.has_settled else pd.Series(dtype="float64")
        z = gold_by(GoldRule.Z, frame, norms=read_baselines({"norms": self.norms}))
        golds = gold_by(self.rule, frame, norms=read_baselines({"norms": self.norms}))
        if self.settled_wins and isinstance(golds, pd.Series):
            golds = apply_adjudications(golds, settled, rule=self.rule)
        found = Candidate.objects.select_related("question__passage", "dataset").in_bulk(ids)
        told = scores.to_dict("index")

        def at(values: Any, unit: int) -> float | None:
            return float(values[unit]) if isinstance(values, pd.Series) and unit in values.index else None

        return [
            Row(
                candidate=found[unit],
                n=told[unit]["n"],
                mean=told[unit]["mean"],
                median=told[unit]["median"],
                z=at(z, unit),
                sd=None if told[unit]["n"] == 1 else told[unit]["sd"],
                settled=at(settled, unit),
                gold=at(golds, unit),
            )
            for unit in ids
        ]

    def _ask(self, rest: str, select: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        asked = self.filters
        parameters = parameters | {
            "project": self.scope.project.pk,
            "text": f"%{_escaped(asked.text)}%" if asked.text else None,
            "in_dataset": asked.dataset or None,
            "in_split": asked.split or None,
            "of_source": asked.source or None,
            "names": [name for name, *_row in self.norms],
            "means": [mean for _name, _n, mean, _sd in self.norms],
            "sds": [sd for _name, _n, _mean, sd in self.norms],
        }
        with execute_analytic(f"{select} {rest}", parameters) as cursor:
            return list(cursor.fetchall())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_FROM = """
FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
"""
_IS_THERE = f"""
d.project_id = %(project)s AND {is_judgeable("c", "p")}
AND (%(text)s::text IS NULL OR c.external_id ILIKE %(text)s OR c.text ILIKE %(text)s)
AND (%(in_dataset)s::text IS NULL OR d.name = %(in_dataset)s)
AND (%(in_split)s::text IS NULL OR p.split = %(in_split)s)
AND (%(of_source)s::text IS NULL OR c.source = %(of_source)s)
"""
_RANKED = f"""
SELECT j.candidate_id, {{figure}} AS figure FROM ({{judgments}}) j {{norms}}
WHERE {IS_NOT_WITHDRAWN} GROUP BY 1
"""
"""Every candidate, none of them looked up: sorting a million judgments takes long enough."""
_NORMS = """
JOIN projects_membership m ON m.id = j.annotator_id AND m.project_id = %(project)s
LEFT JOIN unnest(%(names)s::text[], %(means)s::float8[], %(sds)s::float8[]) AS w (name, mean, sd)
  ON w.name = m.pseudonym
"""
