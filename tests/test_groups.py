"""The groups that share a process when tests run in several."""

import os

import pytest


@pytest.mark.race
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="All tests run in this one process.")
def test_races_run_one_after_another(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@races")
