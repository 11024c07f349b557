"""Fixtures of all tests. The servers start before anything of Django is loaded."""

from tests import processes

processes.prepare()

import gc  # noqa: E402
import os  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from contextlib import suppress  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from importlib import import_module  # noqa: E402
from pathlib import Path  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402
from _pytest import runner  # noqa: E402
from _pytest.unraisableexception import gc_collect_iterations_key  # noqa: E402
from pytest_django import DjangoDbBlocker  # noqa: E402

from config import assets  # noqa: E402
from config.management.commands import serve  # noqa: E402
from projects.processes.frame_memory import takes_one_piece  # noqa: E402
from tests import database, quick_migrations, static_files, template_contexts  # noqa: E402
from tests.concurrency import Racers  # noqa: E402
from tests.measures.neural.tiny_models import registered_models, tiny_models  # noqa: E402
from tests.people import (  # noqa: E402
    annotator,
    client_of,
    manager,
    other_annotator,
    owner,
    project,
    quick_passwords,
    researcher,
    stranger,
)
from tests.shared_rows import module_transaction  # noqa: E402

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("concord", deadline=None)
hypothesis.settings.load_profile("concord")

RUN_PROTOCOL = takes_one_piece(runner.pytest_runtest_protocol)
N_TESTS = pytest.StashKey[int]()
TESTS_BETWEEN = 100
"""So many tests leave some hundred thousand dead rows; to remove them takes a tenth of a second."""

__all__ = [
    "annotator",
    "client_of",
    "manager",
    "module_transaction",
    "other_annotator",
    "owner",
    "project",
    "quick_passwords",
    "registered_models",
    "researcher",
    "stranger",
    "tiny_models",
]

SCALE = int(os.environ.get("SCALE", "1"))
LONGEST_ID = 300


def pytest_configure(config: pytest.Config) -> None:
    """Look for unreachable objects twice at the end instead of five times: each takes a process a second."""
    config.stash[gc_collect_iterations_key] = 2


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name a long value by its length: the ids of all tests go from process to process, and into the log."""
    return f"{argname}-of-{len(val)}" if isinstance(val, str | bytes) and len(val) > LONGEST_ID else None


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Races run one after another, in one process: two at once would only disturb each other. So do tests of models.

    Drills run in a soak, and what needs the weights of a real model where WEIGHTS_DIR names some.
    """
    for item in items:
        if item.get_closest_marker("race"):
            item.add_marker(pytest.mark.xdist_group("races"))
        # Torch takes seconds to import and 300 MB: one process is enough.
        elif "tiny_models" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("neural"))
    without = [*(["drill"] if SCALE == 1 else []), *(["weights"] if "WEIGHTS_DIR" not in os.environ else [])]
    left_out = [item for item in items if any(map(item.get_closest_marker, without))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection(session: pytest.Session) -> None:
    """Load the test modules, from another one on in each process: what one has compiled, the others find.

    All would otherwise compile the same modules at the same time: in a fresh checkout, a third of a minute.
    """
    tests = Path(__file__).parent
    worker, n_workers = os.environ.get("PYTEST_XDIST_WORKER", ""), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    if not worker or [Path(each).resolve() for each in session.config.args] != [tests]:
        return
    paths = [path for path in sorted(tests.rglob("test_*.py")) if path.with_name("__init__.py").exists()]
    first = len(paths) * int(worker.removeprefix("gw")) // int(n_workers)
    for path in paths[first:] + paths[:first]:
        with suppress(Exception, pytest.skip.Exception):  # the collection tells what is wrong with a module
            import_module(".".join(path.relative_to(tests.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: neither the collector nor a forked process needs to look through it again.

    To walk over every imported module takes half a second, and in a fork copies each page of memory it touches.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # tests make many objects that their counts free


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Run each test as requests and jobs run, so that deep calls don't map memory at an edge again and again."""
    return RUN_PROTOCOL(item, nextitem)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Remove dead rows between two files, where no transaction of a fixture is open."""
    yield
    item.session.stash[N_TESTS] = n_tests = item.session.stash.get(N_TESTS, 0) + 1
    if n_tests >= TESTS_BETWEEN and nextitem is not None and nextitem.path != item.path:
        item.session.stash[N_TESTS] = 0
        database.remove_dead_rows()


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Replaces the one of pytest-django: a copy of the template instead of a migration for each process."""
    database.use_flush_by_delete()
    quick_migrations.use_quick_states()
    with django_db_blocker.unblock(), database.own_copy():
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files() -> None:
    assets.collect()
    static_files.find_once()
    template_contexts.keep_first()


@pytest.fixture(scope="session")
def scale() -> int:
    """How many times the long runs are repeated: 1 in the suite, 10 in `make soak`."""
    return SCALE


@pytest.fixture(scope="session")
def squality_dir() -> Path:
    """The folder of real judgments, where the machine has it."""
    found = os.environ.get("SQUALITY_DIR", "")
    if not found:
        pytest.skip("SQUALITY_DIR does not name the folder with the SQuALITY judgments.")
    return Path(found).resolve()


@dataclass(frozen=True)
class Site:
    """A running site: gunicorn on a free port, on the test's own database."""

    url: str


@pytest.fixture(scope="session")
def _gunicorn(django_db_setup: None) -> Iterator[Site]:
    port = processes.free_port()
    _python, _m, *command = serve.web_command(f"127.0.0.1:{port}", workers=1)
    with processes.process(*command) as child:
        processes.wait_for_port(port, child)
        yield Site(url=f"http://127.0.0.1:{port}")


@pytest.fixture
def live_site(_gunicorn: Site, transactional_db: None) -> Site:
    return _gunicorn


@pytest.fixture(scope="module")
def racers() -> Iterator[Racers]:
    """Processes for the races of a module; none of its tests may replace anything that they should see replaced."""
    found = Racers()
    yield found
    found.end()


@pytest.fixture
def celery_worker(transactional_db: None) -> Iterator[None]:
    """A real worker process on the test's database and broker; it ends with the test, so that no other test has one."""
    from config.celery import app

    app.control.purge()
    program = ("celery", "--quiet", "-A", "config.celery", "worker", "--loglevel", "warning")
    options = ("--pool", "threads", "--concurrency", "2", "--without-gossip", "--without-mingle")
    with processes.process(*program, *options) as child:
        processes.wait_for_worker(app, child)
        yield
