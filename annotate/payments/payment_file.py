"""The file of a payment: amounts by annotator, with the names needed to send the money."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from annotate.models import Payment
from annotate.payments.ledger import format_dollars
from projects import access, log
from projects.database.csv import Value, format_row, guard_text
from projects.models import Act, Membership

CURRENCY = "USD"
HEAD = ("payment", "annotator", "kind", "username", "name", "email", "hits", "cents", "amount", "currency")

# One line for each annotator whose share is above 0; for a share of 0 no money is sent. LEFT JOIN, because imported and
# simulated annotators have no account.
#
# The pay of a HIT that was rejected unpaid is taken back by an entry of its own, in the same payment or a later one.
_LINES = """
SELECT m.pseudonym, m.kind, coalesce(u.username, ''), concat_ws(' ', nullif(u.first_name, ''), nullif(u.last_name, '')),
       coalesce(u.email, ''), count(*) FILTER (WHERE e.is_work AND e.cents > 0),
       count(*) FILTER (WHERE e.is_work AND e.cents <= 0 AND e.is_taken_back), sum(e.cents)
FROM (SELECT annotator_id, assignment_id IS NOT NULL AS is_work, sum(cents) AS cents, min(cents) < 0 AS is_taken_back
      FROM annotate_ledgerentry WHERE payment_id = %s GROUP BY annotator_id, assignment_id) e
JOIN projects_membership m ON m.id = e.annotator_id
LEFT JOIN projects_user u ON u.id = m.user_id
GROUP BY m.id, u.id HAVING sum(e.cents) > 0 ORDER BY m.pseudonym
"""


@dataclass(frozen=True)
class Line:
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


def list_lines(payment: Payment) -> list[Line]:
    with connection.cursor() as cursor:
        cursor.execute(_LINES, [payment.pk])
        return [Line(*row) for row in cursor.fetchall()]


@transaction.atomic
def write_file(*, payment: Payment, actor: Membership) -> str:
    """Return the payment as CSV, safe for spreadsheets; every download is recorded in the audit log."""
    access.lock_actor(actor)
    lines = list_lines(payment)
    log.record(
        payment.project,
        actor,
        Act.DOWNLOAD_PAYMENT,
        payment,
        after={"annotators": len(lines), "cents": payment.cents, "names": True},
    )
    rows: list[Sequence[Value]] = [HEAD, *(_list_cells(payment, line) for line in lines)]
    return "".join(format_row(row) for row in rows)


def file_name(payment: Payment) -> str:
    return f"{payment.project.slug}-payment-{payment.number}.csv"


def _list_cells(payment: Payment, line: Line) -> Sequence[Value]:
    # People choose these three themselves, so they may begin with a formula.
    names = [guard_text(text) for text in (line.username, line.name, line.email)]
    # A plain number: a payment service would not read the sign or the commas that pages show.
    amount = format_dollars(line.cents).removeprefix("$").replace(",", "")
    return [payment.number, line.pseudonym, line.kind, *names, line.n_hits, line.cents, amount, CURRENCY]
