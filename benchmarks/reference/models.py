"""The four tables that rating needs at least."""

from django.conf import settings
from django.db import models


class Hit(models.Model):
    passage = models.TextField()
    places_open = models.IntegerField(default=1)

    class Meta:
        indexes = [models.Index(fields=["id"], condition=models.Q(places_open__gt=0), name="reference_free")]


class Item(models.Model):
    hit = models.ForeignKey(Hit, on_delete=models.CASCADE)
    question = models.TextField()
    reference = models.TextField()
    candidate = models.TextField()


class Assignment(models.Model):
    hit = models.ForeignKey(Hit, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    is_open = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hit", "user"], name="reference_assignment_once")]


class Judgment(models.Model):
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE)
    item = models.ForeignKey(Item, on_delete=models.CASCADE)
    value = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "item"], name="reference_judgment_once")]
