"""What results store: reports, judgment sets, scores by metrics, metric evaluations, and trained metrics."""

from results.models.judgment_set import JudgmentSet
from results.models.metrics import MetricChunk, MetricRun, MetricScore, ScoreFile
from results.models.report import Report
from results.models.study import ErrorCause, Study
from results.models.training import Training

__all__ = [
    "ErrorCause",
    "JudgmentSet",
    "MetricChunk",
    "MetricRun",
    "MetricScore",
    "Report",
    "ScoreFile",
    "Study",
    "Training",
]
