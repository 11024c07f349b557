"""The overlap plan: how many judgments each part of the data gets."""

from django.db import models
from django.db.models.functions import Now

from projects.models import Membership, Project


class OverlapPlan(models.Model):
    """Judgments per candidate by type of dataset and split; starting it creates batches and extends existing ones."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="overlap_plans", db_index=False)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    rules = models.JSONField(default=list)
    created_by = models.ForeignKey(Membership, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="overlap_plan_number")]

    def __str__(self) -> str:
        return self.name
