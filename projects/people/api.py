"""The API of people: members under their pseudonyms, and invitations, whose link is in the creating answer alone.

Suspending, removing and restoring members concern their work too; they are in `annotate.moderation.api`.
"""

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from projects.api.auth import FOR_MANAGERS, ProjectEndpoint
from projects.api.serializers import (
    PageQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.models import Invitation, Membership
from projects.people import invitations, members
from projects.people.invitations import DEFAULT_DAYS, MOST_DAYS
from projects.web.links import absolute_url

MOST_USES = 10_000
INVITABLE = [choice for choice in Membership.Role.choices if choice[0] != Membership.Role.OWNER]


class PeopleQuery(PageQuery):
    role = serializers.ChoiceField(required=False, choices=Membership.Role.choices)
    kind = serializers.ChoiceField(required=False, choices=Membership.Kind.choices)
    standing = serializers.ChoiceField(required=False, choices=Membership.Standing.choices)
    pseudonym = TextField(required=False)
    order = serializers.ChoiceField(choices=["joined_at", "-joined_at", "pseudonym", "-pseudonym"], default="joined_at")


class PersonSerializer(StrictSerializer):
    pseudonym = serializers.CharField()
    role = serializers.ChoiceField(choices=Membership.Role.choices)
    kind = serializers.ChoiceField(choices=Membership.Kind.choices)
    standing = serializers.ChoiceField(choices=Membership.Standing.choices)
    is_annotator = serializers.BooleanField(help_text="Whether the member rates HITs.")
    joined_at = serializers.DateTimeField()


class RightsSerializer(StrictSerializer):
    role = serializers.ChoiceField(
        required=False, choices=Membership.Role.choices, help_text="Only owners can assign manager and owner."
    )
    is_annotator = StrictBooleanField(required=False, help_text="Whether the member rates HITs. Annotators always do.")


class InvitationQuery(PageQuery):
    role = serializers.ChoiceField(required=False, choices=INVITABLE)


class InvitationSerializer(StrictSerializer):
    id = serializers.IntegerField()
    role = serializers.ChoiceField(choices=INVITABLE)
    is_annotator = serializers.BooleanField()
    note = serializers.CharField()
    max_uses = serializers.IntegerField()
    n_uses = serializers.IntegerField()
    state = serializers.SerializerMethodField(help_text="active, used up, expired or revoked")
    created_by = serializers.CharField(source="created_by.pseudonym", help_text="The pseudonym.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)

    def get_state(self, invitation: Invitation) -> str:
        return invitation.state_at(timezone.now())


class CreatedInvitationSerializer(InvitationSerializer):
    link = serializers.CharField(help_text="The link to join with. It is not stored and never shown again.")


class NewInvitationSerializer(StrictSerializer):
    role = serializers.ChoiceField(choices=INVITABLE, help_text="Only owners can invite managers.")
    is_annotator = StrictBooleanField(required=False, help_text="Annotators always rate; others if this is true.")
    max_uses = serializers.IntegerField(required=False, min_value=1, max_value=MOST_USES, help_text="1 if omitted.")
    days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=f"Days for which it is valid, {DEFAULT_DAYS} if omitted.",
    )
    note = TextField(required=False, allow_blank=True, max_length=120, help_text="Only managers see it.")


class PeopleList(ProjectEndpoint):
    policy = FOR_MANAGERS
    query = PeopleQuery

    @extend_schema(responses=make_page_serializer(PersonSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List people.

        Members, imported and simulated annotators, under their pseudonyms: names are on the pages only.
        """
        names = ("role", "kind", "standing", "pseudonym")
        rows = self.project.memberships.filter(**{name: self.asked[name] for name in names if name in self.asked})
        return render_page(request, rows.order_by(self.asked["order"], "pk"), PersonSerializer, self.asked)


class PersonShow(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(responses=PersonSerializer)
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Read a person."""
        return Response(PersonSerializer(members.fetch_member(self.project, pseudonym)).data)

    @extend_schema(
        request=RightsSerializer,
        responses=PersonSerializer,
        examples=[OpenApiExample("To a researcher", value={"role": "researcher"}, request_only=True)],
    )
    def patch(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Change a person's role.

        Or whether they rate HITs. The change takes effect with their next request.
        """
        member, sent = members.fetch_member(self.project, pseudonym), self.sent(RightsSerializer)
        with transaction.atomic():
            if "role" in sent:
                members.change_role(target=member, role=sent["role"], actor=self.membership)
            if "is_annotator" in sent:
                members.set_annotates(target=member, annotates=sent["is_annotator"], actor=self.membership)
        return Response(PersonSerializer(members.fetch_member(self.project, pseudonym)).data)


class InvitationList(ProjectEndpoint):
    policy = FOR_MANAGERS
    query = InvitationQuery

    @extend_schema(responses=make_page_serializer(InvitationSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List invitations.

        The newest first, without their links.
        """
        names = {"role": self.asked["role"]} if "role" in self.asked else {}
        rows = self.project.invitations.filter(**names).select_related("created_by").order_by("-id")
        return render_page(request, rows, InvitationSerializer, self.asked)

    @extend_schema(
        request=NewInvitationSerializer,
        responses={HTTPStatus.CREATED: CreatedInvitationSerializer},
        examples=[OpenApiExample("Twenty annotators", value={"role": "annotator", "max_uses": 20}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create an invitation.

        The answer contains the link; only its hash is stored, so keep the answer.
        """
        sent = self.sent(NewInvitationSerializer)
        invitation, token = invitations.create_invitation(actor=self.membership, **sent)
        invitation.refresh_from_db()
        invitation.link = absolute_url(reverse("projects:join", args=[token]), request._request)  # type: ignore[attr-defined]
        return Response(CreatedInvitationSerializer(invitation).data, status=HTTPStatus.CREATED)


class InvitationRevoke(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(request=None, responses=InvitationSerializer)
    def post(self, request: Request, slug: str, invitation_id: int) -> Response:
        """Revoke an invitation.

        Its link stops working. People who have already joined stay members.
        """
        self.sent(StrictSerializer)
        found: Any = get_object_or_404(self.project.invitations.select_related("created_by"), pk=invitation_id)
        invitations.revoke(invitation=found, actor=self.membership)
        found.refresh_from_db(fields=["revoked_at"])
        return Response(InvitationSerializer(found).data)
