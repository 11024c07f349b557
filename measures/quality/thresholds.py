"""The levels at which figures of quality become findings."""

from dataclasses import dataclass

from measures.quality.degraded import DegradedTest


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """When a figure becomes a finding.

    Most have two levels. A figure makes a finding where it is beyond the *poor* level and also worse than the *good*
    level by more than chance: so neither a few unlucky items nor a long record of middling work makes one.

    Attributes
    ----------
    chance : float
        The most probable a finding may be by chance alone, for one check of an annotator who is at the good level.
    least_items : int
        Ordinary items rated before figures over them can find anything.
    known_good, known_poor : float
        Share of known answers right. The good level is the others' median where that is lower.
    degraded_good, degraded_poor : float
        Share of degraded texts scored below their source; likewise.
    agreement_good, agreement_poor : float
        Correlation with the others, as a part of the others' median.
    overlap_good, overlap_poor : float
        Correlation with the words shared with a reference; likewise, but meaning is more than words.
    typical_least : float
        A median correlation below this is too weak to compare with.
    length_poor, length_above : float
        Correlation with length, and how far above the others' median.
    same_share, same_above : float
        Share of the most used value, and how far above the others' share of that value, as a part of what is left to 1.
    poor_good, poor_poor : float
        Share of reviewed items marked poor.
    repeats_good, repeats_poor : float
        Share of repeats within one point.
    bias_part : float
        Mean difference to the others, as a part of the scale.
    pace_part : float
        Seconds per word, as a part of the others' median.
    fast_share : float
        Share of items answered faster than they can be read.
    returned_share : float
        Share of HITs given back.
    degraded_test : DegradedTest
        How degraded texts are compared with their sources, or with everything else.
    degraded_level : float
        That test is passed where its p is below.
    """

    chance: float = 0.02
    least_items: int = 20
    known_good: float = 0.8
    known_poor: float = 0.5
    degraded_good: float = 0.75
    degraded_poor: float = 0.55
    agreement_good: float = 0.8
    agreement_poor: float = 0.4
    overlap_good: float = 0.8
    overlap_poor: float = 0.2
    typical_least: float = 0.2
    length_poor: float = 0.6
    length_above: float = 0.2
    same_share: float = 0.85
    same_above: float = 0.6
    poor_good: float = 0.2
    poor_poor: float = 0.4
    repeats_good: float = 0.7
    repeats_poor: float = 0.5
    bias_part: float = 0.25
    pace_part: float = 0.33
    fast_share: float = 0.5
    returned_share: float = 0.3
    degraded_test: DegradedTest = DegradedTest.SIGNED_RANK
    degraded_level: float = 0.05
