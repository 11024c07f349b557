"""Making the demo project: people, corpus, batches and simulated work, all through the functions that pages call."""

import secrets
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from annotate.attempts.gradable_items import ItemSpec
from annotate.batches import creating
from annotate.batches import lifecycle as batches_lifecycle
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.imports import writing
from annotate.models import Batch, Hit, Item, Judgment, QualificationTest
from annotate.qualification import design, items
from demo import corpus
from demo.annotators import BIASED, CAREFUL, HASTY, NOISY, SimulatedAnnotator, hire
from projects import log
from projects.accounts import users
from projects.errors import Refused
from projects.importing import Options
from projects.models import Act, Membership, Project, User
from projects.people import invitations, join_by_invitation
from projects.settings import lifecycle
from projects.texts import versions
from projects.texts.examples import Example
from results.metrics import computing
from results.scope.scopes import choose_criterion, choose_criterion_to_measure
from results.studies import running
from results.studies.forms import fill_in
from results.studies.kinds import KINDS

SLUG = "demo"
NAME = "Demo: fifteen short texts"
DESCRIPTION = (
    "A sample corpus, written for Concord. Its simulated annotators are programs that take the same steps as people. "
    "They are marked as simulated everywhere, and their ratings are no evidence of anything."
)
INSTRUCTIONS = Path(__file__).parent / "instructions.md"
EXAMPLES = Path(__file__).parent / "examples.json"
# Two of the seven have faults that the quality indicators should show, and two are just less precise.
CREW = (CAREFUL, CAREFUL, CAREFUL, NOISY, NOISY, BIASED, HASTY)
DONE_SHARE = 0.7
"""The share of the collection that is finished, so that progress, alerts and open work can all be seen."""
TRIAL_AGO, FULL_AGO = timedelta(hours=30), timedelta(hours=10)
"""How long ago, by the simulated annotators' clock, the two batches were opened."""
METRICS = ("exact_match", "token_f1", "bleu_1", "adapted_bleu", "rouge_l", "adapted_rouge_l")
"""The metrics that the evaluations compare."""
LACKING = ("top_n", "redundancy")
"""Kinds of evaluations that need ranked answers or a second criterion, which the corpus does not have."""
N_RESAMPLES = 1_000
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without i, l, o, 0 and 1, which are easily confused."""

Role = Membership.Role
PEOPLE = {
    "demo-owner": Role.OWNER,
    "demo-manager": Role.MANAGER,
    "demo-researcher": Role.RESEARCHER,
    "demo-annotator-1": Role.ANNOTATOR,
    "demo-annotator-2": Role.ANNOTATOR,
}
"""The accounts of the demo project, the owner first."""

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class SignIn:
    """An account of the demo project; its password is known only when it was just set."""

    username: str
    role: str
    password: str | None


@dataclass(frozen=True)
class Demo:
    """The demo project with its accounts and counts, and whether it is new."""

    project: Project
    is_new: bool
    sign_ins: list[SignIn]
    counts: dict[str, int] = field(default_factory=dict)


def make_demo(*, seed: int, on_progress: OnProgress | None = None) -> Demo:
    """Create the demo project with all its data, or return the existing one.

    It is one transaction, so an interrupted run leaves nothing behind. Raises Refused if the demo project was deleted,
    or if one of its user names belongs to somebody else.
    """
    project = Project.objects.filter(slug=SLUG).first()
    if project is None:
        return _make(seed, on_progress)
    if project.deleted_at is not None:
        raise Refused("The demo project was deleted. Restore it with: manage.py restore_project demo")
    sign_ins = [SignIn(user.username, role, None) for user, role in _list_members(project)]
    return Demo(project, False, sign_ins, _count_rows(project))


@transaction.atomic
def renew_passwords(project: Project) -> list[SignIn]:
    """Set a new password for each account of the demo, which ends its sessions, and return the accounts."""
    renewed = []
    for user, role in _list_members(project):
        password = _random_password()
        user.set_password(password)
        user.save(update_fields=["password"])
        renewed.append(SignIn(user.username, role, password))
    log.record(project, None, Act.RENEW_DEMO_PASSWORDS, project)
    return renewed


@transaction.atomic
def _make(seed: int, on_progress: OnProgress | None) -> Demo:
    passwords = {username: _random_password() for username in PEOPLE}
    owner = _create_project(passwords)
    members = [_invite(owner, username, role, passwords[username]) for username, role in PEOPLE.items()][1:]
    manager = members[0]
    _write_instructions(manager)
    _import_corpus(manager)
    _make_test(manager)
    crew = hire(owner.project, CREW, worth=_read_worth(), seed=seed)
    _fill_batches(manager, crew, seed, on_progress or (lambda done, total: None))
    _evaluate_metrics(owner.project, seed)
    sign_ins = [SignIn(username, role, passwords[username]) for username, role in PEOPLE.items()]
    return Demo(owner.project, True, sign_ins, _count_rows(owner.project))


def _create_project(passwords: dict[str, str]) -> Membership:
    username = next(iter(PEOPLE))
    owner = _make_user(username, passwords[username])
    owner.can_create_projects = True
    owner.save(update_fields=["can_create_projects"])
    project = lifecycle.create_project(slug=SLUG, name=NAME, owner=owner, description=DESCRIPTION)
    membership = project.memberships.select_related("project").get(user=owner)
    lifecycle.change_settings(project=project, actor=membership, values={"fee_share": 0.2})
    membership.project.refresh_from_db()
    return membership


def _invite(owner: Membership, username: str, role: Membership.Role, password: str) -> Membership:
    if role == Role.OWNER:
        return owner
    _, token = invitations.create_invitation(actor=owner, role=role, days=1, note=username)
    return join_by_invitation.join(token=token, user=_make_user(username, password))


def _make_user(username: str, password: str) -> User:
    user, is_new = users.ensure_user(username)
    if not is_new:
        raise Refused(f"The user name “{username}” is taken, and the demo project needs it. Rename that user first.")
    user.set_password(password)
    user.save(update_fields=["password"])
    return user


def _write_instructions(manager: Membership) -> None:
    current = versions.current_instructions(manager.project)
    versions.revise_instructions(
        project=manager.project,
        actor=manager,
        text=INSTRUCTIONS.read_text(encoding="utf-8"),
        based_on=current.version if current else 0,
        examples=Example.read_all(orjson.loads(EXAMPLES.read_bytes())),
    )


def _import_corpus(manager: Membership) -> None:
    _import_rows(manager, "demo-corpus.jsonl", corpus.rows())
    _import_rows(manager, "demo-pairs-and-generated-questions.jsonl", corpus.extra_rows())


def _import_rows(manager: Membership, name: str, rows: Iterable[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory(prefix="concord-demo-") as folder:
        path = Path(folder) / name
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        writing.import_now(
            project=manager.project,
            path=path,
            name=path.name,
            folder=Path(folder) / "spool",
            actor=manager,
            options=Options(format="jsonl", drop_equal="exact"),
        )


def _make_test(manager: Membership) -> None:
    """Create the qualification test of the corpus, and leave it as a draft for the visitor to open."""
    test = design.make_test(project=manager.project, actor=manager)
    loaded = corpus.qualification()
    specs = [
        ItemSpec(
            question=question["text"],
            answer=item["candidate"],
            expected={loaded["criterion"]: (item["expected"], item["expected"])},
            passage_title=passage["title"],
            passage_text=passage["passage"],
            references=question["references"],
            tolerance=item["tolerance"],
            explanation=item["explanation"],
        )
        for passage in loaded["passages"]
        for question in passage["questions"]
        for item in question["items"]
    ]
    items.add_items(test=test, actor=manager, specs=specs, how="file")
    settings = {"pass_share": loaded["pass_share"], "feedback": QualificationTest.Feedback.FULL, "seed": 7}
    design.change_settings(test=test, actor=manager, values=settings)


def _fill_batches(manager: Membership, crew: Sequence[SimulatedAnnotator], seed: int, on_progress: OnProgress) -> None:
    """Create a closed trial, a collection in progress, and a draft."""
    make = partial(creating.create_batch, project=manager.project, actor=manager)
    trial = make(
        selection=Selection(splits=("dev",), seed=seed),
        terms=Terms(name="Trial", kind=Batch.Kind.TRIAL, judgments=5),
    )
    full = make(
        selection=Selection(splits=("train", "test"), seed=seed),
        terms=Terms(name="Collection", judgments=3),
    )
    make(
        selection=Selection(sources=("human",), seed=seed),
        terms=Terms(name="Human answers once more", judgments=2),
    )
    # The stream 0 of the seed is for the order of work; annotators have the streams from 1 on (`hire`).
    rng = np.random.default_rng([seed, 0])
    n_trial, n_full = _count_places_wanted(trial), round(DONE_SHARE * _count_places_wanted(full))
    now = timezone.now()
    _set_clocks(crew, now - TRIAL_AGO, rng)
    batches_lifecycle.open_batch(batch=trial, actor=manager)
    _work(trial, n_trial, crew, rng, lambda done: on_progress(done, n_trial + n_full))
    batches_lifecycle.close(batch=trial, actor=manager)
    # The work is dated back, so the batches are too.
    Batch.objects.filter(pk=trial.pk).update(opened_at=now - TRIAL_AGO, closed_at=now - FULL_AGO)
    _set_clocks(crew, now - FULL_AGO, rng)
    batches_lifecycle.open_batch(batch=full, actor=manager)
    _work(full, n_full, crew, rng, lambda done: on_progress(n_trial + done, n_trial + n_full))
    Batch.objects.filter(pk=full.pk).update(opened_at=now - FULL_AGO)
    # One HIT stays open with a draft, so that pages have work in progress to show.
    crew[0].begin(share=0.4)


def _evaluate_metrics(project: Project, seed: int) -> None:
    """Score all candidates by the metrics, and run one evaluation of each kind that the corpus allows."""
    for metric in METRICS:
        computing.run_now(project=project, name=metric, settings={})
    for kind in KINDS.values():
        if kind.name in LACKING:
            continue
        choose = choose_criterion_to_measure if kind.is_of_pairs else choose_criterion
        given = {"criterion": choose(project).key, "seed": str(seed), "resamples": str(N_RESAMPLES)}
        form = fill_in(project, kind, given)
        if not form.is_valid():
            raise Refused(f"The demo’s evaluation “{kind.title}” has wrong settings: {form.errors.as_text()}")
        running.study_now(project=project, kind=kind.name, settings=form.settings(), seed=form.read_seed())


def _set_clocks(crew: Sequence[SimulatedAnnotator], opened_at: datetime, rng: np.random.Generator) -> None:
    """Let everybody start within two hours after a batch was opened."""
    for annotator in crew:
        annotator.clock = opened_at + timedelta(minutes=float(rng.uniform(0, 120)))


def _work(
    batch: Batch,
    n_places: int,
    crew: Sequence[SimulatedAnnotator],
    rng: np.random.Generator,
    on_progress: Callable[[int], None],
) -> None:
    """Let the crew work in a random order until `n_places` HITs are submitted, or nobody finds another one."""
    n_before = sum(annotator.n_submitted for annotator in crew)
    busy = list(crew)
    n_done = 0
    while busy and n_done < n_places:
        annotator = busy[int(rng.integers(len(busy)))]
        if not annotator.work_once():
            busy.remove(annotator)
        n_done = sum(annotator.n_submitted for annotator in crew) - n_before
        on_progress(n_done)


def _read_worth() -> Callable[[Item], float]:
    scores = corpus.true_scores()

    def worth(item: Item) -> float:
        assert item.candidate is not None
        return (scores[item.candidate.external_id] - 1) / 4

    return worth


def _list_members(project: Project) -> list[tuple[User, str]]:
    members = project.memberships.filter(user__username__in=PEOPLE).select_related("user").order_by("pk")
    return [(member.user, member.role) for member in members if member.user is not None]


def _count_places_wanted(batch: Batch) -> int:
    return Hit.objects.filter(batch=batch).aggregate(n=Sum("places_wanted"))["n"] or 0


def _count_rows(project: Project) -> dict[str, int]:
    datasets = project.datasets.all()
    return {
        "passages": sum(dataset.passages.count() for dataset in datasets),
        "questions": sum(dataset.questions.count() for dataset in datasets),
        "candidates": sum(dataset.candidates.count() for dataset in datasets),
        "batches": project.batches.count(),
        "simulated_annotators": project.memberships.filter(kind=Membership.Kind.SIMULATED).count(),
        "judgments": Judgment.objects.filter(annotator__project=project, is_counted=True).count(),
    }


def _random_password() -> str:
    """Return a password of four groups of five letters and digits: about 99 bits, and easy to copy by hand."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(5)) for _ in range(4))
