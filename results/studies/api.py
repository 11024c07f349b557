"""Studies, to be read: what each was asked, how far it is, and what came of it."""

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
    is_live = serializers.BooleanField(help_text="Whether something still happens by itself: ask again.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="How far the job is; 0 before it has begun.")
    error = serializers.CharField(help_text="Why there is no result; empty otherwise.")
    settings = serializers.JSONField(help_text="What was asked, everything filled in; metrics by their subjects.")
    seed = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class WholeStudySerializer(StudySerializer):
    result = serializers.JSONField(
        allow_null=True,
        help_text="Metrics with their settings, what was left out, the human ceiling, and figures; what is undefined "
        "is an object with its reason. Null until it is done.",
    )


class StudyList(ProjectEndpoint):
    query = StudyQuery

    @extend_schema(responses=make_page_serializer(StudySerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List studies.

        The newest first, without their results.
        """
        chosen = {name: self.asked[name] for name in ("kind", "state") if name in self.asked}
        rows = self.project.studies.defer("result").filter(**chosen).order_by(self.asked["order"])
        return render_page(request, rows, StudySerializer, self.asked)


class StudyShow(ProjectEndpoint):
    @extend_schema(responses=WholeStudySerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a study.

        What it was asked and, once it is done, all that its page shows.
        """
        study: Any = get_object_or_404(self.project.studies, number=number)
        return Response(WholeStudySerializer(study).data)
