"""The description of the API: OpenAPI for programs, generated from the views, and a page for people from that."""

import re
from functools import cache
from inspect import cleandoc
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_lib_doc_excludes

from projects.access import describes_api
from projects.api.reference import list_chapters
from projects.api.serializers import KeysetQuery, PageQuery, Query, StrictSerializer
from projects.web.links import absolute_url
from projects.web.problem_responses import MEDIA_TYPE

MEDIA_TYPE_OF_OPENAPI = "application/vnd.oai.openapi+json"
PROBLEMS = {
    "400": "Invalid request. `errors` lists the invalid fields.",
    "401": "The token is missing, unknown, expired or revoked.",
    "403": "Insufficient rights, or a read-only token.",
    "404": "The object does not exist or you may not see it.",
    "405": "Method not allowed for this URL.",
    "409": "The request conflicts with a rule or with the current state. Nothing was changed.",
    "429": "Too many requests. Wait for the number of seconds in `Retry-After`.",
}
PROBLEMS_OF_WRITING = {
    "413": "The request body is too large.",
    "415": "Unsupported media type.",
}
PROBLEM = {
    "type": "object",
    "description": "Problem details of a rejected request (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "Explanation of the problem."},
        "errors": {
            "type": "array",
            "description": "The invalid fields.",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}


@describes_api
@require_safe
def schema(request: HttpRequest) -> JsonResponse:
    return JsonResponse(describe(), content_type=MEDIA_TYPE_OF_OPENAPI)


@describes_api
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    root = absolute_url(reverse("api:docs"), request)
    context = {
        "chapters": list_chapters(describe(), root.removesuffix(reverse("api:docs"))),
        "root": root,
        "problems": PROBLEMS | PROBLEMS_OF_WRITING,
    }
    return render(request, "api/docs.html", context)


@cache
def describe() -> dict[str, Any]:
    """Return the whole API in OpenAPI; cached for good, because it changes with the code only."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


def list_undescribed() -> list[type]:
    """Return the base classes whose docstrings describe themselves, and none of the schemas derived from them."""
    bases: list[type] = get_lib_doc_excludes()  # type: ignore[no-untyped-call]
    return [*bases, StrictSerializer, Query, PageQuery, KeysetQuery]


class Described(AutoSchema):
    """One operation from its view: the method's docstring, the query that the view declares, and the right it needs."""

    def get_operation_id(self) -> str:
        return f"{re.sub(r'(?<!^)(?=[A-Z])', '_', type(self.view).__name__).lower()}_{self.method.lower()}"

    def get_summary(self) -> str:
        return self._split_docstring()[0]

    def get_description(self) -> str:  # type: ignore[override]
        return self._split_docstring()[1]

    def get_tags(self) -> list[str]:
        return [
            self._endpoint().chapter
            or self.path.removeprefix("/api/v1/projects/{slug}/").partition("/")[0]
            or "projects"
        ]

    def get_override_parameters(self) -> list[Any]:
        query = self._endpoint().query
        return [query] if self.method == "GET" and query().fields else []

    def get_extensions(self) -> dict[str, Any]:
        right = self._endpoint().policy.right_for(self.method)
        return {"x-right": right.value if right else "account"}

    def _endpoint(self) -> Any:
        return self.view

    def _split_docstring(self) -> tuple[str, str]:
        """Return the first line of the method's docstring, which is the summary, and the rest."""
        summary, _, rest = cleandoc(getattr(self.view, self.method.lower()).__doc__ or "").partition("\n")
        return summary.rstrip("."), rest.strip()


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "projects.api.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add the problem responses to every operation, and declare that bodies take no further fields."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = PROBLEM
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for methods in result["paths"].values():
        for method, operation in methods.items():
            known = PROBLEMS | (PROBLEMS_OF_WRITING if method in ("post", "put", "patch") else {})
            for status, description in known.items():
                operation["responses"].setdefault(status, {"description": description, "content": content})
            # StrictSerializer refuses unknown fields, which the generator cannot know.
            for body in operation.get("requestBody", {}).get("content", {}).values():
                _close(body["schema"], schemas)
    return result


def _close(schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Declare that an object of a request, and the objects in it, take no further fields."""
    named = schemas.get(schema.get("$ref", "").rpartition("/")[2], {})
    # A named schema that is closed already has closed what is in it.
    if named.get("type") == "object" and named.get("additionalProperties") is not False:
        named["additionalProperties"] = False
        for part in named.get("properties", {}).values():
            _close(part.get("items", part), schemas)
