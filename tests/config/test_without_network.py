"""A site from nothing on a machine without any network: private servers, worker, pages and all that they load."""

import os
import shutil
import subprocess
import sys

import pytest

from config import env
from tests import database, processes

UNSHARE = ("unshare", "--net", "--")
SITE = ("DATABASE_URL", "REDIS_URL", "DATA_DIR")


def can_unshare() -> bool:
    return shutil.which("unshare") is not None and subprocess.run([*UNSHARE, "true"], check=False).returncode == 0


@pytest.mark.drill
@pytest.mark.race
def test_a_site_starts_and_serves_without_network() -> None:
    if not can_unshare():
        pytest.skip("This machine lets nobody make a network namespace (unshare --net).")
    with database.servers_folder("offline") as folder:
        variables = {name: value for name, value in os.environ.items() if name not in SITE}
        done = subprocess.run(
            [*UNSHARE, sys.executable, "-m", "tests.config.without_network", str(processes.free_port())],
            cwd=env.BASE_DIR,
            env={**variables, "DATA_DIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
