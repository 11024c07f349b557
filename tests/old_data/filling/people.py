"""People of every kind, the texts that they read and the test that they take."""

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from annotate.attempts import attempts
from annotate.attempts.gradable_items import ItemSpec
from annotate.attempts.item_pages import list_pages
from annotate.models import Attempt, QualificationItem
from annotate.moderation import members as moderation
from annotate.onboarding import erasing
from annotate.qualification import design, granting, items
from annotate.rating.sent import SentAnswers
from annotate.reviews import adjudication
from demo.annotators import confirm_all
from measures.rubric import FIVE_POINTS, CriterionSpec, Level, Scale, ScaleKind
from projects.accounts import passwords, second_factors, single_sign_on, users
from projects.api import tokens
from projects.models import Guesses, Membership, Pulse, User
from projects.people import invitations, join_by_invitation, members
from projects.rubric import versions as rubrics
from projects.settings import lifecycle
from projects.texts import versions as texts
from tests.old_data.filling.bay import Bay

PASSWORD = "a lamp in every window"
ANNOTATORS = ("anna", "ben", "cleo", "dora", "emil", "finn", "gwen", "hal", "ines")
CONSENT = "# Taking part\n\nYou rate answers. You may stop at any time."
OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "strand": ("yang", "median", {"feedback": "none"}),
    "cove": ("qascore", "z", {"feedback": "score", "valid_days": 90}),
}
"""Further projects: the preset of the rubric, the gold rule, settings of the test."""
CRITERIA = (
    CriterionSpec(key="correctness", name="Correct", statement="Is it right?", scale=FIVE_POINTS, level=Level.ORDINAL),
    CriterionSpec(
        key="completeness",
        name="Complete",
        statement="Is all of it there?",
        scale=Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100),
        level=Level.INTERVAL,
    ),
)

Role = Membership.Role


def gather(bay: Bay) -> None:
    """The project, its people, and the links and tokens that let others in."""
    user = _make_user("owner", can_create_projects=True, is_staff=True, is_superuser=True)
    project = lifecycle.create_project(
        slug="bay", name="Stories of the bay", owner=user, description="A study that ran in the autumn."
    )
    bay.people["owner"] = project.memberships.select_related("project").get(user=user)
    values = {
        "fee_share": 0.2,
        "cents_per_hit": 40,
        "cents_per_item": 2,
        "hourly_floor_cents": 1200,
        "revision_minutes": 60,
        "shows_question_type": True,
        "shows_candidate_opinion": True,
    }
    lifecycle.change_settings(project=project, actor=bay["owner"], values=values)
    bay.project.refresh_from_db()
    roles = {"manager": Role.MANAGER, "gone": Role.MANAGER, "researcher": Role.RESEARCHER}
    for name, role in {**roles, **dict.fromkeys(ANNOTATORS, Role.ANNOTATOR)}.items():
        _, token = invitations.create_invitation(actor=bay["owner"], role=role, note=f"for {name}")
        bay.people[name] = join_by_invitation.join(token=token, user=_make_user(name))
    members.set_annotates(target=bay["manager"], annotates=True, actor=bay["owner"])
    moderation.remove(
        target=bay["gone"], actor=bay["owner"], why="Left the university.", exclusion=moderation.Exclusion()
    )
    _let_in(bay)
    _add_ways_to_sign_in(bay)
    bay.secrets["password"] = PASSWORD
    Guesses.count("192.0.2.7")
    for process in (Pulse.WORKER, Pulse.BEAT):
        Pulse.beat(process)


def _let_in(bay: Bay) -> None:
    manager = bay["manager"]
    _, bay.secrets["invitation"] = invitations.create_invitation(
        actor=manager, role=Role.ANNOTATOR, max_uses=20, days=30, note="the autumn course"
    )
    revoked, _ = invitations.create_invitation(actor=manager, role=Role.RESEARCHER)
    invitations.revoke(invitation=revoked, actor=manager)
    _, bay.secrets["token"] = tokens.make_token(membership=bay["owner"], name="nightly script", can_write=True)
    ended, _ = tokens.make_token(membership=manager, name="old laptop")
    tokens.revoke(token=ended, actor=manager)
    passwords.issue_link(target=bay["ines"], actor=bay["owner"])


def erase_somebody(bay: Bay) -> None:
    """One who joined late, rated nothing and deleted their account."""
    _, token = invitations.create_invitation(actor=bay["manager"], role=Role.ANNOTATOR)
    user = _make_user("ivy")
    join_by_invitation.join(token=token, user=user)
    erasing.erase(user=user, removes_work=False)


def _add_ways_to_sign_in(bay: Bay) -> None:
    """An authenticator app with its recovery codes, and an identity at a provider, of somebody whom no walk follows."""
    user = bay["gone"].user
    assert user is not None
    secret = generate_totp_secret()
    counter = list(yield_hotp_counters_from_time())[1]
    second_factors.set_up_app(user=user, secret=secret, code=format_hotp_value(hotp_value(secret, counter)))
    single_sign_on.link(user=user, uid="7", email="gone@example.org")


def write_texts(bay: Bay) -> None:
    """Rubric, instructions and consent, each in several versions, read by all but one."""
    rubrics.revise_rubric(
        **bay.by_manager,
        name="Correct and complete",
        criteria=CRITERIA,
        not_for_quality=["completeness"],
        based_on=1,
    )
    found = texts.current_instructions(bay.project)
    texts.revise_instructions(
        **bay.by_manager,
        text="# How to rate\n\nRead the passage, then rate each answer.",
        based_on=found.version if found else 0,
    )
    texts.revise_consent(**bay.by_manager, text=CONSENT, based_on=0)
    texts.revise_consent(**bay.by_manager, text=f"{CONSENT}\n\nNothing else is kept.", based_on=1)
    for name in ("manager", *ANNOTATORS[:-1]):
        confirm_all(bay[name])


def take_tests(bay: Bay) -> None:
    """A test that some pass, one fails at first, one is late for, and one has open."""
    test = design.make_test(**bay.by_manager)
    specs = [_item(n) for n in range(6)]
    specs[4] = replace(specs[4], purpose=QualificationItem.Purpose.PRACTICE)
    made = items.add_items(test=test, actor=bay["manager"], specs=specs, how="typed")
    items.retire_item(item=made[-1], actor=bay["manager"])
    settings = {"cents": 50, "feedback": "full", "max_attempts": 3, "seed": 7}
    design.change_settings(test=test, actor=bay["manager"], values=settings)
    design.open_test(test=test, actor=bay["manager"])
    _take(bay["ben"], n_right=0)
    for name in ("anna", "ben", "cleo", "dora", "emil", "gwen"):
        _take(bay[name])
    _take(bay["finn"], QualificationItem.Purpose.PRACTICE)
    late = attempts.begin(annotator=bay["finn"])
    Attempt.objects.filter(pk=late.pk).update(due_at=timezone.now() - timedelta(hours=2))
    attempts.submit_attempt(annotator=bay["finn"], attempt_uuid=late.uuid)
    _answer(attempts.begin(annotator=bay["hal"]), most_pages=1)
    granting.grant(annotator=bay["finn"], actor=bay["manager"], why="Took the test on paper.")
    granting.grant(annotator=bay["manager"], actor=bay["owner"], why="Wrote the rubric.")
    granting.revoke(annotator=bay["finn"], actor=bay["manager"], why="The paper was somebody else's.")


def _take(annotator: Membership, purpose: str = QualificationItem.Purpose.TEST, n_right: int = 9) -> None:
    attempt = attempts.begin(annotator=annotator, purpose=purpose)
    _answer(attempt, n_right)
    attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)


def _answer(attempt: Attempt, n_right: int = 9, most_pages: int = 9) -> None:
    for sheet in list_pages(attempt)[:most_pages]:
        values: dict[int, dict[str, float | str]] = {
            place: {"correctness": 4.0 if place < n_right else 1.0, "completeness": 80.0}
            for place in range(len(sheet.items))
        }
        attempts.save_page(
            annotator=attempt.annotator, attempt_uuid=attempt.uuid, page=sheet.number, sent=SentAnswers(values=values)
        )


def _item(n: int) -> ItemSpec:
    return ItemSpec(
        question=f"What was lit on evening {n}?",
        answer=f"Lamp number {n}.",
        expected={"correctness": (4, 5)},
        passage_title="Lamps",
        passage_text="Every evening one more lamp was lit.",
        references=({"text": f"The lamp of evening {n}.", "opinion": ""},),
        explanation="The passage counts the evenings.",
    )


def found_others(bay: Bay) -> None:
    """Projects that were only set up, each in another way; the last was deleted."""
    user = bay["owner"].user
    assert user
    for slug, (preset, rule, settings) in OTHERS.items():
        project = lifecycle.create_project(slug=slug, name=slug.capitalize(), owner=user)
        actor = project.memberships.get(user=user)
        test = design.make_test(project=project, actor=actor)
        rubrics.revise_to_preset(project=project, actor=actor, preset=preset)
        design.move_to_rubric(test=test, actor=actor, on_new_rubric="keep")
        design.change_settings(test=test, actor=actor, values=settings)
        adjudication.choose_gold(project=project, actor=actor, rule=rule, with_controls=False)
        if preset == "yang":
            spec = ItemSpec(question="Who?", answer="Ann.", expected={"quality": (3, 3)})
            items.add_items(test=test, actor=actor, specs=[spec], how="typed")
            design.open_test(test=test, actor=actor)
            design.close_test(test=test, actor=actor)
    levels = [
        CriterionSpec(key=level.value, name=level.value, statement="", scale=FIVE_POINTS, level=level)
        for level in Level
    ]
    rubrics.revise_rubric(project=project, actor=actor, name="Four levels", criteria=levels, based_on=2)
    lifecycle.delete_project(project=project, actor=actor, typed=slug)


def _make_user(username: str, **over: Any) -> User:
    user, _ = users.ensure_user(username)
    user.password = _password_hash()
    for name, value in over.items():
        setattr(user, name, value)
    user.save()
    return user


@cache
def _password_hash() -> str:
    """One for everybody, as a hash takes long on purpose."""
    return make_password(PASSWORD)
