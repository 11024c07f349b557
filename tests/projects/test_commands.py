"""What all commands have in common: text or JSON, sentences on the way, a progress bar, refusals and exit codes."""

import json
import sys
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.commands import ReportingCommand
from projects.errors import Refused

RESULT = {"n_rows": 2, "none": [], "parts": [{"name": "a", "n": 1}, "b"], "whole": {"of": ("x", "y")}}
PLAIN: dict[str, Any] = {"no_color": True, "force_color": False}
TEXT = """Working.
n rows: 2
parts:
  - name: a
    n: 1
  - b
whole:
  of:
    - x
    - y
"""


class Command(ReportingCommand):
    def handle(self, *args: Any, **options: Any) -> None:
        self.say("Working.")
        if options.get("is_refused"):
            raise Refused("Two rows are wrong.", details=["Row 3", "Row 4"])
        self.answer(RESULT)


def run(**options: Any) -> str:
    out = StringIO()
    call_command(Command(), stdout=out, **options)
    return out.getvalue()


def test_a_result_is_printed_as_text_or_as_json_and_nothing_else() -> None:
    assert run() == TEXT
    assert json.loads(run(json=True)) == {**RESULT, "whole": {"of": ["x", "y"]}}


def test_a_refusal_is_an_error_with_its_details() -> None:
    command = Command()
    with pytest.raises(CommandError, match=r"^Two rows are wrong\.\nRow 3\nRow 4$") as refusal:
        command.execute(
            is_refused=True, json=True, no_color=True, force_color=False, skip_checks=True, stdout=StringIO()
        )
    assert refusal.value.returncode == 1


@pytest.mark.parametrize("value", ["a\x00b", ["fine", "a\x00b"], ("a\ud800b",)])
def test_characters_that_no_text_may_have_are_wrong_use(value: Any) -> None:
    with pytest.raises(CommandError, match="--some-names ") as wrong:
        Command().execute(some_names=value, **PLAIN)
    assert wrong.value.returncode == 2


@pytest.mark.parametrize(("is_terminal", "shown"), [(False, ""), (True, "1 of 4|3 of 4|4 of 4\n")])
def test_progress_is_drawn_on_a_terminal_five_times_a_second(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, shown: str
) -> None:
    err = StringIO()
    monkeypatch.setattr(err, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", err)
    times = iter([100.0, 100.1, 100.25, 100.3])
    monkeypatch.setattr("projects.commands.time.monotonic", lambda: next(times))
    command = Command(stderr=err, no_color=True)
    for done in (1, 2, 3, 4):
        command.progress(done, 4)
    drawn = [part.partition("] ")[2] for part in err.getvalue().split("\r")[1:]]
    assert "|".join(drawn) == shown
