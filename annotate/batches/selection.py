"""Selecting the candidates of a batch, and the annotators if it has chosen ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, ExpressionWrapper, IntegerField, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from annotate.batches.cutting import sample_passages
from annotate.models import Batch, Item
from projects.errors import Refused
from projects.models import Candidate, Membership, Project


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which candidates a batch takes; an empty part excludes nothing.

    `sample` draws whole passages, with the seed, up to about this many candidates. Minimal pairs are excluded unless
    `with_pairs` or `only_pairs` is set; withdrawn candidates always are.
    """

    datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    sample: int | None = None
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
            "sample": self.sample,
            "seed": self.seed,
            "with_pairs": self.with_pairs,
            "only_pairs": self.only_pairs,
        }


@dataclass(frozen=True)
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

    Candidates of the batch `without` are excluded before a sample is drawn. Raises Refused if none is left, or for a
    dataset, split or source that the project does not have.
    """
    _check_names(project, selection)
    has_text = ~Q(question__passage__text="") | Q(question__passage__documents__isnull=False)
    candidates = list_candidates(project, selection).annotate(has_text=ExpressionWrapper(has_text, BooleanField()))
    if without is not None:
        candidates = candidates.exclude(
            pk__in=Item.objects.filter(hit__batch=without, control="none").values("candidate")
        )
    rows = [
        Row(*values)
        for values in candidates.order_by("question__passage_id", "question_id", "id").values_list(
            "id", "question_id", "question__passage_id", "dataset__name", "has_text", pair_id_sql(selection.takes_pairs)
        )
    ]
    if selection.sample is not None:
        rows = _sample(rows, selection.sample, selection.seed)
    if not rows:
        raise Refused("No candidate matches this selection, so there is nothing to judge.")
    return rows


def list_candidates(project: Project, selection: Selection) -> QuerySet[Candidate]:
    """Return all candidates of a selection, before a sample is drawn."""
    candidates = Candidate.objects.in_project(project).judgeable()
    if selection.datasets:
        candidates = candidates.filter(dataset__name__in=selection.datasets)
    if selection.splits:
        candidates = candidates.filter(question__passage__split__in=selection.splits)
    if selection.sources:
        candidates = candidates.filter(source__in=selection.sources)
    is_of_pair = Q(pair_as_1__isnull=False) | Q(pair_as_2__isnull=False)
    if selection.only_pairs:
        candidates = candidates.filter(is_of_pair)
    elif not selection.takes_pairs:
        candidates = candidates.filter(~is_of_pair)
    return candidates


def pair_id_sql(is_wanted: bool = True, *, prefix: str = "") -> Coalesce | Value:
    """Return the expression for the minimal pair that a candidate belongs to, NULL for none."""
    # A batch without pairs needs no join to find out that no candidate belongs to one.
    if not is_wanted:
        return Value(None, IntegerField(null=True))
    return Coalesce(f"{prefix}pair_as_1__pk", f"{prefix}pair_as_2__pk")


def find_annotators(project: Project, names: Sequence[str]) -> tuple[Membership, ...]:
    """Return active annotators by username or pseudonym, in the given order. Raises Refused for an unknown name."""
    active = project.memberships.active().annotators().select_related("user")
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


def _check_names(project: Project, selection: Selection) -> None:
    candidates = Candidate.objects.in_project(project)
    for noun, named, field in (
        ("dataset", selection.datasets, "dataset__name"),
        ("split", selection.splits, "question__passage__split"),
        ("source", selection.sources, "source"),
    ):
        if not named:
            continue
        known = set(candidates.order_by().values_list(field, flat=True).distinct())
        unknown = [name for name in named if name not in known]
        if unknown:
            raise Refused(
                f"No candidate of this project has the {noun} “{unknown[0]}”.",
                field=f"{noun}s",
            )
