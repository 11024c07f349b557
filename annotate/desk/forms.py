"""The form by which annotators withdraw their consent."""

from django import forms
from django.utils.translation import gettext_lazy as _

KEEP, REMOVE = "keep", "out"


class WithdrawForm(forms.Form):
    """The choice of what happens to the work, and a confirmation; neither is filled in beforehand."""

    work = forms.ChoiceField(
        label=_("What should happen to your work?"),
        choices=[
            (KEEP, _("Stop, and keep my ratings")),
            (REMOVE, _("Stop, and remove my ratings")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose what should happen to your work.")},
    )
    is_meant = forms.BooleanField(
        label=_("Yes, I withdraw my consent"), error_messages={"required": _("Tick the box to confirm.")}
    )

    @property
    def removes_work(self) -> bool:
        return bool(self.cleaned_data["work"] == REMOVE)


def read_version(text: str) -> int:
    """Return the version that a form names, or 0 for text that is not a number: versions start at 1."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
