"""The API of overlap plans: the list, a new one, what one is missing with its cost, new rules, and its start."""

from http import HTTPStatus
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import Batch, OverlapPlan
from annotate.planning import plans
from annotate.planning.hit_presentation import read_presentation
from annotate.planning.overlap import MAX_JUDGMENTS, read_rules
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import (
    PageQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Project

MOST_RULES = 500
EXAMPLE_OF_A_PLAN = OpenApiExample(
    "Three judgments on dev and test",
    value={
        "name": "Main collection",
        "rules": [
            {"kind": "*", "split": "train", "judgments": 1},
            {"kind": "*", "split": "*", "judgments": 3},
        ],
    },
    request_only=True,
)


class RuleSerializer(StrictSerializer):
    kind = TextField(help_text="Kind of dataset, or * for any.")
    split = TextField(allow_blank=True, help_text="Split, or * for any; empty for passages without one.")
    type = TextField(required=False, allow_blank=True, help_text="Question type; * or omitted for any.")
    judgments = serializers.IntegerField(min_value=0, max_value=MAX_JUDGMENTS, help_text="Per candidate.")


class PlanSerializer(StrictSerializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    rules = RuleSerializer(many=True, help_text="The first rule that fits a candidate counts.")
    batches = serializers.SerializerMethodField(help_text="Numbers of the batches that it has created.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)

    def get_batches(self, plan: OverlapPlan) -> list[int]:
        return sorted(batch.number for batch in plan.batches.all())


class PlanLineSerializer(StrictSerializer):
    kind = serializers.CharField()
    split = serializers.CharField()
    type = serializers.CharField(help_text="* in a plan that does not divide by question type.")
    judgments = serializers.IntegerField(allow_null=True, help_text="Planned per candidate; null without a rule.")
    n_candidates = serializers.IntegerField()
    n_left_out = serializers.IntegerField(help_text="Candidates of a trial that the plan excludes.")
    n_planned = serializers.IntegerField()
    n_had = serializers.IntegerField(help_text="Judgments collected; all criteria of the rubric count as one.")
    n_coming = serializers.IntegerField(help_text="Judgments in progress.")
    n_missing = serializers.IntegerField()


class MissingSerializer(StrictSerializer):
    lines = PlanLineSerializer(many=True)
    n_batches = serializers.IntegerField(help_text="Batches that starting the plan would create.")
    n_hits = serializers.IntegerField()
    n_assignments = serializers.IntegerField()
    n_judgments = serializers.IntegerField(help_text="Of a candidate by an annotator, on all criteria of the rubric.")
    cents = serializers.IntegerField(help_text="Expected cost, with controls and fees.")
    hours = serializers.FloatField(help_text="Expected working time.")


class WholePlanSerializer(PlanSerializer):
    missing = MissingSerializer(allow_null=True, help_text="Null if it can’t be computed now; see `refusal`.")
    refusal = serializers.CharField(help_text="Why it can’t be computed, such as no rubric; otherwise empty.")


class NewPlanSerializer(StrictSerializer):
    name = TextField(max_length=100)
    rules = serializers.ListField(child=RuleSerializer(), min_length=1, max_length=MOST_RULES)


class StartSerializer(StrictSerializer):
    use_of_trial = serializers.ChoiceField(
        required=False, choices=Batch.UseOfTrial.choices, help_text="How judgments of the latest trial are used."
    )
    opens = StrictBooleanField(required=False, help_text="Open the batches at once. Otherwise they are drafts.")
    why = TextField(required=False, allow_blank=True, max_length=500, help_text="Recorded in the audit log.")


class StartedSerializer(StrictSerializer):
    batches = serializers.ListField(child=serializers.IntegerField(), help_text="Numbers of the new batches.")
    n_places = serializers.IntegerField(help_text="Assignments added to existing batches.")


class PlanList(ProjectEndpoint):
    query = PageQuery

    @extend_schema(responses=make_page_serializer(PlanSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List overlap plans.

        The newest first.
        """
        rows = self.project.overlap_plans.prefetch_related("batches").order_by("-number")
        return render_page(request, rows, PlanSerializer, self.asked)

    @extend_schema(
        request=NewPlanSerializer,
        responses={HTTPStatus.CREATED: WholePlanSerializer},
        examples=[EXAMPLE_OF_A_PLAN],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create an overlap plan.

        Judgments per candidate by kind of dataset, split and question type. Nothing is collected before it is started.
        """
        sent = self.sent(NewPlanSerializer)
        plan = plans.create_plan(
            project=self.project, actor=self.membership, name=sent["name"], rules=read_rules(sent["rules"])
        )
        location = reverse("api:plan-show", args=[slug, plan.number])
        return Response(_serialize(plan), status=HTTPStatus.CREATED, headers={"Location": location})


class PlanShow(ProjectEndpoint):
    @extend_schema(responses=WholePlanSerializer)
    def get(self, request: Request, slug: str, plan_number: int) -> Response:
        """Read an overlap plan.

        With the judgments that are missing now, and what they are expected to cost.
        """
        return Response(_serialize(_fetch(self.project, plan_number)))

    @extend_schema(request=NewPlanSerializer, responses=WholePlanSerializer, examples=[EXAMPLE_OF_A_PLAN])
    def put(self, request: Request, slug: str, plan_number: int) -> Response:
        """Change an overlap plan.

        Existing batches don't change; start the plan again to collect what is missing.
        """
        plan = _fetch(self.project, plan_number)
        sent = self.sent(NewPlanSerializer)
        plans.change_plan(plan=plan, actor=self.membership, name=sent["name"], rules=read_rules(sent["rules"]))
        return Response(_serialize(plan))


class PlanStart(ProjectEndpoint):
    @extend_schema(
        request=StartSerializer,
        responses=StartedSerializer,
        examples=[OpenApiExample("As drafts", value={"opens": False}, request_only=True)],
    )
    def post(self, request: Request, slug: str, plan_number: int) -> Response:
        """Start an overlap plan.

        Creates batches and adds assignments for the judgments that are missing now. Starting it again creates only what
        is missing by then.
        """
        plan = _fetch(self.project, plan_number)
        sent = self.sent(StartSerializer)
        started = plans.start_plan(
            plan=plan,
            actor=self.membership,
            asked=sent.get("use_of_trial", ""),
            opens=sent.get("opens", False),
            why=sent.get("why", ""),
        )
        made = {"batches": [batch.number for batch in started.batches], "n_places": started.n_places}
        return Response(StartedSerializer(made).data)


def _fetch(project: Project, number: int) -> OverlapPlan:
    found: OverlapPlan = get_object_or_404(project.overlap_plans.select_related("project"), number=number)
    return found


def _serialize(plan: OverlapPlan) -> dict[str, Any]:
    with snapshot():
        missing, refusal = None, ""
        # As on the page: a plan that can't be priced now still has an answer, which says why.
        try:
            figures = plans.price_plan(
                plan.project,
                read_rules(plan.rules),
                plans.find_trial_use(plan, plan.project),
                read_presentation(plan, plan.project),
            )
        except Refused as refused:
            refusal = refused.message
        else:
            found = figures.missing
            missing = {
                "lines": found.lines,
                "n_batches": len(found.parts),
                "n_hits": found.n_hits,
                "n_assignments": found.n_assignments,
                "n_judgments": found.n_judgments,
                "cents": figures.cents,
                "hours": figures.hours,
            }
        return {
            **PlanSerializer(plan).data,
            "missing": missing and MissingSerializer(missing).data,
            "refusal": refusal,
        }
