"""Exports of other annotation tools, DuReader's JSON, and folders of Parquet, with small files in the form of each."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from projects.errors import Refused
from projects.importing import DEFAULT_LIMITS, Checked, CriterionColumn, FileRefused, Kind, load
from projects.importing.check_report import Notes
from projects.importing.checking import SKIPPED_NAME, check
from projects.importing.import_options import Options
from projects.importing.limits import Limits
from projects.importing.parquet_folders import ParquetPart, combine_parquet, list_parquet
from projects.importing.previewing import preview
from projects.importing.readers import open_reader
from tests.projects.importing.conftest import Desk

FILES = Path(__file__).parent / "peers"
KNOWN = {"correctness": CriterionColumn(key="correctness", low=1, high=5)}
FIRST, SECOND = "7f1c9a52-7d5b-4a5e-9a57-0f1b6f1f2c11", "c0d6be1c-11b1-4d0c-8f4c-98c2c70a6d02"


def judged(desk: Desk, name: str, form: str) -> list[tuple[str, str, str, str]]:
    folder = desk.folder / f"spool-{next(desk.numbers)}"
    path = FILES / name
    checked = check(path=path, name=name, folder=folder, kind=Kind.JUDGMENTS, known=KNOWN, options=Options(format=form))
    rows = checked.spool.rows("judgments")
    return [(row["external_id"], row["annotator"], row["criterion"], row["value"]) for row in rows]


def candidates(checked: Checked) -> list[tuple[str, str, str]]:
    rows = checked.spool.rows("candidates")
    return [(row["external_id"], row["text"], row["source"]) for row in rows]


BOTH = [("At nine o'clock.", "system-a"), ("At noon.", "system-b")]


@pytest.mark.parametrize(
    ("name", "form", "ids", "ratings"),
    [
        (
            "argilla.json",
            "argilla",
            ("ferry-1", "ferry-2"),
            [("ferry-1", FIRST, "5.0"), ("ferry-1", SECOND, "4.0"), ("ferry-2", SECOND, "1.0")],
        ),
        ("label_studio.json", "label_studio", ("31", "32"), [("31", "user-10", "5.0"), ("31", "user-11", "4.0")]),
        (
            "potato.jsonl",
            "potato",
            ("ferry-1", "ferry-2"),
            [("ferry-1", "reader-one", "5.0"), ("ferry-1", "reader-two", "4.0"), ("ferry-2", "reader-two", "1.0")],
        ),
    ],
)
def test_an_export_gives_its_items_and_its_ratings(
    desk: Desk, name: str, form: str, ids: tuple[str, str], ratings: list[tuple[str, str, str]]
) -> None:
    checked = desk.check(FILES / name, name, format=form)
    assert candidates(checked) == [(own, *each) for own, each in zip(ids, BOTH, strict=True)]
    assert [row["text"] for row in checked.spool.rows("questions")] == ["When does the ferry leave?"]
    # The format is recognised by its content too, and its columns are mapped without a choice.
    assert preview(path=FILES / name, name=name).format == form
    assert judged(desk, name, form) == [(item, who, "correctness", value) for item, who, value in ratings]


def test_argilla_before_version_2_and_its_drafts(desk: Desk) -> None:
    assert judged(desk, "argilla_1.json", "argilla") == [("ferry-1", FIRST, "correctness", "5.0")]


def test_label_studio_keeps_choices_and_times_and_leaves_cancelled_annotations_out(desk: Desk) -> None:
    found = preview(
        path=FILES / "label_studio.json",
        name="label_studio.json",
        kind=Kind.JUDGMENTS,
        options=Options(format="label_studio"),
    )
    assert set(found.columns) == {"id", "annotator", "time", "correctness", "wording"}
    assert (found.n_rows, found.mapping["time"], found.mapping["annotator"]) == (2, "time", "annotator")


@pytest.mark.parametrize(("form", "part"), [("argilla", "fields"), ("label_studio", "data"), ("potato", "label_a")])
def test_another_file_is_refused_by_what_it_lacks(desk: Desk, form: str, part: str) -> None:
    assert f"no “{part}" in desk.reason('[{"question": "Who?", "candidate": "He."}]', "a.json", format=form)


def test_dureader(desk: Desk) -> None:
    checked = desk.check(FILES / "dureader.jsonl", "dureader.jsonl", format="dureader")
    assert preview(path=FILES / "dureader.jsonl", name="dureader.jsonl").format == "dureader"
    # Without answers of systems, the last of several answers is rated; a single one has nothing to be rated.
    assert candidates(checked) == [
        ("181574-human", "早上九点开。", "human"),
        ("181575-system-a", "可以。", "system-a"),
        ("181575-system-b", "不可以。", "system-b"),
    ]
    questions = list(checked.spool.rows("questions"))
    assert [(row["external_id"], row["type"]) for row in questions] == [("181574", "entity"), ("181575", "yes-no")]
    references = [(row["text"], row["opinion"]) for row in checked.spool.rows("references")]
    assert references == [("九点。", ""), ("可以上船。", "Yes")]
    assert any("skipped" in str(warned) for warned in checked.report.warnings)
    with_documents = next(iter(checked.spool.rows("passages")))
    assert "渡轮九点开。" in with_documents["documents"]
    folder = desk.folder / "judgments"
    with pytest.raises(Refused, match="no judgments"):
        check(
            path=FILES / "dureader.jsonl",
            name="dureader.jsonl",
            folder=folder,
            kind=Kind.JUDGMENTS,
            options=Options(format="dureader"),
        )


def test_dureader_with_many_candidates_builds_its_documents_once(desk: Desk) -> None:
    value = {"question": "Q", "question_id": 1, "answers": ["R"], "documents": [{"paragraphs": ["P"]}]}
    many = {**value, "candidates": {f"s{n}": "A" for n in range(6)}}
    path = desk.put(json.dumps(many))
    reader = open_reader(path, "a.jsonl", Options(format="dureader"), DEFAULT_LIMITS, Notes())
    rows = [row for _, row in reader.records()]
    reader.close()
    assert len(rows) == 6
    assert all(row["documents"] is rows[0]["documents"] and row["entities"] is rows[0]["entities"] for row in rows)
    few = replace(DEFAULT_LIMITS, list_entries=5)
    with pytest.raises(FileRefused, match="6 candidates of one question; the maximum is 5"):
        desk.check(json.dumps(many), "a.jsonl", limits=few, format="dureader")
    with pytest.raises(FileRefused, match="201 answers of one question; the maximum is 200"):
        desk.check(json.dumps(many | {"answers": ["R"] * 201}), "a.jsonl", format="dureader")


def test_rows_are_skipped_one_by_one_where_lines_do_not_tell_them_apart(desk: Desk) -> None:
    def response(who: str, value: int) -> dict[str, Any]:
        return {"user_id": who, "values": {"correctness": {"value": value}}, "status": "submitted"}

    def judge(*records: dict[str, Any], **options: Any) -> Checked:
        lines = "".join(json.dumps({"fields": {}, **each}) + "\n" for each in records)
        folder = desk.folder / f"spool-{next(desk.numbers)}"
        chosen = Options(format="argilla", **options)
        return check(
            path=desk.put(lines), name="a.jsonl", folder=folder, kind=Kind.JUDGMENTS, known=KNOWN, options=chosen
        )

    shared = {"id": "a", "responses": [response("r1", 9), response("r2", 4), response("r3", 2)]}
    alone = {"id": "b", "responses": [response("r1", 9)]}
    right = {"id": "c", "responses": [response("r1", 3), response("r2", 4)]}
    checked = judge(shared, alone, right, skip_wrong_rows=True)
    assert [row["line"] for row in checked.spool.rows("judgments")] == ["2", "3", "5", "6"]
    assert checked.report.skipped == {"wrong_rows": 2}
    (cause,) = checked.report.skipped_rows
    assert str(cause).startswith("rows 1, 4 (2 times)")
    # Only the beginning of a file tells whether lines are enough.
    many = [{"id": str(n), "responses": [response("r1", 3)]} for n in range(200)]
    with pytest.raises(FileRefused) as caught:
        judge(*many, shared, skip_wrong_rows=True)
    assert not caught.value.rows, "Skipping is not offered."
    assert "line 201 has several rows" in str(caught.value.details)
    # A list on one line; a repeated id there was read again and again, to be skipped.
    named = (("a", "A"), ("b", ""), ("c", "C"), ("a", "D"))
    texts = [{"id": own, "question": "Q", "candidate": text} for own, text in named]
    refusal = desk.refuse(json.dumps(texts), "a.json")
    assert [str(problem).partition(":")[0] for problem in refusal.problems] == [
        "entry 2, column “candidate”",
        "entry 4, column “id”",
    ]
    assert "in entry 1" in refusal.problems[1].reason
    checked = desk.check(json.dumps(texts), "a.json", skip_wrong_rows=True)
    assert desk.texts(checked, "external_id") == ["a", "c"]
    _, (row, reason, *_), *_ = csv.reader((checked.spool.folder / SKIPPED_NAME).read_text().splitlines())
    assert (row, reason.partition(";")[0]) == ("2", "candidate: is empty")
    assert (checked.spool.folder / SKIPPED_NAME).read_text().startswith("entry,what_is_wrong")
    assert load(checked.spool.folder).report.unit == "entry"
    # What ends the reading is counted in entries too, early and late.
    assert "entry 3: the list contains a number" in str(desk.refuse(json.dumps([*texts[::2], 5]), "a.json"))
    late = json.dumps([{**texts[0], "id": str(n)} for n in range(250)] + [5])
    assert "entry 251: the list contains a number" in str(desk.refuse(late, "a.json"))
    one_each = "[" + ",\n".join(map(json.dumps, texts)) + "]"
    assert desk.refuse(one_each, "a.json").problems[0].line == 2
    assert "line 4" in str(desk.refuse(one_each, "a.json").problems[1])


def test_a_folder_of_parquet_takes_its_splits_from_the_names_of_its_files(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "ferries" / "data"
    folder.mkdir(parents=True)
    row = {"passage": "The ferry leaves at nine.", "question": "When?", "reference": "At nine."}
    for name, answers in (
        ("train-00000-of-00002.parquet", ["At nine."]),
        ("train-00001-of-00002.parquet", ["At noon."]),
        ("test.parquet", ["At ten.", "At one."]),
    ):
        # A passage belongs to one split, so each file has its own.
        text = f"{row['passage']} {name[:4]}"
        rows = [{**row, "passage": text, "id": f"{name}-{n}", "candidate": each} for n, each in enumerate(answers)]
        pd.DataFrame(rows).to_parquet(folder / name)
    target = tmp_path / "all.parquet"
    combine_parquet(list_parquet(folder.parent), target)
    checked = desk.check(target, "all.parquet")
    assert len(candidates(checked)) == 4
    assert sorted(passage["split"] for passage in checked.spool.rows("passages")) == ["test", "train"]
    # What is decompressed is counted, whatever the files declare; a dictionary repeats a long text in a few bytes.
    large = tmp_path / "large.parquet"
    pd.DataFrame({"passage": ["At nine. " * 1_000] * 2_000}).astype("category").to_parquet(large)
    assert large.stat().st_size < 100_000
    with pytest.raises(Refused, match="larger than 10 MB when decompressed"):
        combine_parquet([ParquetPart("a.parquet", large)], target, Limits(decoded_bytes=10 * 2**20))
    with pytest.raises(Refused, match="At most 100"):
        combine_parquet([ParquetPart("a.parquet", large)] * 101, target)
    with pytest.raises(Refused, match="no Parquet files"):
        list_parquet(FILES)
    (folder / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(Refused, match=r"broken\.parquet"):
        combine_parquet(list_parquet(folder), target)


ODD: tuple[Any, ...] = (None, 5, "text", [], {}, [[5]], [{"a": "b"}], {"a": ["b"]}, {"a": 5}, {"9" * 5_000: True})


def vary(value: Any) -> Iterator[Any]:
    """Yield the value with each of its parts replaced by each of the odd values."""
    for odd in ODD:
        yield odd
    for key in value if type(value) is dict else range(len(value)) if type(value) is list else ():
        for odd in vary(value[key]):
            changed = value.copy()
            changed[key] = odd
            yield changed


@pytest.mark.parametrize("name", sorted(path.name for path in FILES.iterdir()))
def test_an_export_of_another_shape_is_read_or_refused(desk: Desk, name: str) -> None:
    form = name.partition(".")[0].removesuffix("_1")
    text = (FILES / name).read_text()
    first = json.loads(text)[0] if name.endswith(".json") else json.loads(text.splitlines()[0])
    n_read = n_refused = 0
    for changed in vary(first):
        path = desk.put(json.dumps([changed]))
        for kind in Kind:
            try:
                preview(path=path, name=name, kind=kind, options=Options(format=form))
                n_read += 1
            except FileRefused:
                n_refused += 1
    assert n_read
    assert n_refused


@pytest.mark.parametrize(
    ("form", "kind", "value", "reason"),
    [
        ("argilla", Kind.JUDGMENTS, {"fields": {}, "responses": {"gpt4": "an answer"}}, "“gpt4”"),
        ("argilla", Kind.JUDGMENTS, {"fields": {}, "responses": [{"values": [1]}]}, "“values”"),
        ("label_studio", Kind.JUDGMENTS, {"data": {}, "annotations": [{"result": 5}]}, "“result”"),
        ("potato", Kind.CANDIDATES, {"label_annotations": {}, "id": [1]}, "“id”"),
        ("dureader", Kind.CANDIDATES, {"answers": 5}, "“answers”"),
        (
            "dureader",
            Kind.CANDIDATES,
            {"answers": ["A", "B"], "documents": [], "question": "Q", "entity_answers": [[{}]]},
            "“entity_answers”",
        ),
    ],
)
def test_a_part_of_another_type_is_named_with_its_line(
    desk: Desk, form: str, kind: Kind, value: dict[str, Any], reason: str
) -> None:
    problem = desk.refuse("\n" + json.dumps([value]), "a.json", kind=kind, format=form).problems[0]
    assert problem.line == 2
    assert reason in problem.reason
