"""Tables as files: every sign of every language survives, and nothing that is undefined becomes a number."""

import csv
import io
import re

from results.studies.tables import Column, Estimate, Missing, Table
from results.studies.writing import escape_latex, escape_markdown, write

NASTY = '=HYPERLINK("x") & 100% $5 #1 a_b {c} ~ ^ \\ | <b> [1]\nnext'
TABLE = Table(
    "nasty",
    "A | title",
    [
        Column("metric", "Metric & co"),
        Column("r", "Pearson", "estimate"),
        Column("p", "p", "p"),
        Column("n", "n", "count"),
    ],
    [
        [NASTY, Estimate(-0.12345, -0.3, 0.05), 0.00001, 12_345],
        ["评分器 é", Missing("all scores are equal"), None, 0],
        ["[first", Estimate(-0.0001), 0.5, None],
    ],
    caption="50% of α_1",
)


def test_latex_takes_every_sign_as_text() -> None:
    assert escape_latex(r"& % $ # _ { } ~ ^ \ ") == (
        r"\& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{} "
    )
    written = write(TABLE, "tex")
    lines = [line for line in written.splitlines() if line.endswith(r"\\")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r"\\"))] for line in lines]
    assert [len(row) for row in cells] == [4, 4, 4, 4], "an & of a name parts no cells, and no line is broken"
    assert cells[1][1:] == [r"$-$0.123 [$-$0.300, 0.050]", r"\textless{} 0.001", "12,345"]
    assert cells[2][0] == "{}评分器 é"
    assert cells[2][1] == r"--\textsuperscript{a}"
    assert cells[3][0] == "{}[first", "a [ after a line's end would be read as a length"
    assert cells[3][1] == "0.000", "what rounds to nothing has no sign"
    assert r"\caption{50\% of α\_1 Undefined: (a) all scores are equal.}" in written
    assert "XeLaTeX" in written
    assert "XeLaTeX" not in write(Table("plain", "Plain", TABLE.columns[:1], [["é"]]), "tex")
    assert written.count(r"\begin{") == written.count(r"\end{") == 2


def test_markdown_keeps_a_cell_in_its_column() -> None:
    rows = [line for line in write(TABLE, "md").splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5] * 5
    assert "– (a)" in rows[3]
    assert escape_markdown("a|b*c_d\ne") == r"a\|b\*c\_d e"


def test_csv_is_unrounded_and_opens_without_running_anything() -> None:
    rows = list(csv.DictReader(io.StringIO(write(TABLE, "csv"), newline="")))
    assert rows[0]["Metric & co"] == f"'{NASTY}"
    assert [float(rows[0][name]) for name in ("Pearson", "Pearson low", "Pearson high", "p")] == [
        *(-0.12345, -0.3, 0.05),
        0.00001,
    ]
    assert (rows[1]["Pearson"], rows[1]["Pearson undefined"]) == ("", "all scores are equal")
    assert (rows[2]["Pearson undefined"], rows[2]["Pearson low"], rows[2]["n"]) == ("", "", "")
