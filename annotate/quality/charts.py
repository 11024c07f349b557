"""Charts of one annotator: mean scores HIT by HIT, and the use of the scale, each compared with others."""

from collections.abc import Sequence

from annotate.quality.annotator_profile import SubmittedHit
from projects.charts import specs
from projects.charts.drawing import Chart

OWN = "this annotator"
OTHERS_SAME_ITEMS, OTHERS_ALL_ITEMS = "others, same items", "others, all items"
WIDTH = 360
"""Narrower than other charts: they are in a column beside the figures."""


def chart_history(hits: Sequence[SubmittedHit], *, low: float, high: float) -> Chart:
    """Return a chart of the mean score of each HIT, and of others' mean on the same items where there is one."""
    own = [{"hit": number, "who": OWN, "mean": hit.mean} for number, hit in enumerate(hits, start=1)]
    others = [
        {"hit": number, "who": OTHERS_SAME_ITEMS, "mean": hit.others}
        for number, hit in enumerate(hits, start=1)
        if hit.others is not None
    ]
    spec = specs.lines("hit", "mean", "who", title="mean score", axis="HIT", domain=(low, high), last=len(hits))
    return Chart(
        "history",
        "Scores over time",
        [*own, *others],
        {"width": WIDTH, **spec},
        description="Mean score per HIT, compared with others’ mean on the same items",
    )


def chart_scale_use(own: Sequence[int], others: Sequence[int], labels: Sequence[str]) -> Chart:
    """Return a chart of the share of each score, compared with others'."""
    rows = [
        {"score": label, "who": who, "share": n / max(1, sum(counts))}
        for place, label in enumerate(labels)
        for who, counts in ((OWN, own), (OTHERS_ALL_ITEMS, others))
        for n in counts[place : place + 1]
    ]
    spec = specs.bars(
        "score", "share", title="share of scores", axis="score", series="who", order=labels, number_format="%"
    )
    spec["encoding"]["color"]["legend"] = {"orient": "top"}
    return Chart(
        "scale",
        "Use of the scale",
        rows,
        {"width": WIDTH, **spec},
        description="Share of each score, compared with others",
    )
