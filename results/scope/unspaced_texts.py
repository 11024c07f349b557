"""Texts in scripts without spaces between words, such as Chinese: most tokenisers take a run of them as one word."""

from django.db.models import Q, QuerySet

from annotate.frames.kept import keep
from projects.models import Candidate, Project, Reference

UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]{2}"
)
"""Thai and Lao, Burmese, Khmer, Japanese and Chinese, two characters in a row. Korean has spaces."""
READS_UNSPACED = ("characters", "jieba")
"""Tokenisers that divide such texts."""


def find_unspaced(project: Project) -> QuerySet[Candidate]:
    """Return the judgeable candidates that are in such a script, or that have a reference in one."""
    # Found once for all candidates, instead of a look at the references of each.
    references = Reference.objects.filter(question__dataset__project=project, text__regex=UNSPACED)
    is_unspaced = Q(text__regex=UNSPACED) | Q(question__in=references.values("question"))
    return Candidate.objects.judgeable_in(project).filter(is_unspaced)


def count_unspaced(project: Project) -> int:
    return keep(project, "unspaced texts", "", lambda: find_unspaced(project).count())


def misses_words(tokeniser: str) -> bool:
    """Return whether a metric with this tokeniser, or none, finds no single words in such texts."""
    return bool(tokeniser) and tokeniser not in READS_UNSPACED


def warn_of_unspaced(n: int, *tokenisers: str) -> str:
    """Return the warning about so many candidates and these tokenisers, or nothing where there are none."""
    if not n or not tokenisers:
        return ""
    names = " and ".join(f"“{each}”" for each in tokenisers)
    whose = f"The tokeniser {names} does" if len(tokenisers) == 1 else f"The tokenisers {names} do"
    return (
        f"{_count(n)}. {whose} not find the single words of such texts, so scores of them say little. Compute the "
        "metrics with the tokeniser “characters”, or “jieba” for Chinese."
    )


def warn_before_computing(n: int) -> str:
    """Return what to choose for so many candidates, or nothing where there are none."""
    if not n:
        return ""
    return f"{_count(n)}. For metrics that compare words, choose the tokeniser “characters”, or “jieba” for Chinese."


def _count(n: int) -> str:
    some = "1 candidate or its references are" if n == 1 else f"{n:,} candidates or their references are"
    return f"{some} in a script without spaces between words, such as Chinese"
