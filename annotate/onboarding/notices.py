"""Notices: messages that stay on an annotator's desk until they confirm them as read."""

from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.models import Notice
from projects import log
from projects.errors import Refused
from projects.language import languages
from projects.language.amounts import format_number
from projects.models import Act, Membership

LONGEST = 2000
"""Characters of a message; about a page."""


def send(*, annotators: Iterable[int], text: str, kind: Notice.Kind, actor: Membership | None) -> None:
    """Put a message on desks. Raises Refused if it is empty or too long.

    The caller has opened the transaction and records the act.
    """
    text = text.strip()
    if not text:
        raise Refused(_("Write a message."))
    if len(text) > LONGEST:
        raise Refused(_("A message can have at most {n} characters.").format(n=format_number(LONGEST)))
    Notice.objects.bulk_create(Notice(annotator_id=pk, kind=kind, text=text, sent_by=actor) for pk in annotators)


def send_rejections(*, n_by_annotator: Mapping[int, int], reason: str, actor: Membership | None) -> None:
    """Put one message on each annotator's desk, in their language, for all of their rejected HITs together."""
    # Annotators with the same language and number get the same text, and so one INSERT.
    same: dict[tuple[str, int], list[int]] = {}
    for annotator in Membership.objects.select_related("user", "project").filter(pk__in=n_by_annotator):
        same.setdefault((languages.find_language(annotator), n_by_annotator[annotator.pk]), []).append(annotator.pk)
    for (language, n), annotators in sorted(same.items()):
        with translation.override(language):
            what = ngettext("A HIT you submitted was rejected.", "{n} HITs you submitted were rejected.", n)
            why = _("Reason: {reason}").format(reason=reason)
            answer = _("You can reply once, on the History page.")
            text = f"{what.format(n=n)} {why}\n\n{answer}"
        send(annotators=annotators, text=text, kind=Notice.Kind.DECISION, actor=actor)


def send_acceptance(*, annotator: Membership, actor: Membership | None) -> None:
    """Tell an annotator, in their language, that rejected work of theirs is approved; they read that it was not."""
    with translation.override(languages.find_language(annotator)):
        text = _("One of your HITs that was rejected has been approved after all.")
    send(annotators=[annotator.pk], text=text, kind=Notice.Kind.DECISION, actor=actor)


@transaction.atomic
def confirm(*, notice: Notice, annotator: Membership) -> bool:
    """Mark a message as read by its annotator; return False if it was read before."""
    changed = Notice.objects.filter(pk=notice.pk, annotator=annotator, read_at=None).update(read_at=Now())
    if changed:
        log.record(annotator.project, annotator, Act.READ_MESSAGE, notice)
    return bool(changed)


def fetch_unread(annotators: Sequence[Membership]) -> dict[int, list[Notice]]:
    """Return the unread messages of each annotator by membership id, the oldest first, with one query."""
    found: dict[int, list[Notice]] = {}
    for notice in Notice.objects.filter(annotator__in=annotators, read_at=None).order_by("pk"):
        found.setdefault(notice.annotator_id, []).append(notice)
    return found
