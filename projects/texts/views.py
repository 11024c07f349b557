"""Pages of the instructions and the consent form: editing, previewing and reading their versions."""

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.errors import Refused
from projects.models import Consent, Instructions, Project
from projects.rubric.rubrics import CriterionOnPage
from projects.texts import markdown, versions
from projects.texts.examples import MOST_EXAMPLES, Example
from projects.texts.forms import BaseExampleFormSet, ConsentForm, ExampleForm, ExampleFormSet, InstructionsForm
from projects.web.forms import add_row, choose_status, count_wrong_fields

PREFIX = "examples"

V = TypeVar("V", Instructions, Consent)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def instructions_edit(request: ProjectRequest, project: Project) -> HttpResponse:
    current, criteria = versions.current_instructions(project), versions.read_current_criteria(project)
    form = InstructionsForm(request.POST if request.method == "POST" else None, initial=_start(current))
    examples = _examples(current, criteria, request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"current": current, "versions": project.instructions.all(), "criteria": criteria}
    if request.method == "POST" and "add" not in request.POST and form.is_valid():
        are_valid = not examples.is_bound or examples.is_valid()
        kept = examples.kept() if examples.is_bound and are_valid else None
        if "preview" in request.POST:
            # The text also beside examples with errors, such as the missing ratings on a new criterion.
            preview = markdown.render(form.cleaned_data["text"])
            context |= {"preview": preview, "shown_examples": _pair_with_ratings(kept or (), criteria)}
        elif are_valid:
            save = partial(versions.revise_instructions, project=project, actor=request.membership, examples=kept)
            if saved := _save(form, current, save):
                messages.success(request, f"Version {saved.version} saved. New batches will show it.")
                return redirect("projects:instructions-edit", project.slug)
    # Whoever adds an example has not tried to save the others yet.
    is_wrong = bool("add" not in request.POST and (form.errors or (examples.is_bound and examples.total_error_count())))
    n_errors = count_wrong_fields(form, examples) if is_wrong else 0
    context |= {"form": form, "examples": examples, "n_errors": n_errors}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "projects/texts/instructions_edit.html", context, status=status)


@requires(Right.READ)
@require_safe
def instructions_show(request: ProjectRequest, project: Project, version: int) -> HttpResponse:
    instructions = get_object_or_404(project.instructions, version=version)
    context = {
        "what": "Instructions",
        "edit_name": "projects:instructions-edit",
        "text": instructions,
        "html": markdown.render(instructions.text),
        "shown_examples": _pair_with_ratings(
            Example.read_all(instructions.examples), versions.read_current_criteria(project)
        ),
    }
    return render(request, "projects/texts/show.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def consent_edit(request: ProjectRequest, project: Project) -> HttpResponse:
    current = versions.current_consent(project)
    form = ConsentForm(request.POST if request.method == "POST" else None, initial=_start(current))
    context: dict[str, Any] = {"current": current, "versions": project.consents.all()}
    if request.method == "POST" and form.is_valid():
        if "preview" in request.POST:
            context["preview"] = markdown.render(form.cleaned_data["text"])
        elif saved := _save(form, current, partial(versions.revise_consent, project=project, actor=request.membership)):
            messages.success(request, f"Version {saved.version} saved. New batches will ask for it.")
            return redirect("projects:consent-edit", project.slug)
    status = choose_status(form)
    return render(request, "projects/texts/consent_edit.html", {**context, "form": form}, status=status)


@requires(Right.READ)
@require_safe
def consent_show(request: ProjectRequest, project: Project, version: int) -> HttpResponse:
    consent = get_object_or_404(project.consents, version=version)
    context = {
        "what": "Consent",
        "edit_name": "projects:consent-edit",
        "text": consent,
        "html": markdown.render(consent.text),
    }
    return render(request, "projects/texts/show.html", context)


def _pair_with_ratings(examples: Sequence[Example], criteria: Sequence[CriterionOnPage]) -> list[tuple[Example, Any]]:
    """Return each example with its ratings as pages show them."""
    return [(example, example.rated(criteria)) for example in examples]


def _start(current: Instructions | Consent | None) -> dict[str, Any]:
    return {"text": current.text if current else "", "based_on": current.version if current else 0}


def _save(form: Form, current: V | None, save: Callable[..., V]) -> V | None:
    """Return the new version, or None if it was refused.

    The form then shows the reason and is based on the current version, so that sending it again replaces that one.
    """
    try:
        return save(text=form.cleaned_data["text"], based_on=form.cleaned_data["based_on"])
    except Refused as refusal:
        form.data = {**form.cleaned_data, "based_on": current.version if current else 0}
        form.add_error(None, refusal.message)
    return None


def _examples(
    current: Instructions | None, criteria: Sequence[CriterionOnPage], sent: QueryDict | None
) -> BaseExampleFormSet:
    """Return the examples as sent, with an empty one at the end if “add” was pressed; else those of the version."""
    form_kwargs = {"criteria": criteria}
    if sent is None or f"{PREFIX}-TOTAL_FORMS" not in sent:
        stored = Example.read_all(current.examples) if current is not None else []
        initial = [ExampleForm.make_initial(example, criteria) for example in stored]
        return ExampleFormSet(prefix=PREFIX, initial=initial, form_kwargs=form_kwargs)
    # Works without JavaScript: the server adds the form and returns everything that was typed.
    if "add" in sent:
        n = ExampleFormSet(sent, prefix=PREFIX, form_kwargs=form_kwargs).total_form_count()
        sent = add_row(sent, PREFIX, ExampleForm, n=n, most=MOST_EXAMPLES)
    return ExampleFormSet(sent, prefix=PREFIX, form_kwargs=form_kwargs)
