"""Forks of the process that serves: what they return, what they leave behind, and what they need not load."""

import subprocess
import sys

import pytest

from config import env
from tests import processes

TASKS = """
import os, time
from django.core.management import CommandError
from config.forks import Task, start_program

mine = []

def refuse():
    raise CommandError("The site moved.", returncode=3)

def fail():
    raise ValueError("a fault")

def outcome(act):
    try:
        return act.wait()
    except CommandError as error:
        return f"{error.returncode} {error}"

PARENT = os.getpid()
tasks = [Task(lambda: mine.append(1) or os.getpid() != PARENT)]
print(*(outcome(each) for each in [*tasks, Task(refuse), Task(fail), Task(lambda: os._exit(9))]), mine, sep="|")

look = "import os; print(os.getsid(0) == os.getpid(), os.isatty(0), flush=True)"
program = start_program(["timeit", "-n", "1", "-r", "1", look])
program.join()
print(program.exitcode)
program = start_program(["http.server", "--no-such-option"])
program.join()
print(program.exitcode)
"""

LOADED_LATER = """
import sys, django
django.setup()
print(*({"celery", "kombu", "redis", "numpy", "pandas", "scipy", "rest_framework.views"} & set(sys.modules)), sep=",")
from config import preloading
from config.management.commands import serve
preloading.load_modules()
before = set(sys.modules)
from config.asgi import application
from django.test import Client
for address in ("/sign-in/", "/api/v1/projects/", "/health/ready"):
    Client().get(address)
print(*(name for name in set(sys.modules) - before if not name.startswith("encodings.")))
print(*({"celery.bin.celery", "prompt_toolkit"} & set(sys.modules)))
"""

LOADED_BY_GUARDIANS = """
import sys
import config.guardian
print(*({"psycopg2", "importlib.metadata", "redis", "ssl", "django.conf"} & set(sys.modules)))
"""

LOADED_BY_COMMANDS = """
import sys, django
from django.core.management import load_command_class
django.setup()
load_command_class("annotate", "import_candidates")
print(*({"numpy", "pandas", "pyarrow", "openpyxl"} & set(sys.modules)))
load_command_class("results", "freeze")
print(*({"measures.metrics", "results.studies.kinds", "results.metrics.registry"} & set(sys.modules)))
"""


def run(script: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=env.BASE_DIR,
        env={**processes.environment(), **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs the signal of a parent's death")
@pytest.mark.django_db
def test_work_in_a_fork_returns_refuses_and_leaves_nothing() -> None:
    done = run(TASKS)
    first, *others = done.stdout.splitlines()
    assert first == "True|3 The site moved.|1 The start failed.|1 The start failed.|[]"
    assert "ValueError: a fault" in done.stderr
    assert others[0] == "True False"
    assert [others[-2], others[-1]] == ["0", "2"]


@pytest.mark.django_db
def test_a_command_loads_little_and_a_fork_nothing_of_what_serves() -> None:
    done = run(LOADED_LATER, DJANGO_SETTINGS_MODULE="config.settings")
    assert done.returncode == 0, done.stderr
    at_once, later, needless = done.stdout.splitlines()
    assert at_once == "", "A command pays for it at each start."
    assert needless == "", "It takes memory of every process."
    # They set up the process that loads them.
    assert set(later.split()) <= {"config.asgi", "config.wsgi", "projects.database.timeouts"}


def test_a_guardian_loads_little() -> None:
    done = run(LOADED_BY_GUARDIANS)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


@pytest.mark.django_db
def test_an_import_loads_no_numpy_and_a_freeze_no_metrics() -> None:
    done = run(LOADED_BY_COMMANDS, DJANGO_SETTINGS_MODULE="config.settings")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["", ""]
