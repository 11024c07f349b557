"""Tables as files: every sign of every language survives, and nothing that is undefined becomes a number."""

import csv
import io
import math
import re
from pathlib import Path

from django.template.loader import render_to_string

from projects.tables.tables import Column, Estimate, Interval, Missing, Name, Table, Value, Wording
from projects.tables.writing import escape_latex, escape_markdown, write
from tests.projects.tables.latex import check_latex, set_latex

NASTY = '=HYPERLINK("x") & 100% $5 #1 a_b {c} ~ ^ \\ | <b> [1] `q` -- ?` \u201cx\u201d\nnext'
INPUT = "\\input{/etc/passwd}"
LONG = "a_long/name-" * 25
TABLE = Table(
    "nasty",
    "A | title",
    [
        Column("metric", "Metric & co"),
        Column("r", "Pearson", "estimate"),
        Column("ends", "CI over passages", "interval", 2),
        Column("p", "p", "p"),
        Column("n", "n", "count"),
    ],
    [
        [NASTY, Estimate(-0.12345, -0.3, 0.05, note="7 % of resamples undefined"), Interval(-1, 0.5), 0.00001, 12_345],
        [INPUT, Missing("all scores are equal"), Missing("too few passages"), None, 0],
        ["[first", Estimate(-0.0001), None, 0.5, None],
        [LONG, Estimate(math.nan, 0.1, 0.2), Interval(0.1, math.inf), math.nan, 7],
        [Name("São_Paulo é", url="/x/", badge="new"), Estimate(12.5, math.nan, 1.0), None, 1.0, 8],
    ],
    caption="50% of α_1 (n = 10 answers).",
    foot=[["Human ceiling", Estimate(0.5, 0.4, 0.6), None, None, None]],
    notes=["Metrics: F1 (beta=1)"],
)


def test_latex_takes_every_sign_as_text(tmp_path: Path) -> None:
    assert escape_latex(r"& % $ # _ { } ~ ^ \ ") == (
        r"\& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{} "
    )
    written = write(TABLE, "tex")
    head, *rows = check_latex(written)
    assert head == [r"Metric \& co", "{Pearson}", r"95 \% CI", "CI over passages", "{p}", "{n}"]
    assert rows[0][1:] == [
        *("-0.123", r"{[$-$0.300, 0.050]}\textsuperscript{a}", "{[$-$1.00, 0.50]}", "< 0.001", "12345")
    ]
    assert rows[0][0].startswith(r"{}=HYPERLINK(\symbol{34}x\symbol{34}) \& 100\% \$5 \#1 ")
    assert rows[1][0].replace(r"\allowbreak{}", "") == r"{}\textbackslash{}input\{/etc/passwd\}"
    assert rows[1][1:5] == [r"{---\textsuperscript{b}}", "", r"{---\textsuperscript{c}}", ""]
    assert rows[2][:2] == ["{}[first", "0.000"], "a [ after a line's end would be read as a length"
    undefined = r"{---\textsuperscript{d}}"
    assert rows[3][1:] == [undefined, "", undefined, undefined, "7"]
    assert r"p{0.25\linewidth}S[table-format=-2.3]rrS[table-format=<1.3]S[table-format=5.0]" in written
    assert r"\caption{50\% of α\_1 (n = 10 answers).}" in written
    assert "Metrics: F1 (beta=1)." in written
    assert ") all scores are equal." in written
    assert "XeLaTeX" in written, "α is no letter of the fonts that everybody has"
    log = set_latex(written.replace("α", "a"), tmp_path)
    assert "Overfull" not in log, "a name of 300 characters breaks within its column"


def test_long_headings_and_notes_without_intervals(tmp_path: Path) -> None:
    columns = [Column("a", "A"), *(Column(f"m{at}", f"{LONG}{at}", "estimate") for at in range(2))]
    row: list[Value] = ["x", *(Estimate(0.5, note="no interval: two passages") for _at in range(2))]
    written = write(Table("long", "Long", columns, [row]), "tex")
    head, cells = check_latex(written)
    assert head[1].startswith(r"{\parbox[b]{0.15\linewidth}{\raggedright a\_\allowbreak{}long/")
    assert cells[1:3] == ["0.500", r"\textsuperscript{a}"]
    assert "(a) no interval: two passages." in written
    assert "Overfull" not in set_latex(written, tmp_path)


def test_latex_fits_the_page_whatever_the_columns(tmp_path: Path) -> None:
    def make(n: int, name: str, n_rows: int = 1) -> str:
        columns = [Column("a", "Metric"), *(Column(f"m{at}", f"Pearson {at}", "estimate") for at in range(n))]
        row: list[Value] = [name, *(Estimate(-0.123, -0.456, 0.789) for _at in range(n))]
        return write(Table("wide", "Wide | table", columns, [row] * n_rows), "tex")

    kinds = {
        "one column": make(1, "ROUGE-L"),
        "both columns, for its names": make(1, "a name of thirty-five letters, or so"),
        "smaller": make(4, "ROUGE-L"),
        "too small": make(12, "ROUGE-L"),
    }
    assert [("{table*}" in each, "resizebox" in each, "graphicx" in each) for each in kinds.values()] == [
        (False, False, False),
        (True, False, False),
        (True, True, True),
        (True, True, True),
    ]
    for written in kinds.values():
        check_latex(written)
    warning = "% “Wide | table” is too wide to be read in print: keep the columns that you need."
    assert [warning in each for each in kinds.values()] == [False, False, False, True]
    assert "% “Wide | table” has 60 rows, more than a page holds: keep those that you need." in make(1, "x", 60)
    assert "Overfull" not in set_latex("\n".join(kinds.values()), tmp_path)


def test_names_in_other_scripts_ask_for_another_engine() -> None:
    for name, needs in (("é ą ő", False), ("评分器", True), ("مقياس", True), ("e\u0301", False)):
        written = write(Table("plain", "Plain", TABLE.columns[:1], [[name]]), "tex")
        assert ("XeLaTeX" in written, "fontenc" in written) == (needs, True), name
    assert "usepackage" in (plain := write(Table("plain", "Plain", TABLE.columns[:1], [["x"]]), "tex"))
    assert "fontenc" not in plain
    assert "siunitx" not in plain
    assert "\\allowbreak" not in escape_latex("ا" * 60, breaks_words=True), "letters that join stay joined"


def test_markdown_keeps_a_cell_in_its_column() -> None:
    written = write(TABLE, "md")
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [6] * 8
    assert "— (b)" in rows[3]
    assert "0.500 \\[0.400, 0.600\\]" in rows[-1]
    assert written.startswith("50% of α\\_1 (n = 10 answers).\n\n|")
    assert written.endswith("(c) too few passages. (d) not a number.\n")
    assert escape_markdown("a|b*c_d\ne &lt; &") == r"a\|b\*c\_d e &amp;lt; &"


def test_csv_is_unrounded_and_opens_without_running_anything() -> None:
    rows = list(csv.DictReader(io.StringIO(write(TABLE, "csv"), newline="")))
    assert rows[0]["Metric & co"] == f"'{NASTY}"
    assert [float(rows[0][name]) for name in ("Pearson", "Pearson low", "Pearson high", "p")] == [
        *(-0.12345, -0.3, 0.05),
        0.00001,
    ]
    assert (rows[0]["CI over passages low"], rows[0]["CI over passages high"]) == ("-1", "0.5")
    assert (rows[1]["Pearson"], rows[1]["Pearson undefined"]) == ("", "all scores are equal")
    assert (rows[2]["Pearson undefined"], rows[2]["Pearson low"], rows[2]["n"]) == ("", "", "")
    assert (rows[0]["Pearson note"], rows[1]["Pearson note"]) == ("7 % of resamples undefined", "")
    assert (rows[3]["Pearson"], rows[3]["p"], rows[3]["p undefined"]) == ("", "", "not a number")
    assert rows[-1]["Metric & co"] == "Human ceiling"
    formula = Table("f", "F", [Column("a", "=1+1", "estimate")], [[Estimate(1, 0, 2)]], n_keys=0)
    assert write(formula, "csv").startswith("'=1+1,'=1+1 low,'=1+1 high"), "headings are names from files too"


def test_files_and_pages_word_a_cell_in_their_own_ways() -> None:
    table = Table(
        "x",
        "X",
        [Column("a", "A"), Column("d", "Bias", "number", 2, is_signed=True)],
        [[Wording("People", page="Human score"), 0.125], ["b", -0.5], ["c", 0.001]],
    )
    assert [(keys[0].text, cells[0].text) for keys, cells in table.body] == [
        ("Human score", "+0.12"),
        ("b", "−0.50"),
        ("c", "0.00"),
    ]
    assert [cells[0].sort_key for _keys, cells in table.body] == ["0.125", "-0.5", "0.001"]
    assert "People,0.125" in write(table, "csv")


def render(*rows: list[Value]) -> str:
    columns = [Column("a", "A"), Column("r", "Pearson", "estimate"), Column("p", "p", "p")]
    return render_to_string("projects/tables/_table.html", {"table": Table("x", "X", columns, rows)})


def test_pages_show_long_reasons_once_below_the_table() -> None:
    why, no_interval = "people do not agree beyond chance", "no interval: fewer than three passages"
    page = render(["m", Estimate(0.5, note=no_interval), Missing(why)], ["k", Missing("too few"), Missing(why)])
    assert "0.500<sup>a</sup>" in page
    assert page.count("—<sup>b</sup>") == 2
    below = [f"<sup>{letter}</sup> {note}." for letter, note in zip("abc", (no_interval, why, "too few"), strict=True)]
    places = [page.index(each) for each in below]
    assert places == sorted(places), "with a long reason below, a short one isn't left in its cell"
    assert page.count(why) == page.count(no_interval) == 1


def test_short_reasons_stay_in_their_cells() -> None:
    page = render(["m", Missing("all scores are equal"), None])
    assert "— all scores are equal" in page
    assert "<sup>" not in page


def test_a_reason_that_fills_a_row_is_below_the_table() -> None:
    columns = [Column("a", "A"), *(Column(each, each, "count") for each in "bcd")]
    rows: list[list[Value]] = [["m", *[Missing("too few")] * 3], ["k", 1, 2, Missing("too few")]]
    page = render_to_string("projects/tables/_table.html", {"table": Table("x", "X", columns, rows)})
    assert page.count("too few") == 1
    assert page.count("—<sup>a</sup>") == 4


def test_a_page_scrolls_a_long_table_in_a_frame() -> None:
    def render(n: int) -> str:
        table = Table("systems", "Systems", [Column("system", "System")], [[f"s{number}"] for number in range(n)])
        return render_to_string("projects/tables/_table.html", {"table": table})

    assert "table-wrap--tall" not in render(60)
    assert "table-wrap--tall" in render(61)
