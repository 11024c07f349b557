"""Bonuses: set up on Prolific, then paid. Asked twice the platform pays twice, so a lost answer waits for a person."""

import re
import uuid
from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotate.models import PanelParticipant, PanelPayment, ProlificBonus, ProlificBonusLine, ProlificStudy
from annotate.payments import panel_pay
from annotate.prolific import accounts
from annotate.prolific.calling import Client, NoAnswer, PlatformError, require_number, require_text
from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Membership

State = ProlificBonus.State

MOST_LINES = 200
"""As many as one call to Prolific takes."""
MOST_CENTS = 10_000
"""The largest single bonus: amounts are in units, and whoever enters cents is stopped here."""
_AT_ENDS = re.compile(r"^[\s,;]+|[\s,;]+$")


def read_lines(study: ProlificStudy, text: str) -> dict[Membership, int]:
    """Return the cents of each participant, from lines of a pseudonym and an amount in units. Raises Refused."""
    found: dict[Membership, int] = {}
    people = PanelParticipant.objects.filter(panel=study.panel_id, sessions__submission__study=study).distinct()
    by_name = {each.membership.pseudonym: each.membership for each in people.select_related("membership")}
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        name, amount = _split_line(line)
        if not name:
            continue
        cents, member = _read_amount(amount), by_name.get(name)
        if not amount:
            wrong.append(f"Line {number}: write a pseudonym and an amount such as 1.50.")
        elif cents is None:
            wrong.append(f"Line {number}: “{amount[:40]}” can’t be read. Write only a number such as 1.50 or 1,50.")
        elif not 0 < cents <= MOST_CENTS:
            wrong.append(f"Line {number}: the amount must be 0.01 to {MOST_CENTS / 100:.2f}. Amounts are not in cents.")
        elif member is None:
            wrong.append(f"Line {number}: {name[:40]} took no part in this study.")
        elif member in found:
            wrong.append(f"Line {number}: {name} appears twice.")
        else:
            found[member] = cents
    if wrong:
        raise Refused("Some lines can’t be read.", details=wrong[:20], field="lines")
    if not 1 <= len(found) <= MOST_LINES:
        raise Refused(f"Enter 1 to {MOST_LINES} lines.", field="lines")
    return found


def set_up(*, study: ProlificStudy, actor: Membership, amounts: Mapping[Membership, int], why: str) -> ProlificBonus:
    """Store bonuses with the keys of their ledger entries, and set them up on Prolific, which pays nothing yet.

    Raises PlatformError as it comes: then they are stored, and can be set up again. Raises Refused without an account:
    then nothing is stored, and the form can be sent again.
    """
    client = accounts.open_client(actor.project)
    with transaction.atomic():
        lock_actor(actor)
        ProlificStudy.objects.select_for_update(no_key=True, of=("self",)).get(pk=study.pk)
        newest = study.bonuses.order_by("-number").first()
        bonus = ProlificBonus.objects.create(
            study=study,
            number=newest.number + 1 if newest else 1,
            cents=sum(amounts.values()),
            currency=study.currency,
            why=why,
            made_by=actor,
        )
        ProlificBonusLine.objects.bulk_create(
            ProlificBonusLine(bonus=bonus, annotator=member, cents=cents, key=f"prolific:{uuid.uuid4()}")
            for member, cents in amounts.items()
        )
        for line in bonus.lines.select_related("annotator"):
            panel_pay.owe(
                panel=study.panel,
                key=line.key,
                kind=PanelPayment.Kind.BONUS,
                cents=line.cents,
                annotator=line.annotator,
            )
        after = {"bonus": bonus.number, "cents": bonus.cents, "participants": len(amounts)}
        log.record(actor.project, actor, Act.SET_UP_PROLIFIC_BONUSES, study.panel, after=after, why=why)
    _send_set_up(bonus, client)
    return bonus


def send_set_up(*, bonus: ProlificBonus, actor: Membership) -> None:
    """Set stored bonuses up on the platform; doing it again only makes a set that is never paid."""
    _send_set_up(bonus, accounts.open_client(actor.project))


def _send_set_up(bonus: ProlificBonus, client: Client) -> None:
    if bonus.state != State.NEW:
        raise Refused(f"These bonuses are {bonus.get_state_display()}.")
    lines = list(bonus.lines.select_related("annotator"))
    people = PanelParticipant.objects.filter(
        panel=bonus.study.panel_id, membership__in=[each.annotator for each in lines]
    )
    ids = dict(people.values_list("membership", "external_id"))
    rows = []
    for line in lines:
        external_id = ids.get(line.annotator_id)
        if external_id is None:
            raise Refused(f"The data of {line.annotator.pseudonym} were erased. Enter the bonuses without them.")
        rows.append(f"{external_id},{line.cents // 100}.{line.cents % 100:02}")
    body = {"study_id": bonus.study.external_id, "csv_bonuses": "\n".join(rows)}
    answer = client.post("/api/v1/submissions/bonus-payments/", body)
    cents = round(require_number(answer, "amount"))
    if cents != bonus.cents:
        raise PlatformError("Prolific has set up another amount. Nothing was paid. Try again.")
    fees = round(require_number(answer, "fees") + require_number(answer, "vat"))
    new = ProlificBonus.objects.filter(pk=bonus.pk, state=State.NEW)
    new.update(state=State.SET_UP, external_id=require_text(answer, "id"), fee_cents=fees)
    bonus.refresh_from_db()


def pay(*, bonus: ProlificBonus, actor: Membership) -> None:
    """Pay bonuses that are set up, once. Raises Refused for any others; PlatformError if the platform refuses.

    That they were sent is stored before they are: without an answer they stay so, until a person says what happened.
    """
    client = accounts.open_client(actor.project)
    with transaction.atomic():
        lock_actor(actor)
        locked = ProlificBonus.objects.select_for_update(no_key=True, of=("self",)).get(pk=bonus.pk)
        if locked.state != State.SET_UP:
            raise Refused(f"These bonuses are {locked.get_state_display()}.")
        ProlificBonus.objects.filter(pk=bonus.pk).update(state=State.SENT, sent_at=timezone.now())
        panel_pay.approve(_find_entries(bonus))
        log.record(actor.project, actor, Act.PAY_PROLIFIC_BONUSES, bonus.study.panel, after={"bonus": bonus.number})
    try:
        client.post(f"/api/v1/bulk-bonus-payments/{bonus.external_id}/pay/", {})
    except NoAnswer as error:
        raise PlatformError(
            "Prolific didn’t answer, so the bonuses may be paid. Check on Prolific, then say here what happened."
        ) from error
    except PlatformError as error:
        # It failed within the platform, or was accepted in words that can't be read.
        if error.status and not 300 <= error.status < 500:
            raise PlatformError(
                f"{error.message} The bonuses may be paid. Check on Prolific, then say here what happened."
            ) from error
        # Refused, or never sent: nothing was paid.
        ProlificBonus.objects.filter(pk=bonus.pk, state=State.SENT).update(state=State.SET_UP, sent_at=None)
        raise
    _mark_paid(bonus)


@transaction.atomic
def settle(*, bonus: ProlificBonus, actor: Membership, was_paid: bool) -> None:
    """Note what a person found out about bonuses that were sent and not answered. Raises Refused for any others."""
    lock_actor(actor)
    locked = ProlificBonus.objects.select_for_update(no_key=True, of=("self",)).get(pk=bonus.pk)
    if locked.state != State.SENT:
        raise Refused(f"These bonuses are {locked.get_state_display()}.")
    if was_paid:
        _mark_paid(locked)
    else:
        ProlificBonus.objects.filter(pk=bonus.pk).update(state=State.SET_UP, sent_at=None)
    after = {"bonus": bonus.number, "was_paid": was_paid}
    log.record(actor.project, actor, Act.SETTLE_PROLIFIC_BONUSES, bonus.study.panel, after=after)


@transaction.atomic
def cancel(*, bonus: ProlificBonus, actor: Membership) -> None:
    """Give up bonuses that were not sent. Raises Refused for any others."""
    lock_actor(actor)
    unsent = ProlificBonus.objects.filter(pk=bonus.pk, state__in=(State.NEW, State.SET_UP))
    if not unsent.update(state=State.CANCELLED):
        raise Refused(f"These bonuses are {bonus.get_state_display()}.")
    panel_pay.cancel(_find_entries(bonus))
    log.record(actor.project, actor, Act.CANCEL_PROLIFIC_BONUSES, bonus.study.panel, after={"bonus": bonus.number})


@transaction.atomic
def _mark_paid(bonus: ProlificBonus) -> None:
    """Note that the platform has accepted bonuses, in the ledger too, with each one's share of the fees."""
    sent = ProlificBonus.objects.filter(pk=bonus.pk, state=State.SENT)
    if not sent.update(state=State.PAID, paid_at=timezone.now()):
        return
    fees = bonus.fee_cents
    lines = list(bonus.lines.select_related("annotator"))
    for n, line in enumerate(lines, start=1):
        # Whole cents that sum to the fees: the last one takes what is left.
        share = bonus.fee_cents * line.cents // bonus.cents if n < len(lines) else fees
        fees -= share
        panel_pay.record_panel_payment(
            panel=bonus.study.panel,
            key=line.key,
            kind=PanelPayment.Kind.BONUS,
            told=PanelPayment.Told.PAID,
            cents=line.cents,
            fee_cents=share,
            external_id=bonus.external_id,
            annotator=line.annotator,
        )


def _find_entries(bonus: ProlificBonus) -> QuerySet[PanelPayment]:
    keys = bonus.lines.values("key")
    return PanelPayment.objects.filter(panel=bonus.study.panel_id, key__in=keys)


def _split_line(line: str) -> tuple[str, str]:
    """Return the pseudonym and the amount of a line, as people write it or paste it from a spreadsheet."""
    # One mark parts the columns; a comma after it belongs to the amount, where it can be the decimal mark.
    name, *rest = re.split(r"[^\S\t]*[\t,;][\s;]*|\s+", _AT_ENDS.sub("", line.replace('"', "")), maxsplit=1)
    return name, "".join(rest)


def _read_amount(text: str) -> int | None:
    """Return the cents of an amount in units, such as 150 for 1.50 or 1,50; None if it is none."""
    if (found := re.fullmatch(r"([0-9]{1,7})(?:[.,]([0-9]{0,2}))?", text)) is None:
        return None
    units, part = found.groups(default="")
    return int(units) * 100 + int(part.ljust(2, "0"))
