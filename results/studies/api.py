"""Metric evaluations by the API, to be read: settings, progress and result."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from projects.api.auth import ProjectEndpoint
from projects.api.serializers import PageQuery, StrictSerializer, make_page_serializer, render_page
from results.models import Study


class StudyQuery(PageQuery):
    kind = serializers.ChoiceField(required=False, choices=Study.Kind.choices)
    state = serializers.ChoiceField(required=False, choices=Study.State.choices)
    order = serializers.ChoiceField(choices=["number", "-number"], default="-number")


class StudySerializer(StrictSerializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Study.Kind.choices)
    state = serializers.ChoiceField(choices=Study.State.choices)
    is_live = serializers.BooleanField(help_text="Whether the job is unfinished. If so, poll again.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Steps of the job; 0 before it starts.")
    error = serializers.CharField(help_text="Why the evaluation failed; otherwise empty.")
    settings = serializers.JSONField(help_text="The settings, with every default filled in; metrics by their subjects.")
    seed = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class WholeStudySerializer(StudySerializer):
    result = serializers.JSONField(
        allow_null=True,
        help_text="Metrics with their settings, exclusions, the human ceiling, and figures; what is undefined "
        "is an object with its reason. Null until it is done.",
    )


class StudyList(ProjectEndpoint):
    query = StudyQuery

    @extend_schema(responses=make_page_serializer(StudySerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List metric evaluations.

        The newest first, without their results.
        """
        chosen = {name: self.asked[name] for name in ("kind", "state") if name in self.asked}
        rows = self.project.studies.defer("result").filter(**chosen).order_by(self.asked["order"])
        return render_page(request, rows, StudySerializer, self.asked)


class StudyShow(ProjectEndpoint):
    @extend_schema(responses=WholeStudySerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a metric evaluation.

        Its settings and, once it is done, everything that its page shows.
        """
        study: Any = get_object_or_404(self.project.studies, number=number)
        return Response(WholeStudySerializer(study).data)
