"""Models of judging: batches, HITs, assignments, judgments, imports; qualification, quality and pay."""

from annotate.models.assignment import Assignment, Draft, Judgment, JudgmentRevision, Remark, RemarkRevision
from annotate.models.batch import Batch, BatchAnnotator, DailyCount, Hit, Item
from annotate.models.control_job import ControlJob
from annotate.models.imports import Import
from annotate.models.overlap_plan import OverlapPlan
from annotate.models.panel import FormerParticipant, Outcome, Panel, PanelParticipant, PanelSession, Reservation
from annotate.models.panel_payment import PanelPayment
from annotate.models.payment import LedgerEntry, Payment
from annotate.models.prolific import (
    ProlificAccount,
    ProlificBonus,
    ProlificBonusLine,
    ProlificEvent,
    ProlificStudy,
    ProlificSubmission,
)
from annotate.models.qualification import Attempt, Grant, Qualification, QualificationItem, QualificationTest
from annotate.models.quality import (
    Adjudication,
    AnnotatorFigures,
    Finding,
    Notice,
    QualityRules,
    Review,
    ReviewVerdict,
)
from annotate.models.survey import Survey, SurveyQuestion, SurveyResponse

__all__ = [
    "Adjudication",
    "AnnotatorFigures",
    "Assignment",
    "Attempt",
    "Batch",
    "BatchAnnotator",
    "ControlJob",
    "DailyCount",
    "Draft",
    "Finding",
    "FormerParticipant",
    "Grant",
    "Hit",
    "Import",
    "Item",
    "Judgment",
    "JudgmentRevision",
    "LedgerEntry",
    "Notice",
    "Outcome",
    "OverlapPlan",
    "Panel",
    "PanelParticipant",
    "PanelPayment",
    "PanelSession",
    "Payment",
    "ProlificAccount",
    "ProlificBonus",
    "ProlificBonusLine",
    "ProlificEvent",
    "ProlificStudy",
    "ProlificSubmission",
    "Qualification",
    "QualificationItem",
    "QualificationTest",
    "QualityRules",
    "Remark",
    "RemarkRevision",
    "Reservation",
    "Review",
    "ReviewVerdict",
    "Survey",
    "SurveyQuestion",
    "SurveyResponse",
]
