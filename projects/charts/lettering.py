"""The texts of charts: their width, names folded onto lines, and the boxes that they take up in a drawing."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

LINE = 1.25
"""The height of a line, in font sizes."""
# In font sizes, and those of a wide font such as DejaVu Sans or Verdana: which one a browser takes for "sans-serif" is
# not known here, and a text that is narrower than expected does no harm.
_WIDTHS = {
    **dict.fromkeys("ijlI.,:;'| !", 0.34),
    **dict.fromkeys('frt()[]{}/\\-"`*', 0.46),
    **dict.fromkeys("mwMWQO%@&—…−+<>=~^#", 1.0),
    "W": 1.1,
    "M": 1.0,
}
_BREAKS = re.compile(r"[^\s_\-/.:|·]+[_\-/.:|·]*\s*|[_\-/.:|·]+\s*")


def measure_width(text: str, size: float = 12) -> float:
    """Return about the width of a text in pixels, rather too much than too little."""
    return size * sum(map(_measure_character, text))


def _measure_character(character: str) -> float:
    if character in _WIDTHS:
        return _WIDTHS[character]
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    return 0.78 if character.isupper() or not character.isascii() else 0.66


def fold_name(name: str, width: float, *, most_lines: int = 3, size: float = 12) -> list[str]:
    """Return a name on as many lines of this width as it needs; of a longer one, the beginning and the end."""
    lines = [""]
    for part in _split_name(" ".join(name.split()), width, size):
        if lines[-1] and measure_width((lines[-1] + part).rstrip(), size) > width:
            lines.append("")
        lines[-1] += part
    lines = [line.strip() for line in lines]
    if len(lines) <= most_lines:
        return lines
    # Names often differ at their ends only, as by a number.
    whole, tail = " ".join(name.split()), ""
    room = width - measure_width("…", size)
    head = "" if most_lines > 1 else _cut_name(whole, room / 2, size)
    for character in reversed(whole):
        if measure_width(head + character + tail, size) > room:
            break
        tail = character + tail
    return [*lines[: most_lines - 1], f"{head.rstrip()}…{tail.lstrip()}"]


def fold_names(names: Iterable[str], width: float, *, most_lines: int = 3, size: float = 12) -> dict[str, list[str]]:
    """Return each name on its lines; names that would read the same show where they differ instead."""
    folded = {name: fold_name(name, width, most_lines=most_lines, size=size) for name in names}
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, lines in folded.items():
        alike.setdefault(tuple(lines), []).append(name)
    for group in alike.values():
        if len(group) > 1:
            start = max(0, _count_common(group) - 3)
            for name in group:
                rest = " ".join(name[start:].split())
                cut = _cut_name(rest, width - 2 * measure_width("…", size), size)
                folded[name] = [*folded[name][:-1], f"…{cut}{'' if cut == rest else '…'}"]
    return folded


def _count_common(names: list[str]) -> int:
    """Return how many characters the names have in common at their beginnings."""
    return next((at for at, each in enumerate(zip(*names, strict=False)) if len(set(each)) > 1), min(map(len, names)))


def _split_name(name: str, width: float, size: float) -> Iterator[str]:
    """Yield the parts between which a name may be broken, each of which fits on a line."""
    for part in _BREAKS.findall(name):
        rest = part
        while measure_width(rest.rstrip(), size) > width and len(rest) > 1:
            head = _cut_name(rest, width, size)
            yield head
            rest = rest[len(head) :]
        yield rest


def _cut_name(name: str, width: float, size: float) -> str:
    head = name[:1]
    for character in name[1:]:
        if measure_width(head + character, size) > width:
            break
        head += character
    return head


@dataclass(frozen=True)
class TextBox:
    """The corners of a text in a drawing."""

    text: str
    corners: tuple[tuple[float, float], ...]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        across, down = zip(*self.corners, strict=True)
        return min(across), min(down), max(across), max(down)


def list_text_boxes(drawing: ET.Element) -> list[TextBox]:
    """Return the box of every text that is shown, from its place, its anchor and the width of its lines."""
    return list(_walk(drawing, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)))


_Matrix = tuple[float, float, float, float, float, float]


def _walk(element: ET.Element, matrix: _Matrix) -> Iterator[TextBox]:
    if element.get("display") == "none" or element.get("opacity") == "0":
        return
    for name, numbers in re.findall(r"(translate|rotate)\(([^)]*)\)", element.get("transform", "")):
        values = [float(each) for each in re.split(r"[ ,]+", numbers.strip())]
        matrix = _multiply(matrix, _make_matrix(name, values))
    if element.tag.rpartition("}")[2] == "text":
        yield from _read_text(element, matrix)
        return
    for child in element:
        yield from _walk(child, matrix)


def _read_text(element: ET.Element, matrix: _Matrix) -> Iterator[TextBox]:
    lines = [each.text or "" for each in element if each.tag.rpartition("}")[2] == "tspan"] or [element.text or ""]
    if not any(line.strip() for line in lines):
        return
    size = float(element.get("font-size", "12px").removesuffix("px"))
    is_bold = element.get("font-weight", "") in ("bold", "600", "700")
    width = max(measure_width(line, size) for line in lines) * (1.1 if is_bold else 1.0)
    start = {"start": 0.0, "middle": -width / 2, "end": -width}[element.get("text-anchor", "start")]
    top, bottom = -0.8 * size, 0.22 * size + (len(lines) - 1) * LINE * size
    corners = ((start, top), (start + width, top), (start + width, bottom), (start, bottom))
    a, b, c, d, e, f = matrix
    yield TextBox(" ".join(lines), tuple((a * x + c * y + e, b * x + d * y + f) for x, y in corners))


def _make_matrix(name: str, values: list[float]) -> _Matrix:
    if name == "translate":
        return (1.0, 0.0, 0.0, 1.0, values[0], values[1] if len(values) > 1 else 0.0)
    angle = math.radians(values[0])
    return (math.cos(angle), math.sin(angle), -math.sin(angle), math.cos(angle), 0.0, 0.0)


def _multiply(one: _Matrix, other: _Matrix) -> _Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * m + e, b * k + d * m + f)
