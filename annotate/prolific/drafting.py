"""Studies: drafted on Prolific, their cost asked for, published by a person, paused and started."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotate.models import Outcome, Panel, ProlificStudy
from annotate.prolific import accounts, following
from annotate.prolific.calling import Client, NoAnswer, PlatformError, Unreachable, require_number, require_text
from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Membership

Status = ProlificStudy.Status

STUDIES = "/api/v1/studies/"
FIELDS = ("title", "description", "reward_cents", "estimated_minutes", "places", "most_places", "filters")
LEASE = timedelta(minutes=5)
"""Longer than the calls of one request take: only the lease of a request that never came back ends by itself."""
LONGEST_LEASE = timedelta(minutes=30)
"""Twice that of a worker, whose clock may differ; one that seems longer is from before the clock was set back."""
_CODE_TYPES = {Outcome.NO_CONSENT: "NO_CONSENT", Outcome.FAILED_CHECK: "FAILED_ATTENTION_CHECK"}


def save_draft(*, panel: Panel, actor: Membership, values: dict[str, Any], url: str) -> ProlificStudy:
    """Store a draft, send it to Prolific and ask what it costs. `url` is the panel's link.

    Raises Refused, naming the field; PlatformError if the platform refuses, after the draft is stored here.
    """
    _check(panel, values)
    with transaction.atomic():
        lock_actor(actor)
        study, _ = ProlificStudy.objects.get_or_create(panel=panel, defaults=values)
        study = ProlificStudy.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not study.is_draft:
            raise Refused("The study is published. Only its places can rise.")
        until = _take_lease(study)
        # What the draft cost before is no cost of these values, and they may never reach the platform.
        ProlificStudy.objects.filter(pk=study.pk).update(**values, cost_cents=None, most_cost_cents=None)
        after = {name: values[name] for name in FIELDS if name not in ("description", "filters")}
        log.record(actor.project, actor, Act.DRAFT_PROLIFIC_STUDY, panel, after=after)
    study.refresh_from_db()
    try:
        client = accounts.open_client(actor.project)
        _send_draft(study, panel, client, url)
        store_costs(study, client)
    finally:
        _end_lease(study, until)
    study.refresh_from_db()
    return study


def _take_lease(study: ProlificStudy) -> datetime:
    """Keep other requests and the worker from a study whose row is locked; return until when. Raises Refused.

    No lock of the database can do this: between two calls to the platform there is no transaction.
    """
    now = timezone.now()
    if study.leased_until is not None and now < study.leased_until <= now + LONGEST_LEASE:
        raise Refused("The study is being sent to Prolific or updated from there. Try again in a minute.")
    until = now + LEASE
    ProlificStudy.objects.filter(pk=study.pk).update(leased_until=until)
    return until


def _end_lease(study: ProlificStudy, until: datetime) -> None:
    ProlificStudy.objects.filter(pk=study.pk, leased_until=until).update(leased_until=None)


def _send_draft(study: ProlificStudy, panel: Panel, client: Client, url: str) -> None:
    body = describe(study, panel, url)
    pk = study.external_id or _find_draft(study, client)
    answer = client.patch(f"{STUDIES}{pk}/", body) if pk else client.post(STUDIES, body)
    study.external_id, study.status = require_text(answer, "id"), require_text(answer, "status")
    study.total_places = int(require_number(answer, "total_available_places"))
    study.error = ""
    with transaction.atomic():
        study.save(update_fields=["external_id", "status", "total_places", "error"])
        # From now on participants of any other study are turned away.
        Panel.objects.filter(pk=panel.pk).update(study_id=study.external_id)


def _find_draft(study: ProlificStudy, client: Client) -> str:
    """Return the id of a draft that was made although its answer was lost, or "" if there is none."""
    for each in client.list_all(STUDIES, {"page_size": 100}):
        if each.get("internal_name") == make_name(study):
            return require_text(each, "id")
    return ""


def make_name(study: ProlificStudy) -> str:
    return f"concord-{study.uuid}"


def describe(study: ProlificStudy, panel: Panel, url: str) -> dict[str, Any]:
    """Return the study in the platform's words."""
    return {
        "name": study.title,
        "internal_name": make_name(study),
        "description": study.description,
        "external_study_url": url,
        "prolific_id_option": "url_parameters",
        "completion_codes": _describe_codes(panel),
        "reward": study.reward_cents,
        "total_available_places": study.places,
        "estimated_completion_time": study.estimated_minutes,
        "maximum_allowed_time": panel.minutes_allowed,
        "filters": study.filters,
        "submissions_config": {"max_submissions_per_participant": 1},
        "metadata": make_name(study),
    }


def _describe_codes(panel: Panel) -> list[dict[str, Any]]:
    """Return the codes with what the platform does: work is reviewed, and who did none is asked to return."""
    codes: dict[str, dict[str, Any]] = {}
    for outcome in Outcome:
        code = panel.code_for(outcome)
        if not code or code in codes:
            continue
        reason = following.RETURN_REASONS.get(outcome)
        action = {"action": "REQUEST_RETURN", "return_reason": reason} if reason else {"action": "MANUALLY_REVIEW"}
        kind = "COMPLETED" if outcome == Outcome.COMPLETED else _CODE_TYPES.get(outcome, "OTHER")
        codes[code] = {"code": code, "code_type": kind, "actions": [action], "actor": "participant"}
    return list(codes.values())


def store_costs(study: ProlificStudy, client: Client) -> None:
    """Ask what the study costs with its current places, and with as many as it may have."""
    study.cost_cents = ask_cost(client, study, study.places)
    study.most_cost_cents = ask_cost(client, study, study.most_places)
    me = client.get("/api/v1/users/me/")
    study.currency = require_text(me, "currency_code")[:3].upper()
    study.save(update_fields=["cost_cents", "most_cost_cents", "currency"])
    rewards = study.places * study.reward_cents
    # What the ledger owes, and the fee that it expects, are those of the study.
    Panel.objects.filter(pk=study.panel_id).update(
        reward_cents=study.reward_cents,
        currency=study.currency,
        minutes_expected=study.estimated_minutes,
        fee_share=min(max(0.0, round(study.cost_cents / rewards - 1, 4)), 1.0),
    )


def ask_cost(client: Client, study: ProlificStudy, places: int) -> int:
    body = {"reward": study.reward_cents, "total_available_places": places}
    # The calculator changes nothing, so it may be asked again.
    answer = client.post("/api/v1/study-cost-calculator/", body, repeats=True)
    return round(require_number(answer, "total_cost"))


def publish(*, study: ProlificStudy, actor: Membership) -> None:
    """Publish a draft as it was read for somebody who has seen its cost. Raises Refused; PlatformError as it comes.

    Unless it never got the call, the platform is asked whether it was done: refused now, it can have been done before.
    """
    if study.panel.ended_at is not None:
        raise Refused("The panel has ended. Create another one.")
    here = following.count_open_sessions(study.panel, study)
    if here.is_all_offered:
        raise Refused(
            "Earlier studies of this project offer all open places. Open another batch, or pause those studies."
        )
    if not here.n_left:
        raise Refused("No place is open, so participants would find nothing to do. Open a batch first.")
    client = accounts.open_client(actor.project)
    with transaction.atomic():
        lock_actor(actor)
        locked = ProlificStudy.objects.select_for_update(no_key=True).get(pk=study.pk)
        _check_publication(locked, study)
        until = _take_lease(locked)
        # Before the call: whatever its answer is, the study is tended to from now on.
        _mark_published(study, actor)
        after = {"places": study.places, "most_places": study.most_places, "cost_cents": study.cost_cents}
        log.record(actor.project, actor, Act.PUBLISH_PROLIFIC_STUDY, study.panel, after=after)
    try:
        _publish(study, actor, client)
    finally:
        _end_lease(study, until)


def _check_publication(locked: ProlificStudy, shown: ProlificStudy) -> None:
    if locked.cost_cents is None or locked.status != Status.UNPUBLISHED:
        raise Refused("Save the draft first: only a draft whose cost was shown can be published.")
    if any(getattr(locked, name) != getattr(shown, name) for name in (*FIELDS, "cost_cents", "most_cost_cents")):
        raise Refused("The draft has changed, so nothing was published. Check what it costs, then publish it.")
    _check_ranges({name: getattr(locked, name) for name in FIELDS})


def _publish(study: ProlificStudy, actor: Membership, client: Client) -> None:
    path = f"{STUDIES}{study.external_id}/"
    try:
        answer = client.post(f"{path}transition/", {"action": "PUBLISH"})
    except Unreachable:
        _unmark_published(study)
        raise
    except PlatformError as error:
        answer = client.get(path)
        if answer.get("status") == Status.UNPUBLISHED:
            # Without an answer it can still be done later, so that the study stays marked and is tended to.
            if isinstance(error, NoAnswer):
                raise Refused("Prolific didn’t answer, and the study isn’t published yet. Try again.") from error
            _unmark_published(study)
            raise
    # Again: of two clicks, the one that was refused can have taken it back.
    _mark_published(study, actor)
    store_status(study, answer)


def _mark_published(study: ProlificStudy, actor: Membership) -> None:
    first = ProlificStudy.objects.filter(pk=study.pk, published_at=None)
    first.update(published_at=timezone.now(), published_by=actor)


def _unmark_published(study: ProlificStudy) -> None:
    ProlificStudy.objects.filter(pk=study.pk).update(published_at=None, published_by=None)


def check_limit(study: ProlificStudy, most_places: int) -> None:
    """Raise Refused for fewer places than are on the platform, since what they cost would be said too low."""
    if most_places < study.total_places:
        n = f"{study.total_places} {'place is' if study.total_places == 1 else 'places are'}"
        raise Refused(
            f"{n} on Prolific already, and places never fall. Enter {study.total_places} or more.", field="most_places"
        )


def raise_limit(*, study: ProlificStudy, actor: Membership, most_places: int) -> None:
    """Let places rise by themselves to `most_places`, as somebody asked who has seen what that costs.

    Raises Refused for a draft, for fewer places than are on the platform, and for a number that no study can have.
    """
    _check_ranges({"most_places": most_places})
    cost = ask_cost(accounts.open_client(actor.project), study, most_places)
    with transaction.atomic():
        lock_actor(actor)
        locked = ProlificStudy.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.is_draft:
            raise Refused("The study is still a draft. Edit the draft to change its places.", field="most_places")
        check_limit(locked, most_places)
        before = {"most_places": locked.most_places}
        ProlificStudy.objects.filter(pk=study.pk).update(most_places=most_places, most_cost_cents=cost)
        after = {"most_places": most_places}
        log.record(actor.project, actor, Act.RAISE_PROLIFIC_PLACES, study.panel, before=before, after=after)
    study.refresh_from_db()


def pause(*, study: ProlificStudy, actor: Membership) -> None:
    """Pause a study until a person starts it again."""
    _transition(study, actor, "PAUSE", Act.PAUSE_PROLIFIC_STUDY)
    ProlificStudy.objects.filter(pk=study.pk).update(is_paused_here=False)


def start(*, study: ProlificStudy, actor: Membership) -> None:
    """Start a paused study again. Raises Refused if its panel has ended, which would turn everybody away."""
    if study.panel.ended_at is not None:
        raise Refused("The panel has ended. Create another one.")
    _transition(study, actor, "START", Act.START_PROLIFIC_STUDY)
    ProlificStudy.objects.filter(pk=study.pk).update(is_paused_here=False)


def _transition(study: ProlificStudy, actor: Membership, action: str, act: Act) -> None:
    client = accounts.open_client(actor.project)
    store_status(study, client.post(f"{STUDIES}{study.external_id}/transition/", {"action": action}))
    with transaction.atomic():
        lock_actor(actor)
        log.record(actor.project, actor, act, study.panel)


def store_status(study: ProlificStudy, answer: dict[str, Any]) -> None:
    """Store what the platform says of a study."""
    study.status = require_text(answer, "status")[:20]
    study.total_places = int(require_number(answer, "total_available_places"))
    if study.status == Status.ACTIVE:
        study.is_paused_here = False
    study.save(update_fields=["status", "total_places", "is_paused_here"])


def _check(panel: Panel, values: dict[str, Any]) -> None:
    if panel.platform != Panel.Platform.PROLIFIC:
        raise Refused("Only a panel of Prolific can be drafted there.")
    if panel.ended_at is not None:
        raise Refused("The panel has ended. Create another one.")
    if panel.paid_by != Panel.Payer.PLATFORM:
        raise Refused("In this panel’s settings the project pays. Let the platform pay first.")
    if panel.has_own_codes or not panel.code_completed:
        raise Refused("Prolific needs one code for all completed sessions. Set it in the panel first.")
    if not panel.session_parameter or not panel.study_parameter:
        raise Refused("The panel’s link needs the parameters of session and study. Set them in the panel first.")
    _check_ranges(values)
    if values["most_places"] < values["places"]:
        raise Refused("This is less than the initial places.", field="most_places")
    if values["estimated_minutes"] > panel.minutes_allowed:
        raise Refused(f"The panel allows {panel.minutes_allowed} minutes.", field="estimated_minutes")


def _check_ranges(values: Mapping[str, Any]) -> None:
    """Raise Refused, naming the field, for a value that no study can have."""
    for field in ProlificStudy._meta.fields:
        if field.name in values:
            try:
                field.run_validators(values[field.name])
            except ValidationError as error:
                raise Refused(" ".join(error.messages), field=field.name) from error
