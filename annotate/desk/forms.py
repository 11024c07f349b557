"""The form by which annotators withdraw their consent."""

from django import forms
from django.utils.translation import gettext_lazy as _

KEEP, TAKE_OUT = "keep", "out"


class WithdrawForm(forms.Form):
    """The choice what happens to the work, and that it is meant, ticked: nothing is filled in beforehand."""

    work = forms.ChoiceField(
        label=_("What should happen to your work?"),
        choices=[
            (KEEP, _("Stop, and keep my ratings")),
            (TAKE_OUT, _("Stop, and remove my ratings")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose what should happen to your work.")},
    )
    is_meant = forms.BooleanField(
        label=_("Yes, I withdraw my consent"), error_messages={"required": _("Tick the box to confirm.")}
    )

    @property
    def takes_out(self) -> bool:
        return bool(self.cleaned_data["work"] == TAKE_OUT)


def read_version(text: str) -> int:
    """The version that a form was about; 0, which there never is, for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
