"""The words that the rating page's script says: they come with the page, in its language."""

from functools import lru_cache

from django.utils.translation import gettext as _

from projects.languages import counted, spoken
from projects.words import Words


def of_rating() -> Words:
    return _of_rating(spoken())


@lru_cache(maxsize=16)
def _of_rating(language: str) -> Words:
    return {
        "saving": _("Saving…"),
        "saved": _("Saved"),
        "kept": _("Not saved yet – kept on this device"),
        "unkept": _("Not saved yet. Keep this page open."),
        "signed_out": _("You are signed out. Your answers are kept here."),
        "closed": _("This HIT takes no more answers."),
        "sign_in": _("Sign in in a new tab"),
        "every_rated": _("Every answer is rated."),
        "still_to_rate": counted("{n} of {all} still to rate.", "{n} of {all} still to rate."),
        "missing": counted("One item still needs an answer.", "{n} items still need an answer."),
        "not_rated": _("Not rated yet."),
        "sending": _("Sending…"),
        "not_sent": _("Not sent yet. Your answers are kept."),
        "time_up": _("Time is up. You can still submit."),
        "few_minutes_left": _("A few minutes left"),
        "minutes_left": counted("{n} min left", "{n} min left"),
        "hours_left": counted("{n} h left", "{n} h left"),
        "days_left": counted("{n} day left", "{n} days left"),
        "no_answer_yet": _("no answer yet"),
    }
