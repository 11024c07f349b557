"""The candidates of a project as metrics take them: slice by slice, so that texts never fill the memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Exists, OuterRef

from annotate.frames.kept import keep
from measures.metrics import Answers, Metric
from projects.models import Candidate, Passage, Project, Question, Reference

SLICE = 4_000
"""Candidates that are read at a time."""


@dataclass(frozen=True)
class Slice:
    """The ids of candidates, and the same candidates as a column of answers."""

    ids: tuple[int, ...]
    answers: Answers


def count_candidates(project: Project) -> int:
    return Candidate.objects.judgeable_in(project).count()


def count_without_reference(project: Project) -> int:
    """Return how many candidates belong to questions without any reference."""
    references = Reference.objects.filter(question=OuterRef("question"))
    without = Candidate.objects.judgeable_in(project).filter(~Exists(references))
    return keep(project, "without_reference", [], without.count)


def stream_candidates(
    project: Project, metric: Metric, size: int = SLICE, *, questions: tuple[int, int] | None = None
) -> Iterator[Slice]:
    """Yield every judgeable candidate with what the metric needs; the candidates of a question come together.

    `questions` are the first and the last id of the questions to read; without it all are read.
    """
    # In the order of questions a slice fetches each question, its references and its passage once.
    rows = Candidate.objects.judgeable_in(project).order_by("question_id", "id")
    if questions is not None:
        rows = rows.filter(question__gte=questions[0], question__lte=questions[1])
    fields = rows.values_list("id", "question_id", "text", "opinion").iterator(chunk_size=size)
    while part := list(islice(fields, size)):
        # Passages are long, and most metrics compare with references alone.
        ids, questions, texts, opinions = zip(*part, strict=True)
        answers = _make_answers(questions, texts, opinions, with_passages="passages" in metric.needs)
        yield Slice(ids, answers.against(metric.against))


def _make_answers(ids: Sequence[int], texts: Sequence[str], opinions: Sequence[str], *, with_passages: bool) -> Answers:
    questions = {
        row[0]: row
        for row in Question.objects.filter(pk__in=set(ids)).values_list("id", "text", "type", "entities", "passage_id")
    }
    references: dict[int, list[tuple[str, str]]] = {}
    for question, text, opinion in (
        Reference.objects.filter(question__in=set(ids))
        .order_by("question_id", "position")
        .values_list("question_id", "text", "opinion")
    ):
        references.setdefault(question, []).append((text, opinion))
    of_each = [references.get(each, []) for each in ids]
    return Answers(
        candidates=texts,
        references=[[text for text, _opinion in each] for each in of_each],
        question_types=[questions[each][2] for each in ids],
        opinions=opinions,
        reference_opinions=[[opinion for _join_documents, opinion in each] for each in of_each],
        entities=[questions[each][3] for each in ids],
        questions=[questions[each][1] for each in ids],
        passages=_fetch_passages([questions[each][4] for each in ids]) if with_passages else (),
    )


def _fetch_passages(ids: Sequence[int]) -> list[str]:
    rows = Passage.objects.filter(pk__in=set(ids)).values_list("id", "text", "documents")
    texts = {pk: join_documents(text, documents) for pk, text, documents in rows}
    return [texts[each] for each in ids]


def join_documents(text: str, documents: list[dict[str, str]] | None) -> str:
    """Return a passage as one text: its own, then each of its documents with its title."""
    listed = [part for each in documents or () for part in (each["title"], each["text"])]
    # Titled documents are one text for a metric, as they are one passage for an annotator.
    return "\n\n".join(part for part in (text, *listed) if part)
