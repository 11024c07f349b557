"""Pages on which people set up and remove second factors, after proving once more who they are."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from allauth.mfa.adapter import get_adapter
from allauth.mfa.totp.internal.auth import generate_totp_secret
from allauth.mfa.utils import decrypt, encrypt
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects.access import SignedInRequest, requires_second_factor, signed_in
from projects.accounts import passkeys, passwords, second_factors, signing_in, single_sign_on
from projects.accounts.factor_forms import AppForm, ConfirmForm, PasskeyForm
from projects.accounts.views import locked_out
from projects.models import Membership
from projects.web.links import safe_next
from projects.web.refusals import refusals

NEW_SECRET = "new_app_secret"  # noqa: S105 - the name under which the session keeps it
View = Callable[..., HttpResponseBase]


def recently_confirmed(view: View) -> View:
    """Lead whoever has not proved within a quarter of an hour to be the user to the page that asks for it."""

    @wraps(view)
    def wrapped(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not signing_in.is_confirmed(request):
            target = _add_next(reverse("projects:security"), safe_next(request, ""))
            return redirect(_add_next(reverse("projects:confirm"), target))
        return view(request, *args, **kwargs)

    return wrapped


@signed_in
@never_cache
@require_safe
def security(request: SignedInRequest) -> HttpResponse:
    factors = second_factors.list_factors(request.user)
    roles = (Membership.Role.MANAGER, Membership.Role.OWNER)
    managed = request.user.memberships.active().filter(role__in=roles, project__deleted_at=None)
    demanding = [each.project for each in managed.select_related("project") if requires_second_factor(each.project)]
    context = {
        "factors": factors,
        "demanding": demanding,
        "is_demanded": bool(demanding) or (settings.MANAGERS_NEED_SECOND_FACTOR and _runs_site(request)),
        "passkeys_possible": passkeys.are_possible(request),
        "provider": settings.OIDC_NAME if single_sign_on.is_configured() else "",
        "identity": single_sign_on.find_identity(request.user) if single_sign_on.is_configured() else None,
        "next": safe_next(request, ""),
    }
    return render(request, "projects/accounts/security.html", context)


@signed_in
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: SignedInRequest) -> HttpResponse:
    """Ask the user of a session for another proof, before a way to sign in is changed."""
    user, target = request.user, safe_next(request, reverse("projects:security"))
    factors = second_factors.list_factors(user)
    form = ConfirmForm(user, request.POST if request.method == "POST" else None, has_app=factors.app is not None)
    if request.method == "POST":
        if signing_in.is_blocked(request, user):
            return locked_out(request)
        if _is_proof(request, form):
            signing_in.confirm(request)
            return redirect(target)
    context = {
        "form": form,
        "next": target,
        "offers_passkeys": bool(factors.passkeys) and passkeys.are_possible(request),
        "provider": settings.OIDC_NAME
        if single_sign_on.is_configured() and single_sign_on.find_identity(user) is not None
        else "",
        "signs_in_by_panel": passwords.signs_in_by_panel(user),
    }
    return render(request, "projects/accounts/confirm.html", context)


def _is_proof(request: SignedInRequest, form: ConfirmForm) -> bool:
    user = request.user
    if answer := request.POST.get("credential", ""):
        form.errors.clear()
        with refusals(request):
            passkeys.authenticate(user=user, answer=answer)
            return True
        return False
    if not (form.fields and form.is_valid()):
        return False
    if "password" in form.fields:
        is_right = user.check_password(form.cleaned_data["password"])
        wrong = _("This isn't your current password.")
    else:
        is_right = second_factors.check_code(user, form.cleaned_data["code"])
        wrong = str(second_factors.WRONG_CODE)
    if not is_right:
        signing_in.count_failure(request, user)
        form.add_error(next(iter(form.fields)), wrong)
    return is_right


@signed_in
@never_cache
@require_POST
@recently_confirmed
def app_new(request: SignedInRequest) -> HttpResponse:
    """Begin to set up an authenticator app: the session keeps its secret until a code has proved that it works."""
    request.session[NEW_SECRET] = encrypt(generate_totp_secret())
    return redirect(_add_next(reverse("projects:app-set-up"), safe_next(request, "")))


@signed_in
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@recently_confirmed
def app_set_up(request: SignedInRequest) -> HttpResponse:
    stored = request.session.get(NEW_SECRET)
    if not stored:
        return redirect("projects:security")
    secret = decrypt(stored)
    form = AppForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form, field="code"):
            codes = second_factors.set_up_app(user=request.user, secret=secret, code=form.cleaned_data["code"])
            del request.session[NEW_SECRET]
            return _show_change(request, codes, _("Authenticator app set up."))
    context = {
        "form": form,
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "qr": second_factors.draw_qr_code(get_adapter().build_totp_url(request.user, secret)),
        "next": safe_next(request, ""),
    }
    return render(request, "projects/accounts/app_set_up.html", context)


@signed_in(answers_json=True)
@never_cache
@require_POST
def passkey_new_options(request: SignedInRequest) -> HttpResponse:
    if not signing_in.is_confirmed(request) or not passkeys.are_possible(request):
        return JsonResponse({"message": _("Reload the page and try again.")}, status=409)
    return JsonResponse(passkeys.begin_registration(request.user))


@signed_in
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@recently_confirmed
def passkey_new(request: SignedInRequest) -> HttpResponse:
    if not passkeys.are_possible(request):
        return redirect("projects:security")
    form = PasskeyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data
        with refusals(request, form):
            codes = passkeys.add(user=request.user, name=sent["name"], answer=sent["credential"])
            return _show_change(request, codes, _("Passkey added."))
    return render(request, "projects/accounts/passkey_new.html", {"form": form, "next": safe_next(request, "")})


@signed_in
@never_cache
@require_POST
@recently_confirmed
def recovery_codes(request: SignedInRequest) -> HttpResponse:
    with refusals(request):
        return _show_codes(request, second_factors.make_recovery_codes(user=request.user))
    return redirect("projects:security")


@signed_in
@require_POST
@recently_confirmed
def factor_remove(request: SignedInRequest, pk: int) -> HttpResponse:
    second_factors.remove(user=request.user, pk=pk)
    update_session_auth_hash(request, request.user)
    messages.success(request, _("Removed. You're signed out on all your other devices."))
    return redirect("projects:security")


def _show_change(request: SignedInRequest, codes: list[str], message: str) -> HttpResponse:
    """Answer an added factor: with the recovery codes if there are new ones, which are shown only now."""
    update_session_auth_hash(request, request.user)
    messages.success(request, message + " " + _("You're signed out on all your other devices."))
    return _show_codes(request, codes) if codes else redirect(safe_next(request, reverse("projects:security")))


def _show_codes(request: SignedInRequest, codes: list[str]) -> HttpResponse:
    shown = [f"{code[:4]} {code[4:]}" for code in codes]
    context = {"codes": "\n".join(shown), "n": len(shown), "next": safe_next(request, reverse("projects:security"))}
    return render(request, "projects/accounts/recovery_codes.html", context)


def _add_next(path: str, target: str) -> str:
    return f"{path}?{urlencode({'next': target})}" if target else path


def _runs_site(request: SignedInRequest) -> bool:
    return request.user.is_staff or request.user.can_create_projects
