"""The page of an invitation: joining a project with a new or an existing account."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from projects.access import public
from projects.accounts import signing_in, single_sign_on
from projects.accounts.forms import IdentitySignUpForm, SignUpForm
from projects.errors import Refused
from projects.language.languages import activate_for, activate_for_visitor
from projects.models import Guesses, Membership
from projects.people import invitations as people_invitations
from projects.people import join_by_invitation
from projects.texts.versions import current_consent
from projects.web.client_address import client_address
from projects.web.links import hides_address


@public
@hides_address
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    invitation = people_invitations.find_invitation(token)
    if invitation is None:
        # Wrong links alone are held back. Nobody can guess a right one, but any page can make a browser ask for wrong
        # ones, and so would close the right ones for everybody behind its address.
        address = client_address(request)
        if Guesses.are_too_many(address):
            return _held_back(request)
        Guesses.count(address)
        return render(request, "projects/people/join_over.html", status=404)
    activate_for_visitor(request, invitation.project)
    user = request.user if request.user.is_authenticated else None
    if user is not None:
        present = Membership.objects.filter(project=invitation.project, user=user, project__deleted_at=None).first()
        if present is not None:
            return _already(request, present)
    if not people_invitations.is_usable(invitation):
        return render(request, "projects/people/join_over.html", status=410)
    identity = single_sign_on.recall(request) if user is None else None
    sign_up_form = SignUpForm if identity is None else IdentitySignUpForm
    form = sign_up_form(request.POST if request.method == "POST" and user is None else None)
    try:
        if request.method == "POST" and user is not None:
            return _welcome(request, join_by_invitation.join(token=token, user=user))
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            membership = join_by_invitation.sign_up(
                token=token, username=given["username"], password=given.get("new_password1"), identity=identity
            )
            request.session.pop(single_sign_on.WAITING, None)
            assert membership.user is not None
            signing_in.finish(request, membership.user)
            return _welcome(request, membership)
    except join_by_invitation.AlreadyMember as already:
        return _already(request, already.membership)
    except Refused as refusal:
        form.add_error(None, refusal.message) if user is None else messages.error(request, refusal.message)
    context = {"invitation": invitation, "form": form, "token": token, "identity": identity}
    context["provider"] = settings.OIDC_NAME if single_sign_on.is_configured() else ""
    return render(request, "projects/people/join.html", context)


def _already(request: HttpRequest, membership: Membership) -> HttpResponse:
    return render(request, "projects/people/join_already.html", {"present": membership})


def _welcome(request: HttpRequest, membership: Membership) -> HttpResponse:
    activate_for(membership)  # the message is read on a page of the project, in its language
    messages.success(request, _("Welcome to {project}.").format(project=membership.project.name))
    if membership.can_read:
        return redirect(membership.project)
    if current_consent(membership.project) is not None:
        return redirect("annotate:consent", membership.project.slug)
    return redirect("annotate:project-desk", membership.project.slug)


def _held_back(request: HttpRequest) -> HttpResponse:
    from projects.accounts.views import locked_out

    return locked_out(request)
