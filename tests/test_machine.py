"""What the tests need of the machine: asked for once, together, and by itself where that fails."""

import pytest

from tests import debian, machine
from tests.browser import chromium

Asked = list[tuple[str, ...]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What apt is asked for on a machine that has nothing."""
    asked: Asked = []

    def install(*packages: str) -> bool:
        asked.append(packages)
        return False

    monkeypatch.setattr(debian, "install", install)
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setattr(chromium, "is_wanted", lambda: True)
    nothing = {name: (lambda: None, packages) for name, (_find, packages) in machine.PROGRAMS.items()}
    monkeypatch.setattr(machine, "PROGRAMS", nothing)
    return asked


def test_what_is_missing_is_installed_in_one_run(asked: Asked) -> None:
    machine.bring_together()
    (packages,) = asked
    assert {"chromium-headless-shell", "default-jre-headless", "texlive-science", "faketime"} <= set(packages)


def test_what_is_there_is_not_asked_for(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "is_wanted", lambda: False)
    monkeypatch.setattr(machine, "PROGRAMS", {"Clock": (lambda: "here", ("faketime",))})
    machine.bring_together()
    machine.bring_program("Clock")
    assert asked == []


def test_a_program_is_asked_for_by_itself_when_all_together_failed(asked: Asked) -> None:
    machine.bring_program("LaTeX")
    assert asked == [("texlive-latex-recommended", "texlive-science")]


def test_nothing_is_installed_by_who_may_not(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "can_install", lambda: False)
    machine.bring_together()
    machine.bring_program("Clock")
    assert asked == []
