"""The API of imports: a file is uploaded, validated by a job, and imported on request."""

from http import HTTPStatus
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.imports import uploading
from annotate.models import Import
from projects.api.auth import FOR_MANAGERS, ProjectEndpoint
from projects.api.serializers import (
    LONGEST,
    FiniteFloatField,
    PageQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.importing import ENCODINGS, FORMATS, CriterionColumn, Kind, Options
from projects.importing.fields import FIELDS, JUDGMENT_FIELDS, parse_meaning
from projects.importing.import_options import DECIMALS, DROP_EQUAL, QUOTES, REPEATED, parse_labels
from projects.models import Dataset, Project

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "bar": "|"}


class ImportQuery(PageQuery):
    kind = serializers.ChoiceField(required=False, choices=Import.Kind.choices)
    state = serializers.ChoiceField(required=False, choices=Import.State.choices)
    order = serializers.ChoiceField(choices=["number", "-number"], default="-number")


class ImportSerializer(StrictSerializer):
    number = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Import.Kind.choices)
    file_name = serializers.CharField()
    n_bytes = serializers.IntegerField()
    step = serializers.ChoiceField(choices=Import.Step.choices, help_text="The current or most recent step.")
    state = serializers.ChoiceField(choices=Import.State.choices, help_text="State of this step.")
    state_in_words = serializers.CharField(help_text="For example “validated, not imported yet”.")
    is_live = serializers.BooleanField(help_text="Whether the import is still running; if so, ask again later.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Progress of the step; 0 before it starts.")
    error = serializers.CharField(help_text="Why it cannot be imported; empty otherwise.")
    report = serializers.JSONField(allow_null=True, help_text="Content of the file, or the rows with errors.")
    batch = serializers.IntegerField(
        source="batch.number", default=None, allow_null=True, help_text="Number of its scores."
    )
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class ImportOptionsSerializer(StrictSerializer):
    format = serializers.ChoiceField(required=False, choices=FORMATS, help_text="If the file name doesn’t show it.")
    encoding = serializers.ChoiceField(required=False, choices=list(ENCODINGS), help_text="If detection is wrong.")
    delimiter = serializers.ChoiceField(required=False, choices=list(DELIMITERS), help_text="If detection is wrong.")
    quotes = serializers.ChoiceField(
        required=False,
        choices=[each for each in QUOTES if each],
        help_text="none if quotation marks are ordinary characters; else they enclose cells as in CSV.",
    )
    decimal = serializers.ChoiceField(
        required=False,
        choices=[each for each in DECIMALS if each],
        help_text="The decimal mark, if detection is wrong.",
    )
    map = serializers.ListField(
        required=False,
        child=TextField(max_length=5 * LONGEST, allow_blank=True),
        help_text="COLUMN=FIELD, such as answer=candidate; may be repeated.",
    )
    criterion = serializers.ListField(
        required=False,
        child=TextField(max_length=5 * LONGEST, allow_blank=True),
        help_text="COLUMN=KEY:LOW-HIGH, such as correctness_1to5=correctness:1-5; may be repeated. With "
        ":nominal at the end the points are categories.",
    )
    dataset = TextField(required=False, max_length=120, help_text="For rows without a dataset.")
    dataset_kind = serializers.ChoiceField(required=False, choices=Dataset.Kind.choices)
    split = TextField(required=False, max_length=40, help_text="For passages without a split.")
    with_scores = StrictBooleanField(required=False, help_text="Also import the scores, as a closed batch.")
    drop_equal = serializers.ChoiceField(required=False, choices=[each for each in DROP_EQUAL if each])
    drop_numbers = serializers.ListField(required=False, child=TextField(max_length=120, allow_blank=True))
    second_reference_below = FiniteFloatField(required=False, min_value=0.0, max_value=1.0)
    multiple_choice = StrictBooleanField(required=False)
    rater_criterion = TextField(
        required=False, max_length=LONGEST, help_text="Key of the criterion of scores and of columns of raters."
    )
    labels = serializers.ListField(
        required=False,
        child=TextField(max_length=LONGEST, allow_blank=True),
        help_text="LABEL=POINTS, such as Excellent=5, or LABEL=missing; may be repeated.",
    )
    repeated = serializers.ChoiceField(
        required=False,
        choices=[each for each in REPEATED if each],
        help_text="Which rating counts if an annotator rated a candidate twice; an error if omitted.",
    )
    skip_wrong_rows = StrictBooleanField(
        required=False, help_text="Skip rows with errors; the report counts and explains them."
    )


class NewImportSerializer(ImportOptionsSerializer):
    file = serializers.FileField(max_length=None, allow_empty_file=True)
    kind = serializers.ChoiceField(choices=[(kind.value, kind.value) for kind in Kind])


class ImportList(ProjectEndpoint):
    policy = FOR_MANAGERS
    query = ImportQuery
    takes_files = True
    parser_classes = [MultiPartParser]

    @extend_schema(responses=make_page_serializer(ImportSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List imports.

        The newest first.
        """
        names = {name: self.asked[name] for name in ("state", "kind") if name in self.asked}
        rows = _list_imports(self.project).filter(**names).order_by(self.asked["order"])
        return render_page(request, rows, ImportSerializer, self.asked)

    @extend_schema(
        request={"multipart/form-data": NewImportSerializer},
        responses={HTTPStatus.ACCEPTED: ImportSerializer},
        examples=[
            OpenApiExample(
                "Candidates",
                value={"file": "@candidates.csv", "kind": "candidates", "dataset": "mine"},
                media_type="multipart/form-data",
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Upload a file.

        A job validates every row. Poll the import until it is no longer live; then import the file, or cancel.
        """
        sent = self.sent(NewImportSerializer)
        upload, kind = sent.pop("file"), Kind(sent.pop("kind"))
        options = _read_options(sent, kind)
        job = uploading.receive(project=self.project, actor=self.membership, upload=upload, kind=kind)
        uploading.start_check(job=job, options=options)
        return _accept(job)


class ImportShow(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(responses=ImportSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read an import.

        Its progress, the result of the validation, or why it failed.
        """
        return Response(ImportSerializer(_fetch(self.project, number)).data)


class ImportCheck(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(request=ImportOptionsSerializer, responses={HTTPStatus.ACCEPTED: ImportSerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Validate a file again with other options.

        The file stays after an error. Options that are omitted get their defaults.
        """
        sent = self.sent(ImportOptionsSerializer)
        job = _fetch(self.project, number)
        uploading.start_check(job=job, options=_read_options(sent, Kind(job.kind)))
        return _accept(job)


class ImportWrite(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: ImportSerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Import a validated file.

        A job imports all of it or nothing.
        """
        self.sent(StrictSerializer)
        job = _fetch(self.project, number)
        # The same address continues an import whose worker died: a script need not tell the two apart.
        if job.state == Import.State.INTERRUPTED:
            uploading.retry(job=job)
        else:
            uploading.start_write(job=job, actor=self.membership)
        return _accept(job)


class ImportCancel(ProjectEndpoint):
    policy = FOR_MANAGERS

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: ImportSerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Cancel an import.

        Its file is deleted; imported data stay.
        """
        self.sent(StrictSerializer)
        job = _fetch(self.project, number)
        uploading.stop(job=job)
        return _accept(job)


def _list_imports(project: Project) -> Any:
    return project.imports.select_related("batch", "project")


def _fetch(project: Project, number: int) -> Import:
    found: Import = get_object_or_404(_list_imports(project), number=number)
    return found


def _accept(job: Import) -> Response:
    job = _fetch(job.project, job.number)
    location = reverse("api:import-show", args=[job.project.slug, job.number])
    return Response(ImportSerializer(job).data, status=HTTPStatus.ACCEPTED, headers={"Location": location})


def _read_options(sent: dict[str, Any], kind: Kind) -> Options:
    """Return the options of a request. Raises Refused for a column mapped to an unknown field."""
    fields = FIELDS if kind is Kind.CANDIDATES else JUDGMENT_FIELDS
    mapping = dict(parse_meaning(each, fields) for each in sent.pop("map", ()))
    criteria = tuple(CriterionColumn.parse(each) for each in sent.pop("criterion", ()))
    sent["labels"] = parse_labels(filter(None, sent.get("labels", ())))
    if "delimiter" in sent:
        sent["delimiter"] = DELIMITERS[sent["delimiter"]]
    sent["drop_numbers"] = tuple(filter(None, sent.get("drop_numbers", ())))
    return Options(**sent, mapping=mapping, criteria=criteria)
