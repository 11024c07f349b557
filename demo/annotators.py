"""Simulated annotators: they work through the functions that people's pages call, and rate by a simple rule.

Each is a membership of kind *simulated* that nobody can sign in to, with a pseudonym that says so, so that every page
and file that names them shows what they are. Randomness comes from one seeded generator per annotator, and items are
rated in their stored order, so a seed gives the same ratings however the page was shuffled.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
from django.db.models import F, Prefetch
from django.utils import timezone

from annotate.models import Assignment, Item
from annotate.onboarding import consent as onboarding_consent
from annotate.onboarding import instructions
from annotate.rating.sent import SentAnswers
from annotate.work import drafts, serving, submitting
from annotate.work.serving import ConfirmFirst, NoWork
from measures.rubric import Scale, ScaleKind
from projects.models import Membership, Project, Reference
from projects.rubric.rubrics import CriterionOnPage, frozen_criteria
from projects.texts.versions import current_consent

Worth = Callable[[Item], float]
"""What an item is truly worth, from 0 (wrong) to 1 (the same meaning as a reference)."""


@dataclass(frozen=True)
class Seen:
    """One item as a simulated annotator sees it."""

    answer: str
    references: tuple[str, ...]
    worth: float
    n_words: int
    """Words to read for this item: its share of the passage, the question, the references and the answer."""


class Judgement(Protocol):
    """A rule that rates an item from 0 to 1; values outside are cut off."""

    def rate(self, seen: Seen, rng: np.random.Generator) -> float: ...


@dataclass(frozen=True)
class Reader:
    """Reads, and rates the true worth plus a bias (`leaning`) plus a normal error with this standard deviation."""

    error: float
    leaning: float = 0.0

    def rate(self, seen: Seen, rng: np.random.Generator) -> float:
        return seen.worth + self.leaning + rng.normal(0.0, self.error)


@dataclass(frozen=True)
class Skimmer:
    """Reads some items, and rates the others by the words they share with a reference."""

    reader: Reader
    read_share: float

    def rate(self, seen: Seen, rng: np.random.Generator) -> float:
        if rng.random() < self.read_share:
            return self.reader.rate(seen, rng)
        words = set(seen.answer.lower().split())
        shared = max((len(words & set(text.lower().split())) for text in seen.references), default=0)
        return shared / max(1, len(words)) + rng.normal(0.0, self.reader.error)


@dataclass(frozen=True)
class Temperament:
    """How an annotator rates, how fast, and how often they comment, flag an item or return a HIT."""

    name: str
    judgement: Judgement
    words_per_second: float = 4.0
    seconds_per_item: float = 3.0
    return_share: float = 0.0
    comment_share: float = 0.0
    flag_share: float = 0.0
    cannot_share: float = 0.0


CAREFUL = Temperament("careful", Reader(error=0.09), comment_share=0.05, flag_share=0.015)
NOISY = Temperament("noisy", Reader(error=0.22), return_share=0.06, comment_share=0.02, cannot_share=0.03)
BIASED = Temperament("biased", Reader(error=0.12, leaning=-0.16), flag_share=0.02)
HASTY = Temperament(
    "hasty",
    Skimmer(Reader(error=0.15), read_share=0.45),
    words_per_second=11.0,
    seconds_per_item=0.8,
    return_share=0.04,
)

_COMMENTS = (
    ("This answers something else.", "Not what the reference says."),
    ("Very little of it is right.", "The words are right, but not the sense."),
    ("Half of it is there.", "Right and wrong in equal parts."),
    ("A small thing is missing.", "Nearly the same; less exact than the reference."),
    ("Other words, same meaning.", "All that matters is there."),
)
_FLAG_COMMENTS = (
    "The second reference says more than the passage does.",
    "The question could be read in two ways.",
    "I am not sure that both references say the same.",
)
_RETURN_REASONS = (
    "I had to stop before I could finish.",
    "I know this text already.",
    "The page would not load properly on my phone.",
)
_CANNOT_REASON = "I cannot tell what the answer refers to."


@dataclass
class SimulatedAnnotator:
    """A simulated membership that works on HITs. Only it knows the true `worth` of items, which is stored nowhere.

    With a clock, its work is dated from that time on, with breaks between HITs; without one, it is dated now.
    """

    membership: Membership
    temperament: Temperament
    worth: Worth
    rng: np.random.Generator
    clock: datetime | None = None
    n_submitted: int = field(default=0, init=False)
    n_returned: int = field(default=0, init=False)

    def work_once(self) -> bool:
        """Claim a HIT and submit or return it. Returns False if there is no HIT to claim."""
        claimed = self._claim()
        if claimed is None:
            return False
        if self.rng.random() < self.temperament.return_share:
            reason = str(self.rng.choice(_RETURN_REASONS))
            submitting.return_hit(annotator=self.membership, assignment_uuid=claimed, reason=reason)
            self._date(claimed, self._start(30.0), 30.0, is_submitted=False)
            self.n_returned += 1
            return True
        sent = self._rate(claimed)
        # Time on the page is a little more than the active time on the items.
        seconds = sum(sent.seconds or []) * 1.08 + 2.0
        started_at = self._start(seconds)
        Assignment.objects.filter(uuid=claimed).update(opened_at=started_at)
        submitting.submit(annotator=self.membership, assignment_uuid=claimed, sent=sent)
        self._date(claimed, started_at, seconds, is_submitted=True)
        self.n_submitted += 1
        return True

    def begin(self, share: float) -> bool:
        """Claim a HIT, answer a share of its items and save the draft. Returns False if there is no HIT to claim."""
        claimed = self._claim()
        if claimed is None:
            return False
        sent = self._rate(claimed)
        n_answered = max(1, round(share * len(sent.values)))
        stamp = timezone.now().timestamp() * 1000
        answers = {
            str(place): {key: [value, stamp] for key, value in sent.values[place].items()}
            for place in sorted(sent.values)[:n_answered]
        }
        drafts.save(annotator=self.membership, assignment_uuid=claimed, sent={"answers": answers})
        return True

    def _claim(self) -> uuid.UUID | None:
        """Claim the next HIT, and give consent and read instructions if asked to; None if there is no HIT."""
        claimed = serving.claim(self.membership)
        if isinstance(claimed, ConfirmFirst):
            confirm_all(self.membership)
            claimed = serving.claim(self.membership)
        return None if isinstance(claimed, NoWork) else claimed

    def _rate(self, assignment_uuid: uuid.UUID) -> SentAnswers:
        assignment = Assignment.objects.select_related("hit__batch", "hit__passage").get(uuid=assignment_uuid)
        criteria = frozen_criteria(assignment.hit.batch.rubric_id)
        positions = {item_id: place for place, item_id in enumerate(assignment.layout)}
        sheet = _Sheet(seconds=[0.0] * len(positions))
        for item, seen in _look(assignment, self.worth):
            self._answer(seen, positions[item.pk], criteria, sheet)
        return SentAnswers(sheet.values, sheet.cannot, frozenset(sheet.flags), sheet.comments, sheet.seconds)

    def _answer(self, seen: Seen, place: int, criteria: Sequence[CriterionOnPage], sheet: "_Sheet") -> None:
        likes = self.temperament
        reading = likes.seconds_per_item + seen.n_words / likes.words_per_second
        sheet.seconds[place] = round(float(reading * self.rng.lognormal(0.0, 0.35)), 2)
        seems = [likes.judgement.rate(seen, self.rng) for _ in criteria]
        says, flags, cannot = self.rng.random(3)
        if cannot < likes.cannot_share and seen.worth < 0.5:
            sheet.cannot[place] = _CANNOT_REASON
            return
        sheet.values[place] = {
            criterion.key: _on_scale(share, criterion.scale) for criterion, share in zip(criteria, seems, strict=True)
        }
        if says < likes.comment_share:
            fifth = min(4, int(np.clip(seems[0], 0.0, 1.0) * 5))
            sheet.comments[place] = str(self.rng.choice(_COMMENTS[fifth]))
        if flags < likes.flag_share:
            sheet.flags.add(place)
            sheet.comments[place] = str(self.rng.choice(_FLAG_COMMENTS))

    def _start(self, seconds: float) -> datetime:
        """Return when work of this duration began: by the clock, or so that it ends now."""
        latest = timezone.now() - timedelta(seconds=seconds)
        return latest if self.clock is None else min(self.clock, latest)

    def _date(self, assignment_uuid: uuid.UUID, started_at: datetime, seconds: float, *, is_submitted: bool) -> None:
        """Date an assignment by the clock, and advance the clock to the next HIT."""
        if self.clock is None:
            return
        ended_at = started_at + timedelta(seconds=seconds)
        times: dict[str, object] = {"opened_at": started_at, "ended_at": ended_at}
        if is_submitted:
            times |= {"submitted_at": ended_at, "wall_seconds": seconds}
        # The deadline moves with the start; otherwise an open HIT dated back would have more time than its limit.
        since = timezone.now() - started_at
        Assignment.objects.filter(uuid=assignment_uuid).update(due_at=F("due_at") - since, **times)
        self.clock = ended_at + timedelta(minutes=float(self.rng.lognormal(2.5, 1.0)))


@dataclass
class _Sheet:
    """The answers of a rating form, by position in the layout."""

    seconds: list[float]
    values: dict[int, dict[str, float | str]] = field(default_factory=dict)
    cannot: dict[int, str] = field(default_factory=dict)
    flags: set[int] = field(default_factory=set)
    comments: dict[int, str] = field(default_factory=dict)


def hire(project: Project, temperaments: Sequence[Temperament], *, worth: Worth, seed: int) -> list[SimulatedAnnotator]:
    """Return one simulated annotator for each temperament, each with a membership and a random generator.

    Memberships of the same names are reused.
    """
    annotators = []
    for number, temperament in enumerate(temperaments, start=1):
        membership, _ = Membership.objects.get_or_create(
            project=project,
            imported_name=f"simulated {number} ({temperament.name})",
            defaults={
                "kind": Membership.Kind.SIMULATED,
                "role": Membership.Role.ANNOTATOR,
                "is_annotator": True,
                "pseudonym": f"simulated-{number}",
            },
        )
        confirm_all(membership)
        rng = np.random.default_rng([seed, number])
        annotators.append(SimulatedAnnotator(membership, temperament, worth, rng))
    return annotators


def confirm_all(membership: Membership) -> None:
    """Agree to the project's consent and confirm every version of its instructions, as people do on their pages."""
    project = membership.project
    if (consent := current_consent(project)) is not None:
        onboarding_consent.agree(annotator=membership, version=consent.version)
    for version in project.instructions.order_by("version"):
        instructions.confirm(annotator=membership, instructions=version)


def _look(assignment: Assignment, worth: Worth) -> Iterator[tuple[Item, Seen]]:
    items = (
        Item.objects.filter(pk__in=assignment.layout)
        .select_related("question", "candidate")
        .prefetch_related(Prefetch("question__references", Reference.objects.order_by("position")))
        .order_by("position", "pk")
    )
    passage = assignment.hit.passage
    texts = [passage.text, *(document.get("text", "") for document in passage.documents or [])]
    n_shared = sum(len(text.split()) for text in texts) / max(1, len(assignment.layout))
    for item in items:
        shown = item.shown_text if item.shown_text is not None else item.candidate.text if item.candidate else ""
        references = tuple(reference.text for reference in item.question.references.all())
        n_own = sum(len(text.split()) for text in (shown, item.question.text, *references))
        yield item, Seen(shown, references, worth(item), round(n_shared + n_own))


def _on_scale(share: float, scale: Scale) -> float:
    value = scale.low + float(np.clip(share, 0.0, 1.0)) * (scale.high - scale.low)
    return float(round(value)) if scale.kind is ScaleKind.ORDINAL else round(value, 1)
