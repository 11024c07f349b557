"""Pages of signing in beyond the password: the second step, and passkeys."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from projects.access import public
from projects.accounts import passkeys, second_factors, signing_in
from projects.accounts.factor_forms import CodeForm
from projects.accounts.views import locked_out
from projects.models import User
from projects.web.links import hides_address, safe_next
from projects.web.refusals import refusals


@public
@hides_address
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def second_step(request: HttpRequest) -> HttpResponse:
    """Ask whoever has entered the right password for a code or a passkey."""
    user = signing_in.find_pending(request)
    if user is None:
        if request.user.is_authenticated:
            return redirect(safe_next(request, resolve_url(settings.LOGIN_REDIRECT_URL)))
        messages.info(request, _("Please sign in again."))
        return redirect("projects:sign-in")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if signing_in.is_blocked(request, user) or second_factors.is_guessing(user):
            return locked_out(request)
        if form.is_valid():
            if second_factors.check_code(user, form.cleaned_data["code"]):
                return _welcome(request, user)
            signing_in.count_failure(request, user)
            form.add_error("code", _("Wrong code. Codes work once: wait for the next one, or use a recovery code."))
    return _show_second_step(request, user, form)


@public
@never_cache
@require_POST
def passkey_options(request: HttpRequest) -> HttpResponse:
    """Return the challenge for a passkey: of whoever is signing in or is signed in, else any one."""
    if not passkeys.are_possible(request):
        return JsonResponse({"message": _("Passkeys need https.")}, status=409)
    user = signing_in.find_pending(request) or (request.user if request.user.is_authenticated else None)
    return JsonResponse(passkeys.begin_authentication(user))


@public
@never_cache
@sensitive_post_parameters()
@require_POST
def passkey_sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with a passkey, alone or as the second step."""
    pending = signing_in.find_pending(request)
    with refusals(request):
        user = passkeys.authenticate(user=pending, answer=request.POST.get("credential", ""))
        return _welcome(request, user)
    return redirect("projects:sign-in") if pending is None else _show_second_step(request, pending, CodeForm())


def _welcome(request: HttpRequest, user: User) -> HttpResponse:
    signing_in.finish(request, user)
    factors = second_factors.list_factors(user)
    if factors.app is not None and factors.n_codes < 3:
        messages.warning(request, _("You have few recovery codes left. Create new ones under “Sign-in security”."))
    return redirect(safe_next(request, resolve_url(settings.LOGIN_REDIRECT_URL)))


def _show_second_step(request: HttpRequest, user: User, form: CodeForm) -> HttpResponse:
    factors = second_factors.list_factors(user)
    context: dict[str, Any] = {
        "form": form,
        "factors": factors,
        "offers_passkeys": bool(factors.passkeys) and passkeys.are_possible(request),
        "next": safe_next(request, ""),
    }
    return render(request, "projects/accounts/second_step.html", context)
