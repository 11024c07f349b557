"""The guide to quality names the levels that are shipped."""

from pathlib import Path

from measures.quality.thresholds import Thresholds

GUIDE = Path(__file__).parents[3] / "docs" / "quality.md"


def test_the_guide_names_the_shipped_levels() -> None:
    guide, shipped = GUIDE.read_text(), Thresholds()

    def percent(share: float) -> str:
        return f"{share:.0%}".replace("%", " %")

    rows = {
        line.split("|")[1].split("(")[0].strip(): line.split("|")[2:4]
        for line in guide.splitlines()
        if line.startswith("| ")
    }
    levels = {
        "Wrong on known answers": (percent(shipped.known_good), percent(shipped.known_poor)),
        "Degraded answers not scored lower": (percent(shipped.degraded_good), percent(shipped.degraded_poor)),
        "Disagrees with others": (str(shipped.agreement_good), str(shipped.agreement_poor)),
        "Scores ignore the references": (str(shipped.overlap_good), str(shipped.overlap_poor)),
        "Scores follow answer length": (str(shipped.length_above), str(shipped.length_poor)),
        "Nearly always the same score": (str(shipped.same_above), percent(shipped.same_share)),
        "Rejected in review": (percent(shipped.poor_good), percent(shipped.poor_poor)),
    }
    for kind, (good, poor) in levels.items():
        assert good in rows[kind][0], kind
        assert poor in rows[kind][1], kind
    assert f"false alarm probability, {shipped.chance} by default" in guide
    assert f"raise no alert below {shipped.least_items} items" in guide
    assert f"over {percent(shipped.returned_share)}" in guide
