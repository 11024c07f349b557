"""Simulated annotators: they work through the acts that people's pages use, and rate by a rule of their own.

Each is a membership of kind *simulated* that nobody can sign in to, and goes by a pseudonym that says so: every page
and every file that names them tells what they are.
All chance comes from one seeded generator per annotator, and items are rated in their canonical order:
the same seed gives the same ratings, however the page was shuffled.
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
    """How many words there are to read for this item: its share of the passage, question, references, answer."""


class Judgement(Protocol):
    """A rule that turns what is seen into how good it seems, from 0 to 1; what lies outside is cut off."""

    def rate(self, seen: Seen, rng: np.random.Generator) -> float: ...


@dataclass(frozen=True)
class Reader:
    """Reads, and comes out at the true worth plus a leaning plus an error (a standard deviation)."""

    error: float
    leaning: float = 0.0

    def rate(self, seen: Seen, rng: np.random.Generator) -> float:
        return seen.worth + self.leaning + rng.normal(0.0, self.error)


@dataclass(frozen=True)
class Skimmer:
    """Reads some items; of the others sees only how many words they share with a reference."""

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
    """How somebody rates, how fast, and how often they say something or give a HIT back."""

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
    """A simulated membership at work; `worth` is told to it alone and stored nowhere.

    With a clock, its work is dated from there on, with breaks between HITs; without one, it is dated now.
    """

    membership: Membership
    temperament: Temperament
    worth: Worth
    rng: np.random.Generator
    clock: datetime | None = None
    n_submitted: int = field(default=0, init=False)
    n_returned: int = field(default=0, init=False)

    def work_once(self) -> bool:
        """Claim a HIT and submit it, or give it back; False when there is nothing to claim."""
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
        seconds = sum(sent.seconds or []) * 1.08 + 2.0
        started_at = self._start(seconds)
        Assignment.objects.filter(uuid=claimed).update(opened_at=started_at)
        submitting.submit(annotator=self.membership, assignment_uuid=claimed, sent=sent)
        self._date(claimed, started_at, seconds, is_submitted=True)
        self.n_submitted += 1
        return True

    def begin(self, share: float) -> bool:
        """Claim a HIT, answer this share of it and leave it open with the draft saved."""
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
        """The next HIT, after agreeing to and reading what it asks for; None when there is none."""
        claimed = serving.claim(self.membership)
        if isinstance(claimed, ConfirmFirst):
            confirm_all(self.membership)
            claimed = serving.claim(self.membership)
        return None if isinstance(claimed, NoWork) else claimed

    def _rate(self, assignment_uuid: uuid.UUID) -> SentAnswers:
        assignment = Assignment.objects.select_related("hit__batch", "hit__passage").get(uuid=assignment_uuid)
        criteria = frozen_criteria(assignment.hit.batch.rubric_id)
        place_of = {item_id: place for place, item_id in enumerate(assignment.layout)}
        sheet = _Sheet(seconds=[0.0] * len(place_of))
        for item, seen in _look(assignment, self.worth):
            self._answer(seen, place_of[item.pk], criteria, sheet)
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
        """When work that takes so long began: by the clock, or just so long ago."""
        latest = timezone.now() - timedelta(seconds=seconds)
        return latest if self.clock is None else min(self.clock, latest)

    def _date(self, assignment_uuid: uuid.UUID, started_at: datetime, seconds: float, *, is_submitted: bool) -> None:
        """Date what was done by the clock, and move the clock on to the next HIT."""
        if self.clock is None:
            return
        ended_at = started_at + timedelta(seconds=seconds)
        times: dict[str, object] = {"opened_at": started_at, "ended_at": ended_at}
        if is_submitted:
            times |= {"submitted_at": ended_at, "wall_seconds": seconds}
        since = timezone.now() - started_at
        Assignment.objects.filter(uuid=assignment_uuid).update(due_at=F("due_at") - since, **times)
        self.clock = ended_at + timedelta(minutes=float(self.rng.lognormal(2.5, 1.0)))


@dataclass
class _Sheet:
    """A rating form on its way, by place in the layout."""

    seconds: list[float]
    values: dict[int, dict[str, float | str]] = field(default_factory=dict)
    cannot: dict[int, str] = field(default_factory=dict)
    flags: set[int] = field(default_factory=set)
    comments: dict[int, str] = field(default_factory=dict)


def hire(project: Project, temperaments: Sequence[Temperament], *, worth: Worth, seed: int) -> list[SimulatedAnnotator]:
    """One simulated annotator for each temperament, with a membership and a generator of its own.

    A project that has simulated annotators of these names keeps them.
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
    """Agree to the project's consent and read every version of its instructions, by the acts of people's pages."""
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
