"""The exported CSV in a real spreadsheet: not one cell of it is a formula."""

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from projects.models import Project
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.processes import PATIENCE
from tests.programs import find_spreadsheet
from tests.results.exports.test_long import NASTY, exported
from tests.results.judged_batches import judge

FORMULA = re.compile(rb"table:formula|<f[ >]")


@pytest.fixture(scope="session")
def soffice() -> str:
    found = find_spreadsheet()
    if found is None:
        pytest.skip("LibreOffice (soffice) is not on this machine.")
    return found


def formulas_in(soffice: str, content: bytes, folder: Path) -> int:
    """How many cells LibreOffice takes for formulas, read from the sheet that it makes of a CSV file."""
    (folder / "a.csv").write_bytes(content)
    # Comma, quotes, UTF-8, first line, no column formats, quoted cells not forced to text, formulas evaluated.
    read_as = "--infilter=CSV:44,34,76,1,,0,false,true,false,false,false,-1,true"
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = [soffice, "--headless", profile, read_as, "--convert-to", "ods", "--outdir", str(folder), "a.csv"]
    environment = {**os.environ, "HOME": str(folder)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=PATIENCE)
    (sheet,) = folder.glob("*.ods")
    return len(FORMULA.findall(zipfile.ZipFile(sheet).read("content.xml")))


@pytest.mark.parametrize("form", ["long", "aggregated"])
def test_a_spreadsheet_finds_no_formula(soffice: str, project: Project, tmp_path: Path, form: str) -> None:
    person = make_membership(project)
    passage = make_passage(make_dataset(project, "=1+1"), "@p", text="=1+2", split="+1", title="=2")
    question = make_question(passage, "-q1", references=("=1+1",), text="@SUM(1)")
    for n, text in enumerate(NASTY):
        (candidate,) = make_candidates(question, 1, external_id=f"=1+{n}", text=text, source=text)
        judge(project, {candidate: {person: 3.0}})
    assert formulas_in(soffice, b'id,text\n1,"=1+1"\n', tmp_path) == 1, "it would find one that is there"
    for made in tmp_path.glob("*.ods"):
        made.unlink()
    assert formulas_in(soffice, exported(project, form, with_texts=True), tmp_path) == 0
