"""The API of the qualification test: the test and its items, attempts, and decisions of managers."""

from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.attempts import results
from annotate.attempts.admission import find_qualified
from annotate.attempts.gradable_items import MOST_REFERENCES, ItemSpec
from annotate.models import Attempt, Grant, QualificationItem, QualificationTest
from annotate.qualification import design, granting, items
from annotate.qualification.design import bounds
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import (
    PageQuery,
    StrictFloatField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.errors import Refused
from projects.models import Project

MOST_ITEMS_AT_ONCE = 500
LONGEST_TEXT = 200_000


class TestSerializer(StrictSerializer):
    # pytest would collect it for its name.
    __test__ = False

    state = serializers.ChoiceField(choices=QualificationTest.State.choices)
    rubric_version = serializers.IntegerField(source="rubric.version")
    n_items = serializers.IntegerField(allow_null=True, help_text="Items per attempt; null for all.")
    pass_share = serializers.FloatField(help_text="Share of items that must be correct, from 0 to 1.")
    max_attempts = serializers.IntegerField()
    wait_hours = serializers.IntegerField(help_text="Hours between attempts.")
    time_limit_minutes = serializers.IntegerField(allow_null=True)
    feedback = serializers.ChoiceField(choices=QualificationTest.Feedback.choices)
    valid_days = serializers.IntegerField(allow_null=True)
    cents = serializers.IntegerField(help_text="Pay for the test, in US cents.")
    seed = serializers.IntegerField(help_text="For the choice and order of items.")
    opened_at = serializers.DateTimeField(allow_null=True)
    n_qualified = serializers.SerializerMethodField(help_text="Active annotators who are qualified now.")
    why_not_open = serializers.SerializerMethodField(help_text="What prevents it from being opened; empty if nothing.")

    def get_n_qualified(self, test: QualificationTest) -> int:
        return find_qualified(test).count()

    def get_why_not_open(self, test: QualificationTest) -> list[str]:
        return [] if test.state == QualificationTest.State.OPEN else design.why_not_open(test)


class SettingsSerializer(StrictSerializer):
    n_items = serializers.IntegerField(
        required=False, allow_null=True, **bounds("n_items"), help_text="Items per attempt; null for all."
    )
    pass_share = StrictFloatField(
        required=False, min_value=0, max_value=1, help_text="Share of items that must be correct, from 0 to 1."
    )
    max_attempts = serializers.IntegerField(required=False, **bounds("max_attempts"))
    wait_hours = serializers.IntegerField(required=False, **bounds("wait_hours"))
    time_limit_minutes = serializers.IntegerField(required=False, allow_null=True, **bounds("time_limit_minutes"))
    feedback = serializers.ChoiceField(required=False, choices=QualificationTest.Feedback.choices)
    valid_days = serializers.IntegerField(required=False, allow_null=True, **bounds("valid_days"))
    cents = serializers.IntegerField(required=False, **bounds("cents"), help_text="Pay for the test, in US cents.")
    seed = serializers.IntegerField(required=False, **bounds("seed"))


class StateSerializer(StrictSerializer):
    act = serializers.ChoiceField(choices=["open", "close", "use latest rubric"])
    on_new_rubric = serializers.ChoiceField(
        required=False,
        choices=QualificationTest.OnNewRubric.choices,
        help_text="To use the latest rubric: whether qualified people stay so, or everybody retakes the test.",
    )


class ItemQuery(PageQuery):
    purpose = serializers.ChoiceField(required=False, choices=QualificationItem.Purpose.choices)


class ItemReferenceSerializer(StrictSerializer):
    text = TextField(max_length=LONGEST_TEXT)
    opinion = TextField(required=False, allow_blank=True)


class ItemSerializer(StrictSerializer):
    id = serializers.IntegerField()
    purpose = serializers.ChoiceField(choices=QualificationItem.Purpose.choices)
    passage_title = serializers.CharField()
    passage = serializers.CharField(source="passage_text")
    question = serializers.CharField()
    references = serializers.JSONField()
    answer = serializers.CharField()
    expected = serializers.JSONField(help_text="The lowest and highest correct rating by the key of each criterion.")
    tolerance = serializers.FloatField()
    explanation = serializers.CharField()
    retired_at = serializers.DateTimeField(allow_null=True)


class NewItemSerializer(StrictSerializer):
    purpose = serializers.ChoiceField(required=False, choices=QualificationItem.Purpose.choices)
    passage_title = TextField(required=False, allow_blank=True, max_length=500)
    passage = TextField(required=False, allow_blank=True, max_length=LONGEST_TEXT)
    question = TextField(max_length=LONGEST_TEXT)
    references = serializers.ListField(child=ItemReferenceSerializer(), required=False, max_length=MOST_REFERENCES)
    answer = TextField(max_length=LONGEST_TEXT)
    expected = serializers.DictField(
        child=serializers.ListField(child=StrictFloatField(), min_length=2, max_length=2),
        help_text="The lowest and highest correct rating by the key of each criterion.",
    )
    tolerance = StrictFloatField(required=False, min_value=0, max_value=1_000)
    explanation = TextField(required=False, allow_blank=True, max_length=LONGEST_TEXT)


EXAMPLE_OF_AN_ITEM = {
    "passage": "Ann opened the door.",
    "question": "Who opened the door?",
    "answer": "Bob",
    "expected": {"correctness": [1, 1]},
    "explanation": "It was Ann.",
}


class NewItemsSerializer(StrictSerializer):
    items = serializers.ListField(child=NewItemSerializer(), min_length=1, max_length=MOST_ITEMS_AT_ONCE)


class AddedItemsSerializer(StrictSerializer):
    ids = serializers.ListField(child=serializers.IntegerField())


class AttemptQuery(PageQuery):
    annotator = TextField(required=False, help_text="The annotator's pseudonym.")
    purpose = serializers.ChoiceField(required=False, choices=QualificationItem.Purpose.choices)
    state = serializers.ChoiceField(required=False, choices=Attempt.State.choices)


class AttemptSerializer(StrictSerializer):
    uuid = serializers.UUIDField(source="attempt.uuid")
    annotator = serializers.CharField(source="attempt.annotator.pseudonym")
    purpose = serializers.ChoiceField(source="attempt.purpose", choices=QualificationItem.Purpose.choices)
    n = serializers.IntegerField(source="attempt.n", help_text="The annotator's first, second … attempt.")
    state = serializers.ChoiceField(source="attempt.state", choices=Attempt.State.choices)
    n_items = serializers.IntegerField()
    n_needed = serializers.IntegerField(help_text="Correct items needed to pass.")
    n_right = serializers.IntegerField(source="attempt.n_right", allow_null=True)
    started_at = serializers.DateTimeField(source="attempt.started_at")
    finished_at = serializers.DateTimeField(source="attempt.finished_at", allow_null=True)
    active_seconds = serializers.FloatField(source="attempt.active_seconds", allow_null=True)


class DecisionQuery(PageQuery):
    annotator = TextField(required=False, help_text="The annotator's pseudonym.")


class DecisionSerializer(StrictSerializer):
    annotator = serializers.CharField(source="annotator.pseudonym")
    kind = serializers.ChoiceField(choices=Grant.Kind.choices)
    why = serializers.CharField()
    given_by = serializers.CharField(source="given_by.pseudonym")
    given_at = serializers.DateTimeField()


class NewDecisionSerializer(StrictSerializer):
    annotator = TextField(help_text="The annotator's pseudonym.")
    kind = serializers.ChoiceField(choices=Grant.Kind.choices)
    why = TextField(max_length=500, help_text="Recorded in the audit log.")


class Qualification(ProjectEndpoint):
    @extend_schema(responses=TestSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read the qualification test.

        Its settings and state, and how many people are qualified. Returns 404 if the project has no test.
        """
        return Response(TestSerializer(_fetch(self.project)).data)

    @extend_schema(request=None, responses=TestSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Create the qualification test.

        As a draft without items; a project has one. If there is one already, that one is returned.
        """
        self.sent(StrictSerializer)
        design.make_test(project=self.project, actor=self.membership)
        return Response(TestSerializer(_fetch(self.project)).data)

    @extend_schema(
        request=SettingsSerializer,
        responses=TestSerializer,
        examples=[OpenApiExample("A pass mark", value={"pass_share": 0.8, "max_attempts": 2}, request_only=True)],
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change settings of the qualification test.

        Those that are omitted stay as they are.
        """
        test, sent = _fetch(self.project), self.sent(SettingsSerializer)
        design.change_settings(test=test, actor=self.membership, values=sent)
        return Response(TestSerializer(_fetch(self.project)).data)


class QualificationState(ProjectEndpoint):
    @extend_schema(
        request=StateSerializer,
        responses=TestSerializer,
        examples=[OpenApiExample("Open it", value={"act": "open"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Open or close the qualification test.

        While it is open, only people who pass can take work that requires it. A test can also be moved to the latest
        rubric.
        """
        test, sent = _fetch(self.project), self.sent(StateSerializer)
        if sent["act"] == "use latest rubric":
            if "on_new_rubric" not in sent:
                raise Refused("Choose whether everyone retakes the test.", field="on_new_rubric")
            design.move_to_rubric(test=test, actor=self.membership, on_new_rubric=sent["on_new_rubric"])
        else:
            act = design.open_test if sent["act"] == "open" else design.close_test
            act(test=test, actor=self.membership)
        return Response(TestSerializer(_fetch(self.project)).data)


class ItemList(ProjectEndpoint):
    query = ItemQuery

    @extend_schema(responses=make_page_serializer(ItemSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List items of the qualification test.

        With their correct ratings, in the order of the test; retired ones too.
        """
        names = {"purpose": self.asked["purpose"]} if "purpose" in self.asked else {}
        rows = QualificationItem.objects.filter(test=_fetch(self.project), **names).order_by("position", "id")
        return render_page(request, rows, ItemSerializer, self.asked)

    @extend_schema(
        request=NewItemsSerializer,
        responses={HTTPStatus.CREATED: AddedItemsSerializer},
        examples=[OpenApiExample("One item", value={"items": [EXAMPLE_OF_AN_ITEM]}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add items to the qualification test.

        All of them or none.
        """
        test = _fetch(self.project)
        sent = self.sent(NewItemsSerializer)["items"]
        specs = [_read_spec(each) for each in sent]
        added = items.add_items(test=test, actor=self.membership, specs=specs, how="api")
        return Response({"ids": [item.pk for item in added]}, status=HTTPStatus.CREATED)


class ItemShow(ProjectEndpoint):
    @extend_schema(responses=ItemSerializer)
    def get(self, request: Request, slug: str, item_id: int) -> Response:
        """Read an item of the qualification test.

        With its correct ratings.
        """
        return Response(ItemSerializer(_fetch_item(self.project, item_id)).data)

    @extend_schema(
        request=NewItemSerializer,
        responses=ItemSerializer,
        examples=[OpenApiExample("A whole item", value=EXAMPLE_OF_AN_ITEM, request_only=True)],
    )
    def put(self, request: Request, slug: str, item_id: int) -> Response:
        """Change an item of the qualification test.

        All of it: what is omitted becomes empty. An item that an attempt has shown is retired, and one with another id
        replaces it.
        """
        item = _fetch_item(self.project, item_id)
        changed = items.edit_item(item=item, actor=self.membership, spec=_read_spec(self.sent(NewItemSerializer)))
        return Response(ItemSerializer(changed).data)

    @extend_schema(responses=ItemSerializer)
    def delete(self, request: Request, slug: str, item_id: int) -> Response:
        """Retire an item of the qualification test.

        Later attempts don't have it; results of earlier ones keep it.
        """
        items.retire_item(item=_fetch_item(self.project, item_id), actor=self.membership)
        return Response(ItemSerializer(_fetch_item(self.project, item_id)).data)


class AttemptList(ProjectEndpoint):
    query = AttemptQuery

    @extend_schema(responses=make_page_serializer(AttemptSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List attempts at the qualification test.

        The newest first.
        """
        fields = {"annotator": "annotator__pseudonym", "purpose": "purpose", "state": "state"}
        asked = {field: self.asked[name] for name, field in fields.items() if name in self.asked}
        rows = Attempt.objects.filter(test=_fetch(self.project), **asked).defer("draft", "answers")
        rows = rows.select_related("test", "annotator").order_by("-started_at", "-pk")
        return render_page(request, rows, _SummarySerializer, self.asked)


class _SummarySerializer(AttemptSerializer):
    """An attempt by the summary that its page shows too."""

    def to_representation(self, instance: Any) -> Any:
        return super().to_representation(results.summarise_result(instance, timezone.now()))


class DecisionList(ProjectEndpoint):
    query = DecisionQuery

    @extend_schema(responses=make_page_serializer(DecisionSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List decisions on qualifications.

        Qualifications that managers granted or revoked, the newest first.
        """
        names = {"annotator__pseudonym": self.asked["annotator"]} if "annotator" in self.asked else {}
        rows = Grant.objects.filter(annotator__project=self.project, **names)
        return render_page(
            request, rows.select_related("annotator", "given_by").order_by("-id"), DecisionSerializer, self.asked
        )

    @extend_schema(
        request=NewDecisionSerializer,
        responses={HTTPStatus.CREATED: DecisionSerializer},
        examples=[
            OpenApiExample(
                "Grant one",
                value={"annotator": "a-k7mq2xwz", "kind": "granted", "why": "Took part in the pilot"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Grant or revoke a qualification.

        A granted one counts as a pass; after a revocation only another grant restores it.
        """
        sent = self.sent(NewDecisionSerializer)
        annotator = get_object_or_404(self.project.memberships.select_related("project"), pseudonym=sent["annotator"])
        act = granting.grant if sent["kind"] == Grant.Kind.GRANTED else granting.revoke
        act(annotator=annotator, actor=self.membership, why=sent["why"])
        made = Grant.objects.filter(annotator=annotator).select_related("annotator", "given_by").latest("id")
        return Response(DecisionSerializer(made).data, status=HTTPStatus.CREATED)


def _fetch(project: Project) -> QualificationTest:
    test = design.find_test(project)
    if test is None:
        raise Http404
    return test


def _fetch_item(project: Project, pk: int) -> QualificationItem:
    return get_object_or_404(QualificationItem.objects.select_related("test"), pk=pk, test__project=project)


def _read_spec(sent: dict[str, Any]) -> ItemSpec:
    passage = sent.pop("passage", "")
    expected = {key: (low, high) for key, (low, high) in sent.pop("expected").items()}
    return ItemSpec(**sent, passage_text=passage, expected=expected)
