import re
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env, wrong_settings


@pytest.mark.parametrize("value", ["1", "true", "TRUE", "yes", "On"])
def test_a_plain_yes_turns_a_switch_on(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("A_SWITCH", value)
    assert env.flag("A_SWITCH") is True
    assert env.debug("A_SWITCH") is True


@pytest.mark.parametrize("value", ["0", "false", "False", "no", "off"])
def test_a_plain_no_turns_a_switch_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("A_SWITCH", value)
    assert env.flag("A_SWITCH", default=True) is False


def test_a_switch_refuses_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SWITCH", "maybe")
    with pytest.raises(ImproperlyConfigured, match="A_SWITCH must be 1 or 0"):
        env.flag("A_SWITCH")


@pytest.mark.parametrize("value", ["False", "0", "no", "", "garbage", "2", "debug"])
def test_debug_is_off_by_anything_but_a_plain_yes(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DEBUG", value)
    assert env.debug("DEBUG") is False


def test_a_missing_value_without_default_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(ImproperlyConfigured, match="Set NOT_THERE"):
        env.text("NOT_THERE")
    with pytest.raises(ImproperlyConfigured, match="Set NOT_THERE"):
        env.number("NOT_THERE")


def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    assert env.text("EMPTY", default="d") == "d"
    assert env.number("EMPTY", default=7) == 7
    assert env.flag("EMPTY", default=True) is True
    assert env.words("EMPTY", default=["a"]) == ["a"]


def test_numbers_are_whole_and_within_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("N", "12")
    assert env.number("N") == 12
    with pytest.raises(ImproperlyConfigured, match="at most 10"):
        env.number("N", most=10)
    for nonsense in ("1.5", "ten", "1e3"):
        monkeypatch.setenv("N", nonsense)
        with pytest.raises(ImproperlyConfigured, match="whole number"):
            env.number("N", default=3)
    monkeypatch.setenv("N", "-1")
    with pytest.raises(ImproperlyConfigured, match="at least 0"):
        env.number("N")


def test_words_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS", " a.example , b.example,,")
    assert env.words("HOSTS") == ["a.example", "b.example"]


def test_a_choice_is_one_of_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLOUR", "blue")
    assert env.choice("COLOUR", ["red", "blue"]) == "blue"
    with pytest.raises(ImproperlyConfigured, match="one of red, green"):
        env.choice("COLOUR", ["red", "green"])


def test_a_database_address_is_parsed() -> None:
    assert env.database("postgres://ann:p%40ss@db.example:5433/concord?sslmode=require&connect_timeout=3") == {
        "NAME": "concord",
        "USER": "ann",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
        # A server that can't be reached any more is given up by and by; what the address says comes first.
        "OPTIONS": {**env.LINK_OPTIONS, "sslmode": "require", "connect_timeout": "3"},
    }


@pytest.mark.parametrize(
    "url", ["postgres://ann@%2Frun%2Fpostgresql/concord", "postgresql://ann@/concord?host=/run/postgresql"]
)
def test_a_database_may_be_behind_a_socket(url: str) -> None:
    assert env.database(url)["HOST"] == "/run/postgresql"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("sqlite:///x.db", "must start with postgres"),
        ("postgres://ann:secret@db.example/", "names no database"),
        ("postgres://ann:secret@db.example:port/x", "must have the form"),
        ("postgres://ann:se#cret@db.example/x", "with special characters percent-encoded, such as %23 for #"),
        ("postgres://ann:se?cret@db.example/x", "with special characters percent-encoded"),
        ("postgres://ann:se[cret@db.example/x", "with special characters percent-encoded"),
        ("postgres://ann:#cret@db.example/x", "with special characters percent-encoded"),
        ("postgres://ann:secret@db.example/x?pool=3", "unknown options: pool"),
        ("postgres://ann:p@ss/secret@db.example/x", "Percent-encode them, such as %2F for /"),
    ],
)
def test_a_bad_database_address_is_refused_without_telling_it(url: str, reason: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=reason) as refusal:
        env.database(url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ""),
        ("https://concord.example.org/", "https://concord.example.org"),
        ("HTTPS://Concord.example.org:8443/Concord/", "https://concord.example.org:8443/Concord"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_address_of_a_site_has_no_slash_at_its_end(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: str
) -> None:
    monkeypatch.setenv("SITE_ADDRESS", value)
    assert env.address("SITE_ADDRESS") == expected


@pytest.mark.parametrize(
    "value",
    [
        *("concord.example.org", "https:/concord.example.org", "https://", "ftp://a.org", "https://a.org:99999"),
        *("https://a.org?x=1", "https://a.org/x#y", "https://me:secret@a.org"),
    ],
)
def test_an_address_of_a_site_that_is_not_whole_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SITE_ADDRESS", value)
    with pytest.raises(
        ImproperlyConfigured, match=r"SITE_ADDRESS must be the whole address of the site, such as https:"
    ):
        env.address("SITE_ADDRESS")


def test_hosts_are_names_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS", "concord.example.org, .example.com, 10.0.0.1, [::1], my_host")
    assert len(env.hosts("HOSTS")) == 5
    for wrong in ("https://a.org", "a.org:443", "a.org b.org", "::1", "a.org/concord"):
        monkeypatch.setenv("HOSTS", f"localhost, {wrong}")
        with pytest.raises(ImproperlyConfigured, match="HOSTS must be names of hosts without https:// and port"):
            env.hosts("HOSTS")


def test_an_address_of_a_broker_says_its_kind_and_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    for right in ("", "redis://:pw@10.0.0.5:6379/0", "rediss://10.0.0.5", "redis+socket:///run/valkey.sock"):
        monkeypatch.setenv("BROKER", right)
        assert env.broker("BROKER") == right
    for wrong in ("localhost:6379", "http://:secret@localhost", "redis://:secret@localhost:port"):
        monkeypatch.setenv("BROKER", wrong)
        with pytest.raises(ImproperlyConfigured, match="BROKER must have the form redis://") as refused:
            env.broker("BROKER")
        assert "secret" not in str(refused.value)


def test_a_file_gives_values_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("# said\n\nA=1\nexport B = two words \nC=\"#3\"\nD='x=y'\n", encoding="utf-8")
    assert env.read_file(path) == {"A": "1", "B": "two words", "C": "#3", "D": "x=y"}


def test_a_line_that_is_no_setting_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\nnonsense\n", encoding="utf-8")
    with pytest.raises(ImproperlyConfigured, match=r"\.env, line 2"):
        env.read_file(path)


def test_a_file_from_windows_is_read_and_one_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes("NAME=Jürgen\r\nOTHER=1\r\n".encode("utf-8-sig"))
    assert env.read_file(path) == {"NAME": "Jürgen", "OTHER": "1"}
    env.write_file(path, {"NAME": "Ada"})
    assert path.read_text(encoding="utf-8") == "OTHER=1\nNAME=Ada\n"
    path.write_bytes("OTHER=1\nNAME=Jürgen\n".encode("latin-1"))
    with pytest.raises(ImproperlyConfigured, match=r"^\.env, line 2: not UTF-8\."):
        env.read_file(path)


def test_a_file_that_may_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(path: Path) -> dict[str, str]:
        raise PermissionError(13, "Permission denied", str(path))

    path = tmp_path / ".env"
    path.touch()
    monkeypatch.setenv("ENV_FILE", str(path))
    monkeypatch.setattr(env, "read_file", refuse)
    with pytest.raises(ImproperlyConfigured, match=r"This user may not read the settings in /.+env"):
        env._from_file.__wrapped__()


def test_a_file_that_is_named_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise a slip in ENV_FILE starts an empty site with a private database."""
    read = env._from_file.__wrapped__
    monkeypatch.setattr(env, "BASE_DIR", tmp_path)
    for name in ("missing.env", str(tmp_path)):
        monkeypatch.setenv("ENV_FILE", name)
        with pytest.raises(ImproperlyConfigured, match=f"ENV_FILE names {tmp_path}.*, which is no file"):
            read()
    for name in ("", ".env", "/dev/null"):
        monkeypatch.setenv("ENV_FILE", name)
        assert read() == {}
    monkeypatch.delenv("ENV_FILE")
    assert read() == {}


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "_from_file", lambda: {"A": "file", "B": "file"})
    monkeypatch.setenv("A", "environment")
    assert (env.text("A"), env.text("B")) == ("environment", "file")


def test_nothing_else_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(env.BASE_DIR))
        for folder in ("annotate", "config", "demo", "measures", "projects", "results")
        for path in (env.BASE_DIR / folder).rglob("*.py")
        if "os.environ" in (source := path.read_text(encoding="utf-8")) or "getenv" in source
    }
    # Two of these only name the settings module; a guardian hands its own environment on, and the others set
    # variables that libraries read.
    assert readers == {
        "config/env.py",
        "config/wsgi.py",
        "config/celery.py",
        "config/guardian.py",
        "config/management/commands/serve.py",
        "config/monitoring/__init__.py",
        "measures/neural/environment.py",
        "projects/processes/start.py",
    }


def test_what_another_package_calls_improperly_configured_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    wrong_settings.explain_without_traceback()
    told = []
    for fail in (lambda: env.number("NOT_THERE"), raise_here):
        try:
            fail()
        except ImproperlyConfigured as error:
            sys.excepthook(type(error), error, error.__traceback__)
        told.append("Traceback" in capsys.readouterr().err)
    assert told == [False, True]


def raise_here() -> None:
    raise ImproperlyConfigured("Not by the settings of the site.")


def test_the_guide_for_operators_lists_every_setting() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (env.BASE_DIR / "config").rglob("*.py"))
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', code))
    guide = (env.BASE_DIR / "docs" / "operations.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `")]
    listed = set(re.findall(r"`([A-Z][A-Z_]+)`", " ".join(cells)))
    # The tests alone start a private server that does not wait for the disk.
    assert listed == read - {"EMBEDDED_FSYNC"}
