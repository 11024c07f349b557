"""Creating a project, changing its settings, deleting and restoring it."""

import re
from datetime import timedelta
from itertools import count
from typing import Any
from unicodedata import category, normalize

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from measures.rubric_presets import DEFAULT_PRESET, PRESETS
from projects import log
from projects.access import has_second_factor
from projects.errors import Refused
from projects.identical_answers import mark_identical
from projects.language.languages import is_known
from projects.models import Act, Instructions, Membership, Project, User
from projects.rubric import rubrics
from projects.texts import starting_texts

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SLUG_RULE = "Use 2 to 60 lowercase letters, digits and single hyphens, for example narrative-qa."
SETTINGS = (
    "name",
    "description",
    "hit_size",
    "cents_per_hit",
    "cents_per_item",
    "fee_share",
    "time_limit_minutes",
    "approve_after_days",
    "hourly_floor_cents",
    "language",
    "shows_question_type",
    "shows_entities",
    "shows_reference_opinion",
    "shows_candidate_opinion",
    "hides_references",
    "rates_identical_once",
    "revision_minutes",
    "requires_second_factor",
)


LETTERS: dict[str, str | int | None] = {
    "ä": "ae",
    "ö": "oe",
    "ü": "ue",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "oe",
    "å": "aa",
    "ð": "d",
    "đ": "d",
    "þ": "th",
    "ł": "l",
    "ħ": "h",
    "ı": "i",
    "ŋ": "ng",
    "ŧ": "t",
    "ə": "e",
}
"""Letters that addresses spell in another way than without their marks; “é” becomes “e” without being listed."""


def explain_invalid_slug(slug: str) -> str:
    """Return the rule that a project's address breaks; empty if it is valid."""
    return "" if 2 <= len(slug) <= 60 and SLUG.fullmatch(slug) else SLUG_RULE


def spell_address(name: str) -> str:
    """Return the Latin letters and digits of a name as an address has them; `project_new.js` does the same."""
    plain = normalize("NFC", name.lower()).translate(str.maketrans(LETTERS))
    plain = "".join(each for each in normalize("NFKD", plain) if not category(each).startswith("M")).lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:50].strip("-")


def derive_slug(name: str) -> str:
    """Return a free address made from a project's name; a name without Latin letters or digits gives “project”."""
    stem = spell_address(name)
    stem = stem if len(stem) > 1 else "project"
    taken = set(Project.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    numbered = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(slug for slug in numbered if slug not in taken)


def create_project(
    *,
    slug: str,
    name: str,
    owner: User,
    description: str = "",
    language: str = settings.LANGUAGE_CODE,
    preset: str = DEFAULT_PRESET,
) -> Project:
    """Create a project with its owner, and a preset's rubric and first instructions in its language.

    Without a preset it starts blank. Raises Refused for an unknown language or preset, an invalid address, and one that
    is in use or belonged to a deleted project.
    """
    if preset and preset not in PRESETS:
        raise Refused(f"The preset “{preset}” does not exist. Choose one of these: {', '.join(PRESETS)}.")
    if not is_known(language):
        codes = ", ".join(code for code, _name in settings.LANGUAGES)
        raise Refused(f"The language “{language}” is not available. Choose one of these: {codes}.")
    if reason := explain_invalid_slug(slug):
        raise Refused(reason)
    taken = f"The address “{slug}” is already in use, perhaps by a project that was deleted. Enter another address."
    if Project.objects.filter(slug=slug).exists():
        raise Refused(taken)
    try:
        with transaction.atomic():
            project = Project.objects.create(slug=slug, name=name, description=description, language=language)
            membership = Membership.objects.create(project=project, user=owner, role=Membership.Role.OWNER)
            if preset:
                rubrics.create_from_preset(project, preset)
                Instructions.objects.create(
                    project=project,
                    version=1,
                    text=starting_texts.read_instructions(language, preset),
                    examples=starting_texts.read_examples(language, preset),
                )
            log.record(
                project,
                membership,
                Act.CREATE_PROJECT,
                project,
                after={"slug": slug, "name": name, "language": language, "preset": preset},
            )
    except IntegrityError as error:  # somebody else has created it since the check above
        raise Refused(taken) from error
    return project


@transaction.atomic
def change_settings(*, project: Project, actor: Membership, values: dict[str, Any]) -> Project:
    """Change the settings named in SETTINGS and log what changed; existing batches keep theirs.

    Raises Refused if somebody without a second factor would require one: nobody locks themselves out by a tick.
    """
    # The row is read again under the lock, so that “before” in the log is right if two owners save at the same time.
    stored = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    changed = [name for name in SETTINGS if name in values and values[name] != getattr(stored, name)]
    if not changed:
        return stored
    if "requires_second_factor" in changed and values["requires_second_factor"]:
        _require_own_second_factor(actor)
    before = {name: getattr(stored, name) for name in changed}
    for name in changed:
        setattr(stored, name, values[name])
    stored.save(update_fields=changed)
    if "rates_identical_once" in changed:
        mark_identical(stored)
    log.record(
        stored, actor, Act.CHANGE_SETTINGS, stored, before=before, after={name: values[name] for name in changed}
    )
    return stored


def _require_own_second_factor(actor: Membership) -> None:
    if actor.user is None or not has_second_factor(actor.user):
        reason = "Set up a second factor of your own first: open “Sign-in security” in your account."
        raise Refused(reason, field="requires_second_factor")


@transaction.atomic
def delete_project(*, project: Project, actor: Membership, typed: str) -> None:
    """Hide a project from everybody, and keep its data for KEEP_DELETED_DAYS, or for good if that is 0.

    Raises Refused unless `typed` is the project's address.
    """
    if typed != project.slug:
        raise Refused(f"To delete this project, enter its address: {project.slug}")
    # Only the first of two requests at the same time changes the row and is logged.
    now, days = timezone.now(), settings.KEEP_DELETED_DAYS
    purged_after = now + timedelta(days=days) if days else None
    if Project.objects.live().filter(pk=project.pk).update(deleted_at=now, purged_after=purged_after):
        log.record(project, actor, Act.DELETE_PROJECT, project)


@transaction.atomic
def restore_project(*, slug: str, actor: Membership | None = None) -> Project:
    """Restore a deleted project with all its data. Raises Refused if none of this address was deleted."""
    project = Project.objects.select_for_update(no_key=True).filter(slug=slug).first()
    if project is None:
        raise Refused(f"Project “{slug}” does not exist.")
    if project.deleted_at is None:
        raise Refused(f"The project “{slug}” is not deleted.")
    project.deleted_at = project.purged_after = None
    project.save(update_fields=["deleted_at", "purged_after"])
    log.record(project, actor, Act.RESTORE_PROJECT, project)
    return project
