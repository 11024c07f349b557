"""Users, projects, memberships and invitations."""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from django.contrib.auth.models import AbstractUser
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy, pgettext_lazy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

T = TypeVar("T")

# Without i, l, o, 0 and 1, which people confuse when they read a pseudonym out or type it.
PSEUDONYM_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def random_pseudonym() -> str:
    """Return a random name, drawn anew for each membership, so that projects cannot be linked by it."""
    return "a-" + "".join(secrets.choice(PSEUDONYM_ALPHABET) for _ in range(8))


class User(AbstractUser):
    """A person who can sign in. Their rights in a project come from their membership."""

    can_create_projects = models.BooleanField(default=False)
    language = models.CharField(max_length=10, blank=True, db_default="", default="")
    session_goal = models.PositiveSmallIntegerField(db_default=0, default=0, validators=[MaxValueValidator(500)])
    """The HITs that the person wants to submit in one session, or 0 for no goal."""
    suggests_breaks = models.BooleanField(db_default=True, default=True)
    wants_email = models.BooleanField(db_default=False, default=False)
    emailed_until = models.DateTimeField(null=True, blank=True)
    """Until when the person has been told of news by e-mail."""
    # The keys of the rating page that differ from the defaults, by action, and whether they are turned off.
    rating_keys = models.JSONField(default=dict, blank=True, db_default=models.Value({}, models.JSONField()))
    factors_version = models.PositiveIntegerField(db_default=0, default=0)
    """How often the second factors changed: like a new password, each change ends the sessions opened before."""

    def get_session_auth_hash(self) -> str:
        return self._version_hash(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> "Iterator[str]":
        yield from map(self._version_hash, super().get_session_auth_fallback_hash())

    def _version_hash(self, password_hash: str) -> str:
        # Unchanged for whoever never had a second factor: their sessions outlast the upgrade.
        return f"{password_hash}.{self.factors_version}" if self.factors_version else password_hash


class ProjectQuerySet(models.QuerySet["Project"]):
    def live(self) -> "ProjectQuerySet":
        return self.filter(deleted_at=None)


class ProjectIds(NamedTuple):
    """The ids of a project's datasets, of the criteria of all its rubrics, and of everybody who was ever a member."""

    datasets: list[int]
    criteria: list[int]
    members: list[int]


_IDS = """
SELECT ARRAY(SELECT id FROM projects_dataset WHERE project_id = %(project)s),
       ARRAY(SELECT cr.id FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
             WHERE r.project_id = %(project)s),
       ARRAY(SELECT id FROM projects_membership WHERE project_id = %(project)s)
"""


class Project(models.Model):
    """One study: its data, people, rubric and settings."""

    class HumanSources(models.TextChoices):
        """What is done with sources of candidates that people wrote, where systems are compared."""

        LEAVE_OUT = "leave_out", "leave them out"
        APART = "apart", "apart: leave them out, and show their own figures"
        IN = "in", "count them as systems"

    remembered: dict[str, Any] | None = None
    """What was read of the project for a page, which changes nothing; None elsewhere, where it may change."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    # The defaults are those of MOCHA's collection: ten candidates per HIT, 40 cents and 60 minutes per HIT.
    hit_size = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1), MaxValueValidator(100)])
    cents_per_hit = models.PositiveIntegerField(default=40, validators=[MaxValueValidator(100_000)])
    cents_per_item = models.PositiveIntegerField(default=0, validators=[MaxValueValidator(100_000)])
    fee_share = models.FloatField(default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    time_limit_minutes = models.PositiveIntegerField(
        default=60, validators=[MinValueValidator(1), MaxValueValidator(60 * 24 * 14)]
    )
    # None means that managers approve each HIT; 0 approves at once.
    approve_after_days = models.PositiveSmallIntegerField(
        default=7, null=True, blank=True, validators=[MaxValueValidator(365)]
    )
    hourly_floor_cents = models.PositiveIntegerField(null=True, blank=True, validators=[MaxValueValidator(1_000_000)])
    # The language of annotators' pages, for annotators who have not chosen one themselves.
    language = models.CharField(max_length=10, db_default="en", default="en")
    # What annotators see besides the texts, if the owner turns it on.
    shows_question_type = models.BooleanField(db_default=False, default=False)
    shows_entities = models.BooleanField(db_default=False, default=False)
    shows_reference_opinion = models.BooleanField(db_default=False, default=False)
    shows_candidate_opinion = models.BooleanField(db_default=False, default=False)
    # Some studies rate without references: with a reference beside it, a question tends to be compared with that.
    hides_references = models.BooleanField(db_default=False, default=False)
    revision_minutes = models.PositiveIntegerField(
        db_default=0, default=0, validators=[MaxValueValidator(60 * 24 * 14)]
    )
    # Systems often give the same answer. Change it by `change_settings`, which marks the candidates.
    rates_identical_once = models.BooleanField(db_default=False, default=False)
    """Whether of a question's candidates with the same text one is rated, and the others have its ratings."""
    # Empty until somebody is asked, which is where the project has such sources.
    human_sources = models.CharField(max_length=10, choices=HumanSources.choices, blank=True, db_default="", default="")
    requires_second_factor = models.BooleanField(db_default=False, default=False)
    """Whether managers and owners work here only with a second factor."""
    created_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True, blank=True)
    purged_after = models.DateTimeField(null=True, blank=True)
    """When the data of a deleted project may be deleted for good; None for never."""

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.CheckConstraint(condition=Q(hit_size__gte=1, hit_size__lte=100), name="project_hit_size"),
            models.CheckConstraint(condition=Q(time_limit_minutes__gte=1), name="project_time_limit"),
            models.CheckConstraint(condition=Q(fee_share__gte=0, fee_share__lte=1), name="project_fee_share"),
            models.CheckConstraint(
                condition=Q(human_sources__in=["", "leave_out", "apart", "in"]), name="project_human_sources"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("results:project-overview", args=[self.slug])

    def remember(self, name: str, read: Callable[[], T]) -> T:
        """Return what `read` returns: for a page it is read once, and each time anywhere else."""
        if self.remembered is None:
            return read()
        if name not in self.remembered:
            self.remembered[name] = read()
        found: T = self.remembered[name]
        return found

    def find_ids(self) -> "ProjectIds":
        """Return the ids of what the project has, read at once, for statements that name them.

        Such a statement is planned for as many rows as these have. By a join PostgreSQL can't tell that a project is
        small, and reads all that other projects have as well.
        """
        return self.remember("ids", self._read_ids)

    def _read_ids(self) -> "ProjectIds":
        with connection.cursor() as cursor:
            cursor.execute(_IDS, {"project": self.pk})
            return ProjectIds(*cursor.fetchone())

    @property
    def is_paid(self) -> bool:
        return bool(self.cents_per_hit or self.cents_per_item)


class MembershipQuerySet(models.QuerySet["Membership"]):
    def people(self) -> "MembershipQuerySet":
        return self.filter(kind=Membership.Kind.PERSON)

    def active(self) -> "MembershipQuerySet":
        return self.filter(standing=Membership.Standing.ACTIVE)

    def able_owners(self) -> "MembershipQuerySet":
        """Owners who can act: active in the project, with an account that is not disabled."""
        return self.active().filter(role=Membership.Role.OWNER, user__is_active=True)

    def annotators(self) -> "MembershipQuerySet":
        return self.filter(is_annotator=True)


class Membership(models.Model):
    """A person's role and status in a project. Judgments refer to memberships, never to users."""

    class Kind(models.TextChoices):
        PERSON = "person", gettext_lazy("person")
        IMPORTED = "imported", gettext_lazy("imported annotator")
        UNKNOWN = "unknown", gettext_lazy("unknown annotator")
        SIMULATED = "simulated", gettext_lazy("simulated annotator")

    class Role(models.TextChoices):
        OWNER = "owner", pgettext_lazy("role", "owner")
        MANAGER = "manager", pgettext_lazy("role", "manager")
        RESEARCHER = "researcher", pgettext_lazy("role", "researcher")
        ANNOTATOR = "annotator", pgettext_lazy("role", "annotator")

    class Standing(models.TextChoices):
        ACTIVE = "active", pgettext_lazy("standing", "active")
        SUSPENDED = "suspended", pgettext_lazy("standing", "suspended")
        REMOVED = "removed", pgettext_lazy("standing", "removed")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memberships")
    # Deleting an account keeps the membership, and with it the judgments, under its pseudonym.
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="memberships")
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.PERSON)
    imported_name = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - NULL keeps it out of the key
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.ANNOTATOR)
    is_annotator = models.BooleanField(default=False)
    standing = models.CharField(max_length=12, choices=Standing.choices, default=Standing.ACTIVE)
    pseudonym = models.CharField(max_length=40, default=random_pseudonym)
    is_participant = models.BooleanField(db_default=False, default=False)
    """Whether a recruitment platform sent them, who work in sessions and have no password."""
    is_paid_elsewhere = models.BooleanField(db_default=False, default=False)
    """Whether that platform pays them, so that the project's ledger owes them nothing for HITs and tests."""
    joined_at = models.DateTimeField(db_default=Now())

    objects = MembershipQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            # Members without an account have NULL as their user, and NULLs are never equal to each other.
            models.UniqueConstraint(fields=["project", "user"], name="membership_once_per_user"),
            models.UniqueConstraint(fields=["project", "pseudonym"], name="membership_pseudonym"),
            models.UniqueConstraint(fields=["project", "imported_name"], name="membership_imported_name"),
            # Imported, unknown and simulated annotators have no account.
            models.CheckConstraint(condition=Q(kind="person") | Q(user=None), name="membership_only_persons_sign_in"),
        ]

    def __str__(self) -> str:
        return self.pseudonym

    def get_home_url(self) -> str:
        """Return where this member starts in the project: its overview, or an annotator's desk."""
        if self.can_read:
            return self.project.get_absolute_url()
        return reverse("annotate:project-desk", args=[self.project.slug])

    @property
    def can_read(self) -> bool:
        return self.role != self.Role.ANNOTATOR

    @property
    def can_manage(self) -> bool:
        return self.role in (self.Role.MANAGER, self.Role.OWNER)

    @property
    def is_owner(self) -> bool:
        return self.role == self.Role.OWNER

    @property
    def is_active(self) -> bool:
        return self.standing == self.Standing.ACTIVE

    @property
    def is_erased(self) -> bool:
        """Whether the member was a person whose account is deleted; nobody else of this kind is without one."""
        return self.kind == self.Kind.PERSON and self.user_id is None

    @property
    def is_blind(self) -> bool:
        """Whether the member cannot see sources and other people's ratings."""
        return not self.can_read


class Erasure(models.Model):
    """That the account behind a membership was deleted; with `takes_work_out`, its judgments count nowhere any more."""

    membership = models.OneToOneField(Membership, on_delete=models.PROTECT, primary_key=True, related_name="erasure")
    takes_work_out = models.BooleanField()
    erased_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.membership)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def usable(self, now: "datetime") -> "InvitationQuerySet":
        return self.filter(revoked_at=None, expires_at__gt=now, n_uses__lt=models.F("max_uses"))


class Invitation(models.Model):
    """A link with which people join a project; only the hash of its token is stored."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="invitations")
    role = models.CharField(max_length=12, choices=Membership.Role.choices)
    is_annotator = models.BooleanField(default=False)
    token_sha256 = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=120, blank=True)
    max_uses = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1), MaxValueValidator(10_000)])
    n_uses = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=Q(n_uses__lte=models.F("max_uses")), name="invitation_uses"),
            # A link can be passed on, so it must never make anybody an owner.
            models.CheckConstraint(condition=~Q(role="owner"), name="invitation_never_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.role} invitation {self.pk}"

    def state_at(self, now: "datetime") -> str:
        """Return whether the link works at this time, in a word."""
        if self.revoked_at is not None:
            return "revoked"
        if self.n_uses >= self.max_uses:
            return "used up"
        return "expired" if self.expires_at <= now else "active"
