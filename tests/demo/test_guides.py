"""README and the guides show commands, links and pictures; each must be one that exists, with options that it takes."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parents[2]
GUIDES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in ("annotators", "managers", "quality", "researchers", "importing", "operations", "metrics")
    ),
)
LINKING = (*GUIDES, "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md", "docs/architecture.md")


def normalise_text(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


def test_nothing_tells_anyone_to_install_this_project_from_an_index() -> None:
    # The name belongs to somebody else there; extras are installed by make.
    sources = [
        *(ROOT / guide for guide in LINKING),
        *(ROOT / "measures").rglob("*.py"),
        *(ROOT / "results").rglob("*.py"),
    ]
    found = [
        path.name for path in sources if re.search(r"install[^\n`]*\bconcord\b(\[|==|`|$)", path.read_text("utf-8"))
    ]
    assert found == []


def commands_in(guide: str) -> list[str]:
    """What follows `manage.py` up to a redirection, lines that go on joined, without the marks of optional parts."""
    lines = re.findall(r"manage\.py ([a-z][^`\n>]*)", normalise_text(guide).replace("\\\n", " "))
    return [re.sub(r"[\[\]…]", "", line) for line in lines]


COMMANDS = [(guide, line) for guide in GUIDES for line in commands_in(guide)]
SHOWN_WITH_JSON = [line for line in commands_in("README.md") if not line.startswith("serve")]


def parse(line: str, *more: str) -> None:
    name, *arguments = shlex.split(line, comments=True)
    load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args([*arguments, *more])


@pytest.mark.parametrize(("guide", "line"), COMMANDS)
def test_every_command_shown_can_be_called_so(guide: str, line: str) -> None:
    parse(line)


@pytest.mark.parametrize("line", SHOWN_WITH_JSON)
def test_each_command_of_the_readme_takes_json(line: str) -> None:
    parse(line, "--json")


def test_the_guides_show_commands() -> None:
    found = {guide: len(commands_in(guide)) for guide in GUIDES}
    assert len(COMMANDS) >= 30
    assert min(found[guide] for guide in GUIDES if guide != "docs/annotators.md") >= 1, found
    assert len(SHOWN_WITH_JSON) >= 9


@pytest.mark.parametrize("guide", LINKING)
def test_links_and_pictures_lead_somewhere(guide: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", normalise_text(guide)):
        if not re.match(r"[a-z]+:", target):
            assert (ROOT / guide).parent.joinpath(target).exists(), target


def test_the_changelog_names_every_command() -> None:
    ours = {
        name for name, app in get_commands().items() if app in {"projects", "annotate", "results", "demo", "config"}
    }
    listed = re.findall(r"\*\*Command line\*\*: ([^.]+)\.", normalise_text("CHANGELOG.md"))
    assert {name for names in listed for name in re.split(r",\s+", names)} == ours


ELSEWHERE = {
    *("Client authentication", "Google Auth Platform", "Advanced settings", "Session age claims", "Web application"),
    *("Sie", "Offline: 4 ratings kept on this device", "Saved 2 s ago"),
}
"""Names on pages of other sites, words of another language, and messages with a number filled in."""


def read_interface() -> str:
    """Return what templates, scripts and code say, on one line and in lowercase."""
    folders = {"templates": ".html", "static/js": ".js"} | dict.fromkeys(("annotate", "projects", "results"), ".py")
    text = " ".join(
        path.read_text(encoding="utf-8")
        for folder, suffix in folders.items()
        for path in sorted((ROOT / folder).rglob(f"*{suffix}"))
    )
    # Strings of the code may go on in the next line.
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return " ".join(text.split()).replace("’", "'").lower()


def test_what_guides_name_is_on_a_page() -> None:
    interface = read_interface()
    missing = {
        (guide, name)
        for guide in GUIDES
        for path in re.findall(
            r"(?<![*\w\\])\*([A-Z][^*\n|]{2,60})\*(?!\*)",
            re.sub(r"```.*?```|`[^`]*`", "", normalise_text(guide), flags=re.DOTALL),
        )
        for name in path.split(" › ")
        if name not in ELSEWHERE and name.strip(" .…").replace("’", "'").lower() not in interface
    }
    assert missing == set()
