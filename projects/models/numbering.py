"""Counters of the numbers in a project."""

from django.db import models

from projects.models.people import Project


class NumberCounter(models.Model):
    """The highest number that a project has used in one table, so that a deleted number is never used again."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    table = models.CharField(max_length=63)
    newest = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "table"], name="number_counter_once")]

    def __str__(self) -> str:
        return f"{self.table}: {self.newest}"
