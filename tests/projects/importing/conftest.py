"""A desk to put files on."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from projects.importing import DEFAULT_LIMITS, Checked, FileRefused, Kind, Limits, Options
from projects.importing.checking import check
from projects.importing.spool import TABLES

HEADER = "id,passage,question,reference,candidate\n"


@dataclass
class Desk:
    """Puts bytes into a file and checks it."""

    folder: Path
    numbers: Iterator[int]

    def put(self, content: bytes | str, name: str = "answers.csv") -> Path:
        path = self.folder / f"{next(self.numbers)}.upload"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def check(
        self,
        content: bytes | str | Path,
        name: str = "answers.csv",
        *,
        kind: Kind = Kind.CANDIDATES,
        limits: Limits = DEFAULT_LIMITS,
        **options: Any,
    ) -> Checked:
        path = content if isinstance(content, Path) else self.put(content, name)
        spool = self.folder / f"spool-{next(self.numbers)}"
        return check(path=path, name=name, folder=spool, kind=kind, options=Options(**options), limits=limits)

    def refuse(self, content: bytes | str | Path, name: str = "answers.csv", **options: Any) -> FileRefused:
        """Check a file that must be refused, with nothing of it left behind."""
        before = set(self.folder.glob("spool-*"))
        with pytest.raises(FileRefused) as caught:
            self.check(content, name, **options)
        assert set(self.folder.glob("spool-*")) == before, "the spool of a refused file is left"
        refusal = caught.value
        assert refusal.total >= len(refusal.problems) >= 1
        assert len(refusal.problems) <= 100
        assert str(refusal).startswith(refusal.name[:20] or str(refusal))
        return refusal

    def reason(self, content: bytes | str | Path, name: str = "answers.csv", **options: Any) -> str:
        """The one problem of a file that must be refused, as its sentence."""
        refusal = self.refuse(content, name, **options)
        assert refusal.total == 1, refusal.problems
        return str(refusal.problems[0])

    @staticmethod
    def texts(checked: Checked, column: str, table: str = "candidates") -> list[str]:
        return [row[column] for row in checked.spool.rows(table)]

    @staticmethod
    def warnings(checked: Checked) -> str:
        return "\n".join(map(str, checked.report.warnings))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    assert set(TABLES) >= {"passages", "candidates"}
    return Desk(tmp_path, count())


def write_csv(*rows: str, header: str = HEADER) -> str:
    return header + "".join(row + "\n" for row in rows)
