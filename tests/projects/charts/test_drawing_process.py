import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.template.loader import render_to_string

from projects.charts import drawing_process, specs
from projects.charts.drawing import Chart, draw, write
from projects.charts.drawing_process import DrawingProcess, Undrawable
from tests.characters import FORBIDDEN_CHARACTERS
from tests.processes import wait_until

BAD = FORBIDDEN_CHARACTERS + "\ud800"
SPEC = specs.bars("who", "n", title="n", axis="who")


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # whoever adopts a process may be slow to wait for it


def make_chart(name: str) -> Chart:
    return Chart("bad", f"Title {BAD}", [{"who": name, "n": 1}], SPEC)


@pytest.fixture
def process() -> Iterator[DrawingProcess]:
    made = DrawingProcess()
    yield made
    made._end()


def test_forbidden_characters_are_replaced_before_a_drawing() -> None:
    assert "a\N{REPLACEMENT CHARACTER}" in draw(make_chart(f"a{BAD}z"))
    assert "Title \N{REPLACEMENT CHARACTER}" in write(make_chart(BAD), "svg").decode()


def test_a_failure_of_the_library_ends_only_the_drawing_process(process: DrawingProcess) -> None:
    ruinous = {**SPEC, "data": {"values": [{"who": "\x01", "n": 1}]}}
    with pytest.raises(Undrawable):
        process.draw(ruinous, "svg")
    assert [process.pid] == [None]
    fine = {**SPEC, "data": {"values": [{"who": "a", "n": 1}]}}
    assert process.draw(fine, "svg").startswith(b"<svg")
    first = process.pid
    assert first
    os.kill(first, signal.SIGKILL)
    assert process.draw(fine, "png").startswith(b"\x89PNG"), "a process that was killed is replaced"
    with pytest.raises(Undrawable, match=r"."):
        process.draw({"mark": "no such mark"}, "svg")
    assert process.pid != first, "a specification that the library refuses costs no process"


def test_a_process_that_hangs_is_ended(process: DrawingProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    fine = {**SPEC, "data": {"values": [{"who": "a", "n": 1}]}}
    process.draw(fine, "svg")
    pid = process.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(drawing_process, "LIMIT_SECONDS", 1)
    monkeypatch.setattr(drawing_process, "ATTEMPTS", 1)
    with pytest.raises(Undrawable):
        process.draw(fine, "svg")
    assert not is_alive(pid)


def test_threads_share_one_process(process: DrawingProcess) -> None:
    drawn: dict[int, bytes] = {}

    def one(number: int) -> None:
        drawn[number] = process.draw({**SPEC, "data": {"values": [{"who": f"bar {number}", "n": 1}]}}, "svg")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"bar {number}" in drawn[number].decode() for number in range(6))


def test_a_page_says_that_a_chart_could_not_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fail(spec: object, form: str) -> bytes:
        tried.append(form)
        raise Undrawable("It ended.")

    monkeypatch.setattr(drawing_process.drawing_process, "draw", fail)
    chart = make_chart("a chart that fails")
    page = render_to_string("projects/charts/_drawing.html", {"chart": chart})
    assert "This chart could not be drawn." in page
    assert "<svg" not in page
    assert draw(chart) == ""
    assert tried == ["svg"], "it is not tried again at once"


def test_the_process_ends_with_its_parent_and_a_fork_has_its_own() -> None:
    program = """
        import os
        from projects.charts.drawing_process import drawing_process as process
        spec = {"mark": "point", "data": {"values": [{}]}}
        process.draw(spec, "svg")
        print(process.pid, flush=True)
        child = os.fork()
        if not child:
            assert [process.pid] == [None]
            process.draw(spec, "svg")
            print(process.pid, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        process.draw(spec, "svg")
        print(process.pid, flush=True)
        os.kill(os.getpid(), 9)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    first, forked, again = map(int, ran.stdout.split())
    assert first == again != forked
    assert ran.returncode == -signal.SIGKILL
    wait_until(lambda: not is_alive(first) and not is_alive(forked))
