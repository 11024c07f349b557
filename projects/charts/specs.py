"""Vega-Lite specifications of the charts: intervals, bars, heat map, line over time, points."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from projects.charts.drawing import SCHEME, SERIES, Spec

Domain = tuple[float, float]
MOST_TICKS = 10
ROOM = 0.1
"""Beside a value that is alone on its axis."""


def intervals(
    label: str,
    estimate: str,
    low: str,
    high: str,
    *,
    title: str,
    domain: Domain | None = None,
    zero: float | None = None,
    line: tuple[float, str] | None = None,
    is_line_right: bool = False,
    band: Domain | None = None,
) -> Spec:
    """Return a forest plot: each row with its estimate and its interval, in the order of the rows.

    `line` draws a value to compare with and its label on top, to the left of the line with `is_line_right`; `band`
    draws an interval around it.
    """
    x = {"type": "quantitative", "title": title, "scale": _scale(domain), "axis": {"labelOverlap": True}}
    y = {"field": label, "type": "nominal", "sort": None, "title": None}
    layers: list[Spec] = [
        {"mark": {"type": "rule", "strokeWidth": 2, "color": "@series-1"},
         "encoding": {"x": {**x, "field": low}, "x2": {"field": high}}},
        {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "color": "@series-1"},
         "encoding": {"x": {**x, "field": estimate}}},
    ]  # fmt: skip
    if zero is not None:
        rule = {
            "mark": {"type": "rule", "color": "@ink-3", "strokeDash": [3, 3]},
            "encoding": {"x": {"datum": zero}, "y": None},
        }
        layers.insert(0, rule)
    once: Spec = {"data": {"values": [{}]}}  # data of one row: otherwise the mark is drawn again for each row
    if line is not None:
        at, words = line
        layers[:0] = [
            {**once, "mark": {"type": "rule", "strokeWidth": 2, "strokeDash": [6, 3], "color": "@series-2"},
             "encoding": {"x": {**x, "datum": at}, "y": None}},
            {**once, "mark": {"type": "text", "dy": -8, "fontSize": 12, "color": "@ink-2",
                             "align": "right" if is_line_right else "left"},
             "encoding": {"x": {**x, "datum": at}, "y": {"value": 0}, "text": {"value": words}}},
        ]  # fmt: skip
    if band is not None:
        of_band = {"x": {**x, "datum": band[0]}, "x2": {"datum": band[1]}, "y": None}
        layers.insert(0, {**once, "mark": {"type": "rect", "opacity": 0.16, "color": "@series-2"}, "encoding": of_band})
    return {"height": {"step": 26}, "encoding": {"y": y}, "layer": layers}


def bars(
    category: str,
    value: str,
    *,
    title: str,
    axis: str,
    series: str = "",
    order: Sequence[Any] | None = None,
    is_long: bool = False,
    number_format: str = "",
) -> Spec:
    """Return vertical bars, those of several series side by side; `is_long` turns the names of the categories."""
    encoding: Spec = {
        "x": {"field": category, "type": "ordinal", "title": axis, "sort": list(order) if order else None,
              "axis": {"labelAngle": -90 if is_long else 0}},
        "y": {"field": value, "type": "quantitative", "title": title},
    }  # fmt: skip
    if series:
        encoding["xOffset"] = {"field": series, "sort": None}
        encoding["color"] = colours(series)
    if number_format:
        encoding["y"]["axis"] = {"format": number_format}
    mark: Spec = {"type": "bar"} if series else {"type": "bar", "color": "@series-1"}
    return {"height": 220, "mark": mark, "encoding": encoding}


def small_multiples(
    category: str, value: str, facet: str, *, title: str, axis: str, n: int, is_long: bool = False
) -> Spec:
    """Return `n` bar charts with a common scale, one for each value of `facet`."""
    inner = bars(category, value, title=title, axis=axis, is_long=is_long)
    return {
        "facet": {"field": facet, "type": "nominal", "title": None, "sort": None},
        "columns": min(n, 3),
        "spec": {"width": 180, "height": 110, **{key: inner[key] for key in ("mark", "encoding")}},
    }


def heat_map(
    row: str, column: str, value: str, label: str, *, title: str, domain: Domain, order: Sequence[str] | None = None
) -> Spec:
    """Return a heat map with the value written into each square; rows and columns in `order`, or as in the data."""
    # The upper half of viridis is light, so the text on it is dark.
    is_light = f"datum[{value!r}] > {(domain[0] + domain[1]) / 2}"
    axis = {"type": "nominal", "sort": list(order) if order else None, "title": None}
    return {
        "width": {"step": 46},
        "height": {"step": 34},
        "encoding": {"y": {**axis, "field": row}, "x": {**axis, "field": column, "axis": {"labelAngle": -40}}},
        "layer": [
            {"mark": "rect",
             "encoding": {"color": {"field": value, "type": "quantitative", "title": title,
                                    "scale": {"scheme": SCHEME, "domain": list(domain)}}}},
            {"mark": {"type": "text", "fontSize": 11},
             "encoding": {"text": {"field": label},
                          "color": {"condition": {"test": is_light, "value": "#111"}, "value": "#fff"}}},
        ],
    }  # fmt: skip


def line(at: str, value: str, low: str, high: str, *, title: str, axis: str, domain: Domain | None = None) -> Spec:
    """Return a line over an ordered axis, each value with its interval, which ends where a `domain` does."""
    x = {"field": at, "type": "ordinal", "title": axis, "sort": None, "axis": {"labelAngle": -40, "labelOverlap": True}}
    y = {"type": "quantitative", "title": title, "scale": _scale(domain)}
    return {
        "height": 220,
        "encoding": {"x": x},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.45, "color": "@series-1", "clip": bool(domain)},
             "encoding": {"y": {**y, "field": low}, "y2": {"field": high}}},
            {"mark": {"type": "line", "point": {"size": 50, "color": "@series-1"}, "color": "@series-1"},
             "encoding": {"y": {**y, "field": value}}},
        ],
    }  # fmt: skip


def widen(values: Iterable[float | None], *, highest: float) -> Domain | None:
    """Return a domain around values that are all the same, and None for any others; it ends at the highest possible.

    Their axis would have one tick, rounded to a whole number: -0.52 would be drawn at −1.
    """
    known = {value for value in values if value is not None}
    return (min(known) - ROOM, min(max(known) + ROOM, highest)) if len(known) == 1 else None


def lines(at: str, value: str, series: str, *, title: str, axis: str, domain: Domain, last: int) -> Spec:
    """Return a line with points for each series over the whole numbers from 1 to `last`."""
    return {
        "height": 220,
        "mark": {"type": "line", "strokeJoin": "round", "point": {"size": 30}},
        "encoding": {
            "x": {"field": at, "type": "quantitative", "title": axis,
                  "scale": {"zero": False, "nice": False, "padding": 6},
                  "axis": {"values": choose_ticks(last), "format": "d", "grid": False}},
            "y": {"field": value, "type": "quantitative", "title": title, "scale": _scale(domain)},
            "color": {**colours(series), "legend": {"orient": "top"}},
        },
    }  # fmt: skip


def choose_ticks(last: int) -> list[int]:
    """Return at most ten whole numbers from 1 to `last` for an axis, which of itself would mark halves of few."""
    steps = (step * 10**power for power in range(18) for step in (1, 2, 5))
    step = next(each for each in steps if last // each <= MOST_TICKS - (each > 1))
    return sorted({1, *range(step, last + 1, step)})


def curves(
    x: str,
    y: str,
    series: str,
    *,
    title: str,
    axis: str,
    at: Sequence[float],
    legend: str | None = None,
    dashes: Mapping[str, Sequence[int]] | None = None,
) -> Spec:
    """Return a line for each series over a logarithmic axis with a tick at each number of `at`.

    `dashes` has the names of the series in their order, each with the dashes and gaps of its line.
    """
    coloured = {**colours(series), "title": legend}
    dashed: Spec = {}
    if dashes:
        scale = {"domain": list(dashes), "range": [list(each) for each in dashes.values()]}
        dashed["strokeDash"] = {**coloured, "scale": scale}
    grown = {
        "scale": {"type": "log", "domain": [min(at), max(at)], "nice": False},
        "axis": {"values": list(at), "format": ",d"},
    }
    return {
        "height": 260,
        "mark": {"type": "line", "point": {"size": 45}},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "title": axis, **grown},
            "y": {"field": y, "type": "quantitative", "title": title, "scale": {"zero": True}},
            "color": coloured,
            **dashed,
        },
    }


def swept(
    x: str,
    y: str,
    low: str,
    high: str,
    series: str,
    *,
    title: str,
    axis: str,
    line: tuple[float, str] | None = None,
    is_counted: bool = False,
) -> Spec:
    """Return a line for each series with its interval; `line` draws a value to compare with and its label.

    With `is_counted` the axis has whole numbers alone.
    """
    across: Spec = {"field": x, "type": "quantitative", "title": axis, "scale": {"nice": False}}
    if is_counted:
        across["axis"] = {"tickMinStep": 1, "format": "d"}
    upright = {"type": "quantitative", "title": title, "scale": _scale(None)}
    coloured = {"x": across, "color": {**colours(series), "legend": {"orient": "top", "symbolOpacity": 1}}}
    layers: list[Spec] = [
        {"mark": {"type": "area", "opacity": 0.14},
         "encoding": {**coloured, "y": {**upright, "field": low}, "y2": {"field": high}}},
        {"mark": {"type": "line", "strokeWidth": 2},
         "encoding": {**coloured, "y": {**upright, "field": y}}},
    ]  # fmt: skip
    if line is not None:
        at, words = line
        once: Spec = {"values": [{}]}
        level = {"y": {**upright, "datum": at}}
        layers += [
            {"data": once, "mark": {"type": "rule", "strokeDash": [6, 3], "color": "@ink-3"}, "encoding": level},
            {"data": once,
             "mark": {"type": "text", "align": "left", "dx": 4, "dy": -7, "fontSize": 12, "color": "@ink-2"},
             "encoding": {**level, "x": {"value": 0}, "text": {"value": words}}},
        ]  # fmt: skip
    return {"height": 280, "layer": layers}


def points(
    x: str,
    y: str,
    label: str,
    *,
    x_title: str,
    y_title: str,
    size: str = "",
    size_title: str = "",
    zero: float | None = None,
) -> Spec:
    """Return a scatter plot with the name at each point."""
    encoding = {
        "x": {"field": x, "type": "quantitative", "title": x_title, "scale": {"zero": False, "padding": 24}},
        "y": {"field": y, "type": "quantitative", "title": y_title, "scale": {"zero": False, "padding": 12}},
    }
    sized = {"size": {"field": size, "type": "quantitative", "title": size_title}} if size else {}
    mark = {"type": "point", "filled": True, "color": "@series-1", "opacity": 0.8} | ({} if size else {"size": 60})
    layers: list[Spec] = [
        {"mark": mark,
         "encoding": {**encoding, **sized}},
        {"mark": {"type": "text", "dy": -11, "fontSize": 11, "color": "@ink-2"},
         "encoding": {**encoding, "text": {"field": label}}},
    ]  # fmt: skip
    if zero is not None:
        rule = {"mark": {"type": "rule", "color": "@ink-3", "strokeDash": [3, 3]}, "encoding": {"x": {"datum": zero}}}
        layers.insert(0, rule)
    return {"height": 300, "layer": layers}


def scatter(x: str, y: str, *, x_title: str, y_title: str, series: str = "") -> Spec:
    """Return a scatter plot of many points without names, transparent so that overlaps are visible."""
    encoding = {
        "x": {"field": x, "type": "quantitative", "title": x_title, "scale": {"zero": False, "padding": 8}},
        "y": {"field": y, "type": "quantitative", "title": y_title, "scale": {"zero": False, "padding": 8}},
    }
    mark: Spec = {"type": "point", "filled": True, "opacity": 0.45, "size": 36}
    if series:
        encoding["color"] = colours(series)
    else:
        mark["color"] = "@series-1"
    return {"height": 320, "mark": mark, "encoding": encoding}


def colours(series: str) -> Spec:
    return {"field": series, "type": "nominal", "title": None, "sort": None, "scale": {"range": list(SERIES)}}


def _scale(domain: Domain | None) -> Spec:
    return {"domain": list(domain), "nice": False} if domain else {"zero": False, "nice": True}
