"""New versions of a project's rubric."""

from collections.abc import Collection, Sequence

from django.db import transaction

from measures.rubric import CriterionSpec
from measures.rubric_presets import PRESETS
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
    if current is not None and _is_preset(current, preset, project.language):
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
    based_on: int,
    not_for_quality: Collection[str] = (),
) -> Rubric:
    """Make a custom rubric the next version.

    Raises Refused without criteria, with a duplicate key, or if a newer version than `based_on` has been saved
    meanwhile. Locks the project.
    """
    # Locked first: the comparison below would otherwise miss a version that is being saved right now.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    current = rubrics.current_rubric(project)
    newest = current.version if current is not None else 0
    if newest != based_on:
        raise Refused(
            f"Version {newest} was saved while you were editing. Your criteria are still here. Compare the two, "
            "then save again to store yours as the next version."
        )
    rubric = rubrics.create_rubric(
        project, name=name, preset=Rubric.Preset.CUSTOM, criteria=criteria, not_for_quality=not_for_quality
    )
    _record(rubric, actor)
    return rubric


def _is_preset(rubric: Rubric, preset: str, language: str) -> bool:
    """Return whether a rubric is this preset, unchanged, in this language."""
    criteria = rubric.criteria.all()
    return (
        rubric.preset == preset
        and all(criterion.used_for_quality for criterion in criteria)
        and tuple(map(rubrics.describe_criterion, criteria)) == find_preset(preset, language).criteria
    )


def _record(rubric: Rubric, actor: Membership) -> None:
    after = {"version": rubric.version, "name": rubric.name, "criteria": [c.key for c in rubric.criteria.all()]}
    log.record(rubric.project, actor, Act.CHANGE_RUBRIC, rubric, after=after)
