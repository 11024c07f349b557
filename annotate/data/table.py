"""The table of a project's data: numbers for each split of each dataset."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from annotate.frames.rating_patterns import execute_analytic
from annotate.frames.stages import Stage, default_stage, left_out
from annotate.models.conditions import is_counted
from projects.models import Project

_IN_STAGE = """JOIN annotate_assignment a ON a.id = j.assignment_id
    JOIN annotate_hit h ON h.id = a.hit_id AND h.batch_id <> ALL(%(without)s)"""

SPLIT_ORDER_SQL = """array_position(ARRAY['train', 'dev', 'validation', 'test'], split), split COLLATE "C\""""
"""SQL: the usual splits first, in their usual order, then others by name."""

# References and candidates are counted apart: joining both at once would multiply them. Judgments are counted for each
# candidate first, from an index alone. One statement gives all numbers, so that they come from one snapshot and agree.
_TABLE = f"""
WITH p AS MATERIALIZED (
    SELECT p.id, p.dataset_id, p.split FROM projects_passage p WHERE p.dataset_id = ANY(%(datasets)s)
),
passages AS (SELECT dataset_id, split, count(*) AS n FROM p GROUP BY 1, 2),
q AS MATERIALIZED (
    SELECT q.id, p.dataset_id, p.split FROM p JOIN projects_question q ON q.passage_id = p.id
),
questions AS (SELECT dataset_id, split, count(*) AS n FROM q GROUP BY 1, 2),
found AS (
    SELECT q.dataset_id, q.split, count(*) AS n FROM q JOIN projects_reference r ON r.question_id = q.id GROUP BY 1, 2
),
judged AS (
    SELECT j.candidate_id, count(*) AS n
    FROM annotate_judgment j {{in_stage}}
    WHERE j.criterion_id = ANY(%(criteria)s) AND {is_counted("j")} GROUP BY 1
),
candidates AS (
    SELECT q.dataset_id, q.split, c.source, count(*) AS n, sum(j.n) AS n_judged
    FROM q JOIN projects_candidate c ON c.question_id = q.id LEFT JOIN judged j ON j.candidate_id = c.id
    GROUP BY 1, 2, 3
),
sources AS (
    SELECT dataset_id, split, sum(n) AS n, sum(n_judged) AS n_judged,
           array_agg(source ORDER BY source COLLATE "C") FILTER (WHERE source <> '') AS names
    FROM candidates GROUP BY 1, 2
)
SELECT d.name, d.kind, coalesce(split, ''), coalesce(passages.n, 0), coalesce(questions.n, 0),
       coalesce(found.n, 0), coalesce(sources.n, 0), coalesce(sources.n_judged, 0), coalesce(sources.names, '{{{{}}}}')
FROM projects_dataset d
LEFT JOIN passages ON passages.dataset_id = d.id
LEFT JOIN questions USING (dataset_id, split)
LEFT JOIN found USING (dataset_id, split)
LEFT JOIN sources USING (dataset_id, split)
WHERE d.id = ANY(%(datasets)s)
ORDER BY d.name COLLATE "C", {{split_order}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of rows; judgments are the counted ones of the stage."""

    passages: int = 0
    questions: int = 0
    references: int = 0
    candidates: int = 0
    judgments: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitLine(Counts):
    """One split of one dataset; an empty split is “none”."""

    dataset: str
    kind: str
    split: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataTable:
    """All lines of a project."""

    lines: tuple[SplitLine, ...]
    stage: Stage = Stage.FULL

    @property
    def judgments_note(self) -> str:
        return "counted, from the trial" if self.stage == Stage.TRIAL else "counted"

    @property
    def total(self) -> Counts:
        return _sum(self.lines)

    def by_dataset(self) -> Iterator[tuple[str, str, list[SplitLine], Counts]]:
        """Yield each dataset with its kind, its lines and their sum."""
        names = dict.fromkeys((line.dataset, line.kind) for line in self.lines)
        for name, kind in names:
            lines = [line for line in self.lines if line.dataset == name]
            yield name, kind, lines, _sum(lines)

    def as_dict(self) -> dict[str, Any]:
        return {
            "datasets": [asdict(line) | {"sources": list(line.sources)} for line in self.lines],
            "total": asdict(self.total),
            "stage": self.stage.value,
        }


def data_table(project: Project) -> DataTable:
    """Return the table, counted in one statement so that all numbers agree; judgments are of the default stage."""
    stage = default_stage(project)
    without = list(left_out(project, stage))
    table = _TABLE.format(in_stage=_IN_STAGE if without else "", split_order=SPLIT_ORDER_SQL)
    parameters = {
        "datasets": project.find_ids().datasets,
        "criteria": project.find_ids().criteria,
        "without": without,
    }
    with execute_analytic(table, parameters) as cursor:
        rows = cursor.fetchall()
    return DataTable(
        tuple(
            SplitLine(
                dataset=name,
                kind=kind,
                split=split,
                passages=passages,
                questions=questions,
                references=references,
                candidates=int(candidates),
                judgments=int(judgments),
                sources=tuple(sources),
            )
            for name, kind, split, passages, questions, references, candidates, judgments, sources in rows
        ),
        stage,
    )


def _sum(lines: tuple[SplitLine, ...] | list[SplitLine]) -> Counts:
    names = ("passages", "questions", "references", "candidates", "judgments")
    return Counts(**{name: sum(getattr(line, name) for line in lines) for name in names})
