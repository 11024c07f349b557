"""The command of pay: balances as text and JSON, and a payment with its file."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotate.models import LedgerEntry, Payment
from projects.models import LogEntry, Membership
from tests.annotate.payments.paid_work import earn, paid_batch, submitted
from tests.factories import make_membership

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("payments", "--project", "bridges", *arguments, stdout=out)
    return out.getvalue()


def test_balances_are_shown_as_text_and_as_json(annotator: Membership) -> None:
    submitted(annotator, paid_batch(annotator.project), seconds=600)
    earn(annotator, 1_000, is_approved=True)
    earn(make_membership(annotator.project, pseudonym="zz-last"), 20, is_approved=True)
    text = run()
    assert len({len(line) for line in text.splitlines()}) == 1, "the columns are aligned"
    assert text.splitlines()[2].endswith("too little time")
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["zz-last", "total"]
    assert [line.split() for line in text.splitlines()][1] == [
        *(annotator.pseudonym, "1", "0", "$0.40", "$10.00", "$0.00", "$2.40"),
    ]
    answer: dict[str, Any] = json.loads(run("--json"))
    assert answer["owed_cents"] == 40
    assert answer["annotators"][0]["approved_cents"] == 1_000
    assert answer["stages"]["full"] == {
        "owed_cents": 40,
        "approved_cents": 0,
        "paid_cents": 0,
        "hits": 1,
        "hits_rejected_unpaid": 0,
        "cents_per_hour": 240,
    }
    assert "anna" not in text


def test_a_payment_writes_its_file(manager: Membership, annotator: Membership, tmp_path: Path) -> None:
    earn(annotator, 250, is_approved=True)
    path = tmp_path / "pay.csv"
    answer = json.loads(run("--pay", "--by", "mara", "--output", str(path), "--json"))
    assert (answer["payment"], answer["cents"], answer["annotators"]) == (1, 250, 1)
    with path.open() as file:
        assert [row["username"] for row in csv.DictReader(file)] == ["anna"]
    assert [path.name for path in tmp_path.iterdir()] == ["pay.csv"]
    assert path.stat().st_mode & 0o077 == 0, "the file names people"
    assert list(LogEntry.objects.order_by("pk").values_list("act", flat=True)) == ["make payment", "download payment"]
    with pytest.raises(CommandError, match="No approved pay"):
        run("--pay", "--by", "mara", "--output", str(tmp_path / "again.csv"))
    assert not (tmp_path / "again.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--pay",), 2),
        (("--pay", "--by", "mara"), 2),
        (("--pay", "--output", "x.csv"), 2),
        (("--output", "x.csv"), 2),
        (("--by", "mara"), 2),
        (("--pay", "--by", "nobody", "--output", "x.csv"), 1),
        (("--pay", "--by", "anna", "--output", "x.csv"), 1),
        (("--pay", "--by", "mara", "--output", "no/such/folder/x.csv"), 1),
        (("--pay", "--by", "mara", "--output", "."), 1),
        (("--pay", "--by", "mara", "--output", ""), 2),
        (("--note", "bank transfer"), 2),
    ],
)
def test_wrong_use_pays_nothing(
    manager: Membership,
    annotator: Membership,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    earn(annotator, 250, is_approved=True)
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert caught.value.returncode == code
    assert not Payment.objects.exists()
    assert LedgerEntry.objects.get().payment is None
    assert list(tmp_path.iterdir()) == []
