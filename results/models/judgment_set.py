"""Judgment sets: the judgments of a project at one moment, frozen as files that a paper can cite."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from projects.database.figures_field import FiguresField
from projects.jobs.queue import LONG_QUEUE, Job
from projects.models import Membership, Project


class JudgmentSetQuerySet(models.QuerySet["JudgmentSet"]):
    def frozen(self) -> "JudgmentSetQuerySet":
        return self.filter(frozen_at__isnull=False)


class JudgmentSet(Job):
    """Judgments frozen as files. Once it is frozen, a trigger refuses every change but its retirement and DOI."""

    task = "results.freeze"

    # The unique constraint begins with the project and is the index.
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="judgment_sets", db_index=False)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    settings = models.JSONField(default=dict)
    """What `results.sets.settings.Settings.as_dict` returns."""
    facts = FiguresField(default=dict, blank=True)
    """Figures from the files: counts, agreement, versions, and what changed since the previous set."""
    files = models.JSONField(default=list, blank=True)
    """Name, bytes and SHA-256 of each file, in the order of the archive."""
    stored_name = models.CharField(max_length=80, blank=True)
    n_bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    frozen_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    retired_why = models.TextField(blank=True)
    successor = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="predecessors", db_index=False
    )

    doi = models.CharField(max_length=200, blank=True, default="", db_default="")
    """Given after the set was deposited, so that no file of the set has it."""

    objects = JudgmentSetQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="judgment_set_number"),
            models.CheckConstraint(
                # A done set has its files; the trigger then keeps the row as it is.
                condition=~Q(state="done") | Q(frozen_at__isnull=False, sha256__gt="", stored_name__gt=""),
                name="judgment_set_frozen_when_done",
            ),
            models.CheckConstraint(
                condition=Q(retired_at=None) | Q(frozen_at__isnull=False) & ~Q(retired_why=""),
                name="judgment_set_retired_with_reason",
            ),
            models.CheckConstraint(
                # The form of `citing.DOI`; `$` of PostgreSQL matches at the very end alone.
                condition=Q(doi="") | Q(doi__regex=r"^10\.[0-9]{4,9}/[-._;()/:A-Za-z0-9]{1,180}$"),
                name="judgment_set_doi_form",
            ),
        ]

    def __str__(self) -> str:
        return f"judgment set {self.number}"

    @property
    def queue_name(self) -> str:
        return LONG_QUEUE

    def get_absolute_url(self) -> str:
        return reverse("results:set-show", args=[self.project.slug, self.number])

    @property
    def is_frozen(self) -> bool:
        return self.frozen_at is not None

    @property
    def folder_name(self) -> str:
        """Return the name of the archive and of its folder: safe in a header and on a disk, as it has no free text."""
        return f"{self.project.slug}-set-{self.number}"
