"""Every route of the site, read from the resolver, with the policy that its view declares."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from projects.access import Policy, find_policy

CONVERTED = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """One pattern: its name with the namespace, its path with parameters, what its view declares."""

    name: str
    path: str
    view: Callable[..., Any]
    app_names: tuple[str, ...]
    parameters: tuple[str, ...] = field(default=())

    @property
    def policy(self) -> Policy | None:
        return find_policy(self.view, list(self.app_names))

    @property
    def is_api(self) -> bool:
        """Whether it answers programs as an API."""
        return self.policy is not None and self.policy.name == "api"

    @property
    def is_admin(self) -> bool:
        """Whether Django's admin serves it, which asks for staff by itself."""
        return "admin" in self.app_names


def all_routes() -> list[Route]:
    return list(_walk(get_resolver(), "/", (), ()))


def _walk(resolver: URLResolver, prefix: str, namespaces: tuple[str, ...], apps: tuple[str, ...]) -> Iterator[Route]:
    for pattern in resolver.url_patterns:
        path = prefix + _readable(pattern)
        if isinstance(pattern, URLResolver):
            inner = (*namespaces, pattern.namespace) if pattern.namespace else namespaces
            inner_apps = (*apps, str(pattern.app_name)) if pattern.app_name else apps
            yield from _walk(pattern, path, inner, inner_apps)
        elif isinstance(pattern, URLPattern):
            name = ":".join([*namespaces, pattern.name or path])
            yield Route(name, path, pattern.callback, apps, tuple(CONVERTED.findall(path)))


def _readable(pattern: URLPattern | URLResolver) -> str:
    """The path as it is written; of a regular expression, what is left without its signs."""
    text = str(pattern.pattern)
    if text.startswith("^"):
        text = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", text).strip("^$")
    return text
