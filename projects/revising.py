"""New versions of a project's rubric and instructions; versions in use never change."""

from collections.abc import Collection, Sequence

from django.db import transaction

from measures.rubric import PRESETS, CriterionSpec
from projects import log, rubrics
from projects.errors import Refused
from projects.models import Instructions, Membership, Project, Rubric

MOST_CHARACTERS = 30_000


@transaction.atomic
def revise_to_preset(*, project: Project, actor: Membership, preset: str) -> Rubric:
    """Make a preset the next version. Raises Refused if it is the current one already."""
    if preset not in PRESETS:
        raise Refused("There is no such preset.")
    current = rubrics.current_rubric(project)
    if current is not None and current.preset == preset:
        raise Refused(f"{PRESETS[preset].name} is the current rubric already.")
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
    """Make a rubric of one's own the next version. Raises Refused without criteria or with a key twice."""
    rubric = rubrics.create_rubric(
        project, name=name, preset=Rubric.Preset.CUSTOM, criteria=criteria, not_for_quality=not_for_quality
    )
    _record(rubric, actor)
    return rubric


@transaction.atomic
def revise_instructions(*, project: Project, actor: Membership, text: str, based_on: int) -> Instructions:
    """Make the text the next version.

    Raises Refused if nothing has changed, or if somebody saved another version since `based_on`.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    current = current_instructions(project)
    newest = current.version if current is not None else 0
    if current is not None and current.text == text:
        raise Refused("The text is the same as before, so there is no new version.")
    if newest != based_on:
        raise Refused(
            f"Version {newest} was saved while you were writing. Your text is still here; "
            f"compare the two, and save again to make yours version {newest + 1}."
        )
    instructions = Instructions.objects.create(project=project, version=newest + 1, text=text)
    log.record(project, actor, "change instructions", instructions, after={"version": instructions.version})
    return instructions


def current_instructions(project: Project) -> Instructions | None:
    return project.instructions.order_by("-version").first()


def _record(rubric: Rubric, actor: Membership) -> None:
    after = {"version": rubric.version, "name": rubric.name, "criteria": [c.key for c in rubric.criteria.all()]}
    log.record(rubric.project, actor, "change rubric", rubric, after=after)
