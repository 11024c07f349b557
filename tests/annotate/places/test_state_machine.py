"""Any order of everything that can happen to a HIT: the equation of places holds, and nobody judges anything twice."""

import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from annotate import places
from annotate.batches import judgments_wanted, lifecycle
from annotate.data import withdrawing
from annotate.desk import arriving, session_steps
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Hit, Item, Judgment, PanelParticipant, PanelSession
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding.arrival_ids import Ids
from annotate.panels.sessions import BY_PLATFORM, end_overdue, find_session, record
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.importing import Kind
from projects.models import Candidate, Membership, Project
from tests.annotate.imports.import_steps import import_text
from tests.annotate.open_batches import add_hit, answered, assert_equation, open_batch
from tests.annotate.panels.samples import make_panel
from tests.annotate.submitted_work import expire, make_reserved
from tests.factories import make_membership, make_project

pytestmark = pytest.mark.django_db

PEOPLE = st.integers(0, 3)
WORK = st.integers(0, 11)
_slugs = count(1)


class Places(RuleBasedStateMachine):
    """Four annotators and a manager at two batches that share a passage's candidates."""

    def __init__(self) -> None:
        super().__init__()
        self.around = transaction.atomic()
        self.around.__enter__()
        self.project: Project = make_project(f"machine-{next(_slugs)}")
        self.manager = make_membership(self.project, role="owner")
        self.people = [make_membership(self.project) for _ in range(4)]
        self.batch = open_batch(self.project, n_hits=3, n_items=2, judgments=2, cents_per_hit=40)
        self.other = open_batch(self.project, n_hits=1, n_items=2, judgments=1)
        shared = Candidate.objects.filter(items__hit__batch=self.batch, items__hit__number=1).order_by("pk")
        add_hit(self.other, list(shared), 1)
        self.panel = make_panel(self.manager, hits_per_session=2, counts_unfinished=False)
        self.folder = Path(tempfile.mkdtemp())
        self.imports = count(1)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)
        transaction.set_rollback(True)
        self.around.__exit__(None, None, None)

    def of(self, n: int, *states: str, is_imported: bool = False) -> Assignment | None:
        """One of the assignments in these states."""
        work = Assignment.objects.filter(hit__batch__project=self.project, state__in=states)
        work = work.filter(hit__batch__kind="imported") if is_imported else work.exclude(hit__batch__kind="imported")
        found = list(work.order_by("pk"))
        return found[n % len(found)] if found else None

    @rule(who=PEOPLE)
    def serve(self, who: int) -> None:
        serving.claim(self.people[who])

    @rule(who=PEOPLE, value=st.integers(1, 5))
    def submit(self, who: int, value: int) -> None:
        found = serving.claim(self.people[who])
        if isinstance(found, UUID):
            self.send(Assignment.objects.get(uuid=found), value)

    @rule(who=PEOPLE)
    def rate_all(self, who: int) -> None:
        while isinstance(found := serving.claim(self.people[who]), UUID):
            self.send(Assignment.objects.get(uuid=found), 4)

    @rule(n=WORK)
    def submit_late(self, n: int) -> None:
        if work := self.of(n, "expired", "withdrawn", "returned"):
            with suppress(Refused):
                self.send(work, 3)

    def send(self, work: Assignment, value: int) -> None:
        sent = answered(len(work.layout), value)
        submitting.submit(annotator=work.annotator, assignment_uuid=work.uuid, sent=sent)

    @rule(n=WORK)
    def give_back(self, n: int) -> None:
        if work := self.of(n, "open"):
            submitting.return_hit(annotator=work.annotator, assignment_uuid=work.uuid, reason="")

    @rule(n=WORK)
    def let_expire(self, n: int) -> None:
        if work := self.of(n, "open"):
            expire(work)

    @rule(n=WORK)
    def resume(self, n: int) -> None:
        if work := self.of(n, "expired"):
            with suppress(Refused):
                submitting.reopen(annotator=work.annotator, assignment_uuid=work.uuid)

    @rule(n=WORK)
    def approve(self, n: int) -> None:
        if work := self.of(n, "submitted"):
            decisions.approve(project=self.project, actor=self.manager, chosen=only(work))

    @rule(n=WORK, is_unpaid=st.booleans(), opens=st.booleans())
    def reject(self, n: int, is_unpaid: bool, opens: bool) -> None:
        if work := self.of(n, "submitted", "approved"):
            n_open = n_open_places(work.annotator)
            done = decisions.reject(
                project=self.project,
                actor=self.manager,
                chosen=only(work),
                reason="Poor.",
                is_unpaid=is_unpaid,
                reopen_batches=opens,
            )
            assert n_open_places(work.annotator) - n_open == done.n_places

    @rule(n=WORK)
    def accept_after_all(self, n: int) -> None:
        if work := self.of(n, "rejected"):
            decisions.accept(project=self.project, actor=self.manager, assignment=work, why="Well explained.")

    @rule(
        who=PEOPLE,
        scope=st.sampled_from([ExclusionScope.NONE, ExclusionScope.BATCH, ExclusionScope.ALL]),
        reopens=st.booleans(),
    )
    def remove(self, who: int, scope: ExclusionScope, reopens: bool) -> None:
        exclusion = Exclusion(scope=scope, batch=self.batch if scope == ExclusionScope.BATCH else None, reopens=reopens)
        with suppress(Refused):
            planned = members.plan_removal(target=self.people[who], exclusion=exclusion)
            n_open = n_open_places(self.people[who])
            done = members.remove(
                target=self.people[who], actor=self.manager, why="Poor.", exclusion=exclusion, reopen_batches=reopens
            )
            assert done == planned
            assert n_open_places(self.people[who]) - n_open in (done.n_places, done.n_places + done.has_open_one)

    @rule(who=PEOPLE, comes_back=st.booleans())
    def collect_anew(self, who: int, comes_back: bool) -> None:
        """Somebody is removed with all their work, the others rate what came free, and perhaps it was a mistake."""
        self.rate_all(who=who)
        self.remove(who=who, scope=ExclusionScope.ALL, reopens=True)
        self.all_rate(but=who)
        if comes_back:
            self.bring_back(self.people[who], with_work=True)

    @rule(who=PEOPLE)
    def come_too_late(self, who: int) -> None:
        found = serving.claim(self.people[who])
        if isinstance(found, UUID):
            work = Assignment.objects.get(uuid=found)
            expire(work)
            self.all_rate(but=who)
            self.send(work, 2)

    def all_rate(self, but: int | None = None) -> None:
        for other in {*range(4)} - {but}:
            self.rate_all(who=other)

    @rule(who=PEOPLE, with_work=st.booleans())
    def restore(self, who: int, with_work: bool) -> None:
        gone = Membership.objects.filter(pk__in=[person.pk for person in self.people]).exclude(standing="active")
        self.bring_back(gone.order_by("pk")[who % len(gone)] if gone else self.people[who], with_work=with_work)

    def bring_back(self, target: Membership, *, with_work: bool) -> None:
        with suppress(Refused):
            planned = members.plan_restoring(target=target)
            done = members.restore(target=target, actor=self.manager, why="Ours.", with_work=with_work)
            assert not with_work or done == planned

    @rule(who=PEOPLE)
    def suspend(self, who: int) -> None:
        with suppress(Refused):
            members.suspend(target=self.people[who], actor=self.manager, why="To be looked at.")

    @rule(n=st.integers(0, 7))
    def withdraw_candidate(self, n: int) -> None:
        found = Candidate.objects.in_project(self.project).order_by("pk")[n : n + 1]
        for candidate in found:
            with suppress(Refused):
                withdrawing.withdraw_candidate(
                    project=self.project, actor=self.manager, candidate=candidate, why="Broken."
                )

    @rule(n=WORK, place=st.integers(0, 1), is_counted=st.booleans())
    def set_aside(self, n: int, place: int, is_counted: bool) -> None:
        work = self.of(n, "submitted", "approved", "rejected")
        if work and place < len(work.layout):
            with suppress(Refused):
                decisions.set_aside(
                    project=self.project,
                    actor=self.manager,
                    assignment=work,
                    place=place,
                    is_counted=is_counted,
                    why="A slip.",
                )

    @rule(names=st.sampled_from(["w1", "w2", "w1 w2"]), value=st.integers(3, 4))
    def import_judgments(self, names: str, value: int) -> None:
        """A file of judgments, perhaps of some that are there, counted, removed or set aside."""
        ids = Candidate.objects.in_project(self.project).order_by("pk").values_list("external_id", "dataset__name")[:4]
        rows = "".join(f"{one},{dataset},{name},{value}\n" for one, dataset in ids for name in names.split())
        text = "id,dataset,rater,correctness\n" + rows + "\n" * next(self.imports)
        with suppress(Refused):
            import_text(text, Kind.JUDGMENTS, project=self.project, actor=self.manager, folder=self.folder)

    @rule(n=WORK, act=st.sampled_from(["remove", "restore", "set aside", "count again"]))
    def decide_on_imported(self, n: int, act: str) -> None:
        if not (work := self.of(n, "submitted", is_imported=True)):
            return
        with suppress(Refused):
            if act == "remove":
                exclusion = Exclusion(scope=ExclusionScope.ALL)
                members.remove(target=work.annotator, actor=self.manager, why="Poor.", exclusion=exclusion)
            elif act == "restore":
                self.bring_back(work.annotator, with_work=bool(n % 2))
            else:
                decisions.set_aside(
                    project=self.project,
                    actor=self.manager,
                    assignment=work,
                    place=n % len(work.layout),
                    is_counted=act == "count again",
                    why="A slip.",
                )

    @rule(n=WORK, acts=st.sampled_from([("remove", "restore"), ("set aside", "count again")]), is_undone=st.booleans())
    def import_again(self, n: int, acts: tuple[str, str], is_undone: bool) -> None:
        """A file is imported, something in it is decided, and the file comes once more; perhaps it was a mistake."""
        self.import_judgments("w1 w2", 3)
        self.decide_on_imported(n, acts[0])
        self.import_judgments("w1 w2", 3)
        if is_undone:
            self.decide_on_imported(n, acts[1])

    @rule(judgments=st.integers(1, 4), is_whole=st.booleans())
    def want(self, judgments: int, is_whole: bool) -> None:
        """A top-up, or fewer."""
        judgments_wanted.change_wanted(
            batch=self.batch, actor=self.manager, judgments=judgments, hit_numbers=None if is_whole else [1]
        )

    @rule()
    def close(self) -> None:
        self.batch.refresh_from_db()
        if self.batch.state == Batch.State.OPEN:
            lifecycle.close(batch=self.batch, actor=self.manager)
        elif self.batch.state == Batch.State.CLOSED:
            lifecycle.reopen(batch=self.batch, actor=self.manager, why="More.")

    @rule(act=st.sampled_from([lifecycle.pause, lifecycle.open_batch, lifecycle.close, lifecycle.archive]))
    def act_on_the_other_batch(self, act: Any) -> None:
        """It may be paused, and once it is archived, nobody is served it and its late work is surplus."""
        with suppress(Refused):
            act(batch=self.other, actor=self.manager)

    @precondition(lambda self: not Assignment.objects.filter(hit__purpose="gold").exists())
    @rule(who=PEOPLE)
    def reserve(self, who: int) -> None:
        """A HIT made for one annotator; taken where they hold nothing else."""
        person = Membership.objects.get(pk=self.people[who].pk)
        is_free = person.is_active and not Assignment.objects.open().filter(annotator=person).exists()
        make_reserved(self.batch, person, is_taken=is_free)

    @rule(n=st.integers(0, 3), again=st.integers(0, 1), n_hits=st.integers(0, 2))
    def arrive_from_the_panel(self, n: int, again: int, n_hits: int) -> None:
        """A participant comes, perhaps with a new session, and rates something of their set."""
        ids = Ids(f"p{n}", f"session-{again}-of-participant-{n}")
        known = PanelParticipant.objects.filter(panel=self.panel, external_id=ids.participant).first()
        user = known.membership.user if known else None
        member = arriving.arrive(panel=self.panel, ids=ids, user=user).session.participant.membership
        for _ in range(n_hits):
            if isinstance(found := serving.claim(member), UUID):
                self.send(Assignment.objects.get(uuid=found), 4)
        if session := find_session(member):
            session_steps.find_step(member, session)

    @rule(n=WORK, state=st.sampled_from(BY_PLATFORM))
    def hear_from_the_platform(self, n: int, state: str) -> None:
        if sessions := list(PanelSession.objects.filter(panel=self.panel).order_by("pk")):
            with suppress(Refused):
                record(sessions[n % len(sessions)], state)

    @rule(is_swept=st.booleans())
    def let_sessions_end(self, is_swept: bool) -> None:
        """Their time is over; perhaps the reserved places lapse before anybody has noted that."""
        later = timezone.now() + timedelta(days=1)
        if is_swept:
            places.release_overdue(now=later)
        else:
            end_overdue(now=later)

    @invariant()
    def places_add_up(self) -> None:
        assert_equation()

    @invariant()
    def every_rule_holds(self) -> None:
        assert verifying.verify() == []

    @invariant()
    def nobody_has_judged_a_candidate_twice(self) -> None:
        judged = Judgment.objects.filter(candidate__isnull=False, item__control=Item.Control.NONE)
        pairs = Counter(judged.values_list("annotator", "candidate"))
        assert not [pair for pair, n in pairs.items() if n > 1]


def n_open_places(of: Membership) -> int:
    """Places that anybody may take; those made for one annotator are counted apart."""
    work = Hit.objects.filter(batch__project=of.project, purpose=Hit.Purpose.WORK)
    return sum(work.values_list("places_open", flat=True))


def only(work: Assignment) -> WorkFilter:
    return WorkFilter(uuids=(str(work.uuid),))


def test_any_order_of_acts_keeps_the_places_exact(scale: int, db: Any) -> None:
    run_state_machine_as_test(
        Places,
        settings=settings(
            max_examples=8 * scale,
            stateful_step_count=25 if scale == 1 else 60,
            deadline=None,
            derandomize=scale == 1,
            suppress_health_check=list(HealthCheck),
        ),
    )
