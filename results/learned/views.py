"""The page of the models: which there are, whether their files are sound, and who uses them."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from measures.neural.environment import SETUP, is_installed
from measures.neural.folders import KINDS
from projects.access import SignedInRequest, creates_projects
from projects.web.refusals import refusals
from results.learned import model_registry


@creates_projects
@require_safe
def model_list(request: SignedInRequest) -> HttpResponse:
    listed = model_registry.list_registered()
    context = {
        "models": [(each, KINDS.get(getattr(each.folder, "kind", ""), "")) for each in listed],
        "n_bytes": model_registry.count_bytes(listed),
        "models_dir": settings.MODELS_DIR,
        "setup": "" if is_installed() else SETUP,
    }
    return render(request, "results/learned/model_list.html", context)


@creates_projects
@require_POST
def model_verify(request: SignedInRequest) -> HttpResponse:
    # In the form and not in the address, where the name of a folder might be read as a path.
    name = request.POST.get("name", "")
    with refusals(request):
        folder = model_registry.verify(name)
        messages.success(request, f"Every file of {folder.name} is as it was added.")
    return redirect("results:model-list")


@creates_projects
@require_POST
def model_remove(request: SignedInRequest) -> HttpResponse:
    name = request.POST.get("name", "")
    with refusals(request):
        model_registry.remove(name)
        messages.success(request, f"{name} was removed. Scores computed with it are kept.")
    return redirect("results:model-list")
