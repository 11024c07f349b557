"""Bytes, encodings, quotes and lines: what a text file can do wrong, and what must be taken as it is."""

import codecs

import pytest

from projects.importing import ENCODINGS, Limits, Options
from projects.importing.previewing import preview
from tests.characters import FORBIDDEN_CHARACTERS
from tests.projects.importing.conftest import HEADER, Desk, write_csv

ROW = "a,Pa,Qa,Ra,Ca"
OBJECT = '{"id": "a", "passage": "P", "question": "Q", "reference": "R", "candidate": "C"}'


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.xlsx", "a.parquet"])
def test_an_empty_file_is_refused(desk: Desk, name: str) -> None:
    assert "is empty" in desk.reason(b"", name)


def test_a_header_alone_is_refused(desk: Desk) -> None:
    assert "no rows" in desk.reason(HEADER)


def test_blank_lines_alone_are_refused(desk: Desk) -> None:
    assert "blank lines" in desk.reason("\n\n\n")


def test_an_empty_json_list_is_refused(desk: Desk) -> None:
    assert "question" in desk.reason("[]", "a.json")


def test_a_byte_order_mark_is_dropped(desk: Desk) -> None:
    checked = desk.check(codecs.BOM_UTF8 + write_csv(ROW).encode())
    assert desk.texts(checked, "external_id") == ["a"]
    assert not checked.report.warnings


def test_a_byte_order_mark_before_json_is_dropped(desk: Desk) -> None:
    mocha = '{"d": {"a": {"context": "P", "question": "Q", "reference": "R", "candidate": "C"}}}'
    for name, text in (("a.json", f"[{OBJECT}]"), ("a.jsonl", OBJECT), ("a.json", mocha)):
        checked = desk.check(codecs.BOM_UTF8 + text.encode(), name)
        assert desk.texts(checked, "external_id") == ["a"]


@pytest.mark.parametrize(("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_utf_16_with_its_mark_is_read_and_reported(desk: Desk, mark: bytes, encoding: str) -> None:
    checked = desk.check(mark + write_csv("a,Pä,Q„,R,C😀").encode(encoding))
    assert desk.texts(checked, "text") == ["C😀"]
    assert "UTF-16" in desk.warnings(checked)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_detected_and_can_be_chosen(desk: Desk, encoding: str) -> None:
    content = write_csv("a,Pä,Q„,R,C😀").encode(encoding)
    checked = desk.check(content)
    assert desk.texts(checked, "text") == ["C😀"]
    assert "is read as UTF-16" in desk.warnings(checked)
    assert desk.check(content, encoding="utf-16").report.candidates == 1


def test_utf_32_is_named(desk: Desk) -> None:
    assert "UTF-32" in desk.reason(write_csv(ROW).encode("utf-32"))


def test_a_western_file_is_read_as_windows_1252_and_that_is_said(desk: Desk) -> None:
    for content in (
        write_csv(ROW, "b,P,Q,R,“hm”").encode("windows-1252"),
        write_csv(*[ROW.replace("a,", f"a{n},") for n in range(30_000)], "b,P,Q,R,“hm”").encode("windows-1252"),
    ):
        checked = desk.check(content)
        assert desk.texts(checked, "text")[-1] == "“hm”"
        assert "read as Windows, western Europe" in desk.warnings(checked)
        assert desk.texts(desk.check(content, encoding="mac-roman"), "text")[-1] != "“hm”", "The choice decides."


@pytest.mark.parametrize(
    ("content", "line", "byte"),
    [
        (write_csv("a,P,Q,R,ä", "b,P,Q,R,ö").encode() + b"c,P,Q,R,\xff\n", 4, "0xff"),
        (write_csv("a,P,Q,R,C").encode() + b"b,P,Q,R,\xff\n" + "c,P,Q,R,äöü\n".encode(), 3, "0xff"),
        (write_csv("a,P,Q,R,ä").encode()[:-2], 2, "0xc3"),
        (write_csv("a,П,Вопрос,Ответ,Ответ кандидата").encode("windows-1251"), 2, "0xcf"),
        (write_csv("a,P,Q,R,\x81").encode("latin-1"), 2, "0x81"),
    ],
)
def test_damaged_utf_8_and_other_encodings_are_not_guessed(desk: Desk, content: bytes, line: int, byte: str) -> None:
    refusal = desk.refuse(content)
    assert refusal.problems[-1].line == line
    assert f"invalid UTF-8: byte {byte}" in str(refusal.problems[-1])
    assert {"windows-1252", "windows-1251"} <= set(refusal.offers["encoding"])


def test_every_encoding_offered_can_be_chosen(desk: Desk) -> None:
    for encoding in ENCODINGS:
        assert desk.check(write_csv(ROW).encode(encoding), encoding=encoding).report.candidates == 1


def test_an_encoding_that_is_no_charset_is_refused(desk: Desk) -> None:
    assert "unknown encoding" in desk.reason(write_csv(ROW), encoding="rot13")


@pytest.mark.parametrize(("ending", "n_rows"), [("\n", 100_000), ("\r\n", 20_000), ("\r", 20_000)])
def test_a_bad_byte_late_in_a_long_file_names_its_line(desk: Desk, ending: str, n_rows: int) -> None:
    rows = HEADER + "".join(f"c{n},passage,Q,R,C\n" for n in range(n_rows))
    content = rows.replace("\n", ending).encode() + b"last,P,Q,R,\xff" + ending.encode()
    refusal = desk.refuse(content, encoding="utf-8")
    assert refusal.problems[-1].line == n_rows + 2
    assert "0xff" in str(refusal.problems[-1])


@pytest.mark.parametrize("bad", [b"\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80"], ids=["cut off", "overlong", "surrogate"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_broken_utf_8_is_refused_with_its_line(desk: Desk, bad: bytes, name: str) -> None:
    if name == "a.csv":
        content = write_csv(ROW).encode() + b"b,P,Q,R,C" + bad
        line = 3
    else:
        content = OBJECT.encode() + b"\n" + OBJECT.encode().replace(b'"C"', b'"' + bad + b'"').replace(b'"a"', b'"b"')
        line = 2
    assert desk.refuse(content, name).problems[-1].line == line


@pytest.mark.parametrize("character", [*FORBIDDEN_CHARACTERS, "\ud800"])
def test_a_forbidden_character_is_refused_with_its_line_column_and_code_point(desk: Desk, character: str) -> None:
    code = f"U+{ord(character):04X}"
    if not "\ud800" <= character <= "\udfff":  # no encoding can write these
        problem = desk.refuse(write_csv(ROW, f"b,P,Q,R,C{character}C")).problems[0]
        assert (problem.line, problem.column) == (3, "candidate")
        assert f"contains {code}" in problem.reason
        assert "as character 2" in problem.reason
        assert code in str(desk.refuse(HEADER.replace("id", f"i{character}d") + ROW)), "in the name of a column"
    written = OBJECT.replace("}", ', "note": "n"}')
    for name, old in (("candidate", '"C"'), ("passage", '"P"'), ("id", '"a"'), ("note", '"n"'), ("", '"note"')):
        problem = desk.refuse(written.replace(old, f'"x\\u{ord(character):04x}"'), "a.jsonl").problems[-1]
        assert problem.line == 1
        assert code in problem.reason
        assert not name or problem.column == name
    nested = OBJECT.replace("}", f', "note": [{{"a\\u{ord(character):04x}": 1}}]}}')
    assert code in str(desk.refuse(nested, "a.jsonl"))


def test_escapes_that_are_texts_are_no_forbidden_characters(desk: Desk) -> None:
    value = OBJECT.replace("}", r', "note": "the text \\u0000 and \"quotes\" \ttab"}')
    assert desk.check(value, "a.jsonl").report.candidates == 1


def test_controls_that_xml_allows_are_kept_with_a_warning(desk: Desk) -> None:
    checked = desk.check(write_csv("a,P,Q,R,del\x7fete"))
    assert desk.texts(checked, "text") == ["del\x7fete"]
    assert "invisible" in desk.warnings(checked)


def test_an_unclosed_quote_names_the_line_it_opens_on(desk: Desk) -> None:
    refusal = desk.refuse('id,passage,question,reference,candidate\na,P,Q,R,"C\nb,P,Q,R,C\nc,P,Q,R,C\n')
    assert refusal.problems[-1].line == 2
    assert "never closed" in str(refusal)


def test_an_unclosed_quote_after_a_cell_of_several_lines_names_its_own_line(desk: Desk) -> None:
    refusal = desk.refuse(HEADER + 'a,"P\nstill P\n",Q,R,"C\nb,P,Q,R,C\n')
    assert refusal.problems[-1].line == 4


def test_text_after_a_closing_quote_is_refused(desk: Desk) -> None:
    refusal = desk.refuse(HEADER + 'a,P,Q,R,C\nb,"P"x,Q,R,C\n')
    assert refusal.problems[-1].line == 3
    assert "quotation mark" in str(refusal)


def test_quotes_that_enclose_no_cells_can_be_read_as_characters(desk: Desk) -> None:
    lines = ("question\treference\tcandidate", 'Who?\tP\t"P" it is', 'How?\tQ\t"never closed', 'Why?\tR\tsay "hm"')
    content = "\n".join(lines)
    refusal = desk.refuse(content, "answers.tsv")
    assert refusal.offers == {"quotes": ("none",)}
    assert "line 2: the quotation mark opened here is closed in the middle of a cell; if" in str(refusal)
    checked = desk.check(content, "answers.tsv", quotes="none")
    assert desk.texts(checked, "text") == ['"P" it is', '"never closed', 'say "hm"']
    # Also where the delimiter must be detected.
    checked = desk.check(content.replace("\t", ";"), quotes="none")
    assert desk.texts(checked, "text") == ['"P" it is', '"never closed', 'say "hm"']


def test_quotes_that_swallow_the_rest_of_a_large_file_can_be_read_as_characters(desk: Desk) -> None:
    rows = ['Who?\tP\t"Nobody came', *(f"When {n}?\tP\t{'at nine ' * 100}" for n in range(1_500))]
    refusal = desk.refuse("\n".join(["question\treference\tcandidate", *rows]), "answers.tsv")
    assert refusal.offers == {"quotes": ("none",)}
    assert "line 2: a cell is larger than 1,024 kB or its quotation mark is never closed; if" in str(refusal)
    long = "Who?\tP\t" + "x" * (1 << 20)
    assert desk.refuse(f"question\treference\tcandidate\n{long}x", "answers.tsv").offers == {}


def test_quotes_and_line_ends_inside_cells_are_kept(desk: Desk) -> None:
    checked = desk.check(HEADER.encode() + b'a,P,Q,R,ab"c"d\r\nb,P,Q,R,"say ""hm"""\nc,P,Q,R,"x\r\ny\nz\r"\n')
    assert desk.texts(checked, "text") == ['ab"c"d', 'say "hm"', "x\r\ny\nz\r"]


def test_too_many_and_too_few_cells_are_refused_with_their_lines(desk: Desk) -> None:
    refusal = desk.refuse(write_csv(ROW, "b,P,Q,R", "c,P,Q,R,C,extra", '"d\n",P,Q,R', "e,P"))
    assert [(problem.lines, problem.reason[:8]) for problem in refusal.problems] == [
        ((3, 5), "too few "),
        ((4,), "too many"),
        ((7,), "too few "),
    ]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,passage,question,reference,candidate,id", "duplicate"),
        ("id,passage,question,reference,candidate,", "too many cells: 6 instead of 5"),
        ("id,passage,question,reference,candidate,ID", "case or space"),
        ("id,passage,question,reference,candidate,candi date,candi  date", "case or space"),
    ],
)
def test_columns_of_one_name_are_refused(desk: Desk, header: str, message: str) -> None:
    assert message in desk.reason(header + "\n" + ",".join("x" * header.count(",")) + ",x\n")


def test_names_with_spaces_around_them_are_trimmed_and_reported(desk: Desk) -> None:
    checked = desk.check(write_csv(ROW, header=" id,passage ,question,reference,candidate\n"))
    assert "“id”" in desk.warnings(checked)
    assert desk.texts(checked, "external_id") == ["a"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
def test_the_delimiter_is_detected_and_a_choice_decides(desk: Desk, delimiter: str, name: str) -> None:
    tricky = write_csv('a,"Passage; with, all | of\tthem\nand, a, line",Q,R,C', "b,P,Q,R,C").replace(",", delimiter)
    path = desk.put(tricky)
    assert preview(path=path, name=name).delimiter == delimiter
    checked = desk.check(path, name)
    assert desk.texts(checked, "external_id") == ["a", "b"]
    other = "," if delimiter == ";" else ";"
    refusal = desk.refuse(path, name, delimiter=other)
    assert refusal.offers == {"delimiter": (delimiter,)}


def test_a_table_without_known_names_is_read_by_its_regular_delimiter(desk: Desk) -> None:
    path = desk.put("first, and;second\n" + "one, two, three;four\n" * 9)
    assert preview(path=path, name="a.csv").columns == ("first, and", "second")


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_a_line_that_declares_the_delimiter_is_not_the_header(desk: Desk, first: str) -> None:
    content = first + write_csv("a,P,Q,R,C", "b,P,Q,R,").replace(",", ";")
    refusal = desk.refuse(content)
    assert [(each.line, each.column) for each in refusal.problems] == [(4, "candidate")], "The physical line."
    for encoding in ("utf-8-sig", "utf-16"):
        checked = desk.check((first + write_csv("a,P,Q,R,C").replace(",", ";")).encode(encoding))
        assert desk.texts(checked, "line") == ["3"]


def test_empty_columns_and_rows_around_a_table_are_ignored_and_said(desk: Desk) -> None:
    header = HEADER.replace("\n", ",,  ,\n")
    checked = desk.check(write_csv("a,P,Q,R,C,,,", "b,P,Q,R,C,, ,,,", "c,P,Q,R,C", ",,,,,,,", ",,,,", header=header))
    assert desk.texts(checked, "external_id") == ["a", "b", "c"]
    assert "Columns without a name at the end" in desk.warnings(checked)
    assert "Blank lines are skipped (2 times: lines 5, 6)" in desk.warnings(checked)
    refusal = desk.refuse(write_csv("a,P,Q,R,C,,,", "b,P,Q,R,C,,x,", header=header))
    assert [(each.line, each.reason) for each in refusal.problems] == [(3, "too many cells: 7 instead of 5")]


def test_a_column_without_a_name_inside_the_table_gets_its_number(desk: Desk) -> None:
    checked = desk.check(write_csv("0,a,P,Q,R,C", header="," + HEADER))
    assert "It is called “column 1”" in desk.warnings(checked)
    assert desk.texts(checked, "metadata") == ['{"column 1":"0"}']


def test_a_missing_column_is_named(desk: Desk) -> None:
    reason = desk.reason("id,passage,question,reference\na,P,Q,R\n")
    assert "“candidate”" in reason


def test_mixed_line_ends_and_blank_lines_make_the_right_rows(desk: Desk) -> None:
    checked = desk.check(HEADER.encode() + b"a,P,Q,R,C\r\nb,P,Q,R,C\rc,P,Q,R,C\n\n\r\nd,P,Q,R,C")
    assert desk.texts(checked, "external_id") == ["a", "b", "c", "d"]
    assert desk.texts(checked, "line") == ["2", "3", "4", "7"]
    assert "Blank lines" in desk.warnings(checked)


def test_carriage_returns_alone_end_lines(desk: Desk) -> None:
    assert desk.check(write_csv(ROW, "b,P,Q,R,C").replace("\n", "\r")).report.candidates == 2


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085"])
def test_other_line_separators_do_not_end_a_row(desk: Desk, character: str) -> None:
    escaped = character if ord(character) > 0x20 else f"\\u{ord(character):04x}"
    checked = desk.check(OBJECT.replace('"C"', f'"one{escaped}two"') + "\n", "a.jsonl")
    assert desk.texts(checked, "text") == [f"one{character}two"]
    assert desk.texts(desk.check(write_csv(f"a,P,Q,R,one{character}two")), "text") == [f"one{character}two"]


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c"])
def test_forbidden_line_separators_do_not_end_a_row(desk: Desk, character: str) -> None:
    assert desk.refuse(write_csv(f"a,P,Q,R,one{character}two", ROW.replace("a", "\x01"))).problems[1].line == 3


def test_a_cell_of_200_kb_is_read_and_one_above_the_cap_is_not(desk: Desk) -> None:
    assert desk.check(write_csv(f"a,{'p' * 200_000},Q,R,C")).report.candidates == 1
    assert "1,024 kB" in desk.reason(write_csv(ROW, f"b,{'p' * 1_100_000},Q,R,C"))
    many = desk.refuse(write_csv(ROW, f"b,{'ü' * 600_000},Q,R,C"))
    assert many.problems[0].line == 3
    assert "larger than" in str(many)
    assert "larger than" in desk.reason(OBJECT.replace('"P"', '"' + "p" * 1_100_000 + '"'), "a.jsonl")


def test_an_endless_line_is_refused_without_being_read_whole(desk: Desk) -> None:
    small = Limits(row_chars=10_000)
    refusal = desk.refuse(write_csv(ROW) + "b," * 20_000, limits=small)
    assert "longer than 10,000 characters" in str(refusal)
    assert refusal.problems[-1].line == 3
    assert "longer than" in desk.reason('[{"id": "' + "x" * 2_000_000, "a.json", limits=small)


def test_too_many_columns_and_rows_are_refused(desk: Desk) -> None:
    header = ",".join(f"column{n}" for n in range(10_000))
    assert "10,000 columns" in desk.reason(header + "\n" + header + "\n")
    rows = write_csv(*(f"c{n},P,Q,R,C" for n in range(30)))
    assert "more than 20 rows" in desk.reason(rows, limits=Limits(rows=20))
    wide = "[" + ",".join(f'{{"id": "{n}", "question": "Q", "candidate": "C", "key{n}": 1}}' for n in range(500)) + "]"
    assert "different keys" in desk.reason(wide, "a.json")


@pytest.mark.parametrize("name", ["a.xls", "a.xlsx", "a.csv"])
def test_an_old_workbook_is_refused_with_advice_that_holds_under_every_name(desk: Desk, name: str) -> None:
    said = desk.reason(b"\xd0\xcf\x11\xe0\xa1\xb1" + bytes(600), name)
    assert said.endswith("the file is an old Excel or Word file; open it there and save it as .xlsx or .csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04rest", "ZIP"),
        (b"\x1f\x8b\x08\0rest", "gzip"),
        (b"%PDF-1.7\n", "PDF"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"  <html><body>", "HTML"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "old Excel"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"\x89PNG\r\n", "picture"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.xlsx"])
def test_other_files_under_a_wrong_name_are_refused_by_their_content(
    desk: Desk, content: bytes, message: str, name: str
) -> None:
    if name == "a.xlsx" and content.startswith(b"PK"):
        message = "cannot be unpacked"
    reason = desk.reason(content + b"x" * 50, name)
    assert message in reason or (name == "a.xlsx" and "not an Excel file" in reason)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "＝1", "－1", '"=x', ",=cmd|' /C calc'!A0"])
def test_formulas_are_kept_as_text(desk: Desk, text: str) -> None:
    quoted = '"' + text.replace('"', '""') + '"'
    assert desk.texts(desk.check(write_csv(f"a,P,Q,R,{quoted}")), "text") == [text]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{7*7}}", "{% x %}", "${1}", "javascript:x"]
)
def test_markup_is_kept_as_text_in_cells_and_column_names(desk: Desk, text: str) -> None:
    checked = desk.check(write_csv(f"a,P,Q,R,{text},v", header=f"id,passage,question,reference,candidate,{text}\n"))
    assert desk.texts(checked, "text") == [text]
    assert text in desk.texts(checked, "metadata")[0]


@pytest.mark.parametrize(
    ("text", "is_invisible"),
    [
        ("\u202eright to left", True),
        ("\u2066isolated\u2069", True),
        ("zero\u200bwidth", True),
        ("a\ufeffb", True),
        ("tag\U000e0041", True),
        ("مرحبا", False),
        ("e\u0301" * 3 + "\u0300" * 200, False),
        ("zero\u200dwidth", True),
        ("👩\u200d🚀", False),
        ("❤\ufe0f\u200d🔥", False),
        ("می\u200cخواهم", False),
        ("क्\u200dष", False),
        ("🇩🇪", False),
        ("\u1112\u1161\u11ab", False),
        ("\ue000", False),
    ],
)
def test_any_script_is_kept_exactly_and_invisible_controls_are_reported(
    desk: Desk, text: str, is_invisible: bool
) -> None:
    checked = desk.check(write_csv(f"a,P,Q,R,{text}"))
    assert desk.texts(checked, "text") == [text]
    assert ("invisible" in desk.warnings(checked)) == is_invisible


@pytest.mark.parametrize("name", ["../../x.csv", "n" * 300 + ".csv", "a\0b.csv", "CON.csv", "🙂.csv", "\u202evsc.csv"])
def test_any_file_name_is_only_shown(desk: Desk, name: str) -> None:
    checked = desk.check(write_csv(ROW), name)
    assert len(checked.name) <= 200
    assert not set(checked.name) & {"\0", "\u202e"}


def test_the_last_part_of_a_name_decides(desk: Desk) -> None:
    assert "“.html”" in desk.reason(write_csv(ROW), "a.csv.html")


def test_lines_that_differ_by_space_or_composition_are_two_rows(desk: Desk) -> None:
    checked = desk.check(write_csv("a,P,Q,R,é", "b,P,Q,R,e\u0301", "c,P,Q,R,é "))
    assert desk.texts(checked, "text") == ["é", "e\u0301", "é "]


def test_texts_of_spaces_are_kept_with_a_warning(desk: Desk) -> None:
    checked = desk.check(write_csv(f"a,P,Q,R,{' ' * 1_000_000}", "b,P,Q,R,\u3000"))
    assert [len(text) for text in desk.texts(checked, "text")] == [1_000_000, 1]
    assert "only spaces (2 times: lines 2, 3)" in desk.warnings(checked)
    assert "line 2, column “question”: is empty" in desk.reason(write_csv("a,P, \u3000,R,C"))


def test_a_preview_shows_the_columns_though_rows_cannot_be_read(desk: Desk) -> None:
    path = desk.put(write_csv(ROW, "b,P", "c,P,Q,R,C", "d,P"))
    look = preview(path=path, name="a.csv")
    assert [row[0] for row in look.rows] == ["a", "c"]
    assert [str(each) for each in look.warnings] == ["Too few cells: 2 instead of 5 (2 times: lines 3, 5)."]


def test_the_preview_shows_columns_mapping_rows_and_warnings(desk: Desk) -> None:
    path = desk.put(write_csv(*(f"c{n},P{n},Q,R,C{n}" for n in range(9)), header=" id,context,query,gold,prediction\n"))
    look = preview(path=path, name="a.csv", options=Options())
    assert (look.format, look.encoding, look.delimiter) == ("csv", "utf-8", ",")
    assert look.mapping == {
        "id": "candidate_id",
        "context": "passage",
        "query": "question",
        "gold": "reference",
        "prediction": "candidate",
    }
    assert len(look.rows) == 5
    assert look.rows[4] == ("c4", "P4", "Q", "R", "C4")
    assert (look.n_rows, look.is_whole) == (9, True)
    assert "“id”" in str(look.warnings[0])
