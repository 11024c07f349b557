"""A site whose processes, servers, network, disk and clock fail while people work: a short run of `make chaos`."""

import re
import subprocess
import sys

import pytest
from django.conf import settings

from config import env
from tests import processes

pytestmark = [pytest.mark.race, pytest.mark.django_db]


def test_nothing_that_was_acknowledged_is_lost_doubled_or_over_counted(scale: int) -> None:
    """The seed decides the order of the faults; how many there are in the time depends on the machine."""
    environment = processes.environment() | {"STATIC_ROOT": str(settings.STATIC_ROOT)}
    quick = ["--minutes", str(0.1 * scale), "--longest", "1.5", "--calm", "0.2", "--think", "0.05", "--annotators", "4"]
    command = [
        sys.executable,
        "-m",
        "benchmarks.chaos",
        "--seed",
        "1",
        "--copy-of",
        environment["DATABASE_URL"],
        *quick,
    ]
    done = subprocess.run(
        command,
        cwd=env.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=4 * processes.PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "0 lost, 0 doubled, 0 over-counted; ratings with another value 0; ratings lost from drafts 0" in done.stdout
    found = re.search(r"acknowledged: (\d+) submissions of ten ratings, (\d+) drafts, (\d+) imports", done.stdout)
    assert found is not None
    assert all(map(int, found.groups())), done.stdout
