"""The page on which people delete their account."""

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotate.desk.forms import DeleteAccountForm
from annotate.onboarding import erasing
from annotate.onboarding.survey_answers import has_allowed_publication
from projects.access import SignedInRequest, signed_in
from projects.accounts import signing_in
from projects.accounts.views import locked_out
from projects.web.forms import choose_status
from projects.web.refusals import refusals


@signed_in
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def account_delete(request: SignedInRequest) -> HttpResponse:
    if not (request.user.has_usable_password() or signing_in.is_confirmed(request)):
        return redirect(f"{reverse('projects:confirm')}?{urlencode({'next': request.path})}")
    form = DeleteAccountForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and signing_in.is_blocked(request, request.user):
        return locked_out(request)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form=form):
            erasing.erase(user=request.user, removes_work=form.removes_work)
            logout(request)
            messages.success(request, _("Your account was deleted."))
            return redirect(settings.LOGOUT_REDIRECT_URL)
    if form.has_error("password", "wrong"):
        signing_in.count_failure(request, request.user)
    context = {
        "form": form,
        "work": erasing.plan_erasure(request.user),
        "may_be_published": has_allowed_publication(request.user.memberships.all()),
    }
    status = choose_status(form)
    return render(request, "annotate/desk/account_delete.html", context, status=status)
