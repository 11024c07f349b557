"""Authentication of the API by token or session, and the base classes of its endpoints, which use `projects.access`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from projects.access import SAFE_METHODS, Policy, Right, View, fetch_membership
from projects.api import tokens
from projects.api.serializers import BoundedJSONParser, Query, StrictSerializer
from projects.database.replica import note_write, read_from_replica
from projects.errors import TooManyRequests
from projects.language.names import shorten_name
from projects.models import ApiToken, Guesses, Membership, Project, User
from projects.web.client_address import client_address
from projects.web.problem_responses import LONGEST_NAME, answer_exception
from projects.web.upload_requests import stop_if_asked

ExceptionHandler = Callable[[Exception, Mapping[str, Any]], HttpResponse | None]
FOR_MANAGERS = Policy("api", Right.MANAGE, answers_json=True, is_api=True)
"""The policy of endpoints that show and change what managers alone may see."""
FOR_READERS = Policy("api", Right.READ, writes=Right.READ, answers_json=True, is_api=True)
"""The policy of endpoints that start what changes no judgment. A token still must be one that writes."""
TOKEN_PARAMETERS = ("token", "access_token", "api_key", "apikey")
"""Names under which people put a token into an address, where logs and browser histories keep it."""


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer …`. With that header cookies are ignored, even if the token is wrong."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the user and the token, or None without the header, so that the session is tried next.

        Raises AuthenticationFailed for an unknown or expired token, ParseError for one in the address and
        TooManyRequests beyond the limit.
        """
        _refuse_token_in_url(request)
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer":
            raise exceptions.AuthenticationFailed(
                "Send an API token of this project in the header “Authorization: Bearer concord_…”."
            )
        token = tokens.find_token(secret.strip())
        if token is None:
            _count_guess(request)
            raise exceptions.AuthenticationFailed(
                "Unknown token. Check that all of it was copied: it begins with concord_."
            )
        user = token.membership.user
        if reason := tokens.explain_end(token):
            raise exceptions.AuthenticationFailed(reason)
        if user is None or not user.is_active:
            raise exceptions.AuthenticationFailed("The account of this token is inactive.")
        tokens.count_use(token)
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="Concord"'


class AlwaysJSON(BaseContentNegotiation):
    """Content negotiation that ignores the Accept header: an endpoint answers JSON, or a file in its own format."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return DefaultContentNegotiation().select_parser(request, parsers)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class Endpoint(APIView):
    """An endpoint open to every account. Query parameters that it does not declare are refused, and so is OPTIONS."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = []  # `enter` checks the right instead
    parser_classes = [BoundedJSONParser]
    renderer_classes = [JSONRenderer]
    content_negotiation_class = AlwaysJSON
    policy: ClassVar[Policy] = Policy("api", answers_json=True, is_api=True)
    chapter: ClassVar[str] = ""
    """The section of the API page that describes it; by default, the first part of its address in the project."""
    takes_files: ClassVar[bool] = False
    query: ClassVar[type[Query]] = Query
    asked: dict[str, Any]

    @classmethod
    def as_view(cls, **initkwargs: Any) -> View:  # type: ignore[override]
        view = super().as_view(**initkwargs)
        view.policy = cls.policy  # type: ignore[attr-defined]
        view.takes_files = cls.takes_files  # type: ignore[attr-defined]
        return view

    def get_exception_handler(self) -> ExceptionHandler:
        return answer_exception

    def sent(self, shape: type[StrictSerializer]) -> dict[str, Any]:
        """Return the validated body. Raises ValidationError, which names each invalid field."""
        body = shape(data=self.request.data)
        body.is_valid(raise_exception=True)
        values: dict[str, Any] = body.validated_data
        return values

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method is None or request.method.lower() not in [name.lower() for name in self.allowed_methods]:
            return  # `dispatch` answers 405, which says more than an error about the query would
        _refuse_repeated(request)
        query = (self.query if request.method in SAFE_METHODS else Query)(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        self.asked = query.validated_data

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        # Answers depend on the token, and no proxy in between may keep one for somebody else.
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    def check_permissions(self, request: Request) -> None:
        if not request.user.is_authenticated:
            raise exceptions.NotAuthenticated("Send an API token in the header “Authorization: Bearer concord_…”.")
        self.enter(request)
        reads = request.method in SAFE_METHODS or self.policy.only_recomputes
        if isinstance(request.auth, ApiToken) and not request.auth.can_write and not reads:
            raise PermissionDenied("This token is read-only.")

    def enter(self, request: Request) -> None:
        """Check the right to the object; here every account has it. Raises Http404 or PermissionDenied."""


class ProjectEndpoint(Endpoint):
    """An endpoint open to members of the project in its address: by default READ to read and MANAGE to write."""

    policy = Policy("api", Right.READ, writes=Right.MANAGE, answers_json=True, is_api=True)
    membership: Membership
    project: Project

    def enter(self, request: Request) -> None:
        slug, token = self.kwargs["slug"], request.auth
        # A token belongs to one membership: in another project it gets 404, even if its owner is a member there.
        if isinstance(token, ApiToken) and token.membership.project.slug != slug:
            raise Http404
        right = self.policy.right_for(str(request.method))
        assert isinstance(request.user, User)
        assert right is not None
        self.membership = fetch_membership(request.user, slug, right)
        self.project = self.membership.project
        request._request.membership = self.membership  # type: ignore[attr-defined]  # as on a page, for the log

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in ("GET", "HEAD") and (read := getattr(self, "get", None)):
            # What `dispatch` calls next. The right was read from the server itself.
            vars(self)[request.method.lower()] = partial(self._read, read)
        if self.takes_files:
            stop_if_asked(request._request, self.membership)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method not in SAFE_METHODS and hasattr(self, "membership"):
            note_write(_find_account(self.membership))
        return super().finalize_response(request, response, *args, **kwargs)

    def _read(self, read: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return read_from_replica(partial(read, *args, **kwargs), _find_account(self.membership))


def _find_account(membership: Membership) -> int:
    assert membership.user_id is not None  # someone has signed in
    return membership.user_id


def _refuse_token_in_url(request: Request) -> None:
    for name, value in request.query_params.items():
        if name.lower() in TOKEN_PARAMETERS or tokens.MARK in value:
            raise exceptions.ParseError(
                "Tokens in URLs are logged and therefore exposed. Revoke this token and send a new one "
                "in the header “Authorization: Bearer …”."
            )


def _refuse_repeated(request: Request) -> None:
    """Raise ValidationError for parameters that were sent more than once: all but the last would be ignored."""
    repeated = {name: len(values) for name, values in request.query_params.lists() if len(values) > 1}
    if repeated:
        raise exceptions.ValidationError(
            {shorten_name(name, LONGEST_NAME): f"Sent {n} times. Send it once." for name, n in repeated.items()}
        )


def _count_guess(request: Request) -> None:
    """Count an unknown token against its address. Raises TooManyRequests beyond the limit; valid tokens still work."""
    address = f"token {client_address(request._request)}"
    if Guesses.are_too_many(address):
        raise TooManyRequests(Guesses.WITHIN.total_seconds())
    Guesses.count(address)
