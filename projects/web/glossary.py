"""The glossary: one sentence for each column heading and figure with a “?” beside it, shown by {% hint "…" %}."""

from typing import NamedTuple


class Entry(NamedTuple):
    """A term and the sentence that explains it."""

    term: str
    sentence: str


GLOSSARY = {
    # Agreement
    "alpha": Entry(
        "Krippendorff's alpha",
        "Agreement between annotators corrected for chance: 1 is perfect, 0 is what chance alone would give.",
    ),
    "alpha-level": Entry(
        "Level of measurement",
        "What the values of the scale mean: names (nominal), an order (ordinal), equal steps (interval) or "
        "ratios (ratio).",
    ),
    "alpha-distance": Entry(
        "Distance function",
        "How strongly two different ratings of one candidate count as disagreement when alpha is computed.",
    ),
    "ci-candidates": Entry(
        "95 % CI (candidates)",
        "Where the true value plausibly lies, if candidates are independent of each other.",
    ),
    "ci-passages": Entry(
        "95 % CI (passages)",
        "Where the true value plausibly lies, by leaving out or resampling whole passages, whose candidates depend on "
        "each other: report it.",
    ),
    "single-ratings": Entry(
        "Single ratings",
        "Candidates rated by one annotator only: there is nothing to compare, so they are not in alpha.",
    ),
    "ratings-paired": Entry("Ratings", "Ratings of candidates that have two or more; only these are in alpha."),
    "same-share": Entry(
        "Exact agreement",
        "Share of the pairs of ratings of a candidate that are equal, as a mean over candidates; not corrected for "
        "chance.",
    ),
    "exact-agreement": Entry(
        "Exact agreement of two annotators",
        "Share of the shared candidates to which both annotators gave the same rating.",
    ),
    "kappa": Entry(
        "Cohen's kappa (quadratic)",
        "Agreement of two annotators corrected for chance; a difference of two points counts four times as "
        "much as one of one.",
    ),
    "kappa-unweighted": Entry(
        "Cohen's kappa (unweighted)",
        "Agreement of two annotators corrected for chance; any two categories differ alike.",
    ),
    "pearson": Entry("Pearson's r", "Linear correlation from −1 to 1: do both rise and fall in proportion?"),
    "p-pearson": Entry(
        "p (Pearson)",
        "How likely a correlation at least this strong would be if there were none and candidates were independent "
        "(two-sided t test).",
    ),
    "spearman": Entry("Spearman's rho", "Correlation of ranks from −1 to 1: are the candidates put in the same order?"),
    "kendall": Entry(
        "Kendall's tau-b",
        "Rank correlation from −1 to 1: pairs in the same order minus pairs in the opposite order, with ties.",
    ),
    "bias": Entry(
        "Bias",
        "Mean difference from the mean of everyone else's ratings of the same candidates, in points of the scale.",
    ),
    "r-with-rest": Entry(
        "Correlation with rest",
        "Pearson's r with the mean of everyone else's ratings of the same candidates.",
    ),
    "alpha-without": Entry("Alpha without annotator", "Alpha of the other annotators' ratings alone."),
    "alpha-change": Entry(
        "Change in alpha",
        "Above 0, agreement would be higher without this annotator's ratings; below 0, lower.",
    ),
    "alpha-cumulative": Entry(
        "Alpha, cumulative",
        "Alpha of all candidates whose last rating was given by the end of this period.",
    ),
    # Human scores
    "gold-score": Entry(
        "Gold score",
        "The human score of a candidate by the project's method; metrics are evaluated against it.",
    ),
    "mean-z": Entry(
        "Mean z",
        "Mean of the z scores: each rating minus its annotator's mean, in that annotator's standard deviations.",
    ),
    "ratings-with-z": Entry(
        "Ratings with z",
        "The mean z is over these: an annotator who gives everything the same score has no z score.",
    ),
    "sd-ratings": Entry("Std. dev.", "Standard deviation of the candidate's ratings (n − 1 in the denominator)."),
    "sd-scores": Entry("Std. dev.", "Standard deviation of the candidates' human scores (n − 1 in the denominator)."),
    "sd-annotator": Entry(
        "Std. dev.",
        "Standard deviation of all ratings that this annotator gave (n − 1 in the denominator).",
    ),
    "mean-sd": Entry("Mean std. dev.", "Mean over candidates of the standard deviation of their ratings."),
    "adjudicated": Entry(
        "Adjudicated",
        "The score that an adjudicator gave where annotators differed; it is in no figure of agreement.",
    ),
    "differing-pairs": Entry(
        "Differing pairs", "Share of the pairs of a candidate's ratings that are of two different categories."
    ),
    "mean-differing-pairs": Entry(
        "Mean differing pairs", "Mean over candidates of the share of the pairs of their ratings that differ."
    ),
    "max-difference": Entry(
        "Maximum difference",
        "Highest minus lowest rating of one candidate, in points of the scale.",
    ),
    "better-p": Entry(
        "Row better than column",
        "p-value of a one-sided Mann-Whitney U test on z scores: does the row's system score higher than the column's?",
    ),
    "shared-questions": Entry("Questions", "Questions that both systems have rated answers to."),
    "superiority": Entry(
        "Superiority",
        "Share of shared questions on which the first system's answer is better; equal ones count half.",
    ),
    "d-z": Entry("d_z", "Mean difference divided by the standard deviation of the differences between questions."),
    "p-holm-pairs": Entry(
        "p (Holm)",
        "Two-sided p-value, corrected for the number of pairs by Holm's method.",
    ),
    # Sample-size planner
    "plan-basis": Entry(
        "Basis",
        "Whether the study is simulated from ratings that candidates have, or with more of them, which are modelled.",
    ),
    "ci-width": Entry(
        "Width of the 95 % CI",
        "Expected distance between the ends of alpha's interval in a study of this size.",
    ),
    "planned-alpha": Entry("Alpha", "Alpha of the simulated ratings, on which the width depends."),
    # Metrics
    "candidates-scored": Entry("Candidates scored", "Candidates for which the metric gives a value."),
    "without-score": Entry(
        "Without score",
        "Candidates that the metric can't score, with a reason each; they don't count as zero.",
    ),
    "metric-score": Entry(
        "Score",
        "The metric's value for all its candidates: the mean, or the value of the whole corpus where the "
        "metric defines one.",
    ),
    "metric-corpus": Entry(
        "Corpus",
        "The metric computed once over all candidates together, not as a mean of their values.",
    ),
    # Metric evaluation, by the names of its columns
    "study-pearson": Entry("Pearson", "Linear correlation of the metric's values with the human scores, from −1 to 1."),
    "study-spearman": Entry("Spearman", "Correlation of the ranks by metric and by human score, from −1 to 1."),
    "study-kendall": Entry(
        "Kendall",
        "Rank correlation of metric and human score, from −1 to 1, corrected for ties (tau-b).",
    ),
    "study-by_passage": Entry(
        "Pearson by passage",
        "Pearson's r with its 95 % interval over passages instead of single candidates.",
    ),
    "study-ceiling": Entry(
        "Single annotator vs. rest",
        "Correlation of one judgment with the mean of the others, which is no upper bound for a metric.",
    ),
    "study-reliability": Entry(
        "Ceiling",
        "The highest Pearson correlation that a metric can reach with the gold scores: the square root of their "
        "reliability.",
    ),
    "study-share": Entry(
        "Pearson / ceiling",
        "The metric's correlation as a share of the ceiling; by chance it may be above 1.",
    ),
    "study-over": Entry(
        "Over many answers",
        "How a metric gets one value for many answers: from all of them as one corpus, or as the mean of their values.",
    ),
    "study-accuracy": Entry(
        "Accuracy",
        "Share of minimal pairs in which the metric scores the better candidate higher; ties count half.",
    ),
    "study-ties": Entry("Ties", "Pairs in which the metric gives both candidates the same value."),
    "study-difference": Entry(
        "Difference of Pearson",
        "The first metric's correlation with the human scores minus the second's.",
    ),
    "study-bootstrap": Entry(
        "p (bootstrap)",
        "One-sided p-value, from resamples: small if the first metric correlates more strongly with human scores.",
    ),
    "study-bootstrap_holm": Entry(
        "p (Holm)",
        "Two-sided p-value, corrected for the number of pairs of metrics by Holm's method.",
    ),
    "study-t": Entry("Williams' t", "Test statistic for two correlations that share the human scores."),
    "study-williams": Entry(
        "p (Williams)",
        "One-sided p-value of Williams' test: small if the first metric correlates more strongly with human scores.",
    ),
    "study-williams_holm": Entry(
        "p (Holm)",
        "Two-sided p-value, corrected for the number of pairs of metrics by Holm's method.",
    ),
    "study-between": Entry("Pearson of the two", "Linear correlation of the two metrics with each other."),
    "study-better": Entry(
        "Better than",
        "One-sided p-value: small if the row's metric correlates more strongly with human scores than the column's.",
    ),
    "study-constant": Entry(
        "Groups with equal scores",
        "Groups in which the metric gives every answer the same score, so that it has no correlation there.",
    ),
    "study-cross_fit": Entry(
        "Accuracy, cross-fit",
        "Share of pairs in the order of people, with ties by the epsilon that is best on other passages.",
    ),
    "study-calibrated": Entry(
        "Accuracy, calibrated",
        "Share of pairs in the order of people, with ties by the epsilon that is best on these same pairs.",
    ),
    "study-epsilon": Entry("Epsilon", "The largest difference between two scores of the metric that counts as a tie."),
    "study-tie_share": Entry("Tied", "Share of pairs that the metric ties at the calibrated epsilon."),
    "study-soft": Entry(
        "Soft pairwise accuracy",
        "One minus the mean absolute difference between the p-values of people and metric over pairs of systems.",
    ),
    "study-plain": Entry(
        "Plain pairwise accuracy",
        "Share of pairs of systems that the metric and people put in the same order.",
    ),
    "study-permutation": Entry(
        "p (permutation)",
        "One-sided p-value, from swapping the two metrics' scores: small if the first one correlates more strongly.",
    ),
    "study-permutation_holm": Entry(
        "p (permutation, Holm)",
        "Two-sided p-value, corrected for the number of pairs of metrics by Holm's method.",
    ),
    "study-boot_both": Entry(
        "Interval over systems and passages",
        "Pearson's r with an interval that also holds for systems and passages that nobody has seen.",
    ),
    "study-reciprocal_rank": Entry(
        "Mean reciprocal rank",
        "Mean of 1 / rank of the first good answer, 0 where there is none among the first.",
    ),
    "study-unscored": Entry(
        "Lists without all scores",
        "Lists in which one of the first answers has no score; they are left out.",
    ),
    "study-unrepeated": Entry(
        "Pearson with non-redundancy",
        "Above 0, answers without repetition tend to have the higher scores of the metric; below 0, answers that "
        "repeat themselves do.",
    ),
    "study-given_length": Entry(
        "Given length",
        "The same correlation among answers of equal length (partial correlation).",
    ),
    "study-gain": Entry("Gain by pooling", "Score with pooled references minus score with the best reference."),
    "leaderboard-rank": Entry(
        "Rank",
        "From one more than the number of significantly better metrics to the number that are not significantly worse.",
    ),
    "leaderboard-segment": Entry(
        "Segment level, Pearson",
        "Linear correlation of the metric with the gold scores of single candidates, from −1 to 1.",
    ),
    "leaderboard-system": Entry(
        "System level, Pearson",
        "Linear correlation of the systems' mean scores by the metric and by people, for these same systems.",
    ),
    "leaderboard-held-out": Entry(
        "Held-out dataset",
        "Pearson's r of a trained metric on a dataset that it has not learned from.",
    ),
    "leaderboard-cost": Entry(
        "Seconds per 1,000 answers",
        "Measured time of the metric's run here for 1,000 answers, with what it had to load.",
    ),
    "study-gap": Entry("Gap", "How far the two scores lie apart once both are on one scale."),
    # Collection
    "batch-done": Entry("Done", "Assignments submitted and counted."),
    "batch-unfilled": Entry("Unfilled", "Assignments that nobody has taken yet."),
    "batch-in-progress": Entry(
        "In progress",
        "Assignments that an annotator holds open now, or that are reserved for participants of panels.",
    ),
    "batch-required": Entry("Required", "How many annotators the HIT is for."),
    "batch-complete": Entry("HITs complete", "HITs that all their annotators have submitted."),
    "batch-pace": Entry("Pace", "Assignments submitted per hour, by the latest submissions."),
    "batch-time-left": Entry("Time left", "Remaining assignments that somebody can take, divided by the current pace."),
    "plan-planned": Entry("Planned", "Judgments that the plan asks for in this part of the data."),
    "plan-collected": Entry("Collected", "Counted judgments so far, imported ones included."),
    "plan-coming": Entry("In progress", "Judgments that batches will still bring: unfilled or being worked on."),
    "plan-missing": Entry("Missing", "Judgments that are planned, and neither collected nor asked for by a batch yet."),
    "stage-remaining": Entry(
        "Estimated remaining",
        "What this project will owe for all assignments still missing, without fees, personal HITs and re-collection.",
    ),
    "cost-items": Entry("Items", "Candidates and controls that annotators are shown, once for each assignment."),
    "cost-personal": Entry(
        "Personal HITs",
        "Additional HITs of one annotator, with degraded answers, repeats or rated candidates that check the work.",
    ),
    "cost-again": Entry(
        "Re-collection",
        "Assignments done again because the first was rejected or excluded, or came when its HIT was full.",
    ),
    "cost-hourly": Entry("Hourly rate", "Expected pay without the platform fee, divided by the expected working time."),
    # Review and pay
    "seconds-per-item": Entry(
        "Seconds per item",
        "Active time on the HIT divided by its number of items; pauses are not counted.",
    ),
    "counted": Entry(
        "Counted",
        "Whether judgments are in the results: not surplus, excluded or rejected work, controls, withdrawn candidates.",
    ),
    "spot-rejected": Entry("Rejected", "Items that the reviewer rejected, of those reviewed."),
    "item-discrimination": Entry(
        "Discrimination",
        "Correlation of getting this item right with the rest of the test: low or negative items say little.",
    ),
    "hourly-rate": Entry("Hourly rate", "Earnings divided by active time, in hours; pauses are not counted."),
    "pay-owed": Entry("Awaiting approval", "Earned, but not approved yet."),
    "pay-approved": Entry("Approved", "Approved and waiting for the next payment."),
    "controls-degradable": Entry(
        "Degradable",
        "Answers of this length from which a clearly worse version could be made.",
    ),
}
"""By key. A sentence says what the figure is, then how to read it; the guides explain the rest."""
