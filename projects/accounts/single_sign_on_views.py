"""Pages of single sign-on: the way to the provider and back, and the link in the account."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from projects.access import SignedInRequest, public, signed_in
from projects.accounts import signing_in, single_sign_on
from projects.accounts.security_views import recently_confirmed
from projects.web.links import hides_address, safe_next
from projects.web.refusals import refusals

SIGN_IN, LINK, CONFIRM = "login", "connect", "confirm"


@public
@never_cache
@require_POST
def single_sign_on_start(request: HttpRequest) -> HttpResponse:
    return _leave(request, process=SIGN_IN, target=safe_next(request, ""))


@signed_in
@never_cache
@require_POST
def single_sign_on_confirm(request: SignedInRequest) -> HttpResponse:
    return _leave(request, process=CONFIRM, target=safe_next(request, ""), user_pk=request.user.pk)


@signed_in
@never_cache
@require_POST
@recently_confirmed
def identity_link(request: SignedInRequest) -> HttpResponse:
    return _leave(request, process=LINK, user_pk=request.user.pk)


@signed_in
@require_POST
@recently_confirmed
def identity_unlink(request: SignedInRequest) -> HttpResponse:
    with refusals(request):
        single_sign_on.unlink(user=request.user)
        update_session_auth_hash(request, request.user)
        messages.success(request, _("Link removed. You're signed out on all your other devices."))
    return redirect("projects:security")


@public
@hides_address
@never_cache
@require_http_methods(["GET"])
def single_sign_on_callback(request: HttpRequest) -> HttpResponse:
    from projects.accounts import oidc

    _require_provider()
    return oidc.answer_callback(request) or answer_failure(request)


def complete(request: HttpRequest, login: Any) -> HttpResponse:
    """Return the answer to somebody whom the provider has confirmed; `IdentityAdapter` calls it."""
    from projects.accounts import oidc

    process, target = login.state["process"], login.state.get("next") or ""
    if process == SIGN_IN:
        user = single_sign_on.find_user(login.account.uid, login.claims)
        if user is None and _is_invitation(target) and not request.user.is_authenticated:
            single_sign_on.remember(request, login.account.uid, _read_email(login))
            return redirect(target)
        if user is None:
            return _answer(request, "unknown", HTTPStatus.FORBIDDEN)
        target = target or resolve_url(settings.LOGIN_REDIRECT_URL)
        return signing_in.begin(request, user, target, is_proof=oidc.is_recent(login.claims))
    # The session may have ended meanwhile, or be that of another user.
    if not (request.user.is_authenticated and request.user.pk == (login.state.get("data") or {}).get("user")):
        return answer_failure(request)
    return _confirm(request, login, target) if process == CONFIRM else _link(request, login)


def answer_failure(request: HttpRequest) -> HttpResponse:
    return _answer(request, "failed", HTTPStatus.BAD_REQUEST)


def _link(request: HttpRequest, login: Any) -> HttpResponse:
    assert request.user.is_authenticated
    with refusals(request):
        single_sign_on.link(user=request.user, uid=login.account.uid, email=_read_email(login))
        messages.success(request, _("Linked. From now on you can sign in with {name}.").format(name=settings.OIDC_NAME))
    return redirect("projects:security")


def _confirm(request: HttpRequest, login: Any, target: str) -> HttpResponse:
    from projects.accounts import oidc

    assert request.user.is_authenticated
    identity = single_sign_on.find_identity(request.user)
    if identity is None or identity.uid != login.account.uid or not oidc.is_recent(login.claims):
        return answer_failure(request)
    signing_in.confirm(request)
    return redirect(target or "projects:security")


def _leave(request: HttpRequest, *, process: str, target: str = "", user_pk: int | None = None) -> HttpResponse:
    from projects.accounts import oidc

    _require_provider()
    address = oidc.make_address(request, process=process, target=target, user_pk=user_pk)
    if address is None:
        return _answer(request, "unreachable", HTTPStatus.BAD_GATEWAY)
    # Not a redirect: the Content-Security-Policy lets no form lead to another site.
    context = {"address": address, "provider": settings.OIDC_NAME}
    return render(request, "projects/accounts/single_sign_on.html", context)


def _is_invitation(target: str) -> bool:
    try:
        return resolve(target).view_name == "projects:join"
    except Resolver404:
        return False


def _read_email(login: Any) -> str:
    return str(login.claims.get("email") or "")[:200]


def _require_provider() -> None:
    if not single_sign_on.is_configured():
        raise Http404("No provider is configured.")


def _answer(request: HttpRequest, what: str, status: HTTPStatus) -> HttpResponse:
    context = {"what": what, "provider": settings.OIDC_NAME}
    return render(request, "projects/accounts/single_sign_on_over.html", context, status=status)
