"""Pages of a project's API tokens: one's own, and for managers those of all members."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.api import tokens
from projects.api.tokens import DEFAULT_DAYS, MOST_DAYS
from projects.models import ApiToken, Membership, Project
from projects.web.keyed_forms import KeyedForm
from projects.web.links import absolute_url
from projects.web.lists import paginate
from projects.web.refusals import refusals


@requires(Right.READ)
@never_cache
@require_safe
def token_list(request: ProjectRequest, project: Project) -> HttpResponse:
    found = _visible(request).select_related("membership__user")
    page, now = paginate(request, found), timezone.now()
    rows = [(token, token.state_at(now)) for token in page]
    # One key for all rows: with it each token has one successor.
    context = {"page": page, "rows": rows, "rotate_form": KeyedForm()}
    return render(request, "projects/api/token_list.html", context)


@requires(Right.READ)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def token_new(request: ProjectRequest, project: Project) -> HttpResponse:
    form = TokenForm(request.membership, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            return _show(request, *tokens.make_token(membership=request.membership, **form.values()))
    return render(request, "projects/api/token_new.html", {"form": form})


# The answer contains the new secret, so no cache may keep it.
@requires(Right.READ)
@never_cache
@require_POST
def token_rotate(request: ProjectRequest, project: Project, token_id: int) -> HttpResponse:
    token = get_object_or_404(_visible(request).filter(membership=request.membership), pk=token_id)
    form = KeyedForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The form was incomplete, so nothing was rotated. Try again.")
        return redirect("projects:token-list", project.slug)
    with refusals(request):
        return _show(request, *tokens.rotate(token=token, key=form.cleaned_data["key"]), old=token)
    return redirect("projects:token-list", project.slug)


@requires(Right.READ)
@require_POST
def token_revoke(request: ProjectRequest, project: Project, token_id: int) -> HttpResponse:
    token = get_object_or_404(_visible(request), pk=token_id)
    tokens.revoke(token=token, actor=request.membership)
    messages.success(request, "Token revoked. It no longer works.")
    return redirect("projects:token-list", project.slug)


def _visible(request: ProjectRequest) -> QuerySet[ApiToken]:
    """Return one's own tokens, or for a manager all tokens of the project, to see and revoke."""
    found = ApiToken.objects.filter(membership__project=request.project)
    return found if request.membership.can_manage else found.filter(membership=request.membership)


def _show(request: ProjectRequest, token: ApiToken, secret: str, old: ApiToken | None = None) -> HttpResponse:
    address = absolute_url(reverse("api:project-show", args=[request.project.slug]), request)
    context = {"token": token, "secret": secret, "address": address, "old": old}
    return render(request, "projects/api/token_show.html", context)


ACCESS_CHOICES = [
    ("read", "Read only: data, batches, judgments and results"),
    ("write", "Read and write: also import, create and open batches, invite people, compute results"),
]
ACCESS_CHOICES_OF_RESEARCHERS = [
    ACCESS_CHOICES[0],
    ("write", "Read and write: also compute metrics and metric evaluations"),
]


class TokenForm(KeyedForm):
    name = forms.CharField(
        label="Name",
        max_length=60,
        help_text="For example “weekly report”. Visible to you and to managers.",
    )
    may = forms.ChoiceField(label="Access", choices=ACCESS_CHOICES, initial="read", widget=forms.RadioSelect)
    days = forms.IntegerField(label="Valid for (days)", initial=DEFAULT_DAYS, min_value=1, max_value=MOST_DAYS)

    def __init__(self, member: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not member.can_manage:
            self.fields["may"].choices = ACCESS_CHOICES_OF_RESEARCHERS  # type: ignore[attr-defined]

    def values(self) -> dict[str, Any]:
        """Return the arguments of `make_token`."""
        sent = self.cleaned_data
        return {"name": sent["name"], "can_write": sent["may"] == "write", "days": sent["days"], "key": sent["key"]}
