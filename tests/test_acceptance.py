"""`docs/security.md` is true: each guarantee has its row once, and each test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([A-Z])(\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
N_GUARANTEES = {"A": range(27), "G": range(1, 8), "B": range(1, 37), "C": range(1, 11), "D": range(1, 25)}
N_GUARANTEES |= {"E": range(1, 15), "F": range(1, 12), "O": range(1, 14)}
NOT_TESTED, IN_PART = "**not tested**", "*In part: "


def test_each_guarantee_has_one_row() -> None:
    listed = [(letter, int(number)) for letter, number, _what, _tests in ROW.findall(GUIDE)]
    assert listed == [(letter, number) for letter, numbers in N_GUARANTEES.items() for number in numbers]


def test_each_named_test_is_there() -> None:
    missing = []
    for letter, number, _what, tests in ROW.findall(GUIDE):
        names = re.findall(r"`([^`]+)`", tests)
        assert bool(names) == (tests != NOT_TESTED), f"{letter}{number}"
        for name in names:
            path, _, test = name.partition("::")
            file = ROOT / (path if path.endswith(".py") else f"tests/{path}.py")
            if not file.exists() or (test and f"def test_{test}(" not in file.read_text(encoding="utf-8")):
                missing.append(f"{letter}{number}: {name}")
    assert missing == []


def test_the_counts_are_those_of_the_rows() -> None:
    rows = ROW.findall(GUIDE)
    n_not = sum(tests == NOT_TESTED for _, _, _, tests in rows)
    n_in_part = sum(IN_PART in what for _, _, what, _ in rows)
    n_in_full = len(rows) - n_in_part - n_not
    assert f"makes {len(rows)} guarantees" in GUIDE
    assert f"**{n_in_full} are tested in full, {n_in_part} in part and {n_not} not at all.**" in GUIDE


def test_the_security_policy_says_where_and_when() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for words in (
        "**Report**",
        "private vulnerability reporting",
        "three working days",
        "**In scope**",
        "docs/security.md",
    ):
        assert words in policy
