"""Managers' pages of webhooks: the addresses, a new one, and the messages of one with every attempt."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.models import Delivery, Event, Project, Webhook
from projects.web.forms import choose_status
from projects.web.keyed_forms import KeyedForm
from projects.web.lists import paginate, read_word
from projects.web.refusals import refusals
from projects.webhooks import delivering, endpoints
from projects.webhooks.addresses import LONGEST

DESCRIPTIONS = {
    Event.HIT_SUBMITTED: "HIT submitted: batch, HIT, the annotator’s pseudonym, and whether it counts",
    Event.BATCH_COMPLETE: "Batch complete: every assignment of the batch has been submitted",
    Event.FINDING_OPENED: "Alert opened: the annotator’s pseudonym and the type of alert",
    Event.SET_FROZEN: "Judgment set frozen: its number, size and SHA-256",
}


class WebhookForm(KeyedForm):
    url = forms.CharField(
        label="Address",
        max_length=LONGEST,
        help_text="Begins with https:// and leads to a public host. Redirects are not followed.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(event.value, text) for event, text in DESCRIPTIONS.items()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )


@requires(Right.MANAGE)
@never_cache
@require_safe
def webhook_list(request: ProjectRequest, project: Project) -> HttpResponse:
    return render(request, "projects/webhooks/list.html", {"webhooks": project.webhooks.all()})


# The answer contains the secret, so no cache may keep it.
@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_new(request: ProjectRequest, project: Project) -> HttpResponse:
    form = WebhookForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            webhook, secret = endpoints.add_webhook(actor=request.membership, **form.cleaned_data)
            return _render_secret(request, webhook, secret, title="Webhook added")
    status = choose_status(form)
    return render(request, "projects/webhooks/new.html", {"form": form}, status=status)


@requires(Right.MANAGE)
@never_cache
@require_safe
def webhook_show(request: ProjectRequest, project: Project, webhook_id: int) -> HttpResponse:
    webhook = _fetch(project, webhook_id)
    state = read_word(request, "state", Delivery.State.values)
    rows = webhook.deliveries.prefetch_related("attempts").order_by("-id")
    if state:
        rows = rows.filter(state=state)
    context = {
        "webhook": webhook,
        "page": paginate(request, rows),
        "state": state,
        "states": Delivery.State.choices,
        "has_any": bool(state) or rows.exists(),
        "n_waiting": webhook.deliveries.filter(state=Delivery.State.WAITING).count(),
    }
    return render(request, "projects/webhooks/show.html", context)


@requires(Right.MANAGE)
@never_cache
@require_POST
def webhook_act(request: ProjectRequest, project: Project, webhook_id: int) -> HttpResponse:
    """Do what a button of the page says; an unknown act does nothing."""
    webhook, actor, act = _fetch(project, webhook_id), request.membership, request.POST.get("act", "")
    with refusals(request):
        if act == "test":
            delivering.send_test(webhook=webhook)
            messages.success(request, "Test queued. Reload this page in a few seconds to see the answer.")
        elif act in ("on", "off"):
            endpoints.set_active(webhook=webhook, actor=actor, is_active=act == "on")
            messages.success(request, "Webhook turned on." if act == "on" else "Webhook turned off.")
        elif act == "secret":
            secret = endpoints.renew_secret(webhook=webhook, actor=actor)
            return _render_secret(request, webhook, secret, title="New secret")
        elif act == "delete":
            endpoints.delete_webhook(webhook=webhook, actor=actor)
            messages.success(request, "Webhook deleted.")
            return redirect("projects:webhook-list", project.slug)
    return redirect("projects:webhook-show", project.slug, webhook_id)


@requires(Right.MANAGE)
@require_POST
def webhook_resend(request: ProjectRequest, project: Project, webhook_id: int, delivery_id: int) -> HttpResponse:
    delivery = get_object_or_404(_fetch(project, webhook_id).deliveries, pk=delivery_id)
    with refusals(request):
        delivering.send_again(delivery=delivery)
        messages.success(request, "Message queued. It has the same ID as before.")
    return redirect("projects:webhook-show", project.slug, webhook_id)


def _fetch(project: Project, pk: int) -> Webhook:
    return get_object_or_404(project.webhooks.select_related("project", "created_by"), pk=pk)


def _render_secret(request: ProjectRequest, webhook: Webhook, secret: str, *, title: str) -> HttpResponse:
    context: dict[str, Any] = {"webhook": webhook, "secret": secret, "title": title}
    return render(request, "projects/webhooks/secret_show.html", context)
