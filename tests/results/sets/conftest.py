"""Archives of these tests are kept in folders of their own."""

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """What loads a folder asks no Hub for anything: there is none at this address, and nothing is counted."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
