"""Charts with names of any length: no text is cut off or covers another, and intervals lie inside the plot."""

import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest

from projects.charts import drawing, specs
from projects.charts.drawing import Chart, Row, draw, draw_for_phone, write
from projects.charts.fitting import fold_chart_title
from projects.charts.lettering import TextBox, fold_name, fold_names, list_text_boxes, measure_width

NAMES = (
    "a system with a name of sixty characters, which is number %d",
    "huggingface/meta-llama_Llama-3.1-70B-Instruct-awq-int4-revision-%d",
    "系统名称很长的一个问答模型第%d号版本加长版本号一二三四五六七八九十",
    "نظام الإجابة على الأسئلة الطويل جدا رقم %d النسخة الأخيرة المحسنة",
    "x" * 290 + "%d",
    "\\input{/etc/passwd} \"'];%d\n<b>",
)


def make_charts(n: int, *, is_long: bool) -> Iterator[Chart]:
    """Yield a chart of every kind over so many systems."""
    rng = random.Random(n)
    names = [(NAMES[at % len(NAMES)] if is_long else "s%d") % at for at in range(n)]
    last, few = names[-1], names[:12]
    rows: list[Row] = [
        {"name": name, "v": (v := rng.random()), "low": v - 0.1, "high": v + 0.1, "n": rng.randrange(1, 90), "y": 1 - v}
        for name in names
    ]
    line = (0.79, "human ceiling 0.790")
    ends = ("v", "low", "high")
    cells = [{"a": a, "b": b, "v": rng.random(), "text": "0.50"} for a, b in combinations(names[:15], 2)]
    shares = [{"name": name, "score": score, "v": rng.random()} for name in few for score in ("1", "2", "3")]
    swept = [{"w": w / 2, "name": name, "v": w / 40, "low": 0, "high": 0.6} for name in few for w in range(10)]
    days = [{"day": f"2026-{1 + at // 28:02d}-{1 + at % 28:02d}", "v": 0.5, "low": 0.4, "high": 0.6} for at in range(n)]
    plot = {"width": 400}
    for name, data, spec in (
        ("intervals", rows, specs.intervals("name", *ends, title=last, zero=0, line=line, is_line_right=True) | plot),
        ("bars", rows, specs.bars("name", "n", title="candidates", axis="system")),
        ("map", cells, specs.heat_map("a", "b", "v", "text", title="correlation", domain=(0, 1))),
        ("points", rows, specs.points("v", "y", "name", x_title=last, y_title=last) | plot),
        ("scatter", rows, specs.scatter("v", "y", x_title=last, y_title="y", series="name") | plot),
        ("parts", shares, specs.small_multiples("score", "v", "name", title="share", axis="score", n=len(few))),
        ("swept", swept, specs.swept("w", *ends, "name", title="r", axis="alpha", line=line)),
        ("days", days, specs.line("day", *ends, title="alpha", axis="day of the last rating")),
    ):
        yield Chart(name, f"A chart of {last}", data, spec)


@pytest.mark.parametrize(("n", "is_long"), [(2, True), (10, False), (10, True), (40, True)])
def test_every_text_has_room_of_its_own(n: int, is_long: bool) -> None:
    for chart in make_charts(n, is_long=is_long):
        for drawn in (write(chart, "svg").decode(), draw(chart)):
            assert drawn, chart.name
            check_texts(drawn, (chart.name, n))


def check_texts(drawn: str, where: object) -> None:
    drawing = ET.fromstring(drawn)
    left, top, width, height = map(float, drawing.get("viewBox", "").split())
    boxes = list_text_boxes(drawing)
    assert len(boxes) > 4
    for box in boxes:
        x_low, y_low, x_high, y_high = box.bounds
        assert left <= x_low + 0.5, (where, box.text)
        assert top <= y_low + 0.5, (where, box.text)
        assert x_high <= left + width + 0.5, (where, box.text)
        assert y_high <= top + height + 0.5, (where, box.text)
    assert [(one.text, other.text) for one, other in combinations(boxes, 2) if do_texts_meet(one, other)] == [], where


def do_texts_meet(one: TextBox, other: TextBox) -> bool:
    """Whether two texts cover each other by more than a pixel, however they are turned."""
    for first, second in (*list_sides(one), *list_sides(other)):
        # Two convex shapes are apart if a line along one of their sides parts them.
        across = (second[1] - first[1], first[0] - second[0])
        length = math.hypot(*across) or 1.0
        here, there = ([(x * across[0] + y * across[1]) / length for x, y in box.corners] for box in (one, other))
        if max(here) - 1 <= min(there) or max(there) - 1 <= min(here):
            return False
    return True


def list_sides(box: TextBox) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Two sides that meet: the others are parallel to them."""
    return list(pairwise(box.corners))[:2]


@pytest.mark.parametrize("is_long", [True, False])
def test_a_drawing_for_phones_is_as_narrow_as_they_are(*, is_long: bool) -> None:
    charts = {chart.name: chart for chart in make_charts(10, is_long=is_long)}
    for name in ("intervals", "scatter", "parts", "swept", "days"):
        drawn = draw_for_phone(charts[name])
        check_texts(drawn, name)
        # A legend of long names takes more; the page draws it a tenth smaller.
        assert float(ET.fromstring(drawn).get("width", "0")) < (360 if name == "scatter" else 318), name
    assert draw_for_phone(charts["map"]) == "", "the squares of a map keep their size"
    many = [dict(row) for row in charts["scatter"].rows] * 100
    assert draw_for_phone(replace(charts["scatter"], rows=many)) == "", "a page has many points once"


def test_intervals_lie_inside_the_plot() -> None:
    (chart,) = (each for each in make_charts(10, is_long=True) if each.name == "intervals")
    drawn = draw(chart)
    marks = drawn[drawn.index("role-mark") :]
    rules = [
        (float(start), float(start) + float(length))
        for start, length in re.findall(r'<line transform="translate\(([\d.-]+),[\d.]+\)" x2="([\d.-]+)"', marks)
    ]
    assert len(rules) >= 10
    assert all(min(ends) >= -0.5 and max(ends) <= 400.5 for ends in rules)


@pytest.mark.parametrize("kind", ["line", "intervals"])
def test_rows_without_an_interval_keep_their_place(kind: str) -> None:
    names = ["first", "second", "third", "fourth"]
    ends = {"second": 0.1, "fourth": 0.2}
    rows = [{"name": name, "v": 0.5, "low": ends.get(name), "high": 0.9 if name in ends else None} for name in names]
    rows.append({"name": "undefined", "v": None, "low": None, "high": None})
    columns = ("name", "v", "low", "high")
    spec = specs.line(*columns, title="v", axis="day") if kind == "line" else specs.intervals(*columns, title="v")
    for drawn in (
        write(Chart("chart", "A chart", rows, spec), "svg").decode(),
        draw(Chart("c", "A chart", rows, spec)),
    ):
        assert [text for text in re.findall(r">(\w+)</text>", drawn) if text in (*names, "undefined")] == names


def test_a_name_that_is_shown_in_part_has_the_whole_as_its_tooltip() -> None:
    name = NAMES[4] % 7
    rows: list[Row] = [{"name": name, "v": 0.5, "low": 0.4, "high": 0.6}]
    chart = Chart("it", "It", rows, specs.intervals("name", "v", "low", "high", title="@mean"))
    for drawn in (draw(chart), write(chart, "svg").decode()):
        titles = [each.text for each in ET.fromstring(drawn).iter() if each.tag.endswith("title")]
        assert set(titles) == {name}
    assert "@mean" in drawn, "a title that begins with the sign of our colours is a title"


def test_a_file_for_print_is_as_wide_as_a_column_or_a_page() -> None:
    (chart,) = (each for each in make_charts(10, is_long=True) if each.name == "intervals")
    for form, centimetres in (("column.pdf", 8.5), ("page.pdf", 17.5)):
        written = write(chart, form)
        box = re.search(rb"/MediaBox \[([^\]]+)\]", written)
        assert box is not None
        _left, _bottom, points, _top = map(float, box[1].split())
        assert points / 72 * 2.54 == pytest.approx(centimetres, abs=0.1), form


@pytest.mark.parametrize("form", ["column.pdf", "page.pdf"])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_chart_of_parts_is_printed_at_its_own_size(form: str, n: int) -> None:
    """The drawing is as wide as the paper from the start, so that scaling leaves the texts as large as they are."""
    rows: list[Row] = [{"who": f"part {part}", "x": at, "v": at / 9} for part in range(n) for at in (1, 2, 3)]
    spec = specs.small_multiples("x", "v", "who", title="share", axis="score", n=n)
    width, name_width = drawing._PRINTED[form]
    drawn = drawing._draw_printed(Chart("parts", "A chart of parts", rows, spec), width, name_width)
    own_width = float(str(drawn.get("viewBox")).split()[2])
    assert own_width == pytest.approx(width, rel=0.05)


def test_names_are_folded_and_then_shortened_where_they_tell_least() -> None:
    assert fold_name("short", 100) == ["short"]
    assert fold_name("one line and another one", 90, most_lines=3) == ["one line and", "another one"]
    long = fold_name("x" * 300 + "7", 100, most_lines=2)
    assert len(long) == 2
    assert long[1].startswith("…")
    assert long[1].endswith("7")
    assert all(measure_width(line) <= 100 for line in long)
    alike = [f"the very same beginning of {at} and the very same end of a name" for at in (1, 2)]
    one, other = (" ".join(lines) for lines in fold_names(alike, 90, most_lines=1).values())
    assert one != other
    assert ("1" in one, "2" in other) == (True, True)


def test_lines_of_one_colour_differ_in_their_dashes_and_in_one_legend() -> None:
    rows: list[Row] = [
        {"name": f"metric {at}", "x": x, "v": at / 20 + x / 9, "low": 0.0, "high": 1.0}
        for at in range(16)
        for x in (1, 2)
    ]
    swept = specs.swept("x", "v", "low", "high", "name", title="share", axis="N")
    for spec in (swept, specs.curves("x", "v", "name", title="width", axis="candidates", at=[1, 2])):
        drawn = draw(Chart("lines", "Lines", rows, spec))
        # The legend's own lines begin and end at the same height.
        looks = re.findall(r'<path d="M0,[^"]*" stroke="([^"]*)" stroke-width="2" stroke-dasharray="([^"]*)"', drawn)
        assert len(set(looks)) == 16
        assert len(re.findall(r">metric 3<", drawn)) == 1, "one legend"


def test_a_title_of_a_chart_is_whole_also_in_a_narrow_drawing() -> None:
    title = "Difference of mean z of each pair of systems, with 95 % CI over passages"
    assert " ".join(fold_chart_title(title, 140)) == title
