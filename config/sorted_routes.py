"""Routes of an app sorted by the words of their addresses, so that only those are tried that may lead to a view."""

from collections.abc import Sequence
from typing import Any

from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.functional import cached_property

Words = tuple[str | None, str | None]
"""The first and the third word of an address: most are `p/<project>/<subject>/…`. None stands for any word."""


class SortedRoutes(URLResolver):
    """Routes that Django tries in their order, but only those with the same words as the address.

    There are hundreds of routes. To try all of them takes longer than to answer many a request.
    """

    def resolve(self, path: str) -> ResolverMatch:
        match = self.pattern.match(path)
        if not match:
            raise Resolver404({"path": path})
        first, third = _read_words(match[0])
        for words in ((first, third), (first, None), (None, None)):
            if words in self._by_words:
                return self._by_words[words].resolve(path)
        raise Resolver404({"path": path, "tried": []})

    @cached_property
    def _by_words(self) -> dict[Words, URLResolver]:
        routes = [(_fixed_words(each), each) for each in self.url_patterns]
        known = {words for words, _ in routes} | {(first, None) for (first, _), _ in routes} | {(None, None)}
        return {words: self._part([each for of, each in routes if _may_match(of, words)]) for words in known}

    def _part(self, routes: Sequence[URLPattern | URLResolver]) -> URLResolver:
        return URLResolver(self.pattern, list(routes), self.default_kwargs, self.app_name, self.namespace)


def sorted_path(prefix: str, included: tuple[Any, str | None, str | None]) -> SortedRoutes:
    """Return what `path` does for the value of `include`, sorted."""
    urls, app_name, namespace = included
    return SortedRoutes(RoutePattern(prefix, is_endpoint=False), urls, app_name=app_name, namespace=namespace)


def _read_words(address: str) -> tuple[str, str]:
    words = address.split("/", 3)
    return words[0], words[2] if len(words) > 2 else ""


def _fixed_words(route: URLPattern | URLResolver) -> Words:
    """Return the words of a route; None for one that takes a value, and for what follows a value with slashes."""
    if not isinstance(route, URLPattern) or not isinstance(route.pattern, RoutePattern):
        return None, None  # a prefix or a regular expression says too little
    first, third = _read_words(address := str(route.pattern))
    if "<" in first:
        return None, None
    has_value = "<" in third or "<path:" in address.partition("/")[2].partition("/")[0]
    return first, None if has_value else third


def _may_match(route: Words, address: Words) -> bool:
    return all(each is None or each == word for each, word in zip(route, address, strict=True))
