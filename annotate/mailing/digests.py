"""Digests: one message to a person for all that has happened since the last one, in plain text with links."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.batches.progress import fetch_progress
from annotate.models import Assignment, Batch
from annotate.models.waiting import MOST_COUNTED, count_waiting
from projects.access import Right, has_right
from projects.language import languages
from projects.language.amounts import format_number, plural
from projects.models import Membership, User
from projects.web.links import absolute_url

logger = logging.getLogger(__name__)

PAUSE = timedelta(hours=12)
"""The least time between two messages to one person: a busy batch sends one, not a hundred."""
FIRST_SPAN, LONGEST_SPAN = timedelta(days=1), timedelta(days=7)
"""How far the first message looks back, and any other."""


@dataclass(frozen=True)
class News:
    """What has happened in one project that needs this person."""

    project: str
    lines: list[str]


def send_digests(*, now: datetime | None = None) -> int:
    """Send the messages that are due, and return how many; a site without a mail server sends none."""
    if not settings.SENDS_EMAIL:
        return 0
    now = now or timezone.now()
    people = User.objects.filter(wants_email=True, is_active=True).exclude(email="").order_by("pk")
    # A time that is further ahead than the pause is of a clock that was set back since.
    due = people.exclude(emailed_until__gt=now - PAUSE, emailed_until__lte=now + PAUSE)
    return sum(_send_to(user, now) for user in due)


def _send_to(user: User, now: datetime) -> bool:
    before = user.emailed_until
    since = max(before, now - LONGEST_SPAN) if before and before <= now else now - FIRST_SPAN
    # In the order of the words, active memberships come first: their project chooses the language.
    memberships = list(
        user.memberships.filter(project__deleted_at=None).select_related("project", "user").order_by("standing", "pk")
    )
    # What managers read is in English, so a message to one is in English as a whole.
    is_manager = any(has_right(member, Right.MANAGE) for member in memberships)
    language = languages.find_language(memberships[0]) if memberships and not is_manager else settings.LANGUAGE_CODE
    with translation.override(language):
        news = [each for member in memberships if (each := _collect(member, since)).lines]
        # Claimed before it is sent, so that two workers never send the same message.
        claimed = User.objects.filter(pk=user.pk, emailed_until=before).update(emailed_until=now) if news else 0
        if not claimed:
            return False
        try:
            EmailMessage(_("News from your projects"), _write(news), to=[user.email]).send()
        # A ValueError is an address that no message can have, such as one with too long a part in Unicode.
        except (OSError, SMTPException, ValueError) as failure:
            User.objects.filter(pk=user.pk, emailed_until=now).update(emailed_until=before)
            # Neither the address nor what the server said: both are personal data.
            logger.warning("A notice could not be sent (%s). It will be tried again.", type(failure).__name__)
            return False
    return True


def _collect(member: Membership, since: datetime) -> News:
    lines = _list_for_manager(member, since) if has_right(member, Right.MANAGE) else []
    if member.is_annotator:
        lines += _list_for_annotator(member, since)
    return News(member.project.name, lines)


def _list_for_manager(member: Membership, since: datetime) -> list[str]:
    project = member.project
    recent = Assignment.objects.filter(submitted_at__gt=since, hit__batch__project=project)
    batches = list(
        Batch.objects.filter(pk__in=recent.values("hit__batch")).exclude(kind=Batch.Kind.IMPORTED).order_by("number")
    )
    # Without new work nothing is new: what has waited before has been told before.
    if not batches:
        return []
    progress = fetch_progress(batches)
    lines = [
        f"Batch {batch.number} is complete: {_link('annotate:batch-show', project.slug, batch.number)}"
        for batch in batches
        if batch.pk in progress and progress[batch.pk].is_complete
    ]
    if n := count_waiting(project).submissions:
        words = plural(n, "{n} submission awaits a decision: {link}", "{n} submissions await a decision: {link}")
        number = format_number(n) if n < MOST_COUNTED else f"More than {format_number(MOST_COUNTED - 1)}"
        lines.append(words.format(n=number, link=_link("annotate:submitted-list", project.slug)))
    return lines


def _list_for_annotator(member: Membership, since: datetime) -> list[str]:
    # Suspended and removed annotators are told too: they still read why, and can reply.
    rejected = Assignment.objects.filter(
        annotator=member, state=Assignment.State.REJECTED, decided_at__gt=since, replied_at=None
    )
    n = rejected.count()
    if not n:
        return []
    words = ngettext(
        "{n} HIT was rejected. You can read why, and reply once: {link}",
        "{n} HITs were rejected. You can read why, and reply once to each: {link}",
        n,
    )
    return [words.format(n=format_number(n), link=_link("annotate:history", member.project.slug))]


def _link(name: str, *args: object) -> str:
    return absolute_url(reverse(name, args=args))


def _write(news: list[News]) -> str:
    parts = ["\n".join([each.project, *(f"- {line}" for line in each.lines)]) for each in news]
    footer = _("You get this message because email notices are on in your account. You can turn them off there: {link}")
    return "\n\n".join([*parts, footer.format(link=_link("projects:account"))]) + "\n"
