"""The API of pay: balances, payments, bonuses and adjustments, under pseudonyms."""

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import LedgerEntry, Payment
from annotate.payments import ledger, paying
from annotate.payments.entries_page import BY_STAGE, Stage, require_paying
from annotate.payments.ledger import PendingEntries
from annotate.payments.paying import MOST_CENTS
from annotate.payments.payment_file import list_lines
from projects.api.auth import FOR_MANAGERS, ProjectEndpoint
from projects.api.serializers import INT32, PageQuery, StrictSerializer, TextField, make_page_serializer, render_page
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Membership, Project

MOST_OF_A_BALANCE = 2**53
"""Of greater integers JavaScript loses digits."""
ADDED = [
    choice for choice in LedgerEntry.Kind.choices if choice[0] in (LedgerEntry.Kind.BONUS, LedgerEntry.Kind.ADJUSTMENT)
]


class PaymentSerializer(StrictSerializer):
    number = serializers.IntegerField()
    cents = serializers.IntegerField(help_text="US cents.")
    n_annotators = serializers.IntegerField()
    made_by = serializers.CharField(source="made_by.pseudonym")
    made_at = serializers.DateTimeField()
    note = serializers.CharField()


class PaidSerializer(StrictSerializer):
    annotator = serializers.CharField(source="pseudonym")
    kind = serializers.ChoiceField(choices=Membership.Kind.choices)
    n_hits = serializers.IntegerField(help_text="HITs that the payment pays.")
    n_rejected_unpaid = serializers.IntegerField(help_text="HITs rejected unpaid, whose pay the payment takes back.")
    cents = serializers.IntegerField()


class WholePaymentSerializer(PaymentSerializer):
    lines = PaidSerializer(many=True, help_text="Amounts by annotator. The file with names is on the page only.")


class NewPaymentSerializer(StrictSerializer):
    cents = serializers.IntegerField(
        min_value=0,
        max_value=MOST_OF_A_BALANCE,
        help_text="The sum that is due, as `balances` shows it. If it has changed, nothing is recorded.",
    )
    last_payment = serializers.IntegerField(
        required=False, min_value=0, max_value=INT32, help_text="Number of the last payment that you know of."
    )
    note = TextField(required=False, allow_blank=True, max_length=500, help_text="How it is paid. Don’t name anyone.")


class BalanceSerializer(StrictSerializer):
    annotator = serializers.CharField(source="pseudonym")
    kind = serializers.ChoiceField(choices=Membership.Kind.choices)
    standing = serializers.ChoiceField(choices=Membership.Standing.choices)
    n_hits = serializers.IntegerField(source="sums.n_hits", help_text="HITs with pay of their own.")
    n_rejected_unpaid = serializers.IntegerField(source="sums.n_rejected_unpaid", help_text="HITs rejected unpaid.")
    owed = serializers.IntegerField(source="sums.owed", help_text="US cents that await approval.")
    approved = serializers.IntegerField(source="sums.approved", help_text="Approved, not yet paid.")
    paid = serializers.IntegerField(source="sums.paid")
    cents_per_hour = serializers.IntegerField(
        source="sums.hourly.cents_per_hour", allow_null=True, help_text="Null under 10 minutes of measured work."
    )


class DueSerializer(StrictSerializer):
    cents = serializers.IntegerField(
        help_text="What a payment would contain now: no negative balances, no deleted accounts."
    )
    n_annotators = serializers.IntegerField()


class WaitingSerializer(StrictSerializer):
    n_entries = serializers.IntegerField(source="n")
    cents = serializers.IntegerField()


class ApprovalSerializer(StrictSerializer):
    cents = serializers.IntegerField(
        min_value=-MOST_OF_A_BALANCE,
        max_value=MOST_OF_A_BALANCE,
        help_text="The sum that awaits approval, as `balances` shows it. If it has changed, nothing is approved.",
    )


class BalancesSerializer(StrictSerializer):
    count = serializers.IntegerField(help_text="Total number of rows.")
    due = DueSerializer()
    waiting = WaitingSerializer(
        help_text="Entries for other things than HITs, such as qualification tests, that await approval."
    )
    results = BalanceSerializer(many=True)


class EntryQuery(PageQuery):
    annotator = TextField(required=False, help_text="The annotator's pseudonym.")
    kind = serializers.ChoiceField(required=False, choices=LedgerEntry.Kind.choices)
    state = serializers.ChoiceField(required=False, choices=Stage.values)


class EntrySerializer(StrictSerializer):
    id = serializers.IntegerField()
    annotator = serializers.CharField(source="annotator.pseudonym")
    kind = serializers.ChoiceField(choices=LedgerEntry.Kind.choices)
    cents = serializers.IntegerField()
    batch = serializers.IntegerField(source="batch.number", default=None, allow_null=True)
    note = serializers.CharField()
    made_at = serializers.DateTimeField()
    approved_at = serializers.DateTimeField(allow_null=True)
    payment = serializers.IntegerField(source="payment.number", default=None, allow_null=True)


class NewEntrySerializer(StrictSerializer):
    annotator = TextField(help_text="The annotator's pseudonym.")
    kind = serializers.ChoiceField(choices=ADDED)
    cents = serializers.IntegerField(
        min_value=-MOST_CENTS, max_value=MOST_CENTS, help_text="US cents; negative to deduct."
    )
    why = TextField(max_length=500, help_text="The annotator sees it.")
    key = serializers.UUIDField(
        help_text="A UUID of your own: the same key sent again, for example after a lost connection, adds nothing."
    )
    confirmed_balance = serializers.IntegerField(
        required=False,
        min_value=-MOST_OF_A_BALANCE,
        max_value=MOST_OF_A_BALANCE,
        help_text="The unpaid balance, to confirm a deduction that makes it negative.",
    )


class PaymentList(ProjectEndpoint):
    policy = FOR_MANAGERS
    query = PageQuery

    @extend_schema(responses=make_page_serializer(PaymentSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List payments.

        The newest first.
        """
        rows = self.project.payments.select_related("made_by").order_by("-number")
        return render_page(request, rows, PaymentSerializer, self.asked)

    @extend_schema(
        request=NewPaymentSerializer,
        responses={HTTPStatus.CREATED: WholePaymentSerializer},
        examples=[OpenApiExample("What is due", value={"cents": 1250, "note": "May"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Record a payment.

        Marks everything that is approved as paid, once. The money is sent outside this site.
        """
        require_paying(self.project)
        sent = self.sent(NewPaymentSerializer)
        payment = paying.make_payment(
            project=self.project,
            actor=self.membership,
            note=sent.get("note", ""),
            seen_cents=sent["cents"],
            seen_number=sent.get("last_payment"),
        )
        location = reverse("api:payment-show", args=[slug, payment.number])
        return Response(_serialize(payment), status=HTTPStatus.CREATED, headers={"Location": location})


class PaymentShow(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(responses=WholePaymentSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a payment.

        With the amount of each annotator.
        """
        return Response(_serialize(_fetch(self.project, number)))


class PayApproval(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(
        request=ApprovalSerializer,
        responses=WaitingSerializer,
        examples=[OpenApiExample("What awaits it", value={"cents": 400}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Approve pay that is not for HITs.

        Such as that of qualification tests. The pay of a HIT is approved with its assignment.
        """
        require_paying(self.project)
        sent = self.sent(ApprovalSerializer)
        with transaction.atomic():
            n, cents = paying.approve_waiting(project=self.project, actor=self.membership)
            if cents != sent["cents"]:
                raise Refused(
                    f"The sum that awaits approval has changed: it is {cents} cents now. Read the balances again.",
                    field="cents",
                )
        return Response(WaitingSerializer(PendingEntries(n, cents)).data)


class BalanceList(ProjectEndpoint):
    policy = FOR_MANAGERS
    chapter = "payments"

    @extend_schema(responses=BalancesSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """List balances.

        Everyone with an entry in the ledger, by pseudonym, and what is due now.
        """
        with snapshot():
            found, waiting = ledger.list_balances(self.project), ledger.sum_waiting(self.project)
        due = ledger.find_payable(found)
        shown = {"count": len(found), "due": due, "waiting": waiting, "results": found}
        return Response(BalancesSerializer(shown).data)


class EntryList(ProjectEndpoint):
    policy = FOR_MANAGERS
    chapter = "payments"
    query = EntryQuery

    @extend_schema(responses=make_page_serializer(EntrySerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List ledger entries.

        The newest first.
        """
        names = {"annotator": "annotator__pseudonym", "kind": "kind"}
        rows = LedgerEntry.objects.filter(
            project=self.project, **{field: self.asked[name] for name, field in names.items() if name in self.asked}
        ).select_related("annotator", "batch", "payment")
        if "state" in self.asked:
            rows = rows.filter(BY_STAGE[Stage(self.asked["state"])])
        return render_page(request, rows.order_by("-id"), EntrySerializer, self.asked)

    @extend_schema(
        request=NewEntrySerializer,
        responses={HTTPStatus.CREATED: EntrySerializer},
        examples=[
            OpenApiExample(
                "A bonus",
                value={
                    "annotator": "a-k7mq2xwz",
                    "kind": "bonus",
                    "cents": 200,
                    "why": "Careful comments",
                    "key": "0b6c1a52-3f0e-4c38-9a53-0f1c8f5e2d11",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a bonus or an adjustment.

        It is approved at once, and part of the next payment. The same key again returns the stored entry.
        """
        require_paying(self.project)
        sent = self.sent(NewEntrySerializer)
        annotator = get_object_or_404(self.project.memberships, pseudonym=sent.pop("annotator"))
        added = paying.add_entry(actor=self.membership, annotator=annotator, **sent)
        entry = LedgerEntry.objects.select_related("annotator", "batch", "payment").get(pk=added.entry.pk)
        status = HTTPStatus.CREATED if added.is_new else HTTPStatus.OK
        return Response(EntrySerializer(entry).data, status=status)


def _fetch(project: Project, number: int) -> Payment:
    return get_object_or_404(project.payments.select_related("made_by"), number=number)


def _serialize(payment: Payment) -> dict[str, Any]:
    return {**PaymentSerializer(payment).data, "lines": PaidSerializer(list_lines(payment), many=True).data}
