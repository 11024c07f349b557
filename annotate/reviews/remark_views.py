"""Comments and flags: what annotators flagged, commented on or could not judge."""

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from annotate.models import Batch, Remark
from annotate.models.batch import find_batch_ids
from annotate.reviews import remarks
from projects.access import ProjectRequest, Right, requires
from projects.models import Project
from projects.web.lists import TALL_PAGE_SIZE, paginate, read_text, read_word
from projects.web.whole_numbers import parse_whole_number

KINDS = {
    "flag": ("Flags", Q(is_flagged=True)),
    "comment": ("Comments", ~Q(comment="")),
    "cannot": ("Can’t be judged", ~Q(cannot_judge_reason="")),
}
STATES = {
    "open": ("Open", Q(resolved_at=None)),
    "resolved": ("Resolved", Q(resolved_at__isnull=False)),
    "all": ("All", Q()),
}


@requires(Right.READ)
@require_safe
def remark_list(request: ProjectRequest, project: Project) -> HttpResponse:
    kind = read_word(request, "kind", KINDS)
    state = read_word(request, "state", STATES, "open")
    batch = read_text(request, "batch")
    query = read_text(request, "q")
    everything = Remark.objects.filter(assignment__hit__batch__in=find_batch_ids(project))
    found = everything.filter(STATES[state][1]).filter(KINDS[kind][1] if kind else Q())
    if (number := parse_whole_number(batch)) is not None:
        found = found.filter(assignment__hit__batch__number=number)
    if query:
        found = found.filter(
            Q(comment__icontains=query)
            | Q(cannot_judge_reason__icontains=query)
            | Q(item__candidate__external_id=query)
            | Q(assignment__annotator__pseudonym=query)
        )
    rows = found.select_related(
        "assignment__annotator",
        "assignment__hit__batch",
        "assignment__hit__passage",
        "item__question",
        "item__candidate",
    ).order_by("-pk")
    context = {
        "page": paginate(request, rows, TALL_PAGE_SIZE),
        "kind": kind,
        "state": state,
        "batch_number": batch,
        "q": query,
        "kinds": [(key, label) for key, (label, _found) in KINDS.items()],
        "states": [(key, label) for key, (label, _found) in STATES.items()],
        "batches": Batch.objects.filter(project=project).collecting().as_choices(),
        "has_any": everything.exists(),
        "can_manage": request.membership.can_manage,
    }
    return render(request, "annotate/reviews/remark_list.html", context)


@requires(Right.MANAGE)
@require_POST
def remark_resolve(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    """Resolve a comment, or reopen it, as the button says."""
    remark = get_object_or_404(Remark, pk=pk, assignment__hit__batch__project=project)
    if request.POST.get("again"):
        if remarks.reopen_remark(project=project, actor=request.membership, remark=remark):
            messages.success(request, "Reopened.")
    elif remarks.resolve(project=project, actor=request.membership, remark=remark):
        messages.success(request, "Resolved.")
    back = request.POST.get("next", "")
    # Back to the same filter and page, but never to another site: only a path is accepted.
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/"):
        return redirect(back)
    return redirect("annotate:remark-list", project.slug)
