"""The words that the rating page's script says: they come with the page, in its language."""

from django.utils.translation import gettext as _

from projects.language.languages import plural_forms
from projects.language.ui_strings import Words


def rating_strings() -> Words:
    return {
        "saving": _("Saving…"),
        "saved": _("Saved"),
        "saved_again": _("Everything is saved again."),
        "just_now": _("just now"),
        "seconds_ago": plural_forms("{n} s ago", "{n} s ago"),
        "minutes_ago": plural_forms("{n} min ago", "{n} min ago"),
        "hours_ago": plural_forms("{n} h ago", "{n} h ago"),
        "offline": _("Offline"),
        "offline_answers": plural_forms(
            "Offline: {n} answer kept on this device", "Offline: {n} answers kept on this device"
        ),
        "offline_changes": plural_forms(
            "Offline: {n} change kept on this device", "Offline: {n} changes kept on this device"
        ),
        "kept_answers": plural_forms(
            "Not saved yet: {n} answer kept on this device", "Not saved yet: {n} answers kept on this device"
        ),
        "kept_changes": plural_forms(
            "Not saved yet: {n} change kept on this device", "Not saved yet: {n} changes kept on this device"
        ),
        "unkept": _("Not saved yet. Keep this page open."),
        "signed_out": _("You are signed out. Your answers are kept here."),
        "closed": _("This HIT takes no more answers."),
        "sign_in": _("Sign in in a new tab"),
        "every_rated": _("Every answer is rated."),
        "still_to_rate": plural_forms("{n} of {all} still to rate.", "{n} of {all} still to rate."),
        "missing": plural_forms("One item still needs an answer.", "{n} items still need an answer."),
        "item": _("Item {n}"),
        "not_rated": _("Not rated yet."),
        "not_all_rated": _("Not every criterion is rated yet."),
        "not_on_scale": _("Answers go from {low} to {high}."),
        "rated": plural_forms("{n} of {all} rated.", "{n} of {all} rated."),
        "cleared": _("Answer {n}: cleared."),
        "undone": _("Undone: answer {n}."),
        "nothing_to_undo": _("There is nothing to undo."),
        "instructions_away": _("The instructions come here as soon as there is a connection."),
        "sending": _("Sending…"),
        "not_sent": _("Not sent yet. Your answers are kept."),
        "time_up": _("Time is up. You can still submit."),
        "few_minutes_left": _("A few minutes left"),
        "minutes_left": plural_forms("{n} min left", "{n} min left"),
        "hours_left": plural_forms("{n} h left", "{n} h left"),
        "days_left": plural_forms("{n} day left", "{n} days left"),
        "no_answer_yet": _("no answer yet"),
    }
