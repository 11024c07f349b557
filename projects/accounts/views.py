"""Pages for signing in and out, the account, passwords and the choice of a language."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects.access import SignedInRequest, for_operators, public, signed_in
from projects.accounts import first_owner, passkeys, passwords, signing_in, single_sign_on, throttling
from projects.accounts.forms import (
    AccountForm,
    ChangePasswordForm,
    FirstOwnerForm,
    NewPasswordForm,
    RatingKeysForm,
    SignInForm,
    WorkForm,
)
from projects.accounts.rating_keys import has_keys_off, save_keys
from projects.errors import Refused
from projects.language import languages
from projects.models import User
from projects.web.links import hides_address, safe_next


@public
@hides_address
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = safe_next(request, resolve_url(settings.LOGIN_REDIRECT_URL))
    if request.user.is_authenticated and request.method != "POST":
        return redirect(target)
    if request.method != "POST" and first_owner.is_fresh():
        # Nobody can sign in yet.
        return redirect("projects:first-owner")
    form = SignInForm(request, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        return signing_in.begin(request, form.get_user(), target)
    context = {
        "form": form,
        "next": safe_next(request, ""),
        "offers_passkeys": passkeys.are_possible(request) and passkeys.are_used(),
        "provider": settings.OIDC_NAME if single_sign_on.is_configured() else "",
    }
    return render(request, "projects/accounts/sign_in.html", context)


@for_operators
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def first_owner_new(request: HttpRequest) -> HttpResponse:
    """Create the first account of a fresh site, with the code that the terminal printed; closed from then on."""
    if not first_owner.is_fresh():
        messages.info(request, first_owner.EXISTS)
        return redirect("projects:sign-in")
    form = FirstOwnerForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if first_owner.is_blocked(request):
            return locked_out(request)
        is_right = first_owner.check_code(request, request.POST.get("code", ""))
        if form.is_valid() and is_right:
            try:
                user = first_owner.create_first_owner(form.user, form.cleaned_data["new_password1"])
            except Refused as refused:
                messages.info(request, refused.message)
                return redirect("projects:sign-in")
            signing_in.finish(request, user)
            messages.success(request, "Account created. Now create your first project.")
            return redirect("projects:project-new")
        if not is_right and "code" not in form.errors:
            form.add_error("code", "This isn't the code. Copy it from the terminal in which Concord was started.")
    status = 422 if request.method == "POST" else 200
    return render(request, "projects/settings/first_owner.html", {"form": form}, status=status)


def locked_out(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """Return the answer while django-axes blocks an account or an address."""
    minutes = round(settings.AXES_COOLOFF_TIME * 60)
    response = render(request, "projects/accounts/locked_out.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(minutes * 60)
    return response


@public
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    messages.success(request, _("You're signed out."))
    return redirect(settings.LOGOUT_REDIRECT_URL)


@signed_in
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: SignedInRequest) -> HttpResponse:
    user = request.user
    own = {name: getattr(user, name) for name in ("first_name", "last_name", "email", "wants_email")}
    habits = {"session_goal": user.session_goal or None, "suggests_breaks": user.suggests_breaks}
    # Two forms on one page: a hidden field says which of them was sent.
    sent = (request.POST.get("form") or "details") if request.method == "POST" else ""
    form = AccountForm(request.POST if sent == "details" else None, initial=own)
    work_form = WorkForm(request.POST if sent == "work" else None, initial=habits)
    for each in (form, work_form):
        if each.is_bound and each.is_valid():
            User.objects.filter(pk=user.pk).update(**each.cleaned_data)
            messages.success(request, _("Changes saved."))
            return redirect("projects:account")
    memberships = list(user.memberships.filter(project__deleted_at=None).select_related("project"))
    context = {
        "form": form,
        "work_form": work_form if any(each.is_annotator for each in memberships) else None,
        "memberships": memberships,
    }
    return render(request, "projects/accounts/show.html", context)


@signed_in
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def rating_keys(request: SignedInRequest) -> HttpResponse:
    if request.method == "POST" and "reset" in request.POST:
        save_keys(user=request.user, keys={}, is_off=has_keys_off(request.user))
        messages.success(request, _("Default keys restored."))
        return redirect("projects:rating-keys")
    form = RatingKeysForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        off = form.cleaned_data.pop("off")
        save_keys(user=request.user, keys=form.cleaned_data, is_off=off)
        messages.success(request, _("Changes saved."))
        return redirect("projects:rating-keys")
    return render(request, "projects/accounts/rating_keys.html", {"form": form})


@public
@require_safe
def accessibility(request: HttpRequest) -> HttpResponse:
    return render(request, "accessibility.html")


@public
@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    context = {
        "session_days": settings.SESSION_COOKIE_AGE // 86400,
        "address_days": throttling.KEPT.days,
        "deleted_days": settings.KEEP_DELETED_DAYS,
    }
    return render(request, "privacy.html", context)


@public
@require_POST
def language_choose(request: HttpRequest) -> HttpResponse:
    language = request.POST.get("language", "")
    if not languages.is_known(language):
        raise BadRequest(_("That language isn't available here."))
    if request.user.is_authenticated:
        User.objects.filter(pk=request.user.pk).update(language=language)
    response = redirect(safe_next(request, resolve_url(settings.LOGIN_REDIRECT_URL)))
    languages.remember(response, language)
    return response


@signed_in
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def password_change(request: SignedInRequest) -> HttpResponse:
    form = ChangePasswordForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and signing_in.is_blocked(request, request.user):
        return locked_out(request)
    if request.method == "POST" and form.is_valid():
        passwords.change(user=request.user, password=form.cleaned_data["new_password1"])
        # The new password ends every session, also this one, unless it gets the new hash.
        update_session_auth_hash(request, request.user)
        messages.success(request, _("Password changed. You're signed out on all your other devices."))
        return redirect("projects:account")
    if form.has_error("old_password", "wrong"):
        signing_in.count_failure(request, request.user)
    return render(request, "projects/accounts/password_change.html", {"form": form})


@public
@never_cache
@require_http_methods(["GET", "HEAD"])
def password_forgotten(request: HttpRequest) -> HttpResponse:
    return render(request, "projects/accounts/password_forgotten.html")


@public
@hides_address
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def password_reset(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    user = passwords.find_by_link(uidb64, token)
    if user is None:
        return render(request, "projects/accounts/password_reset_over.html", status=410)
    form = NewPasswordForm(user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            passwords.reset(uidb64=uidb64, token=token, password=form.cleaned_data["new_password1"])
        except Refused:
            return render(request, "projects/accounts/password_reset_over.html", status=410)
        messages.success(request, _("New password saved. Sign in with it."))
        return redirect("projects:sign-in")
    return render(request, "projects/accounts/password_reset.html", {"form": form, "who": user})
