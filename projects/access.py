"""Access: which right each view requires, and the only way to a project's membership.

Every view declares one policy. A stranger to a project gets 404, too little right 403, and whoever
is not signed in goes to the sign-in page (or gets 401 where the view answers JSON).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from http import HTTPStatus
from typing import Any, cast, overload

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.database.prepared import Columns, fetch_one
from projects.errors import Refused
from projects.language import languages
from projects.models import Membership, Project, User

View = Callable[..., HttpResponseBase]
Farewell = Callable[..., HttpResponse | None]
"""Called with request, membership, the reason and what the path names; None where it knows nothing of theirs."""
_MEMBER, _PROJECT = Columns(Membership, "m"), Columns(Project, "p")
_MEMBERSHIP = f"""
SELECT {_MEMBER.sql}, {_PROJECT.sql} FROM projects_membership m JOIN projects_project p ON p.id = m.project_id
WHERE m.user_id = %(user)s::bigint AND p.slug = %(slug)s::text AND p.deleted_at IS NULL
"""
CLOSED = gettext_lazy("This project is closed. Your work is kept. Thank you!")


class Right(Enum):
    """What a membership allows, from least to most."""

    MEMBER = "member"
    WORK = "work"
    READ = "read"
    MANAGE = "manage"
    OWN = "own"


FOR_ANNOTATORS = (Right.MEMBER, Right.WORK)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Policy:
    """What a view declares of itself; the route walk reads it."""

    name: str
    right: Right | None = None
    answers_json: bool = False
    has_farewell: bool = False
    is_api: bool = False
    writes: Right | None = None

    @property
    def is_translated(self) -> bool:
        """Whether annotators come here: their pages are given in their language."""
        return not self.is_api and (self.name in ("public", "signed in") or self.right in FOR_ANNOTATORS)

    def right_for(self, method: str) -> Right | None:
        """The right that a request needs: writing may ask for another than reading."""
        return self.right if self.writes is None or method in SAFE_METHODS else self.writes


class SignedInRequest(HttpRequest):
    user: User


class ProjectRequest(SignedInRequest):
    """A request whose user has the right that the view requires."""

    project: Project
    membership: Membership


def public(view: View) -> View:
    """Open to everybody, signed in or not."""
    return _declare(view, Policy("public"))


def describes_api(view: View) -> View:
    """Open to everybody, and in English: it tells how programs ask this site, and nothing of what is in it."""
    return _declare(view, Policy("public", is_api=True))


@overload
def signed_in(view: View) -> View: ...


@overload
def signed_in(*, answers_json: bool) -> Callable[[View], View]: ...


def signed_in(view: View | None = None, *, answers_json: bool = False) -> View | Callable[[View], View]:
    """Open to every account."""

    def decorate(inner: View) -> View:
        return _declare(inner, Policy("signed in", answers_json=answers_json))

    return decorate if view is None else decorate(view)


def creates_projects(view: View) -> View:
    """Open to accounts that may make projects."""

    @wraps(view)
    def wrapped(request: SignedInRequest, **kwargs: Any) -> HttpResponseBase:
        if not request.user.can_create_projects:
            raise PermissionDenied("Your account can't create projects. Ask the site administrator.")
        return view(request, **kwargs)

    return _declare(wrapped, Policy("creates projects"))


def reads_projects(view: View) -> View:
    """Open to accounts that see more of a project than an annotator does: what may not be told to annotators."""

    @wraps(view)
    def wrapped(request: SignedInRequest, **kwargs: Any) -> HttpResponseBase:
        if not may_read_projects(request.user):
            raise PermissionDenied(_("Only managers and researchers read this guide."))
        return view(request, **kwargs)

    return _declare(wrapped, Policy("reads projects"))


def may_read_projects(user: User | AnonymousUser) -> bool:
    """Whether somebody reads or manages a project, may create one, or runs the site."""
    if not user.is_authenticated:
        return False
    if user.is_staff or user.can_create_projects:
        return True
    memberships = Membership.objects.active().filter(user=user, project__deleted_at=None)
    return memberships.exclude(role=Membership.Role.ANNOTATOR).exists()


def requires(right: Right, *, answers_json: bool = False, farewell: Farewell | None = None) -> Callable[[View], View]:
    """Open to members with this right; turns the `slug` of the path into the project.

    A `farewell` has the word when a member without the right, or of a deleted project, posts: what they
    typed while they still had it must not be lost. Where it has nothing to say the door is closed as ever.
    """

    policy = Policy(right.value, right, answers_json, has_farewell=farewell is not None)

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: ProjectRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
            try:
                request.membership = fetch_membership(request.user, slug, right)
            except (Http404, PermissionDenied):
                answer = _say_farewell(farewell, request, slug, right, kwargs)
                if answer is None:
                    raise
                return answer
            request.project = request.membership.project
            return view(request, request.project, **kwargs)

        return _declare(wrapped, policy)

    return decorate


def fetch_membership(user: User, slug: str, right: Right) -> Membership:
    """Return the user's membership in a project, if it gives the right.

    Raises Http404 to a stranger and PermissionDenied, with the reason, to a member with too little right.
    """
    values = fetch_one(_MEMBERSHIP, {"user": user.pk, "slug": slug})
    if values is None:
        raise Http404("No such project.")
    membership = _MEMBER.take(values)
    membership.project, membership.user = _PROJECT.take(values), user
    if right in FOR_ANNOTATORS:
        languages.activate_for(membership)
    reason = why_refused(membership, right)
    if reason:
        raise PermissionDenied(reason)
    return membership


def _say_farewell(
    farewell: Farewell | None, request: ProjectRequest, slug: str, right: Right, kwargs: dict[str, Any]
) -> HttpResponse | None:
    if farewell is None or request.method != "POST":
        return None
    membership = Membership.objects.select_related("project").filter(user=request.user, project__slug=slug).first()
    if membership is None:
        return None
    languages.activate_for(membership)
    is_deleted = membership.project.deleted_at is not None
    reason = str(CLOSED) if is_deleted else why_refused(membership, right)
    return farewell(request, membership, reason, **kwargs)


def has_right(membership: Membership, right: Right) -> bool:
    return not why_refused(membership, right)


def may_see_names(viewer: Membership) -> bool:
    """Whether this member reads real names. Everybody else, researchers included, goes by pseudonyms alone."""
    return has_right(viewer, Right.MANAGE)


def why_refused(membership: Membership, right: Right) -> str:
    """Return why the member lacks the right, as a sentence for them; empty if they have it."""
    if membership.standing == Membership.Standing.REMOVED:
        return _("Your membership in this project has ended. Your work is kept. Thank you!")
    if right is Right.MEMBER:
        return ""
    if membership.standing == Membership.Standing.SUSPENDED:
        return _("Your work in this project is on hold. A project manager can tell you why.")
    allowed = {
        Right.WORK: membership.is_annotator,
        Right.READ: membership.can_read,
        Right.MANAGE: membership.can_manage,
        Right.OWN: membership.is_owner,
    }[right]
    return "" if allowed else str(_LACKING[right])


_LACKING = {
    Right.WORK: gettext_lazy("Only the project's annotators can rate HITs."),
    Right.READ: "Only the project's researchers and managers can see this page.",
    Right.MANAGE: "Only the project's managers can do this.",
    Right.OWN: "Only the project's owner can do this.",
}


class SignInMiddleware:
    """Holds every view to its declared policy: none declared, none served."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: View, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        policy = find_policy(view, request.resolver_match.app_names if request.resolver_match else [])
        if policy is None:
            raise ImproperlyConfigured(f"The view {view} declares no policy.")
        if policy.name in ("public", "api"):  # the API has its own ways to sign in: projects/api/auth.py
            return None
        if not request.user.is_authenticated:
            if policy.answers_json:
                return JsonResponse({"message": _("You're not signed in.")}, status=401)
            if policy.has_farewell and request.POST:
                return keep_form_until_sign_in(request)
            return redirect_to_login(request.get_full_path())
        if policy.name == "staff" and not request.user.is_staff:
            raise Http404
        return None


def keep_form_until_sign_in(request: HttpRequest) -> HttpResponse:
    """What somebody sent after their session had ended waits on a page, to be sent again once they are signed in."""
    fields = [
        (name, value) for name, values in request.POST.lists() if name != "csrfmiddlewaretoken" for value in values
    ]
    return render(request, "signed_out.html", {"fields": fields}, status=HTTPStatus.UNAUTHORIZED)


def find_policy(view: View, app_names: list[str]) -> Policy | None:
    """What a view declares; Django's admin is for staff as a whole."""
    if "admin" in app_names:
        return Policy("staff")
    return cast(Policy | None, getattr(view, "policy", None))


def client_address(request: HttpRequest) -> str:
    """Where the request comes from; a forwarded address counts only as far as the operator's own proxies."""
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    if settings.N_PROXIES and len(forwarded) >= settings.N_PROXIES:
        return str(forwarded[-settings.N_PROXIES])
    return str(request.META.get("REMOTE_ADDR") or "")


def _declare(view: View, policy: Policy) -> View:
    view.policy = policy  # type: ignore[attr-defined]
    return view


def lock_actor(actor: Membership) -> None:
    """Lock a manager's own membership until the transaction ends. Raises Refused if the right was lost a moment ago."""
    adopt_locked(actor, Membership.objects.select_for_update(no_key=True).get(pk=actor.pk))


def adopt_locked(actor: Membership, fresh: Membership) -> None:
    actor.role, actor.standing = fresh.role, fresh.standing
    if not (actor.is_active and actor.can_manage):
        raise Refused("Only the project's managers can do this.")
