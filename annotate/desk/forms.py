"""The form by which annotators withdraw their consent."""

from django import forms
from django.utils.translation import gettext_lazy as _

KEEP, TAKE_OUT = "keep", "out"


class WithdrawForm(forms.Form):
    """What becomes of the work, chosen, and that it is meant, ticked: nothing is filled in beforehand."""

    work = forms.ChoiceField(
        label=_("What is to become of your work?"),
        choices=[
            (KEEP, _("Stop, and keep what I gave under my pseudonym")),
            (TAKE_OUT, _("Stop, and take my judgments out")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose one of the two.")},
    )
    is_meant = forms.BooleanField(
        label=_("Yes, I withdraw my consent"), error_messages={"required": _("Tick this to say that you mean it.")}
    )

    @property
    def takes_out(self) -> bool:
        return bool(self.cleaned_data["work"] == TAKE_OUT)


def read_version(text: str) -> int:
    """The version that a form was about; 0, which there never is, for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
