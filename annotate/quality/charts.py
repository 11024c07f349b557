"""Small charts as geometry, which a template draws as SVG with attributes only, as the CSP requires."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 34, 12, 12, 24


@dataclass(frozen=True)
class Tick:
    """A mark on an axis with its label."""

    at: float
    label: str


@dataclass(frozen=True)
class Dot:
    """One point and its label."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Bar:
    """A bar and its label."""

    x: float
    y: float
    width: float
    height: float
    is_other: bool
    label: str


@dataclass(frozen=True)
class Chart:
    """Lines or bars in a frame."""

    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM
    rows: tuple[Tick, ...] = ()
    columns: tuple[Tick, ...] = ()
    dots: tuple[Dot, ...] = ()
    own_line: str = ""
    other_line: str = ""
    bars: tuple[Bar, ...] = ()


def over_time(own: Sequence[float], others: Sequence[float | None], *, low: float, high: float) -> Chart:
    """Return a chart of mean scores HIT by HIT, compared with others' on the same items if there are any."""
    places = [_x(number, len(own)) for number in range(len(own))]
    points = [(x, _y(value, low, high)) for x, value in zip(places, own, strict=True)]
    other = [(x, _y(value, low, high)) for x, value in zip(places, others, strict=True) if value is not None]
    return Chart(
        rows=_rows(low, high),
        columns=tuple(Tick(places[at], str(at + 1)) for at in sorted({0, len(own) // 2, len(own) - 1}) if own),
        dots=tuple(
            Dot(x, y, "HIT {n}: {value}".format(n=number, value=f"{value:.2f}"))
            for number, ((x, y), value) in enumerate(zip(points, own, strict=True), start=1)
        ),
        own_line=_line(points),
        other_line=_line(other),
    )


def use_of_scale(own: Sequence[int], others: Sequence[int], labels: Sequence[str]) -> Chart:
    """Return a chart of the share of each score, compared with others'."""
    shares = [[n / max(1, sum(counts)) for n in counts] for counts in (own, others)]
    most = max([0.05, *shares[0], *shares[1]])
    step = (WIDTH - LEFT - RIGHT) / max(1, len(labels))
    wide = step * 0.36
    bars = []
    mine = "{label}: {percent} of this annotator’s scores"
    theirs = "{label}: {percent} of others’ scores"
    for number, label in enumerate(labels):
        for which, each in enumerate(shares):
            share = each[number] if number < len(each) else 0.0
            y = _y(share, 0, most)
            text = (theirs if which else mine).format(label=label, percent=f"{share * 100:.0f} %")
            x = LEFT + number * step + step * 0.12 + which * (wide + 2)
            bars.append(Bar(round(x, 1), y, round(wide, 1), round(HEIGHT - BOTTOM - y, 1), bool(which), text))
    return Chart(
        rows=tuple(Tick(_y(share, 0, most), f"{share * 100:.0f} %") for share in (0, most / 2, most)),
        columns=tuple(Tick(round(LEFT + (n + 0.5) * step, 1), label) for n, label in enumerate(labels)),
        bars=tuple(bars),
    )


def _rows(low: float, high: float) -> tuple[Tick, ...]:
    return tuple(Tick(_y(value, low, high), f"{value:g}") for value in (low, (low + high) / 2, high))


def _x(number: int, n: int) -> float:
    inner = WIDTH - LEFT - RIGHT - 12
    return round(LEFT + 6 + (inner * number / (n - 1) if n > 1 else inner / 2), 1)


def _y(value: float, low: float, high: float) -> float:
    inner = HEIGHT - TOP - BOTTOM
    return round(TOP + inner * (1 - (value - low) / (high - low)), 1)


def _line(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points) if len(points) > 1 else ""
