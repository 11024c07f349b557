"""What makes figures stale."""

from django.db import models

from projects.models.people import Project


class FigureChange(models.Model):
    """One act that changed what figures rest on, written by that act in its own transaction.

    Whoever computes figures stores how many of these there were when the computing began; one more, and they are stale.
    Rows are counted rather than a number raised: a number in one row would make acts on one project wait for each
    other, in an order that nobody controls.
    """

    class Reach(models.TextChoices):
        RESULTS = "results", "results"
        WORK = "work", "results, and figures of those who share one HIT"
        ANNOTATORS = "annotators", "results, and figures of every annotator"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    reach = models.CharField(max_length=10, choices=Reach.choices)
    assignment_id = models.BigIntegerField(null=True, blank=True)
    """With reach "work": the assignment that was revised."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(reach="work", assignment_id__isnull=False)
                | ~models.Q(reach="work") & models.Q(assignment_id__isnull=True),
                name="figure_change_names_work",
            )
        ]

    def __str__(self) -> str:
        return f"{self.reach} of project {self.project_id}"
