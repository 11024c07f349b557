"""New versions of a project's rubric."""

from collections.abc import Collection, Sequence

from django.db import transaction

from measures.rubric import PRESETS, CriterionSpec
from projects import log
from projects.errors import Refused
from projects.models import Act, Membership, Project, Rubric
from projects.rubric import rubrics
from projects.rubric.presets import find_preset


@transaction.atomic
def revise_to_preset(*, project: Project, actor: Membership, preset: str) -> Rubric:
    """Make a preset, in the project's language, the next version. Raises Refused if it is already the current one."""
    if preset not in PRESETS:
        raise Refused("This preset does not exist.")
    current = rubrics.current_rubric(project)
    spec = find_preset(preset, project.language)
    criteria = current.criteria.all() if current is not None else ()
    if tuple(map(rubrics.describe_criterion, criteria)) == spec.criteria:
        raise Refused(f"{PRESETS[preset].name} is already the current rubric.")
    rubric = rubrics.create_from_preset(project, preset)
    _record(rubric, actor)
    return rubric


@transaction.atomic
def revise_rubric(
    *,
    project: Project,
    actor: Membership,
    name: str,
    criteria: Sequence[CriterionSpec],
    not_for_quality: Collection[str] = (),
) -> Rubric:
    """Make a custom rubric the next version. Raises Refused without criteria or with a duplicate key."""
    rubric = rubrics.create_rubric(
        project, name=name, preset=Rubric.Preset.CUSTOM, criteria=criteria, not_for_quality=not_for_quality
    )
    _record(rubric, actor)
    return rubric


def _record(rubric: Rubric, actor: Membership) -> None:
    after = {"version": rubric.version, "name": rubric.name, "criteria": [c.key for c in rubric.criteria.all()]}
    log.record(rubric.project, actor, Act.CHANGE_RUBRIC, rubric, after=after)
