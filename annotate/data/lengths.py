"""Average lengths of passages, questions, references and candidates, for each split of each dataset."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotate.data.table import SPLIT_ORDER_SQL
from projects.models import Project

TEXTS = ("passage", "question", "reference", "candidate")
UNITS = ("words", "characters")
"""Words are separated by white space, so that texts in Chinese are counted in characters."""

# Sums rather than averages, so that those of a whole dataset follow. Texts that are empty have no length: passages of
# questions without a text, and candidates of systems that gave no answer.
_LENGTHS = f"""
WITH p AS (
    SELECT p.id, d.name, d.kind, p.split, coalesce(
        (SELECT string_agg(each ->> 'text', ' ') FROM jsonb_array_elements(p.documents) each), p.text) AS text
    FROM projects_passage p JOIN projects_dataset d ON d.id = p.dataset_id WHERE d.project_id = %s
),
q AS (SELECT q.id, p.name, p.kind, p.split, q.text FROM p JOIN projects_question q ON q.passage_id = p.id),
texts AS (
    SELECT name, kind, split, 'passage' AS what, text FROM p
    UNION ALL SELECT name, kind, split, 'question', text FROM q
    UNION ALL SELECT q.name, q.kind, q.split, 'reference', r.text FROM q JOIN projects_reference r
        ON r.question_id = q.id
    UNION ALL SELECT q.name, q.kind, q.split, 'candidate', c.text FROM q JOIN projects_candidate c
        ON c.question_id = q.id
)
SELECT name, kind, split, what, count(*), sum(regexp_count(text, '\\S+')), sum(length(text))
FROM texts WHERE text <> '' GROUP BY 1, 2, 3, 4 ORDER BY name COLLATE "C", {SPLIT_ORDER_SQL}
"""


@dataclass(frozen=True, slots=True)
class TotalLength:
    """The texts of one kind that are not empty, and the sums of their words and characters."""

    n: int = 0
    words: int = 0
    characters: int = 0

    def __add__(self, other: "TotalLength") -> "TotalLength":
        return TotalLength(self.n + other.n, self.words + other.words, self.characters + other.characters)

    def average(self, unit: str) -> float | None:
        total: int = getattr(self, unit)
        return total / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class LengthLine:
    """The lengths of one split, or of all splits of a dataset together, by kind of text."""

    dataset: str
    kind: str
    split: str | None
    """None for the whole dataset, empty for passages without a split."""
    lengths: dict[str, TotalLength]

    def averages(self, unit: str) -> list[float | None]:
        """Return the average length of each of `TEXTS`, None where there are no texts."""
        return [self.lengths.get(what, TotalLength()).average(unit) for what in TEXTS]

    def as_dict(self) -> dict[str, Any]:
        averages = {unit: dict(zip(TEXTS, self.averages(unit), strict=True)) for unit in UNITS}
        return {"dataset": self.dataset, "split": self.split, **averages}


def fetch_lengths(project: Project) -> list[LengthLine]:
    """Return the lengths of each split of each dataset; of a dataset with several splits also of all together."""
    found: dict[tuple[str, str], dict[str, dict[str, TotalLength]]] = defaultdict(lambda: defaultdict(dict))
    with connection.cursor() as cursor:
        cursor.execute(_LENGTHS, [project.pk])
        for name, kind, split, what, n, words, characters in cursor.fetchall():
            found[name, kind][split][what] = TotalLength(n, int(words), int(characters))
    lines = []
    for (name, kind), splits in found.items():
        lines += [LengthLine(name, kind, split, lengths) for split, lengths in splits.items()]
        if len(splits) > 1:
            lines.append(LengthLine(name, kind, None, _add_up(splits.values())))
    return lines


def _add_up(splits: Iterable[dict[str, TotalLength]]) -> dict[str, TotalLength]:
    every = list(splits)
    return {what: sum((each.get(what, TotalLength()) for each in every), TotalLength()) for what in TEXTS}
