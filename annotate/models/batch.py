"""Batches, their HITs and the items of a HIT."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from annotate.models.overlap_plan import OverlapPlan
from annotate.models.pay import compute_hit_pay
from projects.models import Candidate, Consent, Instructions, Membership, Passage, Project, Question, Rubric

ROUND = 2**32
"""What taking a place adds to a HIT's queue key, so that every HIT is served once before any is served twice.

It is larger than the number of HITs in any batch, whose positions within a round are below it.
"""
DEPTH = 2**42
"""The distance between the queue keys of HITs with depth first: larger than all rounds of one HIT (1,000 at most)."""


class BatchQuerySet(models.QuerySet["Batch"]):
    def open(self) -> "BatchQuerySet":
        return self.filter(state=Batch.State.OPEN)

    def collecting(self) -> "BatchQuerySet":
        """Return batches that people work on in the app, not imported ones."""
        return self.exclude(kind=Batch.Kind.IMPORTED)

    def as_choices(self) -> list[tuple[int, str]]:
        """Return the number and the label of each, for a filter."""
        return [(number, f"{number}: {name}") for number, name in self.values_list("number", "name")]


def find_batch_ids(project: Project, *, is_collecting: bool = False) -> list[int]:
    """Return the ids of a project's batches, or of those that are not imported, for statements that name them.

    Planned by a join, a statement reads what all other projects have as well: see `Project.find_ids`.
    """
    return [pk for pk, kind, *_ in _read_batches(project) if not is_collecting or kind != Batch.Kind.IMPORTED]


def find_batch_kinds(project: Project) -> set[tuple[str, str]]:
    """Return the pairs of kind and state that occur among a project's batches."""
    return {(kind, state) for _, kind, state, _ in _read_batches(project)}


def count_wanted_assignments(project: Project) -> int:
    """Return how many assignments the batches of a project want in all."""
    return sum(n_wanted for *_, n_wanted in _read_batches(project))


def _read_batches(project: Project) -> list[tuple[int, str, str, int]]:
    found = Batch.objects.filter(project=project).order_by()
    batches = found.values_list("pk", "kind", "state", F("n_hits") * F("judgments"))
    return project.remember("batches", lambda: list(batches))


class Batch(models.Model):
    """Candidates with a required number of judgments, under fixed versions of rubric, instructions and consent."""

    class Kind(models.TextChoices):
        FULL = "full", "full collection"
        TRIAL = "trial", "trial"
        IMPORTED = "imported", "imported"

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        OPEN = "open", "open"
        PAUSED = "paused", "paused"
        CLOSED = "closed", "closed"
        ARCHIVED = "archived", "archived"

    class Order(models.TextChoices):
        BREADTH = "breadth", "one pass over all HITs first"
        DEPTH = "depth", "complete one HIT before the next"
        PASSAGE = "passage", "stay with a passage, else one pass over all HITs"

    class Presentation(models.TextChoices):
        PAGE = "page", "all items on one page"
        ONE = "one", "one item at a time, without going back"

    class UseOfTrial(models.TextChoices):
        LEAVE_OUT = "leave_out", "exclude the trial’s candidates"
        COUNT = "count", "count the trial’s judgments"
        ANEW = "anew", "collect the trial’s candidates again"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="batches", db_index=False)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.FULL)
    state = models.CharField(max_length=12, choices=State.choices, default=State.DRAFT)
    priority = models.SmallIntegerField(default=0)
    # At most 1,000, so that all rounds of a HIT fit below DEPTH.
    judgments = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1), MaxValueValidator(1000)])
    presentation = models.CharField(max_length=12, choices=Presentation.choices, default=Presentation.PAGE)
    must_read_to_end = models.BooleanField(default=True)
    """Whether an answer longer than the screen can only be rated once its end has been on the screen."""
    hit_size = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1), MaxValueValidator(100)])
    order = models.CharField(max_length=12, choices=Order.choices, default=Order.BREADTH)
    max_hits_per_annotator = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    max_hits_per_day = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    max_share = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    cents_per_hit = models.PositiveIntegerField(default=0)
    cents_per_item = models.PositiveIntegerField(default=0)
    is_pay_prorated = models.BooleanField(db_default=False, default=False)
    """Whether a HIT with fewer items than the HIT size pays its share of the pay per HIT."""
    fee_share = models.FloatField(default=0.0)
    time_limit_minutes = models.PositiveIntegerField(default=60)
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="batches")
    instructions = models.ForeignKey(
        Instructions, on_delete=models.PROTECT, null=True, blank=True, related_name="batches"
    )
    consent = models.ForeignKey(Consent, on_delete=models.PROTECT, null=True, blank=True, related_name="batches")
    has_named_annotators = models.BooleanField(default=False)
    requires_qualification = models.BooleanField(db_default=True, default=True)
    trial = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="full_batches")
    use_of_trial = models.CharField(max_length=10, choices=UseOfTrial.choices, blank=True, db_default="", default="")
    plan = models.ForeignKey(OverlapPlan, on_delete=models.PROTECT, null=True, blank=True, related_name="batches")
    control_plan = models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict, blank=True)
    selection = models.JSONField(default=dict)
    seed = models.BigIntegerField(default=0)
    n_hits = models.PositiveIntegerField(default=0)
    n_items = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(Membership, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = BatchQuerySet.as_manager()

    class Meta:
        ordering = ("number",)
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="batch_number"),
            models.CheckConstraint(condition=Q(judgments__gte=1), name="batch_judgments"),
            models.CheckConstraint(condition=Q(hit_size__gte=1), name="batch_hit_size"),
            models.CheckConstraint(
                condition=~Q(kind="imported") | Q(state__in=("closed", "archived")), name="batch_imported_is_closed"
            ),
            models.CheckConstraint(
                condition=Q(trial=None, use_of_trial="") | Q(trial__isnull=False) & ~Q(use_of_trial=""),
                name="batch_use_of_trial",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-priority", "number"], condition=Q(state="open"), name="batch_open")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_paid(self) -> bool:
        return bool(self.cents_per_hit or self.cents_per_item)

    def compute_pay(self, n_items: int) -> int:
        """Return the cents for a HIT that shows this many items."""
        return compute_hit_pay(
            n_items=n_items,
            hit_size=self.hit_size,
            cents_per_hit=self.cents_per_hit,
            cents_per_item=self.cents_per_item,
            is_prorated=self.is_pay_prorated,
        )

    def first_queue_key(self, position: int) -> int:
        """Return the queue key of a HIT on which no place was taken yet."""
        return position * DEPTH if self.order == self.Order.DEPTH else position


class BatchAnnotator(models.Model):
    """A chosen annotator of a batch: only these are served its HITs."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="named_annotators", db_index=False)
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="named_in")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["batch", "annotator"], name="batch_annotator_once")]

    def __str__(self) -> str:
        return f"{self.annotator_id} in {self.batch_id}"


class Hit(models.Model):
    """Candidates of one passage that are rated together, with counters of its places.

    `annotate/places/` describes the counters and the equations that hold between them.
    """

    class Purpose(models.TextChoices):
        WORK = "work", "work"
        GOLD = "gold", "gold"
        PERSONAL = "personal", "personal"

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="hits")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="hits")
    number = models.PositiveIntegerField(default=0)
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.WORK)
    reserved_for = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="reserved_hits"
    )
    queue_key = models.BigIntegerField()
    places_wanted = models.PositiveIntegerField()
    places_open = models.IntegerField()
    places_done = models.IntegerField(default=0)

    class Meta:
        ordering = ("number",)
        constraints = [
            models.CheckConstraint(
                condition=Q(places_open__gte=0, places_done__gte=0)
                & Q(places_wanted__gte=F("places_open") + F("places_done")),
                name="hit_places",
            ),
            models.CheckConstraint(
                condition=Q(purpose="work", reserved_for=None) | ~Q(purpose="work") & Q(reserved_for__isnull=False),
                name="hit_reserved_unless_work",
            ),
        ]
        indexes = [
            # The queue: HITs with open places in the order in which they are served.
            models.Index(fields=["batch", "queue_key"], condition=Q(places_open__gt=0), name="hit_queue"),
            models.Index(fields=["reserved_for"], condition=Q(places_open__gt=0), name="hit_reserved"),
        ]

    def __str__(self) -> str:
        # HITs of controls alone have no number.
        return f"HIT {self.number}" if self.purpose == self.Purpose.WORK else f"{self.get_purpose_display()} HIT"


class Item(models.Model):
    """One candidate or control in a HIT, or a control in a batch's pool; `position` is the canonical order."""

    class Control(models.TextChoices):
        NONE = "none", "none"
        KNOWN_ANSWER = "known_answer", "known answer"
        REPEAT = "repeat", "repeat"
        DEGRADED = "degraded", "degraded"
        SOURCE = "source", "undegraded original"

    class Recipe(models.TextChoices):
        """How the text of a control was made."""

        REFERENCE = "reference", "a reference"
        EDITED_REFERENCE = "edited", "an edited reference"
        OTHER_REFERENCE = "other", "the reference of another question"
        KNOWN_CANDIDATE = "candidate", "a rated candidate"
        DEGRADED = "degraded", "a degraded answer"

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, null=True, blank=True, related_name="items", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="items", db_index=False)
    position = models.PositiveSmallIntegerField()
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="items")
    control = models.CharField(max_length=14, choices=Control.choices, db_default=Control.NONE)
    made_from = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="controls", db_index=False
    )
    expected = models.JSONField(null=True, blank=True)
    shown_text = models.TextField(null=True, blank=True)  # noqa: DJ001 - NULL: the candidate's own text is shown
    accepted_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    accepted_at = models.DateTimeField(null=True, blank=True)
    pool_of = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True, blank=True, related_name="pool")
    recipe = models.CharField(max_length=20, choices=Recipe.choices, blank=True, db_default="", default="")
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("position",)
        indexes = [
            models.Index(fields=["pool_of", "question"], condition=Q(pool_of__isnull=False), name="item_pool"),
            models.Index(fields=["made_from"], condition=Q(made_from__isnull=False), name="item_made_from"),
            # Whether a question has items is asked for each question that is purged.
            models.Index(fields=["question"], name="item_question"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="item_position"),
            # A control may repeat a candidate of the same HIT.
            models.UniqueConstraint(
                fields=["hit", "candidate"], condition=Q(control="none"), name="item_candidate_once"
            ),
            models.CheckConstraint(
                condition=~Q(control="none") | Q(candidate__isnull=False, hit__isnull=False),
                name="item_ordinary_has_candidate",
            ),
            models.CheckConstraint(
                condition=Q(hit=None, pool_of__isnull=False) | Q(hit__isnull=False, pool_of=None),
                name="item_in_hit_or_pool",
            ),
        ]

    def __str__(self) -> str:
        return f"item {self.position}"


class DailyCount(models.Model):
    """The number of a project's judgments at the end of a day: a lower number later raises an alarm."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="daily_counts")
    day_on = models.DateField()
    n_judgments = models.PositiveBigIntegerField()

    class Meta:
        ordering = ("-day_on",)
        constraints = [models.UniqueConstraint(fields=["project", "day_on"], name="daily_count_once")]

    def __str__(self) -> str:
        return f"{self.day_on}: {self.n_judgments}"
