"""Reports of a simulation: shares flagged by kind of alert, as a JSON object and as a table."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demo.simulating.arrangements import CONTROLS, Arrangement
from demo.simulating.working import Flags, Outcome
from measures.outcome import Undefined

SHIPPED = Arrangement(overlap=3, controls=0)
"""The arrangement of the main figures: without controls, which a batch has only if a manager adds them."""


@dataclass(frozen=True)
class Counted:
    """The size of a group, and how many of it are flagged."""

    n_flagged: int
    n: int

    @property
    def share(self) -> float | None:
        return round(self.n_flagged / self.n, 4) if self.n else None

    @classmethod
    def of(cls, flags: Collection[Flags], kind: str | None = None) -> "Counted":
        return cls(sum(bool(each.kinds) if kind is None else kind in each.kinds for each in flags), len(flags))


def as_json(outcomes: Sequence[Outcome], *, seed: int, world: str) -> dict[str, Any]:
    """Return the main figures by HITs done, alpha before and after, and the whole table."""
    led = find_main(outcomes)
    moments = {str(moment): _shares(flags) for moment, flags in led.flags.items()}
    everybody = next(iter(led.flags.values()))
    return {
        "seed": seed,
        "world": world,
        "annotators": len(everybody),
        "bad": sum(each.is_bad for each in everybody),
        "at": {"overlap": led.arrangement.overlap, "controls": led.arrangement.controls},
        "hits": moments,
        **_alphas(led),
        "table": [row for outcome in outcomes for row in _rows(outcome)],
    }


def find_main(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of the arrangement of the main figures, or the first one if it was not simulated."""
    return next((each for each in outcomes if each.arrangement == SHIPPED), outcomes[0])


def _rows(outcome: Outcome) -> Iterator[dict[str, Any]]:
    for moment, flags in outcome.flags.items():
        yield {
            "overlap": outcome.arrangement.overlap,
            "controls": outcome.arrangement.controls,
            "hits": moment,
            **_shares(flags),
            "findings": {kind: _shares(flags, kind) for kind in _kinds(flags)},
            "annotators": {way: _of_way(flags, way) for way in sorted({each.way for each in flags})},
            **_alphas(outcome),
        }


def _shares(flags: Collection[Flags], kind: str | None = None) -> dict[str, Any]:
    bad = Counted.of([each for each in flags if each.is_bad], kind)
    good = Counted.of([each for each in flags if not each.is_bad], kind)
    return {
        "caught_share": bad.share,
        "caught": bad.n_flagged,
        "bad": bad.n,
        "wrongly_flagged_share": good.share,
        "wrongly_flagged": good.n_flagged,
        "good": good.n,
    }


def _of_way(flags: Iterable[Flags], way: str) -> dict[str, int]:
    counted = Counted.of([each for each in flags if each.way == way])
    return {"flagged": counted.n_flagged, "of": counted.n}


def _kinds(flags: Iterable[Flags]) -> list[str]:
    return sorted({kind for each in flags for kind in each.kinds})


def _alphas(outcome: Outcome) -> dict[str, Any]:
    """Return alpha, or None with the reason why it is undefined."""
    alphas: dict[str, Any] = {}
    for name, alpha in (("alpha_before", outcome.alpha_before), ("alpha_after", outcome.alpha_after)):
        alphas[name] = None if isinstance(alpha, Undefined) else round(alpha, 4)
        if isinstance(alpha, Undefined):
            alphas[f"{name}_reason"] = alpha.reason
    return alphas


def as_text(outcomes: Sequence[Outcome], *, seed: int, world: str) -> str:
    """Return the table as text: a row for each moment, and below it a row for each kind of alert."""
    everybody = next(iter(find_main(outcomes).flags.values()))
    n_bad = sum(each.is_bad for each in everybody)
    lines = [
        f"{len(everybody)} simulated annotators, {n_bad} of them bad; world “{world}”, seed {seed}.",
        "Flagged: has an open alert that indicates poor quality, by the default thresholds. Nothing is stored.",
        *(f"Controls {n}: {CONTROLS[n]}." for n in sorted({each.arrangement.controls for each in outcomes})),
        "",
        "overlap  controls  HITs  flagged by              of the bad      of the good",
    ]
    for outcome in outcomes:
        for moment, flags in outcome.flags.items():
            at = f"{outcome.arrangement.overlap:>7}  {outcome.arrangement.controls:>8}  {moment:>4}"
            lines.append(f"{at}  {'any alert':<22}{_format_shares(_shares(flags))}")
            lines += [f"{'':25}{kind:<22}{_format_shares(_shares(flags, kind))}" for kind in _kinds(flags)]
        lines.append(f"{'':25}alpha {_format_alpha(outcome.alpha_before)}; {_without(outcome.alpha_after)}")
    return "\n".join(lines)


def _format_shares(shares: Mapping[str, Any]) -> str:
    bad = f"{shares['caught']} of {shares['bad']}"
    good = f"{shares['wrongly_flagged']} of {shares['good']}"
    return f"{bad:>9} {_percent(shares['caught_share'])}  {good:>9} {_percent(shares['wrongly_flagged_share'])}"


def _percent(share: float | None) -> str:
    return "   –" if share is None else f"{share:4.0%}"


def _format_alpha(alpha: float | Undefined) -> str:
    return f"undefined ({alpha.reason})" if isinstance(alpha, Undefined) else f"{alpha:.3f}"


def _without(alpha: float | Undefined) -> str:
    return f"without flagged annotators {_format_alpha(alpha)}"
