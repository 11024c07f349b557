"""Copying a project's set-up into a new one: settings, rubric, instructions, consent form and qualification test.

No data, no people and no judgments are copied.
"""

from collections.abc import Callable

from django.db import transaction
from django.db.models import QuerySet

from projects import log
from projects.models import Act, Consent, Instructions, Membership, Project, Rubric, User
from projects.rubric import rubrics
from projects.settings.lifecycle import SETTINGS, create_project
from projects.texts.versions import current_consent, current_instructions

Copier = Callable[[Project, Project], None]
_COPIERS: list[Copier] = []
"""What the apps above this one copy, in the order of their registration."""


def copies(copier: Copier) -> Copier:
    """Register what else a copy takes over: called with the copied project and the new one."""
    _COPIERS.append(copier)
    return copier


def list_copyable(user: User) -> QuerySet[Project]:
    """Return the projects that the user manages, whose set-up they may therefore copy."""
    roles = (Membership.Role.OWNER, Membership.Role.MANAGER)
    mine = Membership.objects.active().filter(user=user, role__in=roles, project__deleted_at=None)
    return Project.objects.filter(pk__in=mine.values("project"))


@transaction.atomic
def copy_project(*, source: Project, slug: str, name: str, owner: User, description: str = "") -> Project:
    """Create a project with the set-up of another. Raises Refused as `create_project` does."""
    project = create_project(
        slug=slug, name=name, owner=owner, description=description, language=source.language, preset=""
    )
    copied = [setting for setting in SETTINGS if setting not in ("name", "description")]
    for setting in copied:
        setattr(project, setting, getattr(source, setting))
    project.save(update_fields=copied)
    if (rubric := rubrics.current_rubric(source)) is not None:
        _copy_rubric(rubric, project)
    if (instructions := current_instructions(source)) is not None:
        Instructions.objects.create(project=project, version=1, text=instructions.text, examples=instructions.examples)
    if (consent := current_consent(source)) is not None:
        Consent.objects.create(project=project, version=1, text=consent.text)
    for copier in _COPIERS:
        copier(source, project)
    membership = project.memberships.get(user=owner)
    log.record(project, membership, Act.CHANGE_SETTINGS, project, after={"copied_from": source.slug})
    return project


def _copy_rubric(rubric: Rubric, project: Project) -> None:
    criteria = list(rubric.criteria.all())
    rubrics.create_rubric(
        project,
        name=rubric.name,
        preset=rubric.preset,
        criteria=[rubrics.describe_criterion(each) for each in criteria],
        not_for_quality=[each.key for each in criteria if not each.used_for_quality],
    )
