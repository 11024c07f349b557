"""The API page for people, read from the OpenAPI description: each operation with its fields and a call to copy."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

DEEPEST = 3
"""Levels of nested objects that are listed; deeper ones are in the OpenAPI file only."""
SAMPLES = {
    "{name}.{form}": "overall.csv",
    "{slug}": "demo",
    "{pseudonym}": "a-k7mq2xwz",
    "{name}": "long.csv",
    "{form}": "csv",
    **dict.fromkeys(("{number}", "{plan_number}", "{invitation_id}", "{item_id}", "{id}"), "1"),
}
"""Values for the parameters of paths."""


@dataclass(frozen=True)
class Field:
    """A field of a request or a response."""

    name: str
    kind: str
    meaning: str
    is_required: bool = False


@dataclass(frozen=True)
class Operation:
    """One operation: method and path, what it takes, what it returns, and a call to copy."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    right: str
    asks: tuple[Field, ...]
    sends: tuple[Field, ...]
    sends_as: str
    status: str
    gives: tuple[Field, ...]
    curl: str


@dataclass(frozen=True)
class Chapter:
    """A section of the page: the operations on one kind of object."""

    name: str
    operations: list[Operation]

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()


def list_chapters(description: dict[str, Any], site: str) -> list[Chapter]:
    """Return the sections in the order of their first routes."""
    reader = _Reader(description, site)
    chapters: dict[str, Chapter] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            name = operation["tags"][0]
            chapters.setdefault(name, Chapter(name, [])).operations.append(reader.read(path, method, operation))
    return list(chapters.values())


class _Reader:
    def __init__(self, description: dict[str, Any], site: str) -> None:
        self.schemas = description["components"]["schemas"]
        self.site = site

    def read(self, path: str, method: str, operation: dict[str, Any]) -> Operation:
        sends_as, body = _first(operation.get("requestBody", {}).get("content", {}))
        status, answer = next((s, a) for s, a in operation["responses"].items() if s.startswith("2"))
        _, given = _first(answer.get("content", {}))
        return Operation(
            id=operation["operationId"].replace("_", "-"),
            method=method.upper(),
            path=path,
            summary=operation.get("summary", ""),
            description=operation.get("description", ""),
            right=operation["x-right"],
            asks=tuple(self._parameter(each) for each in operation.get("parameters", ()) if each["in"] == "query"),
            sends=tuple(self._fields(body.get("schema", {}))),
            sends_as=sends_as,
            status=status,
            gives=tuple(self._fields(given.get("schema", {}))),
            curl=self._curl(path, method, sends_as, body),
        )

    def _parameter(self, parameter: dict[str, Any]) -> Field:
        schema = parameter["schema"]
        return Field(
            parameter["name"], self._kind(schema), parameter.get("description", ""), parameter.get("required", False)
        )

    def _fields(self, schema: dict[str, Any], inside: str = "", depth: int = 0) -> Iterator[Field]:
        schema = self._resolve(schema)
        required = schema.get("required", ())
        for name, inner in schema.get("properties", {}).items():
            full = f"{inside}{name}"
            meaning = inner.get("description", "")
            yield Field(full, self._kind(inner), meaning, name in required)
            members = self._resolve(inner)
            is_list = members.get("type") == "array"
            members = self._resolve(members["items"]) if is_list else members
            if depth < DEEPEST and "properties" in members:
                yield from self._fields(members, f"{full}{'[]' if is_list else ''}.", depth + 1)

    def _resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        # OpenAPI 3.0 has no description beside a $ref, so the generator wraps such a reference in allOf.
        if "allOf" in schema:
            schema = {**self._resolve(schema["allOf"][0]), **{k: v for k, v in schema.items() if k != "allOf"}}
        name = schema.get("$ref", "").rpartition("/")[2]
        return self.schemas[name] if name else schema

    def _kind(self, schema: dict[str, Any]) -> str:
        is_nullable = schema.get("nullable", False)
        schema = self._resolve(schema)
        if "enum" in schema:
            words = [f"“{each}”" for each in schema["enum"] if each not in (None, "")]
            kind = " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"
        elif schema.get("type") == "array":
            kind = f"list of {self._kind(schema['items'])}"
        else:
            kind = {"date-time": "time", "uri": "address", "binary": "file", "uuid": "uuid"}.get(
                schema.get("format", ""), schema.get("type", "anything")
            )
            kind = {"string": "text", "integer": "integer", "boolean": "boolean"}.get(kind, kind)
        return f"{kind}, or null" if is_nullable or schema.get("nullable") else kind

    def _curl(self, path: str, method: str, sends_as: str, body: dict[str, Any]) -> str:
        for name, value in SAMPLES.items():
            path = path.replace(name, value)
        lines = ['curl -H "Authorization: Bearer $TOKEN"']
        example = _first(body.get("examples", {}))[1].get("value")
        # Where there is a body, curl sends a POST by itself.
        if method not in ("get", "post") or (method == "post" and example is None):
            lines += [f"-X {method.upper()}"]
        if sends_as == "application/json" and example is not None:
            lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(orjson.dumps(example).decode())}"]
        elif example is not None:
            lines += [f"-F {shlex.quote(f'{name}={value}')}" for name, value in example.items()]
        return " \\\n  ".join([*lines, shlex.quote(f"{self.site}{path}")])


def _first(named: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return next(iter(named.items()), ("", {}))
