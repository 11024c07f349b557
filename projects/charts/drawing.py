"""Charts: a specification of marks over rows of figures, drawn on the server as SVG, PNG or PDF; the figures as CSV.

A specification is Vega-Lite as plain dictionaries. Its colours are names of the palette (`@ink`): on a page they are
the page's own, so that a chart follows the theme; in a file they are those of a light page.
"""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree as ET

import orjson
from django.core.cache import cache
from django.utils.safestring import SafeString, mark_safe

from projects.charts.drawing_process import Undrawable, drawing_process
from projects.charts.fitting import NAME_WIDTH, PLOT_WIDTH, fit_drawing, fit_spec, fold_chart_title, repeat_axis
from projects.database.csv import format_row, guard_text
from projects.language.characters import replace_forbidden

Row = Mapping[str, Any]
Spec = dict[str, Any]

FORMS = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "column.pdf": "application/pdf",
    "page.pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
"""What a chart can be had as, by the ending of its file."""
FORM_NAMES = {
    "svg": "SVG",
    "png": "PNG",
    "pdf": "PDF",
    "column.pdf": "PDF 8.5 cm",
    "page.pdf": "PDF 17.5 cm",
    "csv": "CSV",
}
_PRINTED = {"column.pdf": (321, 110), "page.pdf": (661, 200)}
"""The width of a column and of a page of a paper in pixels of 96 an inch, and that of names beside a plot."""
_LEAST_PLOT = 110
"""Pixels that a plot keeps, however long the names beside it are."""
_PHONE = (316, 110)
"""The width of a drawing and of its names on a phone, where the page is 390 pixels wide."""
TALLEST = 1_000
"""About the pixels of a screen: a chart that is taller, with a row for each of many names, scrolls in a frame."""
MOST_ON_PHONE = 500
"""The most rows of a chart that a page has twice, once for phones; of more, phones scroll the wide drawing."""
_POINTS = 0.75
"""Points for each pixel, so that a text of 12 pixels is printed in 9 points."""

_FAILED = ""
_RETRY_SECONDS = 60
"""How long a chart that could not be drawn is not tried again: each attempt costs a process."""
_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
_PALETTE = {
    "ink": "#1c2227",
    "ink-2": "#495057",
    "ink-3": "#5d666e",
    "line": "#e1e5e8",
    **{f"series-{number}": colour for number, colour in enumerate(_SERIES, start=1)},
}
"""Colours in files. The series are those of Okabe and Ito, which people can tell apart with any colour vision."""
SERIES = tuple(f"@{name}" for name in _PALETTE if name.startswith("series"))
SCHEME = "viridis"
_SVG = "http://www.w3.org/2000/svg"
ET.register_namespace("", _SVG)
_ELEMENTS = {
    "svg",
    "g",
    "rect",
    "path",
    "line",
    "text",
    "tspan",
    "defs",
    "clipPath",
    "circle",
    "linearGradient",
    "stop",
}


@dataclass(frozen=True)
class Chart:
    """A chart by name, and the rows that it draws; the table below it and its CSV contain the same figures."""

    name: str
    title: str
    rows: Sequence[Row]
    spec: Spec
    description: str = ""
    columns: Sequence[str] = ()

    forms = tuple(FORM_NAMES.items())

    @property
    def is_empty(self) -> bool:
        return not self.rows

    @property
    def is_tall(self) -> bool:
        height = self.spec.get("height")
        if not isinstance(height, Mapping):
            return False
        label = self.spec["encoding"]["y"]["field"]
        return bool(height["step"] * len({row[label] for row in self.rows}) > TALLEST)


logger = logging.getLogger(__name__)


def draw(chart: Chart) -> SafeString:
    """Return the chart as SVG for a page, in the page's colours, or nothing if it could not be drawn."""
    return mark_safe(_draw_on_page(chart))  # noqa: S308 - `_checked` allows shapes and texts only


def draw_for_phone(chart: Chart) -> SafeString:
    """Return the same as narrow as a phone; nothing where the chart keeps its width, such as that of a heat map."""
    narrow = _narrow(chart)
    if narrow is None or len(chart.rows) > MOST_ON_PHONE:
        return mark_safe("")
    across, name_width = _PHONE
    plot: float = across - name_width
    drawn = _draw_on_page(narrow, name_width=name_width, width=plot)
    for _attempt in range(2):
        found = re.search(r'<svg[^>]* width="([\d.]+)"', drawn)
        if found is None or abs(across - float(found[1])) <= 1:
            break
        # What is beside the plot, such as names, hardly changes with it.
        plot = max(_LEAST_PLOT, plot + across - float(found[1]))
        drawn = _draw_on_page(narrow, name_width=name_width, width=plot)
    return mark_safe(drawn)  # noqa: S308 - as above


def _narrow(chart: Chart) -> Chart | None:
    """Return the chart with its parts one below the other; None for a plot whose width its cells decide."""
    if "facet" in chart.spec:
        return replace(chart, spec={**chart.spec, "columns": 1})
    return chart if isinstance(chart.spec.get("width", PLOT_WIDTH), int | float) else None


def _draw_on_page(chart: Chart, *, name_width: float = NAME_WIDTH, width: float = 0) -> str:
    """Return the drawing, which is cached by its specification; nothing if it could not be drawn."""
    # The colours are CSS variables, so that one cached drawing serves both themes.
    palette = {name: f"var(--{name})" for name in _PALETTE}
    spec = _whole(chart, palette, is_page=True, name_width=name_width, width=width)
    key = "chart:" + hashlib.sha256(orjson.dumps(spec)).hexdigest()
    drawn: str | None = cache.get(key)
    if drawn is None:
        try:
            drawn = _checked(drawing_process.draw(spec, "svg").decode(), list_texts(chart))
            cache.set(key, drawn)
        except Undrawable:
            logger.exception("The chart “%s” could not be drawn.", chart.name)
            drawn = _FAILED
            cache.set(key, drawn, _RETRY_SECONDS)
    return drawn


def write(chart: Chart, form: str) -> bytes:
    """Return the chart as a file in one of `FORMS`. Raises Undrawable."""
    if form == "csv":
        return _as_csv(chart)
    drawing = _draw_printed(chart, *_PRINTED[form]) if form in _PRINTED else _draw_file(chart)
    svg = ET.tostring(drawing, encoding="unicode")
    return svg.encode() if form == "svg" else drawing_process.draw(svg, form.rpartition(".")[2])


def _draw_file(chart: Chart, *, name_width: float = NAME_WIDTH, width: float = 0) -> ET.Element:
    spec = _whole(chart, _PALETTE, name_width=name_width, width=width)
    svg = drawing_process.draw(spec, "svg").decode()
    drawing = ET.fromstring(svg)  # noqa: S314 - our own drawing, not a file from outside
    _finish(drawing, list_texts(chart))
    return drawing


def _draw_printed(chart: Chart, width: float, name_width: float) -> ET.Element:
    """Return the drawing in this width, with its plot so wide that texts keep their size where that is possible."""
    plot = float(chart.spec.get("width", PLOT_WIDTH)) if isinstance(chart.spec.get("width", PLOT_WIDTH), int) else 0.0
    columns = 1
    if "facet" in chart.spec:
        # Parts are side by side, each as wide as the others, as far as there is room for their plots and axes.
        columns = min(int(chart.spec["columns"]), int(width // (_LEAST_PLOT + 40)))
        chart = replace(chart, spec={**chart.spec, "columns": columns})
    drawing = _draw_file(chart, name_width=name_width, width=plot)
    for _attempt in range(2 if plot else 0):
        # What is beside the plot, such as names, hardly changes with it.
        plot = max(_LEAST_PLOT, plot + (width - float(drawing.get("width", width))) / columns)
        drawing = _draw_file(chart, name_width=name_width, width=plot)
    # A plot of squares keeps its size, so the whole is scaled.
    scale = width / float(drawing.get("width", width)) * _POINTS
    for name in ("width", "height"):
        drawing.set(name, f"{scale * float(drawing.get(name, 0)):.2f}")
    return drawing


def _whole(
    chart: Chart, palette: Mapping[str, str], *, is_page: bool = False, name_width: float = NAME_WIDTH, width: float = 0
) -> Spec:
    own = _set_width(chart.spec, width) if width else {"width": PLOT_WIDTH, **chart.spec}
    if is_page and chart.is_tall:
        own = repeat_axis(own)
    fitted, rows = fit_spec(own, chart.rows, name_width=name_width)
    spec: Spec = _coloured({**fitted, "config": _CONFIG}, palette)
    spec |= {"data": {"values": [dict(row) for row in rows]}, "background": None if is_page else "#ffffff"}
    if not is_page:
        across = own.get("width")  # a chart of parts has none of its own, and a heat map one for each step
        across = across if isinstance(across, int | float) else PLOT_WIDTH
        spec |= {"title": {"text": fold_chart_title(chart.title, across), "frame": "group"}, "padding": 12}
    printable: Spec = _printable(spec)
    return printable


def _set_width(spec: Spec, width: float) -> Spec:
    return {**spec, "spec": {**spec["spec"], "width": width}} if "facet" in spec else {**spec, "width": width}


def list_texts(chart: Chart) -> list[str]:
    """Return the texts that a drawing may show in part: names in the rows, and titles."""

    def find(part: Any) -> Iterator[str]:
        if isinstance(part, Mapping):
            for key, value in part.items():
                if isinstance(value, str) and key == "title":
                    yield value
                yield from find(value)
        elif isinstance(part, list):
            for each in part:
                yield from find(each)

    names = (value for row in chart.rows for value in row.values() if isinstance(value, str))
    return list(dict.fromkeys([*names, *find(chart.spec), chart.title]))


def _finish(drawing: ET.Element, texts: Sequence[str]) -> None:
    """Add the whole of each text that is shown in part as its tooltip, and make room for all texts."""
    # Compared without white space, as lines are broken in its place.
    bare = {"".join(text.split()): text for text in texts}
    for element in drawing.iter():
        shown = "".join("".join(element.itertext()).split())
        if element.tag.rpartition("}")[2] == "text" and "…" in shown:
            pattern = ".*".join(map(re.escape, shown.split("…")))
            whole = next((text for key, text in bare.items() if re.fullmatch(pattern, key)), "")
            if whole:
                ET.SubElement(element, f"{{{_SVG}}}title").text = replace_forbidden(whole)
    fit_drawing(drawing)


def _printable(part: Any) -> Any:
    """Return the specification without characters that end the drawing library: stored texts may contain some."""
    if isinstance(part, str):
        return replace_forbidden(part)
    if isinstance(part, dict):
        return {_printable(key): _printable(value) for key, value in part.items()}
    return [_printable(value) for value in part] if isinstance(part, list | tuple) else part


def _coloured(part: Any, palette: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {key: _coloured(value, palette) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_coloured(value, palette) for value in part]
    # A title may be a name from a file, and begin with the same sign.
    return palette.get(part[1:], part) if isinstance(part, str) and part.startswith("@") else part


def _checked(svg: str, texts: Sequence[str] = ()) -> str:
    """Return the drawing if it contains only shapes and texts, since the page includes it as it is. Raises ValueError.

    Its descriptions for screen readers are removed: the page describes the chart as a whole, and the table has every
    figure.
    """
    drawing = ET.fromstring(svg)  # noqa: S314 - our own drawing, not a file from outside
    for element in drawing.iter():
        name = element.tag.rpartition("}")[2]
        # Names and labels in the drawing come from imported files. The library escapes them; this does not rely on it.
        if name not in _ELEMENTS or any(
            "href" in each or each.startswith("on") or each == "style" for each in element.attrib
        ):
            raise ValueError(f"A chart contains “{name}” with {sorted(element.attrib)}.")
        for attribute in [each for each in element.attrib if each == "role" or each.startswith("aria-")]:
            del element.attrib[attribute]
    drawing.set("aria-hidden", "true")
    _finish(drawing, texts)
    return ET.tostring(drawing, encoding="unicode")


def _as_csv(chart: Chart) -> bytes:
    columns = list(chart.columns) or list(dict.fromkeys(name for row in chart.rows for name in row))
    lines = [format_row(columns)]
    for row in chart.rows:
        values = (row.get(name) for name in columns)
        lines.append(format_row(guard_text(value) if isinstance(value, str) else value for value in values))
    return "".join(lines).encode()


_WORDS: Spec = {
    "labelColor": "@ink-2",
    "titleColor": "@ink-2",
    "titleFontWeight": "normal",
    "labelFontSize": 12,
    "titleFontSize": 12,
    "labelLimit": 220,
}
_CONFIG: Spec = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": 600, "color": "@ink", "offset": 12},
    # Fonts differ in width, so labels that only just fit side by side are thinned out.
    "axisQuantitative": {"labelOverlap": True, "labelSeparation": 8, "labelFlush": False},
    "axis": {**_WORDS, "gridColor": "@line", "domainColor": "@ink-3", "tickColor": "@ink-3", "titlePadding": 8},
    "legend": _WORDS,
    "header": {**_WORDS, "labelColor": "@ink", "labelFontWeight": 600},
}
