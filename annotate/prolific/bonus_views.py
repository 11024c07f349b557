"""Managers' pages of bonuses on Prolific: entered, set up with their fees, then paid or settled by a person."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.prolific import bonuses
from annotate.prolific.calling import PlatformError
from annotate.prolific.forms import BonusForm
from annotate.prolific.views import fetch_study
from projects.access import ProjectRequest, Right, requires
from projects.models import Project
from projects.web.forms import choose_status
from projects.web.refusals import refusals


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def bonus_new(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    study = fetch_study(project, number)
    form = BonusForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form, with_details=True):
            amounts = bonuses.read_lines(study, form.cleaned_data["lines"])
            why, made = form.cleaned_data["why"], None
            try:
                made = bonuses.set_up(study=study, actor=request.membership, amounts=amounts, why=why)
            except PlatformError as error:
                messages.error(request, f"{error.message} The bonuses are stored here. Nothing was paid.")
                made = study.bonuses.order_by("-number").first()
            if made is not None:
                return redirect("annotate:prolific-bonus-show", project.slug, number, made.number)
    status = choose_status(form)
    context = {"study": study, "panel": study.panel, "form": form}
    return render(request, "annotate/prolific/bonus_new.html", context, status=status)


@requires(Right.MANAGE)
@never_cache
@require_safe
def bonus_show(request: ProjectRequest, project: Project, number: int, bonus_number: int) -> HttpResponse:
    study = fetch_study(project, number)
    bonus = get_object_or_404(study.bonuses.select_related("made_by"), number=bonus_number)
    context = {
        "study": study,
        "panel": study.panel,
        "bonus": bonus,
        "total_cents": bonus.cents + bonus.fee_cents,
        "lines": bonus.lines.select_related("annotator"),
    }
    return render(request, "annotate/prolific/bonus_show.html", context)


@requires(Right.MANAGE)
@require_POST
def bonus_act(request: ProjectRequest, project: Project, number: int, bonus_number: int) -> HttpResponse:
    """Do what a button of the page says; an unknown act does nothing."""
    study = fetch_study(project, number)
    bonus = get_object_or_404(study.bonuses.select_related("study__panel"), number=bonus_number)
    actor, act = request.membership, request.POST.get("act", "")
    with refusals(request):
        if act == "set up":
            bonuses.send_set_up(bonus=bonus, actor=actor)
            messages.success(request, "Set up. Check the amount and the fees, then pay.")
        elif act == "pay":
            bonuses.pay(bonus=bonus, actor=actor)
            messages.success(request, "Prolific has accepted the bonuses and pays them in the next minutes.")
        elif act in ("was paid", "was not paid"):
            bonuses.settle(bonus=bonus, actor=actor, was_paid=act == "was paid")
            messages.success(request, "Noted.")
        elif act == "cancel":
            bonuses.cancel(bonus=bonus, actor=actor)
            messages.success(request, "Cancelled. Nothing was paid.")
    return redirect("annotate:prolific-bonus-show", project.slug, number, bonus_number)
