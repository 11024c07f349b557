"""Each test of a JavaScript file here is a test of its own."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.scripts import running
from tests.browser.scripts.running import FILES, Results, names_in

CASES = [(file, name) for file in FILES for name in names_in(file)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modules")
    running.lay_out(folder)
    return folder


@pytest.fixture(scope="module")
def results(folder: Path, request: pytest.FixtureRequest) -> Callable[[str], Results]:
    @cache
    def run(file: str) -> Results:
        if node := running.find_node():
            return running.run_in_node(node, folder, file)
        return running.run_in_browser(request.getfixturevalue("browser_with")(""), folder, file)

    return run


@pytest.mark.parametrize(("file", "name"), CASES)
def test_modules_do_as_their_tests_say(file: str, name: str, results: Callable[[str], Results]) -> None:
    fault = results(file)[name]
    assert not fault, fault


@pytest.mark.parametrize("file", FILES)
def test_the_browser_says_the_same(
    file: str, folder: Path, browser_with: Callable[[str], Browser], results: Callable[[str], Results]
) -> None:
    found = running.run_in_browser(browser_with(""), folder, file)
    assert found == results(file)
    assert list(found) == names_in(file)


def test_a_test_that_throws_is_reported(tmp_path: Path) -> None:
    node = running.find_node()
    if node is None:
        pytest.skip("this machine lacks node")
    running.lay_out(tmp_path)
    lines = ('import { equal, test } from "./checking.js";', *(f'test("{n}", () => equal(1, {n}));' for n in (1, 2)))
    (running.write_home(tmp_path) / "wrong.js").write_text("\n".join(lines), encoding="ascii")
    found = running.run_in_node(node, tmp_path, "wrong")
    assert found["1"] == ""
    assert "1 is not 2" in found["2"]


def test_every_file_has_tests() -> None:
    assert len(FILES) >= 3
    assert all(names_in(file) for file in FILES)
