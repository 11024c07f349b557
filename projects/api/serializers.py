"""Base serializers of the API: names and types of what is sent and returned. The rules are in the acts."""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.db.models import Model, QuerySet
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from projects.database.snapshots import snapshot
from projects.language.names import shorten_name
from projects.web.problem_responses import LONGEST_NAME
from projects.web.typed_texts import check_typed

PAGE_SIZE = 100
MOST_ROWS = 1_000
MOST_PAGES = 1_000_000
"""Keeps the offset below what the database accepts."""
INT32 = 2**31 - 1
"""A greater number would be an error of the database, and not of the request."""
LONGEST = 200
"""Characters of a text unless its field says otherwise."""


class TextField(serializers.CharField):
    """A text exactly as it was sent, with its spaces."""

    default_validators = [check_typed]

    def __init__(self, **over: Any) -> None:
        super().__init__(**{"trim_whitespace": False, "max_length": LONGEST, **over})

    def to_internal_value(self, data: Any) -> str:
        # The framework would also accept numbers, which the description of the API does not.
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """True or false only; the framework would also accept “yes”, “on”, 1 and others."""

    def to_internal_value(self, data: Any) -> bool:
        value = {"true": True, "false": False}.get(str(data).lower())
        if value is None:
            self.fail("invalid", input=data)
        return bool(value)


class FiniteFloatField(serializers.FloatField):
    """A number; the framework would also accept “nan”, which no bound refuses."""

    def to_internal_value(self, data: Any) -> float:
        value = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class StrictFloatField(FiniteFloatField):
    """A number of JSON; the framework would also accept true as 1, and texts."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses unknown fields, so that a misspelt one is noticed."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            name_choices(field.child if isinstance(field, serializers.ListField) else field)
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self.fields]
            if unknown:
                known = ", ".join(self.fields) or "none"
                raise ValidationError(
                    {shorten_name(name, LONGEST_NAME): f"Unknown field. Known fields: {known}." for name in unknown}
                )
        return super().to_internal_value(data)


def name_choices(field: serializers.Field[Any, Any, Any, Any]) -> None:
    """Have the error of a field with choices list them."""
    if isinstance(field, serializers.ChoiceField):
        listed = ", ".join(str(each) for each in field.choices if each != "").replace("{", "{{").replace("}", "}}")
        field.error_messages["invalid_choice"] = f"“{{input}}” is not a valid choice. Choose one of: {listed}."


class Query(StrictSerializer):
    """The query parameters of an endpoint; this base class has none."""


class PageQuery(Query):
    """Query parameters of a list in numbered pages."""

    page = serializers.IntegerField(
        default=1, min_value=1, max_value=MOST_PAGES, help_text="Page number, starting at 1."
    )
    page_size = serializers.IntegerField(
        default=PAGE_SIZE, min_value=1, max_value=MOST_ROWS, help_text="Number of rows per page."
    )


class KeysetQuery(Query):
    """Query parameters of a list that is read from one id to the next."""

    after = serializers.IntegerField(
        default=0, min_value=0, max_value=2**63 - 1, help_text="ID of the last row received."
    )
    page_size = serializers.IntegerField(
        default=PAGE_SIZE, min_value=1, max_value=MOST_ROWS, help_text="Number of rows per page."
    )


class BoundedJSONParser(JSONParser):
    """A JSON parser that answers 400 to JSON nested too deeply, which is the sender's mistake and no server error."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as deep:
            raise ParseError("The JSON is nested too deeply.") from deep


def make_page_serializer(serializer: type[StrictSerializer]) -> type[StrictSerializer]:
    """Return the serializer of a numbered page of rows with their total number."""
    fields = {
        "count": serializers.IntegerField(help_text="Total number of rows."),
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "results": serializer(many=True),
    }
    return type(f"{serializer.__name__.removesuffix('Serializer')}PageSerializer", (StrictSerializer,), fields)


def make_keyset_serializer(serializer: type[StrictSerializer]) -> type[StrictSerializer]:
    """Return the serializer of a page of rows that is followed by the next one, with the total on the first page."""
    fields = {
        "count": serializers.IntegerField(
            allow_null=True, help_text="Total number of rows. Counted for the first page only; null on the others."
        ),
        "next": serializers.URLField(allow_null=True, help_text="Null on the last page."),
        "results": serializer(many=True),
    }
    return type(f"{serializer.__name__.removesuffix('Serializer')}KeysetSerializer", (StrictSerializer,), fields)


def render_page(
    request: Request,
    rows: "QuerySet[Any]",
    serializer: type[StrictSerializer],
    asked: Mapping[str, Any],
    *,
    prepare: Callable[[list[Any]], None] | None = None,
) -> Response:
    """Return one page of the rows, counted in the same snapshot.

    `prepare` may add to the rows of the page what their serializer needs besides the columns.
    """
    page, size = asked["page"], asked["page_size"]
    with snapshot():
        count = rows.count()
        found = list(rows[(page - 1) * size : page * size])
        if prepare is not None:
            prepare(found)
    results = serializer(found, many=True).data
    address = request.build_absolute_uri()
    following = replace_query_param(address, "page", page + 1) if page * size < count else None
    earlier = replace_query_param(address, "page", page - 1) if page > 2 else remove_query_param(address, "page")
    return Response({"count": count, "next": following, "previous": earlier if page > 1 else None, "results": results})


def render_keyset(
    request: Request, rows: "QuerySet[Any]", serializer: type[StrictSerializer], asked: Mapping[str, Any]
) -> Response:
    """Return the rows after the last id received: the end of a million rows takes no longer than their beginning.

    They are counted for the first page alone, because counting reads all of them.
    """
    size = asked["page_size"]
    count = None if asked["after"] else rows.count()
    # One row more than the page has, to see whether another page follows.
    found = cast("list[Model]", list(rows.filter(pk__gt=asked["after"]).order_by("pk")[: size + 1]))
    page, has_more = found[:size], len(found) > size
    following = replace_query_param(request.build_absolute_uri(), "after", page[-1].pk) if has_more else None
    return Response({"count": count, "next": following, "results": serializer(page, many=True).data})
