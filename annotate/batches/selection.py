"""Selecting the candidates of a batch, and the annotators if it has chosen ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from django.db import connection, transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, IntegerField, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from annotate.batches.cutting import sample_passages
from annotate.batches.terms import KINDS_THAT_RATE
from annotate.frames.rating_patterns import execute_analytic
from annotate.models import Batch, Item
from annotate.models.conditions import is_judgeable
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.models import Candidate, Membership, Project, Question

CHUNK = 10_000
"""Rows that are fetched at once."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which candidates a batch takes; an empty part excludes nothing.

    `types` are question types, "" that of questions without one. `sample` draws whole passages, with the seed, up to
    about this many candidates; `questions` draws this many questions of each type it names, with all their candidates,
    and none of other types. Minimal pairs are excluded unless `with_pairs` or `only_pairs` is set; withdrawn candidates
    always are, and so are those that have the ratings of an identical one, which is selected in their place.
    """

    datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    sample: int | None = None
    questions: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    with_pairs: bool = False
    only_pairs: bool = False

    @property
    def takes_pairs(self) -> bool:
        return self.with_pairs or self.only_pairs

    def as_json(self) -> dict[str, object]:
        return {
            "datasets": list(self.datasets),
            "splits": list(self.splits),
            "sources": list(self.sources),
            "types": list(self.types),
            "sample": self.sample,
            "questions": dict(self.questions),
            "seed": self.seed,
            "with_pairs": self.with_pairs,
            "only_pairs": self.only_pairs,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A selected candidate with its question, passage and dataset."""

    candidate: int
    question: int
    passage: int
    dataset: str
    has_passage_text: bool
    pair: int | None = None
    """The minimal pair that it belongs to; its two candidates are never in one HIT."""
    n_reused: int = 0
    """Judgments that exist already and count towards the required number."""


def select_candidates(project: Project, selection: Selection, *, without: Batch | None = None) -> list[Row]:
    """Return the selected candidates in canonical order: by passage, question and candidate as imported.

    Candidates of the batch `without` are excluded before a sample is drawn. Raises Refused if none is left, if a type
    has fewer questions than are to be drawn, or for a dataset, split, source or type that the project does not have.
    """
    _check_names(project, selection)
    if selection.sample is not None and selection.questions:
        raise Refused("Set a sample size or questions by type, not both.", field="sample")
    has_text = ~Q(question__passage__text="") | Q(question__passage__documents__isnull=False)
    candidates = list_candidates(project, selection).annotate(has_text=ExpressionWrapper(has_text, BooleanField()))
    if without is not None:
        candidates = candidates.exclude(
            pk__in=Item.objects.filter(hit__batch=without, control="none").values("candidate")
        )
    ordered = candidates.order_by("question__passage_id", "question_id", "id")
    columns = ("id", "question_id", "question__passage_id", "dataset__name", "has_text")
    rows = read_rows(ordered.values_list(*columns, pair_id_sql(selection.takes_pairs)))
    if selection.questions:
        types = dict(ordered.values_list("question_id", "question__type"))
        chosen = _draw_questions(types, selection.questions, selection.seed)
        rows = [row for row in rows if row.question in chosen]
    if selection.sample is not None:
        rows = _sample(rows, selection.sample, selection.seed)
    if not rows:
        raise Refused("No candidate matches this selection, so there is nothing to judge.")
    return rows


def read_rows(values: QuerySet[Any, tuple[Any, ...]]) -> list[Row]:
    """Return the rows of a query in canonical order; a batch may have a million."""
    rows: list[Row] = []
    question, passage, dataset = 0, 0, ""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        # The plan of a cursor expects that few of its rows are wanted, and takes hours for all of them.
        cursor.execute("SET LOCAL cursor_tuple_fraction TO 1")
        for candidate, its_question, its_passage, its_dataset, *rest in values.iterator(chunk_size=CHUNK):
            # Rows of one question, passage and dataset share the objects that the driver would make for each.
            question = its_question if its_question != question else question
            passage = its_passage if its_passage != passage else passage
            dataset = its_dataset if its_dataset != dataset else dataset
            rows.append(Row(candidate, question, passage, dataset, *rest))
    return rows


def list_candidates(project: Project, selection: Selection) -> QuerySet[Candidate]:
    """Return all candidates of a selection, before a sample is drawn."""
    candidates = _choose_facets(Candidate.objects.to_rate_in(project), selection)
    if selection.sources:
        # An answer that several sources gave is selected with any of them, until it is collected.
        shared = _list_shared(project, selection).exclude(_IS_COLLECTED)
        candidates = candidates.filter(Q(source__in=selection.sources) | Q(pk__in=shared.values("identical_to")))
    is_of_pair = Q(pair_as_1__isnull=False) | Q(pair_as_2__isnull=False)
    if selection.only_pairs:
        candidates = candidates.filter(is_of_pair)
    elif not selection.takes_pairs:
        candidates = candidates.filter(~is_of_pair)
    return candidates


def count_collected_elsewhere(project: Project, selection: Selection) -> int:
    """Return how many answers of the selected sources are left out, as an identical one is in a full collection."""
    if not selection.sources:
        return 0
    shared = _list_shared(project, selection).filter(_IS_COLLECTED)
    return shared.exclude(identical_to__source__in=selection.sources).count()


def _list_shared(project: Project, selection: Selection) -> QuerySet[Candidate]:
    """Return the candidates of the selected sources that have the ratings of an identical one."""
    marked = Candidate.objects.judgeable_in(project).filter(identical_to__isnull=False, source__in=selection.sources)
    return _choose_facets(marked, selection)


_IS_COLLECTED = Exists(
    Item.objects.filter(candidate=OuterRef("identical_to"), control="none", hit__batch__kind=Batch.Kind.FULL)
)
"""Whether the candidate that one is identical to is in a full collection."""


def _choose_facets(candidates: QuerySet[Candidate], selection: Selection) -> QuerySet[Candidate]:
    if selection.datasets:
        candidates = candidates.filter(dataset__name__in=selection.datasets)
    if selection.splits:
        candidates = candidates.filter(question__passage__split__in=selection.splits)
    if selection.types:
        candidates = candidates.filter(question__type__in=selection.types)
    return candidates


def count_by_facet(project: Project) -> dict[str, list[tuple[str, int]]]:
    """Return the datasets, splits, sources and types of the candidates that can be judged, with their numbers."""
    found: dict[str, list[tuple[str, int]]] = {"datasets": [], "splits": [], "sources": [], "types": []}
    with execute_analytic(_COUNT_BY_FACET, {"datasets": project.find_ids().datasets}) as cursor:
        for *names, n in cursor.fetchall():
            # A row is of one facet, and has NULL for the others.
            facet, name = next((facet, name) for facet, name in zip(found, names, strict=True) if name is not None)
            found[facet].append((name, n))
    return found


# Four groupings of one pass over the candidates, each sorted by its only column that is not NULL.
_COUNT_BY_FACET = f"""
SELECT d.name, p.split, c.source, q.type, count(*)
FROM projects_candidate c
JOIN projects_dataset d ON d.id = c.dataset_id JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
WHERE c.dataset_id = ANY(%(datasets)s) AND {is_judgeable("c", "p")}
GROUP BY GROUPING SETS ((d.name), (p.split), (c.source), (q.type))
ORDER BY 1, 2, 3, 4
"""


def pair_id_sql(is_wanted: bool = True, *, prefix: str = "") -> Coalesce | Value:
    """Return the expression for the minimal pair that a candidate belongs to, NULL for none."""
    # A batch without pairs needs no join to find out that no candidate belongs to one.
    if not is_wanted:
        return Value(None, IntegerField(null=True))
    return Coalesce(f"{prefix}pair_as_1__pk", f"{prefix}pair_as_2__pk")


def find_annotators(project: Project, names: Sequence[str]) -> tuple[Membership, ...]:
    """Return active annotators by username or pseudonym, in the given order.

    Raises Refused for any other name, also that of an imported annotator, who can't sign in.
    """
    active = project.memberships.active().annotators().filter(kind__in=KINDS_THAT_RATE).select_related("user")
    # By username too, since managers know it; where one member's username is another's pseudonym, the username wins.
    known = {person.pseudonym: person for person in active}
    known |= {person.user.get_username(): person for person in active if person.user}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Refused(f"“{unknown[0]}” is not an active annotator of this project.", field="annotators")
    return tuple(known[name] for name in names)


def _sample(rows: Sequence[Row], n_candidates: int, seed: int) -> list[Row]:
    if n_candidates < 1:
        raise Refused("Set a sample size of at least 1.", field="sample")
    # Whole passages are drawn, so that annotators read a passage for all its candidates.
    sizes: dict[str, dict[int, int]] = {}
    for row in rows:
        passages = sizes.setdefault(row.dataset, {})
        passages[row.passage] = passages.get(row.passage, 0) + 1
    chosen = sample_passages(sizes, n_candidates, seed)
    return [row for row in rows if row.passage in chosen]


def _draw_questions(types: Mapping[int, str], numbers: Mapping[str, int], seed: int) -> set[int]:
    """Return the questions drawn, by type; more of one type never change those of another, and add to the same ones."""
    drawn: set[int] = set()
    for type_, n in numbers.items():
        label = Question.Type(type_).label
        found = [question for question, each in types.items() if each == type_]
        if n < 1:
            raise Refused(f"Set at least 1 question of the type “{label}”, or none.", field="questions")
        if n > len(found):
            has = "is only 1 question" if len(found) == 1 else f"are only {format_number(len(found))} questions"
            raise Refused(
                f"There {has} of the type “{label}” in this selection, fewer than {format_number(n)}.",
                field="questions",
            )
        Random(f"{seed}-{type_}").shuffle(found)  # noqa: S311 - to be repeated, not to be secret
        drawn.update(found[:n])
    return drawn


def _check_names(project: Project, selection: Selection) -> None:
    candidates = Candidate.objects.in_project(project)
    for noun, named, column in (
        ("dataset", selection.datasets, "dataset__name"),
        ("split", selection.splits, "question__passage__split"),
        ("source", selection.sources, "source"),
        ("type", (*selection.types, *selection.questions), "question__type"),
    ):
        if not named:
            continue
        known = set(candidates.order_by().values_list(column, flat=True).distinct())
        unknown = [name for name in named if name not in known]
        if unknown:
            kind = "question type" if noun == "type" else noun
            raise Refused(f"No candidate of this project has the {kind} “{unknown[0]}”.", field=f"{noun}s")
