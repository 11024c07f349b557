"""The quality of annotators: rules, figures, findings, reviews, adjudications and notices."""

from dataclasses import dataclass

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now

from annotate.models.assignment import Assignment
from annotate.models.batch import Item
from projects.models import Candidate, Criterion, Membership, Project

GOLD_RULES = (("mean", "mean"), ("median", "median"), ("z", "mean of z-scores"))
"""The rules of `measures.gold_rules`, by name."""


class QualityRules(models.Model):
    """A project's quality rules; a project without a row uses the defaults and draws no spot checks."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, primary_key=True, related_name="quality_rules")
    thresholds = models.JSONField(default=dict, blank=True)
    spot_check_share = models.FloatField(default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    spot_check_floor = models.PositiveSmallIntegerField(default=0)
    seed = models.BigIntegerField(default=0)
    adjudication_wins = models.BooleanField(default=False)
    gold_rule = models.CharField(max_length=20, choices=GOLD_RULES, db_default="mean", default="mean")
    controls_enter_norms = models.BooleanField(db_default=True, default=True)
    """Whether ratings of controls enter the mean and standard deviation behind an annotator's z-scores."""

    class Meta:
        verbose_name_plural = "quality rules"
        constraints = [
            models.CheckConstraint(
                condition=Q(gold_rule__in=[rule for rule, _ in GOLD_RULES]), name="quality_rules_gold_rule"
            ),
            models.CheckConstraint(
                condition=Q(spot_check_share__gte=0, spot_check_share__lte=1), name="quality_rules_spot_check_share"
            ),
        ]

    def __str__(self) -> str:
        return f"quality rules of {self.project_id}"


class AnnotatorFigures(models.Model):
    """An annotator's figures, computed after a number of submitted HITs."""

    annotator = models.OneToOneField(Membership, on_delete=models.PROTECT, primary_key=True, related_name="figures")
    figures = models.JSONField(default=dict)
    n_submitted = models.PositiveIntegerField(default=0)
    n_changes = models.IntegerField(default=-1)
    """How many acts that reach these figures there were when they were computed; -1 is before any were counted."""
    computed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "annotator figures"

    def __str__(self) -> str:
        return f"figures of {self.annotator_id}"


class Finding(models.Model):
    """A pattern in an annotator's work that someone should look at, with evidence; pages call it an alert."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        DISMISSED = "dismissed", "dismissed"
        ACTED = "acted", "acted on"

    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="findings", db_index=False)
    kind = models.CharField(max_length=40)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    evidence = models.JSONField(default=dict)
    found_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    settled_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    settled_at = models.DateTimeField(null=True, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "kind"], condition=Q(state="open"), name="finding_one_open_of_a_kind"
            ),
            models.CheckConstraint(
                condition=Q(state="open", settled_at=None) | ~Q(state="open") & Q(settled_at__isnull=False),
                name="finding_settled_at",
            ),
        ]
        indexes = [models.Index(fields=["annotator", "kind"], name="finding_of_annotator")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.annotator_id}"


class Review(models.Model):
    """A spot check: a submitted assignment that a reviewer rates blind before seeing its ratings."""

    class State(models.TextChoices):
        WAITING = "waiting", "to do"
        RATED = "rated", "rated blind"
        DONE = "done", "done"

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="review")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    drawn_at = models.DateTimeField(db_default=Now())
    reviewer = models.ForeignKey(Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="reviews")
    answers = models.JSONField(null=True, blank=True)
    rated_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(state="waiting", answers=None) | ~Q(state="waiting") & Q(reviewer__isnull=False),
                name="review_state",
            )
        ]

    def __str__(self) -> str:
        return f"review of {self.assignment_id}"


class ReviewVerdict(models.Model):
    """A reviewer's verdict on one item of a spot check: accepted or rejected (poor), with a note."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="verdicts", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="+", db_index=False)
    is_poor = models.BooleanField()
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["review", "item"], name="review_verdict_once")]

    def __str__(self) -> str:
        return "poor" if self.is_poor else "fine"


class Adjudication(models.Model):
    """The score that a manager has set for a candidate with disagreement; it is never one of the judgments."""

    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="adjudications", db_index=False)
    criterion = models.ForeignKey(Criterion, on_delete=models.PROTECT, related_name="adjudications", db_index=False)
    adjudicator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="adjudications")
    value = models.FloatField()
    note = models.TextField(blank=True)
    adjudicated_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["candidate", "criterion"], name="adjudication_once"),
            models.CheckConstraint(
                condition=Q(value__gte=-1_000_000, value__lte=1_000_000), name="adjudication_value_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.value}"


class Notice(models.Model):
    """A message that stays on an annotator's desk until they confirm it."""

    class Kind(models.TextChoices):
        WARNING = "warning", "warning"
        DECISION = "decision", "decision"

    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="notices")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.WARNING)
    text = models.TextField()
    sent_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    sent_at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Alerts:
    """Numbers of open alerts and spot checks."""

    n_findings: int = 0
    n_serious: int = 0
    n_reviews: int = 0

    def __bool__(self) -> bool:
        return bool(self.n_findings or self.n_reviews)


_ALERTS = """
SELECT count(*), count(*) FILTER (WHERE f.evidence -> 'is_serious' = 'true'), (
    SELECT count(*)
    FROM annotate_review r JOIN annotate_assignment a ON a.id = r.assignment_id
        JOIN projects_membership m ON m.id = a.annotator_id
    WHERE m.project_id = %(project)s AND r.state <> 'done')
FROM annotate_finding f JOIN projects_membership m ON m.id = f.annotator_id
WHERE m.project_id = %(project)s AND f.state = 'open'
"""


def count_alerts(project: Project) -> Alerts:
    """Return the numbers of a project's open alerts, of the serious ones among them, and of spot checks to do."""
    with connection.cursor() as cursor:
        cursor.execute(_ALERTS, {"project": project.pk})
        return Alerts(*cursor.fetchone())
