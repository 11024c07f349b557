"""The messages of the rating page's script; they come with the page, in its language."""

from django.utils.translation import gettext as _

from projects.language.languages import plural_forms
from projects.language.ui_strings import Words


def rating_strings() -> Words:
    return {
        "saving": _("Saving…"),
        "saved": _("Saved"),
        "saved_again": _("All changes saved"),
        "just_now": _("just now"),
        "seconds_ago": plural_forms("{n} s ago", "{n} s ago"),
        "minutes_ago": plural_forms("{n} min ago", "{n} min ago"),
        "hours_ago": plural_forms("{n} h ago", "{n} h ago"),
        "offline": _("Offline"),
        "offline_answers": plural_forms(
            "Offline: {n} rating kept on this device", "Offline: {n} ratings kept on this device"
        ),
        "offline_changes": plural_forms(
            "Offline: {n} change kept on this device", "Offline: {n} changes kept on this device"
        ),
        "kept_answers": plural_forms(
            "Not saved yet: {n} rating kept on this device", "Not saved yet: {n} ratings kept on this device"
        ),
        "kept_changes": plural_forms(
            "Not saved yet: {n} change kept on this device", "Not saved yet: {n} changes kept on this device"
        ),
        "unkept": _("Not saved yet. Keep this page open."),
        "signed_out": _("You're signed out. Your ratings are kept on this device."),
        "closed": _("You can no longer submit this HIT."),
        "sign_in": _("Sign in in a new tab"),
        "open_study_again": _("Open the study again from the platform, in a new tab."),
        "every_rated": _("Every answer is rated."),
        "still_to_rate": plural_forms("{n} of {all} still to rate.", "{n} of {all} still to rate."),
        "missing": plural_forms("One answer still needs a rating.", "{n} answers still need a rating."),
        "item": _("Answer {n}"),
        "not_rated": _("Not rated yet."),
        "no_reason": _("Write why it can't be judged, or rate it."),
        "not_all_rated": _("Some criteria aren't rated yet."),
        "not_on_scale": _("Use a number from {low} to {high}."),
        "rated": plural_forms("{n} of {all} rated.", "{n} of {all} rated."),
        "cleared": _("Answer {n}: rating cleared."),
        "undone": _("Undone: answer {n}."),
        "nothing_to_undo": _("Nothing to undo."),
        "read_to_end": _("Read to the end of this answer first: press ↓ or scroll."),
        "instructions_away": _("The instructions will appear here when you're back online."),
        "sending": _("Submitting…"),
        "waiting": _("Waiting for the network…"),
        "will_send": _("Will be submitted when you're back online."),
        "sent_elsewhere": _("Submitted in another tab."),
        "not_sent": _("Not submitted yet. Your ratings are kept on this device."),
        "time_up": _("Time is up. You can still submit."),
        "last_minute": _("Less than a minute left"),
        "minutes_left": plural_forms("{n} min left", "{n} min left"),
        "hours_left": plural_forms("{n} h left", "{n} h left"),
        "days_left": plural_forms("{n} day left", "{n} days left"),
        "no_answer_yet": _("no rating yet"),
    }


def question_strings() -> Words:
    """Return what the page says differently where generated questions are rated."""
    return {
        "item": _("Generated question {n}"),
        "every_rated": _("Every question is rated."),
        "missing": plural_forms("One question still needs a rating.", "{n} questions still need a rating."),
        "cleared": _("Generated question {n}: rating cleared."),
        "undone": _("Undone: generated question {n}."),
        "read_to_end": _("Read to the end of this question first: press ↓ or scroll."),
    }
