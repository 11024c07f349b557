"""What a million judgments may cost, measured by the benchmarks and held in `make soak`: seconds, megabytes, bytes."""

import re
import subprocess
import sys

import pytest

from config import env

pytestmark = [pytest.mark.drill, pytest.mark.race]


def measure(name: str, *arguments: str) -> str:
    """Run a benchmark on databases of its own, and return what it prints."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, cwd=env.BASE_DIR, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


def find_numbers(pattern: str, text: str) -> list[tuple[float, ...]]:
    """Return the numbers of every match, of which there must be one."""
    found = [tuple(float(number.replace(",", "")) for number in each.groups()) for each in re.finditer(pattern, text)]
    assert found, text
    return found


def test_a_hundred_thousand_rows_are_imported_in_a_minute_and_little_memory() -> None:
    found = measure("import_candidates", "--sizes", "100000", "--rounds", "1")
    ((seconds, megabytes),) = find_numbers(r"import +([\d.]+) s .* peak ([\d,]+) MB", found)
    assert seconds <= 60
    assert megabytes <= 300


def test_a_million_judgments_are_exported_in_two_minutes_and_little_memory() -> None:
    found = measure("export", "--scale", "1000000")
    rows = find_numbers(r"1,000,000 +(?:long|jsonl|aggregated|mocha) +([\d.]+) +[\d,]+ +(\d+)", found)
    assert len(rows) == 4
    assert max(seconds for seconds, _ in rows) <= 120
    assert max(megabytes for _, megabytes in rows) <= 200


def test_pages_of_a_million_judgments_open_in_a_second_and_a_half() -> None:
    """Once their figures are computed, which a job does when somebody asks for them."""
    found = measure("pages", "--scale", "1000000", "--all")
    pages = find_numbers(r"(?m)^  /p/bench/\S* +(\d+\.\d+) s ", found)
    assert len(pages) >= 150
    assert max(pages) <= (1.5,)


def test_a_claim_takes_as_long_in_a_batch_of_four_hundred_thousand_items_and_with_a_long_history() -> None:
    """Measured in turns, from 40 HITs to 40,000 and from nothing submitted before to 10,000 HITs."""
    growths = find_numbers(r"growth with the \w+: p95 of a claim ([\d.]+), of a submit ([\d.]+)", measure("claims"))
    assert len(growths) == 2
    assert max(max(each) for each in growths) <= 1.5


def test_the_first_page_of_a_hit_is_small_and_asks_no_other_host() -> None:
    found = measure("first_page", "--latency", "400", "--kbit", "1600")
    ((n_bytes, n_strangers),) = find_numbers(r"([\d,]+)  bytes in \d+ requests \(.*\), (\d+) to other hosts", found)
    assert (n_bytes <= 200_000, n_strangers) == (True, 0)
    assert find_numbers(r"accepts keys (\d+) ms", found)[0] <= (2_000,)


def test_a_hundred_annotators_wait_little_beside_other_work_and_under_five_times_the_load() -> None:
    """All who arrive within a second have a HIT in five; usual work waits 0.3 s in 95 of 100 requests."""
    phases = split_phases(measure("load", "--minutes", "5", "--beside", "--overload", "5"))
    assert list(phases) == ["50 arrivals", "100 annotators", "the same beside", "5 times", "afterwards"]
    assert max(find_milliseconds("first", "most", phases["50 arrivals"])) <= 5_000
    for act in ("next", "submit"):
        assert max(find_milliseconds(act, "p95", phases["100 annotators"])) <= 300
        assert max(find_milliseconds(act, "p99", phases["100 annotators"])) <= 1_000
        assert max(find_milliseconds(act, "p95", phases["the same beside"])) <= 600
        assert max(find_milliseconds(act, "p95", phases["afterwards"])) <= 300


def test_two_hundred_annotators_wait_less_than_a_second() -> None:
    phases = split_phases(measure("load", "--minutes", "2", "--annotators", "200"))
    for act in ("next", "submit"):
        assert max(find_milliseconds(act, "p95", phases["200 annotators"])) <= 800


def split_phases(text: str) -> dict[str, str]:
    """Return what `benchmarks.load` prints of each phase, by the beginning of its name."""
    parts = re.split(r"(?m)^((?:\d+ )?(?:arrivals|annotators|times|the same beside|afterwards)).*judgments/s", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def find_milliseconds(act: str, share: str, phase: str) -> list[float]:
    return [milliseconds for (milliseconds,) in find_numbers(rf"(?m)^  {act} .*{share} +([\d.]+) ms", phase)]
