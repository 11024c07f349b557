"""What makes the answers of a page complete, and how two pages are told apart."""

import hashlib

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_stubs_ext import StrOrPromise

from annotate.places import Answer
from annotate.rating.sent import SentAnswers
from projects.errors import Refused
from projects.rubric.rubrics import CriterionOnPage, explain_invalid


class Incomplete(Refused):
    """Some items lack an answer or have a wrong one; `errors` says which, by place."""

    def __init__(self, errors: dict[int, str]) -> None:
        n = len(errors)
        said = ngettext("One answer still needs a rating.", "{n} answers still need a rating.", n)
        super().__init__(said.format(n=n))
        self.errors = errors


class SubmittedBefore(Refused):
    """The assignment was submitted before, with other content; what is stored stays."""


class TakesNoAnswers(Refused):
    """The assignment takes no answers any more; `state` says why."""

    def __init__(self, message: StrOrPromise, state: str) -> None:
        super().__init__(message)
        self.state = state


class SteppedOnly(Refused):
    """A whole form came for a HIT whose items are answered one at a time."""


def check_answers(sent: SentAnswers, layout: list[int], criteria: tuple[CriterionOnPage, ...]) -> list[Answer]:
    """Hold a form against the rubric: every item has every criterion, or says why it cannot be judged."""
    answers, errors = [], {}
    for place, item_id in enumerate(layout):
        if place in sent.cannot:
            answers += [Answer(item_id, criterion.id, None) for criterion in criteria]
            continue
        values = sent.values.get(place, {})
        n_missing = sum(values.get(criterion.key) is None for criterion in criteria)
        if n_missing:
            is_part = n_missing < len(criteria)
            errors[place] = _("Some criteria aren't rated yet.") if is_part else _("Not rated yet.")
            continue
        for criterion in criteria:
            value = values[criterion.key]
            wrong = explain_invalid(criterion.scale, value)
            if wrong:
                errors[place] = wrong
                break
            answers.append(Answer(item_id, criterion.id, float(value)))
    if errors:
        raise Incomplete(errors)
    return answers


def content_sha256(sent: SentAnswers) -> str:
    """What was said, whatever the time it took: the same answers give the same hash."""
    content = {
        "values": {str(place): values for place, values in sent.values.items() if place not in sent.cannot},
        "cannot": {str(place): reason for place, reason in sent.cannot.items()},
        "flags": sorted(sent.flags),
        "comments": {str(place): comment for place, comment in sent.comments.items()},
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
