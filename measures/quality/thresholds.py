"""The thresholds at which figures of quality become findings."""

from dataclasses import dataclass

from measures.quality.degraded import DegradedTest


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """When a figure becomes a finding.

    Most figures have two levels. A figure is a finding if it is beyond the *poor* level and also worse than the *good*
    level by more than chance, so that neither a few unlucky items nor a long record of average work is one.

    The defaults were tuned on simulated annotators (worlds `TUNED` of `demo.simulating.worlds`, seeds below 100), so
    that within five HITs at least 95 % of the bad and under 2 % of the good ones are flagged. docs/quality.md has the
    measured power in other worlds.

    Attributes
    ----------
    chance : float
        False alarm probability over all serious tests in one check of an annotator who is at the good level.
    least_items : int
        Ordinary items that must be rated before figures over them can be findings.
    known_good, known_poor : float
        Share of correct known answers. The others' median is the good level if it is lower.
    degraded_good, degraded_poor : float
        Share of degraded texts scored below their originals; lowered likewise.
    agreement_good, agreement_poor : float
        Correlation with the others, as a fraction of the others' median.
    overlap_good, overlap_poor : float
        Correlation with the words shared with a reference, as a fraction of the others' median. Its poor level is lower
        than that of agreement, because good readers of paraphrases follow shared words less.
    typical_least : float
        A median correlation below this is too weak for a comparison.
    length_poor, length_above : float
        Correlation with length, and its distance above the others' median.
    same_share, same_above : float
        Share of the most used value, and its distance above the others' share of that value, as a fraction of the
        remainder to 1.
    poor_good, poor_poor : float
        Share of reviewed items that were rejected.
    repeats_good, repeats_poor : float
        Share of repeats within one point.
    bias_part : float
        Mean difference from the others, as a fraction of the scale.
    pace_part : float
        Seconds per word, as a fraction of the others' median.
    fast_share : float
        Share of items rated faster than they can be read.
    returned_share : float
        Share of HITs returned.
    degraded_test : DegradedTest
        The test that compares degraded texts with their originals, or with all other scores.
    degraded_level : float
        Significance level of that test.
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
