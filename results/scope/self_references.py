"""People's answers that are a reference of their question: with all references, a metric compares them with themselves.

A system's answer with the words of a reference is simply right, and its perfect score is earned.
"""

from django.db.models import Exists, F, Func, OuterRef, QuerySet, TextField, Value

from measures.metrics import Metric
from projects.models import Candidate, Project, Reference
from results.scope.human_sources import SPACES, count_by_source, explain_counts, find_human_sources

HOW_TO_AVOID = (
    "To avoid it, leave the human sources out, or compare with “references other than the candidate itself” "
    "(against=others); then an answer that repeats its only reference isn’t scored, not even a system’s right one."
)
ALL_REFERENCES = "all"
"""The setting `against` under which a candidate is compared with itself."""


def _strip(column: str) -> Func:
    return Func(F(column), Value(SPACES), function="BTRIM", output_field=TextField())


def find_self_references(project: Project) -> QuerySet[Candidate]:
    """Return the judgeable candidates of human sources with the text of a reference of their question."""
    same = Reference.objects.filter(question=OuterRef("question")).annotate(plain=_strip("text"))
    candidates = (
        Candidate.objects.judgeable_in(project)
        .filter(source__in=find_human_sources(project))
        .annotate(plain=_strip("text"))
    )
    return candidates.filter(Exists(same.filter(plain=OuterRef("plain"))))


def count_self_references(project: Project) -> int:
    counts = count_by_source(project)
    return sum(counts[source][1] for source in explain_counts(counts))


def takes_all_references(metric: Metric) -> bool:
    return "references" in metric.needs and metric.against == ALL_REFERENCES


def warn_of_self_references(n: int) -> str:
    """Return the warning about so many candidates, or nothing where there are none."""
    if not n:
        return ""
    some = (
        "1 answer that people may have written is also a reference of its question and so compared with itself"
        if n == 1
        else f"{n:,} answers that people may have written are also references of their questions and so compared with "
        "themselves"
    )
    return f"{some}, which gives perfect scores. {HOW_TO_AVOID}"
