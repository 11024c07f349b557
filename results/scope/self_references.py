"""Candidates that are a reference of their question: with all references, a metric compares them with themselves."""

from django.db.models import Exists, F, Func, OuterRef, QuerySet, TextField, Value

from annotate.frames.rating_patterns import execute_analytic
from annotate.models.conditions import is_judgeable_of_datasets
from measures.metrics import Metric
from projects.models import Candidate, Project, Reference

ALL_REFERENCES = "all"
"""The setting `against` under which a candidate is compared with itself."""
_SPACES = " \t\n\r\f\v\u00a0\u2003\u3000"


def _strip(column: str) -> Func:
    return Func(F(column), Value(_SPACES), function="BTRIM", output_field=TextField())


def find_self_references(project: Project) -> QuerySet[Candidate]:
    """Return the judgeable candidates with the text of a reference of their question."""
    same = Reference.objects.filter(question=OuterRef("question")).annotate(plain=_strip("text"))
    candidates = Candidate.objects.judgeable_in(project).annotate(plain=_strip("text"))
    return candidates.filter(Exists(same.filter(plain=OuterRef("plain"))))


def count_by_source(project: Project) -> dict[str, tuple[int, int]]:
    """Return for each source the number of its candidates, and of those that are a reference of their question."""
    with execute_analytic(_COUNT_BY_SOURCE, {"datasets": project.find_ids().datasets, "spaces": _SPACES}) as cursor:
        return {source: (n, n_references) for source, n, n_references in cursor.fetchall()}


# All texts are compared by one join: a look at the references of each candidate took a second for 300,000.
_COUNT_BY_SOURCE = f"""
WITH reference AS (
    SELECT DISTINCT r.question_id, btrim(r.text, %(spaces)s) AS plain
    FROM projects_question q JOIN projects_reference r ON r.question_id = q.id WHERE q.dataset_id = ANY(%(datasets)s))
SELECT c.source, count(*), count(r.question_id)
FROM projects_candidate c
LEFT JOIN reference r ON r.question_id = c.question_id AND r.plain = btrim(c.text, %(spaces)s)
WHERE c.dataset_id = ANY(%(datasets)s) AND {is_judgeable_of_datasets("c")}
GROUP BY c.source
"""


def takes_all_references(metric: Metric) -> bool:
    return "references" in metric.needs and metric.against == ALL_REFERENCES


def warn_of_self_references(n: int) -> str:
    """Return the warning about so many candidates, or nothing where there are none."""
    if not n:
        return ""
    some = (
        "1 candidate is also a reference of its question and so compared with itself"
        if n == 1
        else f"{n:,} candidates are also references of their questions and so compared with themselves"
    )
    return (
        f"{some}, which gives perfect scores. To avoid it, compare with “references other than the candidate itself” "
        "(against=others)."
    )
