"""Check the answers of a HIT against the rubric, and hash them so that two submissions can be compared."""

import hashlib

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_stubs_ext import StrOrPromise

from annotate.places import Answer
from annotate.rating.sent import SentAnswers
from measures.rubric import Scale, check_value
from projects.errors import Refused
from projects.rubric.rubrics import CriterionOnPage


class Incomplete(Refused):
    """Some items lack a rating or have an invalid one; `errors` says which, by position."""

    def __init__(self, errors: dict[int, str]) -> None:
        n = len(errors)
        message = ngettext("One answer still needs a rating.", "{n} answers still need a rating.", n)
        super().__init__(message.format(n=n))
        self.errors = errors


class SubmittedBefore(Refused):
    """The assignment is already submitted with other content, which stays stored."""


class TakesNoAnswers(Refused):
    """The assignment no longer accepts answers; `state` says why."""

    def __init__(self, message: StrOrPromise, state: str) -> None:
        super().__init__(message)
        self.state = state


class SteppedOnly(Refused):
    """A whole form came for a HIT whose items are answered one at a time."""


def check_answers(sent: SentAnswers, layout: list[int], criteria: tuple[CriterionOnPage, ...]) -> list[Answer]:
    """Return the answers to store: every criterion of every item, without a value if the item can't be judged.

    Raises Incomplete if a rating is missing or not on the criterion's scale.
    """
    answers, errors = [], {}
    for position, item_id in enumerate(layout):
        if position in sent.cannot:
            answers += [Answer(item_id, criterion.id, None) for criterion in criteria]
            continue
        values = sent.values.get(position, {})
        n_missing = sum(values.get(criterion.key) is None for criterion in criteria)
        if n_missing:
            is_part = n_missing < len(criteria)
            errors[position] = _("Some criteria aren't rated yet.") if is_part else _("Not rated yet.")
            continue
        for criterion in criteria:
            value = values[criterion.key]
            wrong = explain_invalid(criterion.scale, value)
            if wrong:
                errors[position] = wrong
                break
            answers.append(Answer(item_id, criterion.id, float(value)))
    if errors:
        raise Incomplete(errors)
    return answers


def explain_invalid(scale: Scale, value: object) -> str | None:
    """Return what is wrong with a value on a scale, in the reader's language; None if it is valid."""
    return check_value(scale, value, gettext=_)


def content_sha256(sent: SentAnswers) -> str:
    """Return a hash of ratings, flags and comments without their times: the same answers give the same hash."""
    content = {
        "values": {str(position): values for position, values in sent.values.items() if position not in sent.cannot},
        "cannot": {str(position): reason for position, reason in sent.cannot.items()},
        "flags": sorted(sent.flags),
        "comments": {str(position): comment for position, comment in sent.comments.items()},
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
