"""The ledger: what each annotator has earned, in whole cents, and payments."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop, pgettext_lazy

from annotate.models.assignment import Assignment
from annotate.models.batch import Batch
from projects.models import Membership, Project


class Payment(models.Model):
    """A payment made outside the app: the approved entries of a project at one moment, marked as paid once."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="payments", db_index=False)
    number = models.PositiveIntegerField()
    cents = models.BigIntegerField()
    n_annotators = models.PositiveIntegerField()
    made_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    made_at = models.DateTimeField(db_default=Now())
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="payment_number")]

    def __str__(self) -> str:
        return f"payment {self.number}"


# Notes that the app itself writes. They are stored in English and translated when they are shown, because annotator and
# manager may read the same entry in different languages.
REPAID = gettext_noop("approved after all")
TAKEN_BACK = gettext_noop("rejected without pay")


class LedgerEntry(models.Model):
    """One amount that an annotator has earned or lost, with the reason: owed, approved, paid. Amounts never change."""

    class Kind(models.TextChoices):
        HIT = "hit", "HIT"
        QUALIFICATION = "qualification", pgettext_lazy("pay", "qualification")
        BONUS = "bonus", pgettext_lazy("pay", "bonus")
        ADJUSTMENT = "adjustment", pgettext_lazy("pay", "adjustment")

    class Stage(models.TextChoices):
        """How far an entry is on its way to the annotator, as `approved_at` and `payment` tell."""

        OWED = "owed", pgettext_lazy("pay", "awaiting approval")
        APPROVED = "approved", pgettext_lazy("pay", "approved")
        PAID = "paid", pgettext_lazy("pay", "paid")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="ledger", db_index=False)
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="ledger", db_index=False)
    kind = models.CharField(max_length=14, choices=Kind.choices)
    cents = models.IntegerField()
    key = models.CharField(max_length=80)
    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, null=True, blank=True, related_name="ledger_entries"
    )
    batch = models.ForeignKey(
        Batch, on_delete=models.PROTECT, null=True, blank=True, related_name="ledger", db_index=False
    )
    note = models.TextField(blank=True)
    made_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    made_at = models.DateTimeField(db_default=Now())
    approved_at = models.DateTimeField(null=True, blank=True)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="entries")

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "ledger entries"
        constraints = [
            # The key says what the entry is for, such as `hit:` and the assignment's uuid: nothing is paid twice.
            models.UniqueConstraint(fields=["project", "key"], name="ledger_entry_once"),
            models.CheckConstraint(
                condition=Q(payment=None) | Q(approved_at__isnull=False), name="ledger_entry_paid_is_approved"
            ),
        ]
        indexes = [
            models.Index(fields=["annotator", "-id"], name="ledger_of_annotator"),
            models.Index(fields=["project"], condition=Q(payment=None), name="ledger_unpaid"),
        ]

    def __str__(self) -> str:
        return f"{self.cents} cents for {self.kind}"

    @property
    def note_text(self) -> str:
        """The note; notes written by the app are translated."""
        return gettext(self.note) if self.note in {REPAID, TAKEN_BACK} else self.note
