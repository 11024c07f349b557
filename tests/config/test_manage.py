import pytest

from manage import needs_servers


@pytest.mark.parametrize(
    "line",
    [
        "",
        "check",
        "check --deploy",
        "makemigrations --check",
        "collectstatic --noinput",
        "help",
        "help migrate",
        "version",
        "--help",
        "--version",
        "migrate --help",
        "serve -h",
    ],
)
def test_commands_that_need_no_server_start_none(line: str) -> None:
    assert not needs_servers(line.split())


@pytest.mark.parametrize("line", ["migrate", "serve", "shell", "import_candidates x.csv --project p", "verify"])
def test_all_other_commands_find_servers_running(line: str) -> None:
    assert needs_servers(line.split())
