"""Metric evaluations by the API: the list, a new one, one with its result and tables, again, cancelled, deleted."""

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule
from projects.api.auth import FOR_READERS, ProjectEndpoint
from projects.api.serializers import (
    INT32,
    PageQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.errors import Refused
from projects.jobs import queue
from projects.models import Project, Question
from projects.tables.writing import FORMS, write
from results.models import Study
from results.scope.gold_settings import LARGEST_SEED, MOST_RESAMPLES
from results.scope.human_sources import CHOICES, keep_choice
from results.studies import presentation, running
from results.studies.forms import FACETS, StudyForm, fill_by_names
from results.studies.freshness import is_outdated
from results.studies.settings import DESIGNS

MANY: dict[str, Any] = {"required": False, "max_length": 1_000}
OWN_FIELDS = ("name", "stage", "blind", "gold", "least", "as_zero", "humans", "design", "resamples", "seed")
"""Fields of a request that are fields of the page's form by the same name."""


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
    settings = serializers.JSONField(help_text="The settings, with every default filled in; metrics by their keys.")
    seed = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class WholeStudySerializer(StudySerializer):
    result = serializers.JSONField(
        allow_null=True,
        help_text="Metrics with their settings, exclusions, a single annotator vs. rest (under `ceiling`), the "
        "reliability of the gold scores with the ceiling that it sets for Pearson's r (under `reliability`), and "
        "figures; what is undefined is an object with its reason. Null until it is done.",
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Why the figures may mislead, such as few passages, in sentences."
    )
    is_outdated = serializers.BooleanField(
        allow_null=True,
        help_text="Whether judgments have changed since it was computed; null before it is done, and if an earlier "
        "version of Concord computed it.",
    )
    tables = serializers.ListField(
        child=serializers.CharField(), help_text="Names of its tables, to be downloaded; empty until it is done."
    )


class NewStudySerializer(StrictSerializer):
    kind = serializers.ChoiceField(choices=Study.Kind.choices)
    name = TextField(required=False, max_length=running.NAME_LENGTH, help_text="Default: the type of evaluation.")
    metrics = serializers.ListField(
        child=TextField(),
        help_text="By name, title or label; all that the kind can use if omitted. An unknown name is answered with the "
        "list of names.",
        **MANY,
    )
    criterion = TextField(required=False, help_text="Key of the criterion; required if batches ask several.")
    stage = serializers.ChoiceField(required=False, choices=[stage.value for stage in Stage])
    batch = serializers.IntegerField(required=False, min_value=1, max_value=INT32, help_text="Restrict to one batch.")
    blind = StrictBooleanField(required=False, help_text="Only blind judgments.")
    gold = serializers.ChoiceField(
        required=False, choices=[rule.value for rule in GoldRule], help_text="Default: the project's rule."
    )
    least = serializers.IntegerField(
        required=False, min_value=1, max_value=1_000, help_text="Minimum judgments per candidate."
    )
    datasets = serializers.ListField(child=TextField(), **MANY)
    splits = serializers.ListField(child=TextField(allow_blank=True), **MANY)
    sources = serializers.ListField(child=TextField(allow_blank=True), **MANY)
    question_types = serializers.ListField(
        child=serializers.ChoiceField(choices=Question.Type.choices, allow_blank=True), **MANY
    )
    as_zero = StrictBooleanField(required=False, help_text="Count missing scores as zero.")
    humans = serializers.ChoiceField(
        required=False,
        choices=list(CHOICES),
        help_text="Leave sources written by people out, show them apart, or count them as systems (in). By default as "
        "the project has chosen, or in if it has not. A choice made here is kept for the project.",
    )
    design = serializers.ChoiceField(
        required=False,
        choices=list(DESIGNS),
        help_text="For the ceiling: raters differ between candidates (one_way, the default), are the same for all "
        "(crossed), or whichever holds (auto).",
    )
    resamples = serializers.IntegerField(required=False, min_value=100, max_value=MOST_RESAMPLES)
    seed = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_SEED)
    options = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Settings of this kind of evaluation alone."
    )


class StudyList(ProjectEndpoint):
    # An evaluation changes no judgment, so whoever may read may request it, as on the page.
    policy = FOR_READERS
    query = StudyQuery

    @extend_schema(responses=make_page_serializer(StudySerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List metric evaluations.

        The newest first, without their results.
        """
        chosen = {name: self.asked[name] for name in ("kind", "state") if name in self.asked}
        rows = self.project.studies.defer("result").filter(**chosen).order_by(self.asked["order"])
        return render_page(request, rows, StudySerializer, self.asked)

    @extend_schema(
        request=NewStudySerializer,
        responses={HTTPStatus.ACCEPTED: WholeStudySerializer},
        examples=[
            OpenApiExample(
                "Correlation of two metrics",
                value={"kind": "correlation", "metrics": ["rouge_l", "bleu_1"], "criterion": "correctness"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Request a metric evaluation.

        Queues a job that compares metrics with human judgments. What is omitted is as the page offers it. Poll the
        evaluation until it is no longer live.
        """
        sent = self.sent(NewStudySerializer)
        form = _fill_form(self.project, sent)
        running.check_data(self.project, sent["kind"], form.settings())
        if "humans" in sent:
            keep_choice(project=self.project, actor=self.membership, choice=sent["humans"])
        study = running.request_study(
            project=self.project,
            actor=self.membership,
            kind=sent["kind"],
            settings=form.settings(),
            seed=form.read_seed(),
            name=form.cleaned_data["name"],
        )
        return _accept(study)


class StudyShow(ProjectEndpoint):
    policy = FOR_READERS

    @extend_schema(responses=WholeStudySerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a metric evaluation.

        Its settings and, once it is done, everything that its page shows.
        """
        return Response(_serialize(self.project, number))

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Delete a metric evaluation.

        With its result, once it has ended. Researchers delete their own only.
        """
        running.delete_study(study=_fetch(self.project, number), actor=self.membership)
        return Response(status=HTTPStatus.NO_CONTENT)


class StudyCancel(ProjectEndpoint):
    policy = FOR_READERS

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: WholeStudySerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Cancel a metric evaluation.

        Nothing of it is stored. It may take a moment until it is no longer live.
        """
        self.sent(StrictSerializer)
        queue.cancel(_fetch(self.project, number))
        return Response(_serialize(self.project, number), HTTPStatus.ACCEPTED)


class StudyAgain(ProjectEndpoint):
    policy = FOR_READERS

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: WholeStudySerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Run a metric evaluation again.

        As a new one with the same settings and seed, over the current judgments and scores.
        """
        self.sent(StrictSerializer)
        study = running.run_again(study=_fetch(self.project, number), actor=self.membership)
        return _accept(study)


class StudyTable(ProjectEndpoint):
    @extend_schema(responses={(HTTPStatus.OK, kind): OpenApiTypes.STR for kind in FORMS.values()})
    def get(self, request: Request, slug: str, number: int, name: str, form: str) -> HttpResponse:
        """Download a table of a metric evaluation.

        As csv, tex or md, by its name in the evaluation's list of tables; csv has unrounded figures.
        """
        table = presentation.find_table(_fetch(self.project, number), name) if form in FORMS else None
        if table is None:
            raise Http404
        return HttpResponse(write(table, form), content_type=FORMS[form])


def _fetch(project: Project, number: int) -> Study:
    found: Study = get_object_or_404(project.studies.select_related("project"), number=number)
    return found


def _serialize(project: Project, number: int) -> dict[str, Any]:
    study: Any = _fetch(project, number)
    study.warnings = presentation.list_warnings(study)
    study.is_outdated = is_outdated(study)
    study.tables = [section.table.name for section in presentation.list_sections(study)]
    return dict(WholeStudySerializer(study).data)


def _accept(study: Study) -> Response:
    location = reverse("api:study-show", args=[study.project.slug, study.number])
    return Response(_serialize(study.project, study.number), HTTPStatus.ACCEPTED, headers={"Location": location})


def _fill_form(project: Project, sent: dict[str, Any]) -> StudyForm:
    """Return the page's own form, filled in. Raises Refused for what it or the project lacks."""
    kind, options = running.find_kind(sent["kind"]), sent.get("options", {})
    own = kind.fields(project)
    for name in options:
        if name not in own:
            known = ", ".join(own) or "none"
            raise Refused(f"This kind of evaluation has no option “{name}”. It has: {known}.", field="options")
    # As texts, so that a 0 is not taken for a value that is missing.
    own_fields = {name: sent[name] for name in OWN_FIELDS if name in sent}
    given = {name: value if isinstance(value, bool) else str(value) for name, value in own_fields.items()}
    form = fill_by_names(
        project,
        kind,
        criterion=sent.get("criterion", ""),
        batch=sent.get("batch"),
        metrics=sent.get("metrics", ()),
        facets={name: sent[name] for name in FACETS if name in sent},
        given=given | options,
    )
    if kind.without_metrics and not sent.get("metrics") and not form.fields["metrics"].choices:  # type: ignore[attr-defined]
        raise Refused(kind.without_metrics, field="metrics")
    if not form.is_valid():
        name, sentences = next(iter(form.errors.items()))
        raise Refused(" ".join(map(str, sentences)), field="options" if name in own else name)
    return form
