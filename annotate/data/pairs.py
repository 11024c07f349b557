"""Minimal pairs: added to a question, edited and deleted while no one has been asked about them, then withdrawn.

The candidates of a pair share a key, as in an import: `KEY-1` and `KEY-2`.
"""

from dataclasses import asdict, dataclass
from uuid import uuid4

from django.db import transaction
from django.db.models import Q

from annotate.data.withdrawing import withdraw_candidate
from annotate.models import Adjudication, Item, Judgment, QualificationItem
from annotate.places import Withdrawn
from projects import log
from projects.errors import Refused
from projects.models import Act, Candidate, Membership, MinimalPair, Project, Question

SOURCE = "minimal pair"
PHENOMENA = ("coreference", "hyponymy", "negation", "semantic role", "syntax", "word sense", "other")
"""The phenomena of MOCHA's pairs; a pair can have any other."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """The content of a pair: the better text, the other one, the phenomenon, and human scores if known."""

    text_1: str
    text_2: str
    phenomenon: str = ""
    score_1: float | None = None
    score_2: float | None = None

    @property
    def is_first_higher(self) -> bool | None:
        """Whether the first score is higher; None without scores."""
        return None if self.score_1 is None or self.score_2 is None else self.score_1 > self.score_2


def pair_position(phenomenon: str) -> tuple[int, str]:
    """Return the sort key of a phenomenon: MOCHA's first, then others, and last pairs without one."""
    return (PHENOMENA.index(phenomenon) if phenomenon in PHENOMENA else len(PHENOMENA) + (not phenomenon), phenomenon)


def fetch_written(pair: MinimalPair) -> Written:
    return Written(
        text_1=pair.candidate_1.text,
        text_2=pair.candidate_2.text,
        phenomenon=pair.phenomenon,
        score_1=pair.score_1,
        score_2=pair.score_2,
    )


@transaction.atomic
def write_pair(*, project: Project, actor: Membership, question: Question, written: Written) -> MinimalPair:
    """Add a pair with two new candidates and return it.

    Raises Refused for texts that are empty, equal, or already a pair of the question, and if the passage is withdrawn.
    Locks the project, so that of two people who add the same pair at once the second is refused.
    """
    _lock(project)
    _check(question, written)
    # Ids of a dataset come from files, so a counted one might be taken already; a random one is not.
    key = f"pair-{uuid4().hex[:12]}"
    first, second = (
        Candidate.objects.create(
            dataset_id=question.dataset_id, question=question, external_id=f"{key}-{n}", text=text, source=SOURCE
        )
        for n, text in enumerate((written.text_1, written.text_2), start=1)
    )
    pair = MinimalPair.objects.create(
        question=question, candidate_1=first, candidate_2=second, phenomenon=written.phenomenon.strip(),
        score_1=written.score_1, score_2=written.score_2,
    )  # fmt: skip
    log.record(project, actor, Act.WRITE_MINIMAL_PAIR, pair, after=asdict(written))
    return pair


@transaction.atomic
def change_pair(*, project: Project, actor: Membership, pair: MinimalPair, written: Written) -> MinimalPair:
    """Edit a pair; its texts can change only while neither candidate is in a HIT.

    A candidate whose text changes loses its metric scores. Raises Refused as `write_pair` does, for new texts of a pair
    in use, and if nothing has changed. Locks the project.
    """
    _lock(project)
    pair = _fetch_again(project, pair)
    before = fetch_written(pair)
    if written == before:
        raise Refused("Nothing has changed.")
    if (written.text_1, written.text_2) != (before.text_1, before.text_2):
        if is_used(pair):
            raise Refused("These candidates are already in a HIT, so their texts can’t be changed.")
        _check(pair.question, written, except_for=pair)
        _rewrite(pair, written)
    pair.phenomenon = written.phenomenon.strip()
    pair.score_1, pair.score_2 = written.score_1, written.score_2
    pair.save()
    log.record(project, actor, Act.CHANGE_MINIMAL_PAIR, pair, before=asdict(before), after=asdict(written))
    return pair


@transaction.atomic
def delete_pair(*, project: Project, actor: Membership, pair: MinimalPair) -> None:
    """Delete a pair that no one has been asked about, with its candidates. Raises Refused for any other."""
    _lock(project)
    pair = _fetch_again(project, pair)
    if is_used(pair):
        raise Refused("These candidates are already in a HIT. Withdraw the pair instead.")
    # Recorded before the rows are gone, because the log stores what the pair was.
    log.record(project, actor, Act.DELETE_MINIMAL_PAIR, pair, before=asdict(fetch_written(pair)))
    _delete_rows(pair)


def withdraw_pair(*, project: Project, actor: Membership, pair: MinimalPair, why: str) -> Withdrawn:
    """Withdraw both candidates of a pair. Raises Refused as `withdraw_candidate` does."""
    left = [each for each in (pair.candidate_1, pair.candidate_2) if each.withdrawn_at is None]
    if not left:
        raise Refused("This is already withdrawn.")
    done = [withdraw_candidate(project=project, actor=actor, candidate=each, why=why) for each in left]
    return done[0] + done[1] if len(done) > 1 else done[0]


def is_used(pair: MinimalPair) -> bool:
    """Return whether either candidate is in a HIT or a qualification test, or has been judged in any way."""
    ids = (pair.candidate_1_id, pair.candidate_2_id)
    uses = (Item.objects, QualificationItem.objects, Judgment.objects, Adjudication.objects)
    return any(rows.filter(candidate__in=ids).exists() for rows in uses)


def _lock(project: Project) -> None:
    """Lock the project, as imports and the creation of batches do, so that no candidate comes into use meanwhile."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def _fetch_again(project: Project, pair: MinimalPair) -> MinimalPair:
    rows = MinimalPair.objects.select_related("question", "candidate_1", "candidate_2")
    found = rows.filter(pk=pair.pk, question__dataset__project=project).first()
    if found is None:
        raise Refused("This pair has been deleted in the meantime.")
    return found


def _check(question: Question, written: Written, *, except_for: MinimalPair | None = None) -> None:
    if not written.text_1.strip() or not written.text_2.strip():
        raise Refused("Enter a text for both candidates.")
    if written.text_1 == written.text_2:
        raise Refused("The two texts are the same. Change one of them.", field="text_2")
    if (written.score_1 is None) != (written.score_2 is None):
        raise Refused("Give both scores or none.", field="score_1" if written.score_1 is None else "score_2")
    if Question.objects.filter(pk=question.pk, passage__withdrawn_at__isnull=False).exists():
        raise Refused("The passage of this question is withdrawn.")
    one, other = written.text_1, written.text_2
    same = Q(candidate_1__text=one, candidate_2__text=other) | Q(candidate_1__text=other, candidate_2__text=one)
    existing = MinimalPair.objects.filter(same, question=question, candidate_1__withdrawn_at=None)
    if (existing.exclude(pk=except_for.pk) if except_for else existing).exists():
        raise Refused("This question already has a pair with these two texts.")


def _rewrite(pair: MinimalPair, written: Written) -> None:
    """Replace the candidates by new rows with the same ids, so that metric scores of the old texts are deleted."""
    # Deleting cascades to the metric scores in the app above, whose models this app must not import.
    first, second = pair.candidate_1, pair.candidate_2
    first.text, second.text = written.text_1, written.text_2
    _delete_rows(pair)
    for row in (first, second, pair):
        row.save(force_insert=True)


def _delete_rows(pair: MinimalPair) -> None:
    MinimalPair.objects.filter(pk=pair.pk).delete()
    Candidate.objects.filter(pk__in=(pair.candidate_1_id, pair.candidate_2_id)).delete()
