"""Access: which right each view requires, and the only function that finds a project's membership.

Every view declares one policy. A stranger to a project gets 404, a member with too little right 403, and a visitor
who is not signed in is sent to the sign-in page (or gets 401 where the view answers JSON).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial, wraps
from typing import Any, cast, overload
from urllib.parse import urlencode

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.database.replica import note_write, read_from_replica
from projects.database.sign_ins import fetch_member
from projects.errors import Refused
from projects.language import languages
from projects.models import Membership, Project, User
from projects.web.kept_forms import keep_form_until_sign_in, list_kept_fields

View = Callable[..., HttpResponseBase]
AccessLostHandler = Callable[..., HttpResponse | None]
"""Called with the request, the membership, the reason and the arguments of the path.

Returns None if the path names nothing that belongs to this member.
"""
SECOND_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""What counts as a second factor; recovery codes only stand in for one."""
PROJECT_CLOSED = gettext_lazy("This project is closed. Your work is kept. Thank you!")


class Right(Enum):
    """What a membership allows, from least to most."""

    HISTORY = "history"
    """Their own history and earnings, which somebody removed keeps: they read why work was rejected, and reply."""
    MEMBER = "member"
    WORK = "work"
    READ = "read"
    MANAGE = "manage"
    OWN = "own"


FOR_ANNOTATORS = (Right.HISTORY, Right.MEMBER, Right.WORK)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
READ_FROM_REPLICA = "results"
"""The namespace of the pages that a replica of the database may answer, if there is one."""


@dataclass(frozen=True)
class Policy:
    """The access rule that a view declares. A test walks every route and checks that the rule holds for each role."""

    name: str
    right: Right | None = None
    answers_json: bool = False
    handles_access_lost: bool = False
    is_api: bool = False
    is_for_operators: bool = False
    writes: Right | None = None
    only_recomputes: bool = False
    """Whether a POST only recomputes what a GET shows, which a read-only token may ask for."""

    @property
    def is_translated(self) -> bool:
        """Whether annotators open this page: only their pages are translated."""
        if self.is_for_operators:
            return False
        return not self.is_api and (self.name in ("public", "signed in") or self.right in FOR_ANNOTATORS)

    def right_for(self, method: str) -> Right | None:
        """Return the right that a request needs: writing may require a higher one than reading."""
        return self.right if self.writes is None or method in SAFE_METHODS else self.writes


class SecondFactorMissing(PermissionDenied):
    """The right is there, but its use requires a second factor, which the account has yet to set up."""


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
    """Open to everybody, and in English: it describes how programs call this site and shows none of its data."""
    return _declare(view, Policy("public", is_api=True))


def for_operators(view: View) -> View:
    """Open to everybody, and in English: only whoever sets up the site has a use for it."""
    return _declare(view, Policy("public", is_for_operators=True))


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
    """Open to accounts that may create projects."""

    @wraps(view)
    def wrapped(request: SignedInRequest, **kwargs: Any) -> HttpResponseBase:
        if not request.user.can_create_projects:
            raise PermissionDenied("Your account can't create projects. Ask the site administrator.")
        if settings.MANAGERS_NEED_SECOND_FACTOR and not has_second_factor(request.user):
            return _lead_to_second_factor(request)
        return _note_writing(request, partial(view, request, **kwargs))

    return _declare(wrapped, Policy("creates projects"))


def reads_projects(view: View) -> View:
    """Open to accounts that see more of some project than its annotators do."""

    @wraps(view)
    def wrapped(request: SignedInRequest, **kwargs: Any) -> HttpResponseBase:
        if not may_read_projects(request.user):
            raise PermissionDenied(_("Only managers and researchers read this guide."))
        return view(request, **kwargs)

    return _declare(wrapped, Policy("reads projects"))


def may_read_projects(user: User | AnonymousUser) -> bool:
    """Return whether the user reads or manages a project, may create one, or runs the site."""
    if not user.is_authenticated:
        return False
    if user.is_staff or user.can_create_projects:
        return True
    memberships = Membership.objects.active().filter(user=user, project__deleted_at=None)
    return memberships.exclude(role=Membership.Role.ANNOTATOR).exists()


def requires(
    right: Right, *, answers_json: bool = False, on_access_lost: AccessLostHandler | None = None
) -> Callable[[View], View]:
    """Open to members with this right; the view gets the project that the `slug` of the path names.

    `on_access_lost` answers a POST by a member who no longer has the right, or whose project was deleted, so that
    nothing they typed before is lost. If it returns None, the request is refused like any other.
    """

    policy = Policy(right.value, right, answers_json, handles_access_lost=on_access_lost is not None)

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: ProjectRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
            # The view gets the project instead of its slug, so that it cannot fetch one without this check.
            try:
                request.membership = fetch_membership(request.user, slug, right)
            except SecondFactorMissing:
                if answers_json:
                    raise
                return _lead_to_second_factor(request)
            except (Http404, PermissionDenied):
                answer = _handle_access_lost(on_access_lost, request, slug, right, kwargs)
                if answer is None:
                    raise
                return answer
            request.project = request.membership.project
            if request.method in SAFE_METHODS:
                request.project.remembered = {}
            return _answer(request, partial(view, request, request.project, **kwargs), right)

        return _declare(wrapped, policy)

    return decorate


def _answer(request: ProjectRequest, answer: Callable[[], HttpResponseBase], right: Right) -> HttpResponseBase:
    """Return what a view answers: pages of results may be read from a replica, and who writes is remembered."""
    if right in FOR_ANNOTATORS:
        return answer()
    if request.method in SAFE_METHODS:
        names = request.resolver_match.app_names if request.resolver_match else []
        return read_from_replica(answer, request.user.pk) if READ_FROM_REPLICA in names else answer()
    return _note_writing(request, answer)


def _note_writing(request: SignedInRequest, answer: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    try:
        return answer()
    finally:
        if request.method not in SAFE_METHODS:
            note_write(request.user.pk)


def fetch_membership(user: User, slug: str, right: Right) -> Membership:
    """Return the user's membership in a project, if it gives the right.

    Raises Http404 for a stranger, PermissionDenied with the reason for a member with too little right, and
    SecondFactorMissing for a manager without the second factor that the project requires, also where a token is used.
    """
    membership = fetch_member(user, slug)
    if membership is None:
        raise Http404("No such project.")
    if right in FOR_ANNOTATORS or not membership.can_read:
        # Before the reason is put into words: it is read in the member's language as well, also by an annotator who
        # followed a link to a page of managers.
        languages.activate_for(membership)
    reason = explain_refusal(membership, right)
    if reason:
        raise PermissionDenied(reason)
    if right not in FOR_ANNOTATORS and must_set_up_second_factor(membership):
        raise SecondFactorMissing(
            "Managers of this project need a second factor. Set one up under “Sign-in security” in your account."
        )
    return membership


def _handle_access_lost(
    handler: AccessLostHandler | None, request: ProjectRequest, slug: str, right: Right, kwargs: dict[str, Any]
) -> HttpResponse | None:
    if handler is None or request.method != "POST":
        return None
    # Unlike `fetch_membership`, this also finds members of a deleted project: their answers are kept as well.
    membership = Membership.objects.select_related("project").filter(user=request.user, project__slug=slug).first()
    if membership is None:
        return None
    languages.activate_for(membership)
    is_deleted = membership.project.deleted_at is not None
    reason = str(PROJECT_CLOSED) if is_deleted else explain_refusal(membership, right)
    return handler(request, membership, reason, **kwargs)


def requires_second_factor(project: Project) -> bool:
    """Return whether managers and owners of the project need one: by its settings, or by those of the site."""
    return settings.MANAGERS_NEED_SECOND_FACTOR or project.requires_second_factor


def must_set_up_second_factor(membership: Membership) -> bool:
    """Return whether this member manages the project and lacks the second factor that this takes."""
    if not (membership.can_manage and requires_second_factor(membership.project)):
        return False
    return membership.user is not None and not has_second_factor(membership.user)


def has_second_factor(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type__in=SECOND_FACTORS).exists())


def _lead_to_second_factor(request: HttpRequest) -> HttpResponse:
    """Return the way to the page that says what is required; after a GET it leads back."""
    query = {"next": request.get_full_path()} if request.method in SAFE_METHODS else {}
    return redirect(f"{reverse('projects:security')}?{urlencode(query)}" if query else reverse("projects:security"))


def has_right(membership: Membership, right: Right) -> bool:
    return not explain_refusal(membership, right)


def may_see_names(viewer: Membership) -> bool:
    """Return whether this member sees real names. Everybody else, researchers included, sees pseudonyms only."""
    return has_right(viewer, Right.MANAGE)


def explain_refusal(membership: Membership, right: Right) -> str:
    """Return why the member lacks the right, as a sentence to show them, or an empty text if they have it."""
    # The order matters: removed members keep their history and earnings alone, suspended ones may still see their own
    # pages.
    if right is Right.HISTORY:
        return ""
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
    """Apply the declared policy of every view; a view without one is not served."""

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
            # A script cannot follow a redirect to a sign-in page; it needs a status that it understands.
            if policy.answers_json:
                return JsonResponse({"message": _("You're not signed in.")}, status=401)
            return _ask_to_sign_in(request)
        if policy.name == "staff" and not request.user.is_staff:
            raise Http404  # not 403: nobody else needs to know that the admin site is here
        if policy.name == "staff" and settings.MANAGERS_NEED_SECOND_FACTOR and not has_second_factor(request.user):
            return _lead_to_second_factor(request)
        if policy.name == "staff" and request.resolver_match and request.resolver_match.url_name == "login":
            return redirect("admin:index")  # the form there asks for a password alone
        return None


def _ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Return the way to the sign-in, and from there to the page asked for, or to the one that a form was sent from."""
    if request.method in SAFE_METHODS:
        return redirect_to_login(request.get_full_path())
    if list_kept_fields(request):
        return keep_form_until_sign_in(request)
    _scheme, _, before = request.headers.get("Referer", "").partition("://")
    host, slash, rest = before.partition("/")
    path = slash + rest if host == request.get_host() else ""
    is_own = path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    return redirect_to_login(path) if is_own else redirect("projects:sign-in")


def find_policy(view: View, app_names: list[str]) -> Policy | None:
    """Return the policy that a view declares, None if it declares none; all of Django's admin is for staff."""
    if "admin" in app_names:
        return Policy("staff")
    return cast(Policy | None, getattr(view, "policy", None))


def _declare(view: View, policy: Policy) -> View:
    view.policy = policy  # type: ignore[attr-defined]
    return view


def lock_actor(actor: Membership) -> None:
    """Lock a manager's own membership until the transaction ends. Raises Refused if the right was lost meanwhile."""
    adopt_locked(actor, Membership.objects.select_for_update(no_key=True).get(pk=actor.pk))


def adopt_locked(actor: Membership, fresh: Membership) -> None:
    """Update the actor from the locked row and check the right again. Raises Refused if it was lost meanwhile."""
    actor.role, actor.standing = fresh.role, fresh.standing
    if not (actor.is_active and actor.can_manage):
        raise Refused("Only the project's managers can do this.")
