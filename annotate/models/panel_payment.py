"""Panel pay: what a recruitment platform owes participants, beside what the platform says it has paid."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotate.models.panel import LONGEST_ID, Panel, PanelSession
from projects.models import Membership


class PanelPayment(models.Model):
    """One amount on a platform: our side (owed, approved, cancelled) and, apart from it, the platform's own word.

    Only `annotate/payments/panel_pay.py` writes it. The two sides are never copied onto each other, so that a page can
    compare them. Amounts are in the smallest unit of the panel's currency.
    """

    class Kind(models.TextChoices):
        REWARD = "reward", "reward"
        BONUS = "bonus", "bonus"
        FEE = "fee", "fees"

    class Told(models.TextChoices):
        """What the platform says; empty until it says anything."""

        WAITING = "waiting", "awaiting approval"
        PAID = "paid", "paid"
        REFUSED = "refused", "not paid"

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="payments", db_index=False)
    # Fees of a whole study are nobody's.
    annotator = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="panel_payments"
    )
    session = models.ForeignKey(PanelSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="payments")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    key = models.CharField(max_length=80)
    """What the amount is for, such as `reward:` and the session's number, stored before the platform is asked."""
    external_id = models.CharField(max_length=LONGEST_ID, blank=True)
    """The platform's id of the payment; personal data where it is that of a submission."""
    cents = models.IntegerField(null=True, blank=True)
    """What we owe; None for an amount that only the platform knows of."""
    owed_at = models.DateTimeField(db_default=Now())
    approved_at = models.DateTimeField(null=True, blank=True)
    """When we approved it. The platform is asked to pay after that, and has paid once it says so."""
    cancelled_at = models.DateTimeField(null=True, blank=True)
    told = models.CharField(max_length=8, choices=Told.choices, blank=True)
    told_cents = models.IntegerField(null=True, blank=True)
    told_fee_cents = models.IntegerField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True)
    """The platform's time of what it said last; an older word changes nothing."""

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["panel", "key"], name="panel_payment_once"),
            models.CheckConstraint(condition=Q(told="") | Q(told_at__isnull=False), name="panel_payment_told_at"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"
