"""API endpoints of projects: the caller's projects, and one project with its current rubric."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from projects.api.auth import Endpoint, ProjectEndpoint
from projects.api.serializers import PageQuery, StrictSerializer, make_page_serializer, render_page
from projects.models import ApiToken, Criterion, Membership
from projects.rubric.rubrics import current_rubric


class ProjectSerializer(StrictSerializer):
    slug = serializers.SlugField(help_text="Short name of the project in URLs.")
    name = serializers.CharField()
    description = serializers.CharField()
    language = serializers.CharField(help_text="Language of the annotators' pages.")
    created_at = serializers.DateTimeField()


class MineSerializer(StrictSerializer):
    project = ProjectSerializer()
    role = serializers.ChoiceField(choices=Membership.Role.choices, help_text="Your role in the project.")
    pseudonym = serializers.CharField(help_text="Your pseudonym in the project.")


class CriterionSerializer(StrictSerializer):
    key = serializers.CharField()
    name = serializers.CharField()
    statement = serializers.CharField()
    kind = serializers.ChoiceField(choices=Criterion.Kind.choices)
    low = serializers.IntegerField()
    high = serializers.IntegerField()
    is_reversed = serializers.BooleanField(help_text="True if lower values are better.")
    level = serializers.ChoiceField(
        choices=Criterion.Level.choices, help_text="Level of measurement used for agreement."
    )


class RubricSerializer(StrictSerializer):
    version = serializers.IntegerField()
    name = serializers.CharField()
    criteria = CriterionSerializer(many=True)


class ProjectDetailSerializer(ProjectSerializer):
    role = serializers.ChoiceField(choices=Membership.Role.choices, help_text="Your role in the project.")
    pseudonym = serializers.CharField(help_text="Your pseudonym in the project.")
    rubric = RubricSerializer(allow_null=True, help_text="Current rubric, used by new batches; null if there is none.")


class ProjectList(Endpoint):
    query = PageQuery

    @extend_schema(responses=make_page_serializer(MineSerializer))
    def get(self, request: Request) -> Response:
        """List my projects.

        Lists the projects in which you are a researcher, manager or owner. With a token, only the token's project.
        """
        mine = Membership.objects.active().exclude(role=Membership.Role.ANNOTATOR)
        mine = mine.filter(user=request.user.pk, project__deleted_at=None).select_related("project")
        if isinstance(request.auth, ApiToken):
            mine = mine.filter(pk=request.auth.membership_id)
        return render_page(request, mine.order_by("project__slug"), MineSerializer, self.asked)


class ProjectShow(ProjectEndpoint):
    @extend_schema(responses=ProjectDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read a project.

        Includes the current rubric: the criteria and their scales.
        """
        return Response(ProjectDetailSerializer(self._described()).data)

    def _described(self) -> dict[str, Any]:
        project, member = self.project, self.membership
        names = ("slug", "name", "description", "language", "created_at")
        return {
            **{name: getattr(project, name) for name in names},
            "role": member.role,
            "pseudonym": member.pseudonym,
            "rubric": self._rubric(),
        }

    def _rubric(self) -> dict[str, Any] | None:
        rubric = current_rubric(self.project)
        if rubric is None:
            return None
        return {"version": rubric.version, "name": rubric.name, "criteria": rubric.criteria.all()}
