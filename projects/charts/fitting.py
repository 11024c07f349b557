"""Specifications fitted to the names in their rows, and drawings to their texts: nothing is cut off or collides."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from projects.charts.lettering import fold_name, fold_names, list_text_boxes, measure_width

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

SIZE, LINE_HEIGHT = 12, 15
"""The font size of labels, and the height of their lines."""
PLOT_WIDTH = 520
"""The width of a plot whose specification names none."""
NAME_WIDTH = 200
"""The width of names beside a plot."""
TURNED_WIDTH = 140
"""The length of names that are turned below a plot."""
LEGEND_WIDTH = 160
"""The length of names in a legend and beside points."""
DASHES = ([1, 0], [6, 3], [2, 2])
"""The dashes of lines, one after the other as the colours begin again."""
MOST_PLACED = 200
"""The most points whose names are placed."""


def fit_spec(spec: Spec, rows: Rows, *, name_width: float = NAME_WIDTH) -> tuple[Spec, Rows]:
    """Return a specification with long names on lines, and its rows with what it needs to draw them."""
    width = spec.get("width", PLOT_WIDTH)
    fitted = _fit(spec, rows, width=width if isinstance(width, int | float) else PLOT_WIDTH, name_width=name_width)
    return _place_names(fitted, rows)


def repeat_axis(spec: Spec) -> Spec:
    """Return the specification with its axis of numbers above the plot too, as a tall plot scrolls.

    It is unchanged where there is a text above the plot, or the same layers do not have the axis.
    """
    layers = spec.get("layer", [])
    places = [n for n, each in enumerate(layers) if _has_axis(each)]
    if len(places) < 2 or any(each["mark"]["type"] == "text" for each in layers):
        return spec
    repeated = list(layers)
    for place in places:
        encoding = layers[place]["encoding"]
        axis: Spec | None = None
        if place in places[:2]:
            own = encoding["x"].get("axis") or {}
            axis = {**own, "orient": "top"} if place == places[0] else {**own, "orient": "bottom", "grid": False}
        repeated[place] = {**layers[place], "encoding": {**encoding, "x": {**encoding["x"], "axis": axis}}}
    return {**spec, "layer": repeated, "resolve": {"axis": {"x": "independent"}}}


def _has_axis(layer: Spec) -> bool:
    x = layer["encoding"].get("x") or {}
    return x.get("type") == "quantitative" and "field" in x


def _fit(part: Spec, rows: Rows, *, width: float, name_width: float, has_lines: bool = False) -> Spec:
    fitted = dict(part)
    if isinstance(part.get("width"), int | float):
        width = part["width"]
    if "encoding" in part:
        fitted["encoding"] = encoding = dict(part["encoding"])
        height = part.get("height", 220)
        for channel in ("x", "y"):
            if encoding.get(channel):
                encoding[channel] = _fold_title(encoding[channel], width if channel == "x" else height)
        if _is_named(encoding.get("y")):
            encoding["y"], n_lines = _fold_axis(encoding["y"], rows, name_width, 3)
            if isinstance(height, dict):
                fitted["height"] = {"step": max(height["step"], n_lines * LINE_HEIGHT + 8)}
        if _is_named(encoding.get("x")):
            encoding["x"] = _fit_across(encoding["x"], rows, part, width)
        if _is_named(encoding.get("color")):
            encoding["color"] = _fold_legend(encoding["color"], rows, width)
            is_line = _has_lines(part)
            if has_lines or is_line:
                encoding |= _dash_repeated(encoding["color"], rows, is_line=is_line) or _join_legends(encoding)
    if "facet" in part:
        fitted["facet"] = {**part["facet"], **_fold_header(part["facet"], rows, part["spec"]["width"])}
        fitted["spec"] = _fit(part["spec"], rows, width=width, name_width=name_width)
    if "layer" in part:
        fitted["encoding"] = _keep_order(fitted.get("encoding", {}), part["layer"], rows)
        has_lines = any(map(_has_lines, part["layer"]))
        fitted["layer"] = [
            _fit(layer, rows, width=width, name_width=name_width, has_lines=has_lines) for layer in part["layer"]
        ]
    return fitted


def _has_lines(part: Spec) -> bool:
    """Return whether this part, its own layers left out, draws a line for each name."""
    mark = part.get("mark")
    kind = mark.get("type") if isinstance(mark, dict) else mark
    return kind == "line" and _is_named(part["encoding"].get("color"))


def _is_named(channel: Any) -> bool:
    return isinstance(channel, Mapping) and channel.get("type") in ("nominal", "ordinal") and "field" in channel


def _list_names(rows: Rows, field: str) -> list[str]:
    return list(dict.fromkeys(str(row[field]) for row in rows if row.get(field) is not None))


def _keep_order(encoding: Spec, layers: Sequence[Spec], rows: Rows) -> Spec:
    """Return the channels of the layers with the names of axes in the order of the rows.

    Each layer leaves out the rows that it has no numbers for, and the names of the first layer would come first: those
    with an interval before those without.
    """
    channels = [channel for layer in layers for channel in layer["encoding"].values() if isinstance(channel, Mapping)]
    drawn = {channel["field"] for channel in channels if channel.get("type") == "quantitative" and "field" in channel}
    shown = [row for row in rows if any(row.get(field) is not None for field in drawn)]
    ordered = dict(encoding)
    for axis in ("x", "y"):
        channel = encoding.get(axis) or {}
        if _is_named(channel) and channel.get("sort", "") is None:
            names = list(dict.fromkeys(row[channel["field"]] for row in shown if row.get(channel["field"]) is not None))
            ordered[axis] = {**channel, "scale": {**(channel.get("scale") or {}), "domain": names}}
    return ordered


def _fold_title(channel: Spec, length: Any) -> Spec:
    title = channel.get("title")
    if not isinstance(title, str) or not isinstance(length, int | float):
        return channel
    lines = fold_name(title, length, most_lines=2)
    return {**channel, "title": lines if len(lines) > 1 else lines[0]}


def _fold_axis(channel: Spec, rows: Rows, width: float, most_lines: int) -> tuple[Spec, int]:
    """Return an axis whose labels are folded, and the number of lines of the longest."""
    folded = fold_names(_list_names(rows, channel["field"]), width, most_lines=most_lines)
    axis = {**(channel.get("axis") or {}), "labelLimit": 0, **_write_labels(folded)}
    return {**channel, "axis": axis}, max(map(len, folded.values()), default=1)


def _write_labels(folded: Mapping[str, list[str]]) -> Spec:
    """Return the expression that writes each name on its lines; nothing where every name is short."""
    if all(lines == [name] for name, lines in folded.items()):
        return {}
    # Looked up by place, as a name may be any text. JSON is a literal of the expression language too.
    names, lines = json.dumps(list(folded)), json.dumps(list(folded.values()))
    return {
        "labelExpr": f"indexof({names}, datum.label) < 0 ? datum.label : {lines}[indexof({names}, datum.label)]",
        "labelLineHeight": LINE_HEIGHT,
    }


def _fit_across(channel: Spec, rows: Rows, part: Spec, width: float) -> Spec:
    """Return an axis below the plot: labels are turned where they do not fit side by side, and thin out."""
    names = _list_names(rows, channel["field"])
    own = part.get("width")
    step = own["step"] if isinstance(own, Mapping) else width / max(len(names), 1)
    axis = dict(channel.get("axis") or {})
    widest = max((measure_width(" ".join(name.split()), SIZE) for name in names), default=0.0)
    if widest <= step - 4:
        return {**channel, "axis": {**axis, "labelAngle": 0, "labelLimit": 0}}
    # Turned by this angle, lines are as far apart as the steps allow.
    angle = axis.get("labelAngle") or -90
    n_lines = max(1, min(2, math.floor(step * abs(math.sin(math.radians(angle))) / LINE_HEIGHT)))
    fitted, _n_lines = _fold_axis({**channel, "axis": {**axis, "labelAngle": angle}}, rows, TURNED_WIDTH, n_lines)
    axis = fitted["axis"]
    # The title is below the labels, however wide their font is.
    turned = min(widest, TURNED_WIDTH) * abs(math.sin(math.radians(angle))) + n_lines * LINE_HEIGHT
    axis = {**axis, "minExtent": math.ceil(turned), **({"labelOverlap": True} if step < LINE_HEIGHT else {})}
    return {**fitted, "axis": axis}


def _fold_legend(channel: Spec, rows: Rows, width: float) -> Spec:
    folded = fold_names(_list_names(rows, channel["field"]), LEGEND_WIDTH, most_lines=1)
    legend = {**(channel.get("legend") or {}), "labelLimit": 0, **_write_labels(folded)}
    if legend.get("orient") == "top":
        legend["columnPadding"] = 40
        widest = max((measure_width(lines[0], SIZE) for lines in folded.values()), default=0.0)
        legend["columns"] = max(1, min(len(folded), int(width // (widest + 60))))
    return {**channel, "legend": legend}


def _dash_repeated(colour: Spec, rows: Rows, *, is_line: bool) -> dict[str, Spec]:
    """Return channels by which lines are told apart that have the same colour, as there are more names than colours."""
    names, n_colours = _list_names(rows, colour["field"]), len(colour["scale"]["range"])
    if len(names) <= n_colours:
        return {}
    # The legends of two channels are drawn as one only if they are alike, and the domains given and equal.
    legend = {**colour["legend"], "symbolType": "stroke", "symbolSize": 260}
    coloured = {**colour, "legend": legend, "scale": {**colour["scale"], "domain": names}}
    dashes = [DASHES[place // n_colours % len(DASHES)] for place in range(len(names))]
    dashed = {**coloured, "scale": {"domain": names, "range": dashes}}
    return {"color": coloured, **({"strokeDash": dashed} if is_line else {})}


def _join_legends(encoding: Spec) -> dict[str, Spec]:
    """Return the channels of lines whose dashes mean something, with one legend for colours and dashes."""
    colour, dashed = encoding["color"], encoding.get("strokeDash")
    if not dashed:
        return {}
    legend = {**colour["legend"], "symbolType": "stroke", "symbolSize": 260}
    scale = {**colour["scale"], "domain": dashed["scale"]["domain"]}
    return {"color": {**colour, "legend": legend, "scale": scale}, "strokeDash": {**dashed, "legend": legend}}


def _fold_header(facet: Spec, rows: Rows, width: float) -> Spec:
    folded = fold_names(_list_names(rows, facet["field"]), width, most_lines=2)
    return {"header": {"labelLimit": 0, **_write_labels(folded)}}


def _place_names(spec: Spec, rows: Rows) -> tuple[Spec, Rows]:
    """Return a scatter plot whose names do not collide; names without room are left to the table."""
    layers = spec.get("layer", [])
    named = next((each for each in layers if _is_label(each)), None)
    if named is None or not 0 < len(rows) <= MOST_PLACED:
        return spec, rows
    encoding = named["encoding"]
    width, height = spec.get("width", PLOT_WIDTH), spec["height"]
    spans = {channel: _find_span(rows, encoding[channel]["field"]) for channel in ("x", "y")}
    placed: list[tuple[float, float, float, float]] = []
    points = [
        tuple(_find_place(row[encoding[channel]["field"]], spans[channel]) for channel in ("x", "y")) for row in rows
    ]
    centres = [(x * width, (1 - y) * height) for x, y in points]
    dots = [(x - 5, y - 5, x + 5, y + 5) for x, y in centres]
    names = fold_names((str(row[encoding["text"]["field"]]) for row in rows), LEGEND_WIDTH, most_lines=1, size=11)
    marked = []
    for row, (x, y) in zip(rows, centres, strict=True):
        (text,) = names[str(row[encoding["text"]["field"]])]
        own = (x - 5, y - 5, x + 5, y + 5)
        where = ""
        for side, box in _list_places(x, y, measure_width(text, 11)):
            is_inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            others = [*placed, *(dot for dot in dots if dot != own)]
            if is_inside and not any(_do_boxes_meet(box, other) for other in others):
                placed.append(box)
                where = side
                break
        marked.append({**row, "_name": text, "_side": where})
    domains = {channel: {"domain": list(span), "nice": False, "zero": False} for channel, span in spans.items()}
    fixed = [_set_scales(layer, domains) for layer in layers if layer is not named]
    texts = [
        {
            "transform": [{"filter": f"datum._side == '{side}'"}],
            "mark": {**named["mark"], "dy": dy, "dx": dx, "align": align, "baseline": "middle"},
            "encoding": {**_set_scales(named, domains)["encoding"], "text": {"field": "_name"}},
        }
        for side, (dx, dy, align) in _SIDES.items()
    ]
    return {**spec, "layer": [*fixed, *texts]}, marked


_SIDES: dict[str, tuple[int, int, str]] = {
    "above": (0, -13, "center"),
    "right": (9, 0, "left"),
    "left": (-9, 0, "right"),
    "below": (0, 13, "center"),
}


def _is_label(layer: Spec) -> bool:
    mark, encoding = layer.get("mark"), layer.get("encoding", {})
    is_text = isinstance(mark, Mapping) and mark["type"] == "text"
    return is_text and "field" in encoding.get("text", {}) and encoding.get("x", {}).get("type") == "quantitative"


def _find_span(rows: Rows, field: str) -> tuple[float, float]:
    values = [float(row[field]) for row in rows]
    low, high = min(values), max(values)
    # Room for the names of the outermost points.
    room = 0.08 * (high - low) or 0.5
    return low - room, high + room


def _find_place(value: float, span: tuple[float, float]) -> float:
    return (float(value) - span[0]) / (span[1] - span[0])


def _list_places(x: float, y: float, width: float) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    for side, (dx, dy, align) in _SIDES.items():
        left = x + dx - {"center": width / 2, "left": 0.0, "right": width}[align]
        yield side, (left, y + dy - 7, left + width, y + dy + 7)


def _do_boxes_meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _set_scales(layer: Spec, domains: Mapping[str, Spec]) -> Spec:
    encoding = {
        channel: {**each, "scale": domains[channel]} if channel in domains and "field" in each else each
        for channel, each in layer["encoding"].items()
    }
    return {**layer, "encoding": encoding}


def fold_chart_title(title: str, width: float) -> list[str]:
    """Return the title of a file on lines as wide as the drawing."""
    return fold_name(title, width, most_lines=6, size=15)


def fit_drawing(drawing: ET.Element) -> None:
    """Give each line of a text a place of its own, and make a drawing as large as its texts need.

    The width of a font is known only where it is drawn.
    """
    _part_lines(drawing)
    left, top, width, height = (float(each) for each in drawing.get("viewBox", "0 0 0 0").split())
    right, bottom = left + width, top + height
    for box in list_text_boxes(drawing):
        own = box.bounds
        left, top, right, bottom = min(left, own[0]), min(top, own[1]), max(right, own[2]), max(bottom, own[3])
    left, top, right, bottom = math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)
    drawing.set("viewBox", f"{left} {top} {right - left} {bottom - top}")
    drawing.set("width", str(right - left))
    drawing.set("height", str(bottom - top))
    # The background of a file is a rectangle of the size that it was drawn in.
    ground = drawing[0] if len(drawing) else None
    if ground is not None and ground.tag.rpartition("}")[2] == "rect":
        for name, value in (("x", left), ("y", top), ("width", right - left), ("height", bottom - top)):
            ground.set(name, str(value))


def _part_lines(drawing: ET.Element) -> None:
    """Make a text of each line: not every program sets lines of scripts from right to left below each other."""
    for parent in list(drawing.iter()):
        for place, text in reversed(list(enumerate(parent))):
            lines = [each for each in text if each.tag.rpartition("}")[2] == "tspan"]
            if text.tag.rpartition("}")[2] != "text" or not lines:
                continue
            # Names beside a plot are in the middle of their row, not below it.
            is_beside = "role-axis-label" in parent.get("class", "") and "rotate" not in text.get("transform", "")
            top = -(len(lines) - 1) / 2 * LINE_HEIGHT if is_beside and text.get("text-anchor") == "end" else 0.0
            notes = [each for each in text if each.tag.rpartition("}")[2] == "title"]
            parent.remove(text)
            for number, line in reversed(list(enumerate(lines))):
                attributes = {
                    **text.attrib,
                    "transform": f"{text.get('transform', '')} translate(0,{top + number * LINE_HEIGHT})",
                }
                own = ET.Element(text.tag, attributes)
                own.text = line.text
                own.extend(notes)
                parent.insert(place, own)
