"""The programs that tests need: asked for in one run of apt, and one by one where that fails."""

import pytest

from tests import debian, programs

Asked = list[tuple[str, ...]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What apt is asked for, and refuses, on a machine that has nothing."""
    asked: Asked = []

    def refuse(*packages: str) -> bool:
        asked.append(packages)
        return False

    monkeypatch.setattr(debian, "install", refuse)
    monkeypatch.setattr(debian, "can_install", lambda: True)
    nothing = {name: (lambda: None, packages) for name, (_find, packages) in programs.PROGRAMS.items()}
    monkeypatch.setattr(programs, "PROGRAMS", nothing)
    return asked


def test_what_is_missing_is_installed_in_one_run_or_else_one_by_one(asked: Asked) -> None:
    programs.bring_all()
    together, *alone = asked
    assert {"chromium-headless-shell", "default-jre-headless", "texlive-science", "faketime"} <= set(together)
    assert alone == [packages for _find, packages in programs.PROGRAMS.values()]


def test_one_run_that_succeeds_is_all(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(*packages: str) -> bool:
        asked.append(packages)
        return True

    monkeypatch.setattr(debian, "install", install)
    programs.bring_all()
    assert len(asked) == 1


def test_what_is_there_is_not_asked_for(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PROGRAMS", {"Clock": (lambda: "here", ("faketime",))})
    programs.bring_all()
    programs.bring("Clock")
    assert asked == []


def test_one_program_is_brought_by_itself(asked: Asked) -> None:
    programs.bring("LaTeX")
    assert asked == [("texlive-latex-recommended", "texlive-science")]


def test_nothing_is_installed_by_who_may_not(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "can_install", lambda: False)
    programs.bring_all()
    programs.bring("Clock")
    assert asked == []
