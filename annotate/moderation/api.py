"""The API of acts on members: messages, suspending, removing with or without their work, and restoring."""

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope, RemovalPlan
from annotate.onboarding.notices import LONGEST
from projects.api.auth import FOR_MANAGERS, ProjectEndpoint
from projects.api.serializers import INT32, Query, StrictBooleanField, StrictSerializer, TextField
from projects.errors import Refused
from projects.models import Project
from projects.people.api import PersonSerializer
from projects.people.members import fetch_member

WHY: dict[str, Any] = {"max_length": 500, "help_text": "Recorded in the audit log. Don’t name anyone."}


class MessageSerializer(StrictSerializer):
    text = TextField(max_length=LONGEST, help_text="Stays on their desk until they confirm that they have read it.")


class StandingChangeSerializer(StrictSerializer):
    act = serializers.ChoiceField(choices=["suspend", "restore"])
    why = TextField(**WHY)
    text = TextField(
        required=False, allow_blank=True, max_length=LONGEST, help_text="To suspend: a message for their desk."
    )
    with_work = StrictBooleanField(
        required=False, help_text="To restore: count excluded work again, where its place is free. True by default."
    )


class ExclusionQuery(Query):
    scope = serializers.ChoiceField(
        choices=ExclusionScope.choices,
        default=ExclusionScope.NONE,
        help_text="Work to exclude from results; none if omitted.",
    )
    since = serializers.DateTimeField(required=False, help_text="For the scope “since”.")
    batch = serializers.IntegerField(
        required=False, min_value=1, max_value=INT32, help_text="Number of the batch, for the scope “batch”."
    )
    reopens = StrictBooleanField(default=True, help_text="Assign the excluded work to other annotators.")


class RemovalSerializer(ExclusionQuery):
    why = TextField(**WHY)
    reopen_batches = StrictBooleanField(required=False, help_text="Reopen closed batches whose work is reassigned.")
    resolves_alerts = StrictBooleanField(
        required=False, help_text="Resolve the person’s open alerts as acted on. True by default."
    )
    n_assignments = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=INT32,
        help_text="Assignments that you expect to be excluded. If it is another number, nothing is done.",
    )


class RemovalPlanSerializer(StrictSerializer):
    n_assignments = serializers.IntegerField(help_text="Submitted assignments that are excluded.")
    n_judgments = serializers.IntegerField()
    n_places = serializers.IntegerField(help_text="Assignments that other annotators get.")
    closed_batches = serializers.SerializerMethodField(help_text="Numbers of closed batches that need to be reopened.")

    def get_closed_batches(self, plan: RemovalPlan) -> list[int]:
        return [batch.number for batch in plan.closed_batches]


class MessageNew(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(
        request=MessageSerializer,
        responses={HTTPStatus.CREATED: MessageSerializer},
        examples=[
            OpenApiExample("A hint", value={"text": "Please read the passage to its end first."}, request_only=True)
        ],
    )
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Send a person a message.

        It is shown on their desk. The same text is refused while it is unread.
        """
        member, sent = fetch_member(self.project, pseudonym), self.sent(MessageSerializer)
        members.warn(target=member, actor=self.membership, text=sent["text"])
        return Response(sent, status=HTTPStatus.CREATED)


class PersonStanding(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(
        request=StandingChangeSerializer,
        responses=PersonSerializer,
        examples=[
            OpenApiExample("Suspend", value={"act": "suspend", "why": "Ratings too fast"}, request_only=True),
        ],
    )
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Suspend or restore a person.

        A suspended annotator sees the desk and gets no HITs. Restoring also undoes a removal.
        """
        member, sent = fetch_member(self.project, pseudonym), self.sent(StandingChangeSerializer)
        common: dict[str, Any] = {"target": member, "actor": self.membership, "why": sent["why"]}
        if sent["act"] == "suspend":
            members.suspend(**common, text=sent.get("text", ""))
        else:
            members.restore(**common, with_work=sent.get("with_work", True))
        return Response(PersonSerializer(fetch_member(self.project, pseudonym)).data)


class PersonRemoval(ProjectEndpoint):
    policy = FOR_MANAGERS
    query = ExclusionQuery

    @extend_schema(responses=RemovalPlanSerializer)
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Preview the removal of a person.

        What would be excluded and assigned to others now.
        """
        member = fetch_member(self.project, pseudonym)
        plan = members.plan_removal(target=member, exclusion=_read_exclusion(self.project, self.asked))
        return Response(RemovalPlanSerializer(plan).data)

    @extend_schema(
        request=RemovalSerializer,
        responses=RemovalPlanSerializer,
        examples=[
            OpenApiExample("With all work", value={"scope": "all", "why": "Ratings at random"}, request_only=True)
        ],
    )
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Remove a person from the project.

        From their next request on. Excluded work is kept and can be restored; removing somebody again can exclude more.
        """
        member, sent = fetch_member(self.project, pseudonym), self.sent(RemovalSerializer)
        with transaction.atomic():
            done = members.remove(
                target=member,
                actor=self.membership,
                why=sent["why"],
                exclusion=_read_exclusion(self.project, sent),
                reopen_batches=sent.get("reopen_batches", False),
            )
            if done.n_assignments != sent.get("n_assignments", done.n_assignments):
                raise Refused(
                    f"{done.n_assignments} assignments would be excluded, not {sent['n_assignments']}. Preview the "
                    "removal again.",
                    field="n_assignments",
                )
            if sent.get("resolves_alerts", True):
                members.resolve_alerts(target=member, actor=self.membership, why=sent["why"])
        return Response(RemovalPlanSerializer(done).data)


def _read_exclusion(project: Project, sent: dict[str, Any]) -> Exclusion:
    """Return which work is excluded. Raises Refused where the scope lacks its time or batch, Http404 for no batch."""
    scope = ExclusionScope(sent["scope"])
    for name in (ExclusionScope.SINCE, ExclusionScope.BATCH):
        if scope == name and name not in sent:
            raise Refused(f"The scope “{name}” needs the field {name}.", field=name)
    return Exclusion(
        scope=scope,
        since=sent["since"] if scope == ExclusionScope.SINCE else None,
        batch=get_object_or_404(project.batches, number=sent["batch"]) if scope == ExclusionScope.BATCH else None,
        reopens=sent["reopens"],
    )
