"""The guides in docs/ show commands; each must be one that exists, with options that it takes."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = ("annotators.md", "managers.md", "researchers.md")
COMMANDS = [
    (guide, line)
    for guide in GUIDES
    for line in re.findall(r"python manage\.py ([^`\n]+)", (DOCS / guide).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("guide", "line"), COMMANDS)
def test_every_command_shown_can_be_called_so(guide: str, line: str) -> None:
    name, *arguments = shlex.split(line)
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)


def test_the_guides_show_commands_and_link_to_each_other() -> None:
    assert len(COMMANDS) >= 12
    for guide in GUIDES:
        for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / guide).read_text(encoding="utf-8")):
            assert (DOCS / target).exists(), target
