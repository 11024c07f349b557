"""The file of a payment: amounts by annotator, with the names needed to send the money."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from annotate.models import Payment
from annotate.payments.ledger import format_dollars
from projects import access, log
from projects.database.csv import Value, format_row, guard_text
from projects.models import Act, Membership

CURRENCY = "USD"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
"""The media type of Excel files."""
HEAD = (
    *("payment", "annotator", "kind", "username", "name", "email", "hits", "cents", "amount", "currency"),
    *("panel", "participant"),
)

# One line for each annotator whose share is above 0; for a share of 0 no money is sent. LEFT JOIN, because imported and
# simulated annotators have no account.
#
# The pay of a HIT that was rejected unpaid is taken back by an entry of its own, in the same payment or a later one.
#
# Who came by a panel has no name here but the platform's id of them, by which the platform or the institution pays. The
# panel they joined last is the one they belong to.
_LINES = """
SELECT m.pseudonym, m.kind, coalesce(u.username, ''), concat_ws(' ', nullif(u.first_name, ''), nullif(u.last_name, '')),
       coalesce(u.email, ''), count(*) FILTER (WHERE e.is_work AND e.cents > 0),
       count(*) FILTER (WHERE e.is_work AND e.cents <= 0 AND e.is_taken_back), sum(e.cents),
       coalesce(p.name, ''), coalesce(p.external_id, '')
FROM (SELECT annotator_id, assignment_id IS NOT NULL AS is_work, sum(cents) AS cents, min(cents) < 0 AS is_taken_back
      FROM annotate_ledgerentry WHERE payment_id = %s GROUP BY annotator_id, assignment_id) e
JOIN projects_membership m ON m.id = e.annotator_id
LEFT JOIN projects_user u ON u.id = m.user_id
LEFT JOIN LATERAL (
    SELECT panel.name, known.external_id
    FROM annotate_panelparticipant known JOIN annotate_panel panel ON panel.id = known.panel_id
    WHERE known.membership_id = m.id ORDER BY known.joined_at DESC, known.id DESC LIMIT 1
) p ON TRUE
GROUP BY m.id, u.id, p.name, p.external_id HAVING sum(e.cents) > 0 ORDER BY m.pseudonym
"""


@dataclass(frozen=True)
class PaymentLine:
    """One annotator's amount in a payment. Names are personal data, which only managers see."""

    pseudonym: str
    kind: str
    username: str
    name: str
    email: str
    n_hits: int
    """HITs that the payment pays."""
    n_rejected_unpaid: int
    """HITs that were rejected unpaid: the payment pays nothing for them, or deducts what an earlier one paid."""
    cents: int
    panel: str
    """The panel by which the annotator came, or ""."""
    participant: str
    """The ID of the annotator on the panel's platform."""


def list_lines(payment: Payment) -> list[PaymentLine]:
    with connection.cursor() as cursor:
        cursor.execute(_LINES, [payment.pk])
        return [PaymentLine(*row) for row in cursor.fetchall()]


@transaction.atomic
def write_file(*, payment: Payment, actor: Membership) -> str:
    """Return the payment as CSV, safe for spreadsheets; every download is recorded in the audit log."""
    rows: list[Sequence[Value]] = [HEAD]
    for line in _take_lines(payment, actor):
        # People choose these themselves, so they may begin with a formula.
        *names, panel = [guard_text(text) for text in (line.username, line.name, line.email, line.panel)]
        # A plain number: a payment service would not read the sign or the commas that pages show.
        amount = format_dollars(line.cents).removeprefix("$").replace(",", "")
        amounts = (line.n_hits, line.cents, amount, CURRENCY)
        rows.append([payment.number, line.pseudonym, line.kind, *names, *amounts, panel, line.participant])
    return "".join(format_row(row) for row in rows)


@transaction.atomic
def write_workbook(*, payment: Payment, actor: Membership) -> bytes:
    """Return the payment as an Excel file; every download is recorded in the audit log.

    In much of Europe a spreadsheet that opens CSV takes 1.98 for a date and breaks letters such as ü. Here amounts are
    numbers and names are texts in any language, formulas among them.
    """
    # Loaded here, since few processes ever write one.
    from openpyxl import Workbook
    from openpyxl.cell import Cell, WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    def make_text(text: str) -> Cell:
        cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text))
        cell.data_type = "s"  # no spreadsheet calculates it, whatever it begins with
        return cell

    book = Workbook(write_only=True)
    sheet = book.create_sheet(f"Payment {payment.number}")
    sheet.append(HEAD)
    for line in _take_lines(payment, actor):
        texts = [make_text(text) for text in (line.pseudonym, line.kind, line.username, line.name, line.email)]
        amount = WriteOnlyCell(sheet, line.cents / 100)
        amount.number_format = "0.00"
        origin = [make_text(text) for text in (line.panel, line.participant)]
        sheet.append([payment.number, *texts, line.n_hits, line.cents, amount, CURRENCY, *origin])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def file_name(payment: Payment, ending: str = "csv") -> str:
    return f"{payment.project.slug}-payment-{payment.number}.{ending}"


def _take_lines(payment: Payment, actor: Membership) -> list[PaymentLine]:
    """Return the lines of a payment for a file, and record that it was downloaded."""
    access.lock_actor(actor)
    lines = list_lines(payment)
    log.record(
        payment.project,
        actor,
        Act.DOWNLOAD_PAYMENT,
        payment,
        after={"annotators": len(lines), "cents": payment.cents, "names": True},
    )
    return lines
