"""Forms of payments: a manual entry, and a payment."""

from django import forms

from annotate.models import LedgerEntry
from annotate.payments.paying import MOST_CENTS
from projects.web.keyed_forms import KeyedForm

Kind = LedgerEntry.Kind


class EntryForm(KeyedForm):
    """A bonus or an adjustment."""

    kind = forms.ChoiceField(
        label="Type",
        choices=[
            (Kind.BONUS, "Bonus (added to earnings)"),
            (Kind.ADJUSTMENT, "Adjustment (negative to deduct)"),
        ],
        widget=forms.RadioSelect,
        initial=Kind.BONUS,
    )
    cents = forms.IntegerField(label="US cents", min_value=-MOST_CENTS, max_value=MOST_CENTS)
    why = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="The annotator sees it. Recorded in the audit log. Don’t name anyone.",
    )
    allow_debt = forms.BooleanField(label="Allow a negative balance", required=False, widget=forms.HiddenInput)

    def ask_for_debt(self, message: str) -> None:
        """Show the refusal and the checkbox that allows a negative balance, not ticked."""
        self.data = {name: value for name, value in self.data.items() if name != "allow_debt"}
        self.fields["allow_debt"].widget = forms.CheckboxInput()
        self.add_error("allow_debt", message)


class PaymentForm(forms.Form):
    """The button that records a payment, with the sum and number that its page showed."""

    note = forms.CharField(
        label="Note",
        required=False,
        max_length=500,
        help_text="How it is paid, for example “bank transfer, May”. Don’t name anyone.",
    )
    # 2**53 is the largest sum that a browser's numbers hold exactly; 2**31 - 1 is the largest number of a payment.
    seen_cents = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**53)
    seen_number = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 1)
