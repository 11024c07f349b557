"""The corpus: datasets, passages, questions, references, candidates and minimal pairs.

An external id is the id of a row in the imported file. A row without one gets the hash of its exact text as its id, so
that the same text is the same row within its dataset. Defaults are `db_default`, because imports write rows with COPY,
which runs no Python.

A foreign key costs an import about 1.5 seconds for 400,000 rows. The `dataset` of questions and candidates therefore
has no constraint in the database: their passage and question are checked and belong to the same dataset.
"""

import re
from typing import Self, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5

from projects.models.people import Project

ID_LENGTH = 200
MADE_ID = re.compile(r"text-[0-9a-f]{32}")
"""The id of a row that had none in its file: see `projects.importing.row_identity`."""
NAME_CHARACTERS = 48
"""How much of its text stands for a passage in a list."""


class Dataset(models.Model):
    """A named collection of passages within a project."""

    class Kind(models.TextChoices):
        GENERATIVE = "generative", "generative"
        SPAN = "span", "span"
        QUESTION_GENERATION = "question_generation", "question generation"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="datasets")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.GENERATIVE)

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="dataset_name")]

    def __str__(self) -> str:
        return self.name


Row = TypeVar("Row", bound=models.Model)


class CorpusQuerySet(models.QuerySet[Row]):
    def in_project(self, project: Project) -> Self:
        """Return the rows of a project's datasets, whose ids are read at once: see `Project.find_ids`."""
        return self.filter(dataset__in=project.find_ids().datasets)


class Passage(models.Model):
    """A text that questions are asked about; it may be empty, or a list of titled documents."""

    # No index of its own: the unique constraint below begins with the dataset.
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="passages", db_index=False)
    external_id = models.CharField(max_length=ID_LENGTH)
    title = models.TextField(blank=True, db_default="")
    text = models.TextField(blank=True, db_default="")
    documents = models.JSONField(null=True, blank=True)
    split = models.CharField(max_length=40, blank=True, db_default="")
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_why = models.TextField(blank=True, db_default="", default="")

    objects: CorpusQuerySet["Passage"] = CorpusQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["dataset", "external_id"], name="passage_external_id")]
        # An import finds equal passages by their text, which may be too long for an index; its hash is not.
        indexes = [
            models.Index("dataset", MD5("text"), name="passage_text"),
            # Results leave out what is withdrawn, which is little, and find it without reading everything else.
            models.Index(fields=["dataset"], condition=Q(withdrawn_at__isnull=False), name="passage_withdrawn"),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.documents

    @property
    def short_name(self) -> str:
        """What lists call it: its title, the id that a file gave it, or the first words of its text.

        A query that leaves out the text annotates `start`, its first characters.
        """
        if self.title or not MADE_ID.fullmatch(self.external_id):
            return self.title or self.external_id
        start = " ".join((vars(self).get("start") or vars(self).get("text", ""))[: 2 * NAME_CHARACTERS].split())
        if len(start) > NAME_CHARACTERS:
            start = f"{start[:NAME_CHARACTERS].rpartition(' ')[0] or start[:NAME_CHARACTERS]} …"
        return start or self.external_id


class Question(models.Model):
    """A question about a passage."""

    class Type(models.TextChoices):
        UNSET = "", "not specified"
        YES_NO = "yes-no", "yes-no"
        ENTITY = "entity", "entity"
        DESCRIPTION = "description", "description"
        OTHER = "other", "other"

    dataset = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, related_name="questions", db_index=False, db_constraint=False
    )
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="questions")
    external_id = models.CharField(max_length=ID_LENGTH)
    text = models.TextField()
    type = models.CharField(max_length=12, choices=Type.choices, blank=True, db_default="")
    entities = ArrayField(models.TextField(), db_default=models.Value([], ArrayField(models.TextField())))
    span = models.TextField(blank=True, db_default="")

    objects: CorpusQuerySet["Question"] = CorpusQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["dataset", "external_id"], name="question_external_id")]

    def __str__(self) -> str:
        return self.external_id


class Reference(models.Model):
    """One correct answer to a question."""

    # No index of its own: the unique constraint below begins with the question.
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="references", db_index=False)
    position = models.PositiveSmallIntegerField()
    text = models.TextField()
    opinion = models.CharField(max_length=20, blank=True, db_default="")

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=["question", "position"], name="reference_position")]

    def __str__(self) -> str:
        return f"reference {self.position}"


class CandidateQuerySet(CorpusQuerySet["Candidate"]):
    def judgeable_in(self, project: Project) -> Self:
        """Return the candidates of a project that may be judged: neither they nor their passages are withdrawn.

        Few questions belong to withdrawn passages, so they are looked up and subtracted. Joining every candidate with
        its question and passage takes twice as long.
        """
        datasets = project.find_ids().datasets
        gone = Question.objects.filter(passage__dataset__in=datasets, passage__withdrawn_at__isnull=False)
        return self.filter(
            ~models.Exists(gone.filter(pk=models.OuterRef("question"))), dataset__in=datasets, withdrawn_at=None
        )

    def to_rate_in(self, project: Project) -> Self:
        """Return the candidates that may be judged, without those that have the ratings of an identical one."""
        return self.judgeable_in(project).filter(identical_to=None)


class Candidate(models.Model):
    """An answer from some source that annotators judge."""

    dataset = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, related_name="candidates", db_index=False, db_constraint=False
    )
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="candidates")
    external_id = models.CharField(max_length=ID_LENGTH)
    text = models.TextField(blank=True)
    source = models.CharField(max_length=ID_LENGTH, blank=True, db_default="")
    opinion = models.CharField(max_length=20, blank=True, db_default="")
    rank = models.IntegerField(null=True, blank=True)
    confidence = models.FloatField(null=True, blank=True)
    metadata = models.JSONField(db_default=models.Value({}, models.JSONField()))
    # The first candidate of the question with the same text, whose ratings this one has; NULL if it is rated itself.
    # Only projects/identical_answers.py writes it. Without a key in the database, which would look for marks at every
    # candidate that a purge deletes.
    identical_to = models.ForeignKey(
        "self",
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_why = models.TextField(blank=True, db_default="", default="")

    objects = CandidateQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["dataset", "external_id"], name="candidate_external_id")]
        indexes = [
            models.Index(fields=["dataset"], condition=Q(withdrawn_at__isnull=False), name="candidate_withdrawn"),
            models.Index(fields=["dataset"], condition=Q(identical_to__isnull=False), name="candidate_identical"),
        ]

    def __str__(self) -> str:
        return self.external_id


class MinimalPair(models.Model):
    """Two candidates that differ in one phenomenon, the first of them better; human scores may come with them."""

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="minimal_pairs")
    candidate_1 = models.OneToOneField(Candidate, on_delete=models.PROTECT, related_name="pair_as_1")
    candidate_2 = models.OneToOneField(Candidate, on_delete=models.PROTECT, related_name="pair_as_2")
    phenomenon = models.CharField(max_length=40, blank=True, db_default="")
    score_1 = models.FloatField(null=True, blank=True)
    score_2 = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            # One score without the other could not say which candidate people prefer.
            models.CheckConstraint(
                condition=Q(score_1=None, score_2=None) | Q(score_1__isnull=False, score_2__isnull=False),
                name="minimal_pair_both_scores",
            ),
            models.CheckConstraint(
                condition=~Q(candidate_1=models.F("candidate_2")), name="minimal_pair_two_candidates"
            ),
        ]

    def __str__(self) -> str:
        return f"pair {self.pk}"
