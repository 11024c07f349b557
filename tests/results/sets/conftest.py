"""Archives of these tests are kept in folders of their own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture(scope="module")
def shared_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the archives of sets that the tests of a file share."""
    folder = tmp_path_factory.mktemp("files")
    with override_settings(MEDIA_ROOT=folder):
        yield folder


@pytest.fixture
def copied_files(shared_files: Path, _own_folder: None, settings: Settings) -> None:
    """Copies of the shared archives, which a test may change or delete."""
    shutil.copytree(shared_files, settings.MEDIA_ROOT)


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """What loads a folder asks no Hub for anything: there is none at this address, and nothing is counted."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
