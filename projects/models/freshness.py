"""Changes that make stored figures stale."""

from django.db import models

from projects.models.people import Project


class FigureChange(models.Model):
    """One act that changed the data behind figures, written by that act in its own transaction.

    Figures are stored with the number of these rows at the time when their computation began; once there are more,
    they are stale. Rows are added instead of raising one number, because a counter row would make the acts on a project
    wait for each other while they hold other locks.
    """

    class Reach(models.TextChoices):
        RESULTS = "results", "results"
        WORK = "work", "results, and figures of those who share one HIT"
        ANNOTATORS = "annotators", "results, and figures of every annotator"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    reach = models.CharField(max_length=10, choices=Reach.choices)
    assignment_id = models.BigIntegerField(null=True, blank=True)
    """The assignment that was revised, if the reach is "work"."""

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
