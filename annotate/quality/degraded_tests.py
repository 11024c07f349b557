"""The four tests of degraded answers, as forms and pages explain them beside each other."""

from dataclasses import dataclass

from measures.quality.degraded import LEAST_A_SIDE, LEAST_PAIRS, DegradedTest

_PAIRED = "Each degraded answer with its own original, both scored by the same annotator"
_UNPAIRED = "All scores of degraded answers with all scores of ordinary answers"


@dataclass(frozen=True)
class TestDescription:
    """One test: its name, the scores it compares, the scores it needs, and what speaks for it."""

    __test__ = False  # pytest would otherwise take the name for that of a test.

    test: DegradedTest
    name: str
    compares: str
    needs: str
    advice: str


DESCRIPTIONS = (
    TestDescription(
        DegradedTest.SIGNED_RANK,
        "Wilcoxon signed rank",
        _PAIRED,
        f"{LEAST_PAIRS} pairs with different scores",
        "For most projects: it uses only the order of the differences and is exact for few pairs, with ties too.",
    ),
    TestDescription(
        DegradedTest.PAIRED_T,
        "paired t",
        _PAIRED,
        f"{LEAST_PAIRS} pairs",
        "For scores from sliders and to repeat Graham et al. (2017). It assumes that differences are roughly normal.",
    ),
    TestDescription(
        DegradedTest.MANN_WHITNEY,
        "Mann-Whitney U",
        _UNPAIRED,
        f"{LEAST_A_SIDE} scores on each side",
        "To repeat Ji et al. (2022). Corrects for ties and continuity. If ordinary answers get low scores too, many "
        "careful annotators fail.",
    ),
    TestDescription(
        DegradedTest.RANK_SUM,
        "rank sum",
        _UNPAIRED,
        f"{LEAST_A_SIDE} scores on each side",
        "To repeat QAScore. The same comparison without either correction, so p differs a little with many ties. Fails "
        "careful annotators likewise.",
    ),
)
NAMES = {each.test.value: each.name for each in DESCRIPTIONS}
