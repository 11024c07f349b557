"""Simulated work in one arrangement, from an empty project to the removal of flagged annotators."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import orjson
from django.db.models import QuerySet
from django.utils import timezone

from annotate.batches import creating
from annotate.batches import lifecycle as batches_lifecycle
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.controls.making import make_pool
from annotate.controls.pool import accept
from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.rating_patterns import fetch_rating_patterns
from annotate.imports import writing
from annotate.models import Assignment, Batch, Finding, Hit, Item
from annotate.moderation import members
from annotate.moderation.members import Exclusion
from annotate.quality import monitoring
from demo.annotators import SimulatedAnnotator, Worth, hire
from demo.simulating.arrangements import HIT_SIZE, MOMENTS, Arrangement
from demo.simulating.ground import throw_away_tables
from demo.simulating.texts import SimulatedPassage, rows, worth_when_degraded, write_texts
from demo.simulating.worlds import Worker, World, recruit
from measures.agreement import Agreement, krippendorff_alpha
from measures.outcome import Undefined
from projects.accounts import users
from projects.errors import Refused
from projects.importing import Options
from projects.models import Membership, Project
from projects.settings import lifecycle

SLUG = "simulation"
NAME = "Simulation, thrown away at its end"
WHY = "The simulation removes whoever has a serious finding."
LONG_AGO = timedelta(days=60)
"""The clocks start here, so that 50 HITs with breaks are all dated in the past."""
OnHit = Callable[[], None]


@dataclass(frozen=True)
class Flags:
    """One annotator at one moment: their type, and the kinds of their open serious findings."""

    way: str
    is_bad: bool
    kinds: frozenset[str]


@dataclass(frozen=True)
class Outcome:
    """Everybody's flags by HITs done, and alpha before and after the work of flagged annotators is removed."""

    arrangement: Arrangement
    flags: Mapping[int, Sequence[Flags]]
    alpha_before: float | Undefined
    alpha_after: float | Undefined


@dataclass(frozen=True)
class Scene:
    """The project with its workers."""

    owner: Membership
    batch: Batch
    workers: Sequence[Worker]
    crew: Sequence[SimulatedAnnotator]

    @property
    def project(self) -> Project:
        return self.owner.project


def work_through(
    arrangement: Arrangement, *, world: World, seed: int, n_annotators: int, n_hits: int, on_hit: OnHit
) -> Outcome:
    """Let annotators do `n_hits` HITs each, in rounds, and refresh the quality figures after every round.

    In each round everybody submits one ordinary HIT, in a new random order; personal HITs come in addition. HITs of the
    batch are completed one after another (depth first), so that the others' ratings exist when figures need them.
    """
    rng = np.random.default_rng([seed, arrangement.overlap, arrangement.controls])
    with throw_away_tables(seed):
        scene = _set_up(arrangement, world, seed, n_annotators, n_hits, rng)
        flags = {}
        for n_done in range(1, n_hits + 1):
            _work_round(scene, n_done, rng, on_hit)
            monitoring.refresh_figures(project=scene.project)
            if n_done in list_moments(n_hits):
                flags[n_done] = list(_flags(scene))
        before = _alpha(scene.project)
        _remove_flagged(scene)
        return Outcome(arrangement, flags, before, _alpha(scene.project))


def list_moments(n_hits: int) -> tuple[int, ...]:
    return tuple(sorted({*(moment for moment in MOMENTS if moment < n_hits), n_hits}))


def _set_up(
    arrangement: Arrangement, world: World, seed: int, n_annotators: int, n_hits: int, rng: np.random.Generator
) -> Scene:
    # Enough HITs for everybody, rounded up, and some more: nobody may get a HIT twice.
    n_passages = -(-n_annotators * n_hits // arrangement.overlap) + arrangement.overlap
    passages = write_texts(n_passages, HIT_SIZE - arrangement.plan.room, mix=world.mix, rng=rng)
    workers = recruit(world, n_annotators, rng)
    owner = _create_project()
    _import(owner, passages)
    batch = creating.create_batch(
        project=owner.project,
        actor=owner,
        selection=Selection(seed=seed),
        terms=Terms(
            name="Simulated work",
            judgments=arrangement.overlap,
            hit_size=HIT_SIZE,
            order=Batch.Order.DEPTH,
            controls=arrangement.plan,
        ),
    )
    if not arrangement.plan.is_empty:
        make_pool(batch=batch, actor=owner)
        accept(batch=batch, actor=owner)
    batches_lifecycle.open_batch(batch=batch, actor=owner)
    # Without statistics of the new tables the planner would choose slow plans for serving.
    creating.analyze()
    crew = hire(owner.project, [each.temperament for each in workers], worth=_read_worth(passages), seed=seed)
    for annotator in crew:
        annotator.clock = timezone.now() - LONG_AGO
    return Scene(owner, batch, workers, crew)


def _create_project() -> Membership:
    user, _ = users.ensure_user(SLUG)
    project = lifecycle.create_project(slug=SLUG, name=NAME, owner=user)
    return project.memberships.select_related("project").get(user=user)


def _import(owner: Membership, passages: Sequence[SimulatedPassage]) -> None:
    with tempfile.TemporaryDirectory(prefix="concord-simulation-") as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows(passages)))
        writing.import_now(
            project=owner.project,
            path=path,
            name=path.name,
            folder=Path(folder) / "spool",
            actor=owner,
            options=Options(format="jsonl", drop_equal="none"),
        )


def _read_worth(passages: Sequence[SimulatedPassage]) -> Worth:
    """Return a function from an item to its true worth, also for controls."""
    known = {a.id: a.worth for passage in passages for question in passage.questions for a in question.answers}

    def worth(item: Item) -> float:
        if item.candidate is not None:
            return known[item.candidate.external_id]
        if item.control == Item.Control.DEGRADED and item.made_from is not None:
            source = item.made_from
            text = source.candidate.text if source.candidate is not None else source.shown_text or ""
            return worth_when_degraded(worth(source), text, item.shown_text or "")
        return 0.0 if item.recipe == Item.Recipe.OTHER_REFERENCE else 1.0

    return worth


def _work_round(scene: Scene, n_done: int, rng: np.random.Generator, on_hit: OnHit) -> None:
    """Let everybody work until they have submitted `n_done` ordinary HITs."""
    for place in rng.permutation(len(scene.crew)):
        annotator = scene.crew[int(place)]
        while _n_work(annotator) < n_done:
            on_hit()
            if not annotator.work_once():
                raise Refused(f"{annotator.membership.pseudonym} found no HIT to work on.")


def _n_work(annotator: SimulatedAnnotator) -> int:
    """Count the submitted ordinary HITs, without personal ones and full HITs of known scores."""
    work = Assignment.objects.filter(annotator=annotator.membership, hit__purpose=Hit.Purpose.WORK)
    return work.filter(state=Assignment.State.SUBMITTED).count()


def _flags(scene: Scene) -> Iterator[Flags]:
    found: dict[int, set[str]] = {}
    for pk, kind in _serious(scene).values_list("annotator_id", "kind"):
        found.setdefault(pk, set()).add(kind)
    for worker, annotator in zip(scene.workers, scene.crew, strict=True):
        kinds = frozenset(found.get(annotator.membership.pk, ()))
        yield Flags(worker.temperament.name, worker.is_bad, kinds)


def _remove_flagged(scene: Scene) -> None:
    flagged = set(_serious(scene).values_list("annotator_id", flat=True))
    for annotator in scene.crew:
        if annotator.membership.pk in flagged:
            everything = Exclusion(scope=members.ExclusionScope.ALL)
            members.remove(target=annotator.membership, actor=scene.owner, why=WHY, exclusion=everything)


def _serious(scene: Scene) -> QuerySet[Finding]:
    return Finding.objects.filter(annotator__project=scene.project, state=Finding.State.OPEN, evidence__is_serious=True)


def _alpha(project: Project) -> float | Undefined:
    criterion = criteria_in_use(project)[0]
    patterns = fetch_rating_patterns(Scope(project=project, criterion=criterion)).patterns()
    found = krippendorff_alpha(patterns, level=criterion.level)
    return found.alpha if isinstance(found, Agreement) else found
