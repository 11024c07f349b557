"""Sends requests of every role to every route, and undoes what they write."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import FileResponse, HttpResponse
from django.test import Client
from django.test.client import ClientHandler

from projects.access import Policy, Right
from tests.access_world import World
from tests.routes import Route

SAFE = ("GET", "HEAD")


class Handler(ClientHandler):
    """Leaves off Django's signals of a request's begin and end, which the tests' handler connects anew each time."""

    def __call__(self, environ: dict[str, Any]) -> Any:
        request = WSGIRequest(environ)
        request._dont_enforce_csrf_checks = not self.enforce_csrf_checks  # type: ignore[attr-defined]
        return self.get_response(request)


@cache
def _handler(csrf: bool) -> Handler:
    """One for all requests: to set up the middleware takes longer than to answer."""
    handler = Handler(enforce_csrf_checks=csrf)
    handler.load_middleware()
    return handler


class Visitor(Client):
    """A client that leaves off what Django's does beside a request: it copies the context of every template.

    An error of the site is the answer 500.
    """

    def request(self, **request: Any) -> Any:
        return self.handler(self._base_environ(**request))  # type: ignore[attr-defined]


def send(
    world: World, who: str, method: str, path: str, route: Route, *, csrf: bool = False, fields: str | None = None
) -> Any:
    """One request whose statements are undone, so that no request sees another's traces.

    `fields` are those of a form, as a browser encodes them.
    """
    client = Visitor()
    client.handler = _handler(csrf)
    response: Any
    if who in world.tokens:
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {world.tokens[who]}"
    elif who != "anonymous":
        client.cookies["session"] = world.sessions[who]
    is_json = route.policy is not None and route.policy.answers_json
    kind = "application/json" if is_json else "application/x-www-form-urlencoded"
    with undone(world):
        body = fields or ("{}" if is_json and method not in SAFE else "")
        response = client.generic(method, path, body, content_type=kind)
        if getattr(response, "streaming", False):
            content, headers = b"".join(response), dict(response.items())
            if isinstance(response, FileResponse) and response.file_to_stream:
                response.file_to_stream.close()  # closing the response would end the connection, and this transaction
            response = HttpResponse(content, status=response.status_code, headers=headers)
    return response


@contextmanager
def undone(world: World) -> Iterator[None]:
    """Go back to the world as it was made. A savepoint for each request would take two statements more."""
    n_callbacks = len(connection.run_on_commit)
    try:
        yield
    finally:
        connection.needs_rollback = False  # as an error has left it that no transaction of the view has undone
        connection.savepoint_rollback(world.savepoint)
        del connection.run_on_commit[n_callbacks:]


def find_holder(policy: Policy) -> str:
    """An identity that has the whole right a policy asks for."""
    if policy.right is None:
        return "owner"
    return "annotator" if policy.right is Right.WORK else "owner"
