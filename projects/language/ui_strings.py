"""The sentences of the scripts of every page, which come with the page in its language."""

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

Words = dict[str, str | dict[str, str]]
"""Sentences by key; one about a number has its plural forms by category. The script fills in names in {braces}."""


def site_strings() -> Words:
    return {
        "go_on": _("Continue"),
        "cancel": _("Cancel"),
        "theme": pgettext("appearance", "as device"),
        "theme_light": pgettext("appearance", "light"),
        "theme_dark": pgettext("appearance", "dark"),
        "sign_out_title": _("Some ratings are only on this device"),
        "sign_out_text": _("They couldn't be saved yet. If you sign out, they're deleted from this device."),
        "sign_out_yes": _("Sign out anyway"),
        "sign_out_no": _("Stay signed in"),
    }
