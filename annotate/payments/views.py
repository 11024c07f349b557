"""Managers' pages of pay: balances, bonuses and adjustments, payments and their files."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Payment
from annotate.payments import ledger, panel_comparison, paying
from annotate.payments import payment_file as payment_files
from annotate.payments.entries_page import render_entries, require_paying
from annotate.payments.forms import EntryForm, PaymentForm
from annotate.payments.ledger import Balance, Sums
from annotate.payments.panel_pay import pays_by_panels
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.downloads import download_headers
from projects.language.amounts import format_money, plural
from projects.models import Act, LogEntry, Membership, Project
from projects.web.lists import paginate, read_sort, read_text, read_word, split_sort
from projects.web.previews import Preview
from projects.web.refusals import refusals

COLUMNS: dict[str, Callable[[Balance], Any]] = {
    "annotator": lambda balance: balance.pseudonym,
    "hits": lambda balance: balance.sums.n_hits,
    "owed": lambda balance: balance.sums.owed,
    "approved": lambda balance: balance.sums.approved,
    "paid": lambda balance: balance.sums.paid,
    "total": lambda balance: balance.sums.total,
    "hourly": lambda balance: balance.sums.hourly.cents_per_hour or 0,
}
FILTERS: dict[str, tuple[str, Callable[[Balance, int | None], bool]]] = {
    "owed": ("awaiting approval", lambda balance, _: balance.sums.owed != 0),
    "approved": ("approved, not yet paid", lambda balance, _: balance.sums.approved > 0),
    "debt": ("negative balance", lambda balance, _: balance.sums.approved < 0 or balance.sums.unpaid < 0),
    "gone": ("deleted account, not settled", lambda balance, _: balance.is_erased and balance.sums.unpaid != 0),
    "under": ("hourly rate below minimum", lambda balance, floor: balance.sums.hourly.is_under(floor)),
}


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def payment_list(request: ProjectRequest, project: Project) -> HttpResponse:
    require_paying(project)
    return _render_list(request, project)


@requires(Right.MANAGE)
@require_POST
def payment_make(request: ProjectRequest, project: Project) -> HttpResponse:
    require_paying(project)
    form = PaymentForm(request.POST)
    if not form.is_valid():
        # The note is the only field that a person fills in. Anything else is a page that was tampered with or cut off.
        if set(form.errors) == {"note"}:
            return _render_list(request, project, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        messages.error(request, "The form was incomplete, so nothing was recorded. Try again.")
        return redirect("annotate:payment-list", project.slug)
    with refusals(request):
        payment = paying.make_payment(project=project, actor=request.membership, **form.cleaned_data)
        messages.success(request, f"Payment {payment.number} recorded. Download its file to send the money.")
        return redirect("annotate:payment-show", project.slug, payment.number)
    return redirect("annotate:payment-list", project.slug)


@requires(Right.MANAGE)
@require_POST
def payment_approve(request: ProjectRequest, project: Project) -> HttpResponse:
    require_paying(project)
    with refusals(request):
        with transaction.atomic():
            n, cents = paying.approve_waiting(project=project, actor=request.membership)
            # What was approved is compared: an entry may arrive until the moment that the act locks them.
            if n:
                _preview_approval(project, n, cents).require_confirmed(request)
        text = plural(n, "{n} entry approved, {sum} in total.", "{n} entries approved, {sum} in total.")
        text = text.format(n=n, sum=format_money(cents))
        messages.success(request, text if n else "Nothing was awaiting approval any more.")
    return redirect("annotate:payment-list", project.slug)


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def panel_payments(request: ProjectRequest, project: Project) -> HttpResponse:
    """Compare what is owed to panels' participants with what the platforms say."""
    require_paying(project)
    found = panel_comparison.list_differences(project)
    sums = panel_comparison.sum_by_panel(project)
    context = {
        "sums": sums,
        "has_unfloored": project.hourly_floor_cents and any(each.panel.currency != "USD" for each in sums),
        "page": paginate(request, found),
        "n_differences": len(found),
    }
    return render(request, "annotate/payments/panels.html", context)


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def payment_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    payment = _fetch_payment(project, number)
    lines = payment_files.list_lines(payment)
    downloads = LogEntry.objects.filter(
        project=project, act=Act.DOWNLOAD_PAYMENT, object_type="payment", object_id=str(payment.pk)
    ).select_related("actor")
    context = {"payment": payment, "page": paginate(request, lines), "downloads": downloads[:20]}
    return render(request, "annotate/payments/show.html", context)


@requires(Right.MANAGE)
@require_POST
def payment_file(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Download a payment with names, as CSV or as an Excel file."""
    payment = _fetch_payment(project, number)
    with refusals(request):
        if request.POST.get("form") == "xlsx":
            book = payment_files.write_workbook(payment=payment, actor=request.membership)
            headers = download_headers(payment_files.file_name(payment, "xlsx"))
            return HttpResponse(book, content_type=payment_files.XLSX, headers=headers)
        content = payment_files.write_file(payment=payment, actor=request.membership)
        headers = download_headers(payment_files.file_name(payment))
        return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)
    return redirect("annotate:payment-show", project.slug, number)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def ledger_show(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    """Show one annotator's entries, and the form that adds one."""
    member = get_object_or_404(project.memberships, pseudonym=pseudonym)
    require_paying(project)
    if request.method != "POST":
        return _render_ledger(request, member, EntryForm())
    form = EntryForm(request.POST)
    if form.is_valid():
        with refusals(request, form):
            sent = form.cleaned_data
            unpaid = paying.sum_unpaid(member)
            debt = Preview("debt", member, [sent["kind"], sent["cents"]], unpaid)
            # A debt is allowed only as the page showed it: with another amount or balance, the form asks again. The
            # balance is compared once more under the lock.
            is_allowed = sent.pop("allow_debt") and debt.is_confirmed(request)
            try:
                added = paying.add_entry(
                    actor=request.membership,
                    annotator=member,
                    confirmed_balance=unpaid if is_allowed else None,
                    **sent,
                )
            except paying.NegativeBalance as refusal:
                form.ask_for_debt(refusal.message)
                debt = replace(debt, numbers=refusal.unpaid)
                return _render_ledger(request, member, form, debt, status=HTTPStatus.UNPROCESSABLE_ENTITY)
            else:
                kind, cents = str(added.entry.get_kind_display()).capitalize(), format_money(added.entry.cents)
                done = "added to the ledger" if added.is_new else "was already in the ledger"
                messages.success(request, f"{kind} of {cents} {done}.")
                return redirect("annotate:ledger-show", project.slug, pseudonym)
    return _render_ledger(request, member, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


def _render_list(
    request: ProjectRequest, project: Project, form: PaymentForm | None = None, status: int = 200
) -> HttpResponse:
    found = ledger.list_balances(project)
    due = ledger.find_payable(found)
    floor = project.hourly_floor_cents
    last = Payment.objects.filter(project=project).first()
    waiting = ledger.sum_waiting(project)
    wanted = _read_filters(request)
    shown = _filter_balances(found, wanted, floor)
    # Sent back with the button, so that a payment is refused if anything has changed since this page was shown.
    seen = {"seen_cents": due.cents, "seen_number": last.number if last else 0}
    context = {
        **wanted,
        "page": paginate(request, shown),
        "total": sum((balance.sums for balance in found), Sums()),
        "filtered_total": sum((balance.sums for balance in shown), Sums()),
        "has_any": bool(found),
        "under_floor": [balance for balance in found if balance.sums.hourly.is_under(floor)],
        "filters": [(key, label) for key, (label, _fits) in FILTERS.items() if key != "under" or floor],
        "standings": Membership.Standing.choices,
        "stages": ledger.sum_by_stage(project),
        "due": due,
        "form": form or PaymentForm(initial=seen),
        "waiting": waiting,
        "approval": _preview_approval(project, waiting.n, waiting.cents),
        "payments": project.payments.select_related("made_by"),
        "pays_by_panels": pays_by_panels(project),
    }
    return render(request, "annotate/payments/list.html", context, status=status)


def _preview_approval(project: Project, n: int, cents: int) -> Preview:
    return Preview("approve pay", project, numbers=[n, cents])


def _read_filters(request: ProjectRequest) -> dict[str, str]:
    return {
        "sort": read_sort(request, COLUMNS, "annotator"),
        "show": read_word(request, "show", FILTERS),
        "standing": read_word(request, "standing", Membership.Standing.values),
        "q": read_text(request, "q"),
    }


def _filter_balances(found: list[Balance], wanted: dict[str, str], floor: int | None) -> list[Balance]:
    if wanted["show"]:
        found = [balance for balance in found if FILTERS[wanted["show"]][1](balance, floor)]
    if wanted["standing"]:
        found = [balance for balance in found if balance.standing == wanted["standing"]]
    if wanted["q"]:
        found = [balance for balance in found if wanted["q"].lower() in balance.pseudonym]
    column, is_descending = split_sort(wanted["sort"])
    return sorted(found, key=COLUMNS[column], reverse=is_descending)


def _render_ledger(
    request: ProjectRequest, member: Membership, form: EntryForm, debt: Preview | None = None, *, status: int = 200
) -> HttpResponse:
    context = {"member": member, "form": form, "debt": debt}
    return render_entries(request, member, "annotate/payments/ledger_show.html", context, status)


def _fetch_payment(project: Project, number: int) -> Payment:
    return get_object_or_404(project.payments.select_related("project", "made_by"), number=number)
