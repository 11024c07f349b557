"""The texts that annotators read, instructions and consent: written, looked at, saved as new versions."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from projects import markdown, revising, rubrics
from projects.access import ProjectRequest, Right, requires
from projects.errors import Refused
from projects.examples import MOST_EXAMPLES, Example
from projects.forms.texts import BaseExampleFormSet, ConsentForm, ExampleForm, ExampleFormSet, InstructionsForm
from projects.models import Instructions, Project
from projects.rubrics import CriterionOnPage

PREFIX = "examples"


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def instructions_edit(request: ProjectRequest, project: Project) -> HttpResponse:
    current, criteria = revising.current_instructions(project), _criteria(project)
    start = {"text": current.text if current else "", "based_on": current.version if current else 0}
    form = InstructionsForm(request.POST if request.method == "POST" else None, initial=start)
    examples = _examples(current, criteria, request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"current": current, "versions": project.instructions.all(), "criteria": criteria}
    is_valid = request.method == "POST" and form.is_valid() and (not examples.is_bound or examples.is_valid())
    if is_valid and "add" not in request.POST:
        text, kept = form.cleaned_data["text"], examples.kept() if examples.is_bound else None
        if "preview" in request.POST:
            context |= {"preview": markdown.render(text), "shown_examples": shown(kept or (), criteria)}
        else:
            based_on = form.cleaned_data["based_on"]
            try:
                made = revising.revise_instructions(
                    project=project, actor=request.membership, text=text, based_on=based_on, examples=kept
                )
            except Refused as refusal:
                form = InstructionsForm({"text": text, "based_on": start["based_on"]})
                form.add_error(None, refusal.message)
            else:
                messages.success(
                    request,
                    _("Version %(version)s is saved. Batches made from now on show it.") % {"version": made.version},
                )
                return redirect("projects:instructions-edit", project.slug)
    return render(request, "projects/instructions_edit.html", {**context, "form": form, "examples": examples})


@requires(Right.READ)
@require_safe
def instructions_show(request: ProjectRequest, project: Project, version: int) -> HttpResponse:
    instructions = get_object_or_404(project.instructions, version=version)
    context = {
        "what": _("Instructions"),
        "edit_name": "projects:instructions-edit",
        "text": instructions,
        "html": markdown.render(instructions.text),
        "shown_examples": shown(Example.read_all(instructions.examples), _criteria(project)),
    }
    return render(request, "projects/text_show.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def consent_edit(request: ProjectRequest, project: Project) -> HttpResponse:
    current = revising.current_consent(project)
    start = {"text": current.text if current else "", "based_on": current.version if current else 0}
    form = ConsentForm(request.POST if request.method == "POST" else None, initial=start)
    context: dict[str, Any] = {"current": current, "versions": project.consents.all()}
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        if "preview" in request.POST:
            context["preview"] = markdown.render(text)
        else:
            based_on = form.cleaned_data["based_on"]
            try:
                made = revising.revise_consent(project=project, actor=request.membership, text=text, based_on=based_on)
            except Refused as refusal:
                form = ConsentForm({"text": text, "based_on": start["based_on"]})
                form.add_error(None, refusal.message)
            else:
                messages.success(
                    request,
                    _("Version %(version)s is saved. Batches made from now on ask for it.") % {"version": made.version},
                )
                return redirect("projects:consent-edit", project.slug)
    return render(request, "projects/consent_edit.html", {**context, "form": form})


@requires(Right.READ)
@require_safe
def consent_show(request: ProjectRequest, project: Project, version: int) -> HttpResponse:
    consent = get_object_or_404(project.consents, version=version)
    context = {
        "what": _("Consent"),
        "edit_name": "projects:consent-edit",
        "text": consent,
        "html": markdown.render(consent.text),
    }
    return render(request, "projects/text_show.html", context)


def shown(examples: Sequence[Example], criteria: Sequence[CriterionOnPage]) -> list[tuple[Example, Any]]:
    """Each example with its ratings as a page says them."""
    return [(example, example.rated(criteria)) for example in examples]


def _criteria(project: Project) -> tuple[CriterionOnPage, ...]:
    rubric = rubrics.current_rubric(project)
    return rubrics.criteria_of(rubric) if rubric is not None else ()


def _examples(
    current: Instructions | None, criteria: Sequence[CriterionOnPage], sent: QueryDict | None
) -> BaseExampleFormSet:
    """The examples as sent, with an empty one at the end where one is asked for, or those of the current version."""
    form_kwargs = {"criteria": criteria}
    if sent is None or f"{PREFIX}-TOTAL_FORMS" not in sent:
        stored = Example.read_all(current.examples) if current is not None else []
        initial = [ExampleForm.initial_of(example, criteria) for example in stored]
        return ExampleFormSet(prefix=PREFIX, initial=initial, form_kwargs=form_kwargs)
    data = sent.copy()
    if "add" in sent:
        n_forms = ExampleFormSet(sent, prefix=PREFIX, form_kwargs=form_kwargs).total_form_count()
        data[f"{PREFIX}-TOTAL_FORMS"] = str(min(n_forms + 1, MOST_EXAMPLES))
    return ExampleFormSet(data, prefix=PREFIX, form_kwargs=form_kwargs)
