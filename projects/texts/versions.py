"""Creating and comparing versions of a project's instructions and consent form; a stored version never changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from django.db import transaction
from django.db.models import Count, Q

from projects import log
from projects.errors import Refused
from projects.models import Act, Consent, ConsentAcceptance, Instructions, Membership, Project
from projects.rubric import rubrics
from projects.rubric.rubrics import CriterionOnPage
from projects.texts.examples import MOST_EXAMPLES, Example, find_faults

MOST_CHARACTERS = 30_000
"""About ten pages."""


@transaction.atomic
def revise_instructions(
    *, project: Project, actor: Membership, text: str, based_on: int, examples: Sequence[Example] | None = None
) -> Instructions:
    """Save the text as the next version, with these worked examples; None keeps those of the current version.

    Raises Refused if nothing has changed, if an example does not fit the rubric, or if a newer version than `based_on`
    has been saved meanwhile.
    """
    # Locked first: the comparison with `based_on` below would otherwise miss a version that is being saved right now.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    current = current_instructions(project)
    stored = current.examples if current is not None else []
    written = stored if examples is None else [example.as_json() for example in examples]
    if examples is not None:
        _check_examples(project, examples)
    _refuse_unless_new(current, based_on, is_same=current is not None and (current.text, stored) == (text, written))
    made = Instructions.objects.create(project=project, version=based_on + 1, text=text, examples=written)
    after = {"version": made.version, "examples": len(written)}
    log.record(project, actor, Act.CHANGE_INSTRUCTIONS, made, after=after)
    return made


@transaction.atomic
def revise_consent(*, project: Project, actor: Membership, text: str, based_on: int) -> Consent:
    """Save the text of the consent form as the next version. Raises Refused as `revise_instructions` does."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    current = current_consent(project)
    _refuse_unless_new(current, based_on, is_same=current is not None and current.text == text)
    made = Consent.objects.create(project=project, version=based_on + 1, text=text)
    log.record(project, actor, Act.CHANGE_CONSENT, made, after={"version": made.version})
    return made


def current_consent(project: Project) -> Consent | None:
    return project.consents.order_by("-version").first()


def current_instructions(project: Project) -> Instructions | None:
    return project.instructions.order_by("-version").first()


def _refuse_unless_new(current: Instructions | Consent | None, based_on: int, *, is_same: bool) -> None:
    newest = current.version if current is not None else 0
    if is_same:
        raise Refused("The text has not changed, so no new version was saved.")
    if newest != based_on:
        raise Refused(
            f"Version {newest} was saved while you were editing. Your text is still here. Compare the two, "
            f"then save again to store yours as version {newest + 1}."
        )


def _check_examples(project: Project, examples: Sequence[Example]) -> None:
    if len(examples) > MOST_EXAMPLES:
        raise Refused(f"Instructions can have at most {MOST_EXAMPLES} worked examples.")
    criteria = read_current_criteria(project)
    for number, example in enumerate(examples, start=1):
        if faults := find_faults(example, criteria):
            where, wrong = next(iter(faults.items()))
            raise Refused(f"Example {number}, {where}: {wrong}")


def count_unfit_examples(project: Project) -> int:
    """Return how many worked examples of the current instructions lack a rating that the current rubric asks for."""
    current = current_instructions(project)
    if current is None or not current.examples:
        return 0
    criteria = read_current_criteria(project)
    return sum(bool(find_faults(example, criteria)) for example in Example.read_all(current.examples))


def read_current_criteria(project: Project) -> tuple[CriterionOnPage, ...]:
    """Return the criteria of the current rubric; none without a rubric."""
    rubric = rubrics.current_rubric(project)
    return rubrics.read_criteria(rubric) if rubric is not None else ()


AROUND = 1
"""Unchanged lines shown on each side of a change."""


@dataclass(frozen=True)
class Line:
    """One line: the same in both versions, removed, added, or a gap where unchanged lines are left out."""

    kind: str
    text: str = ""


def compare(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """Return the changed lines with AROUND lines of context; empty if nothing has changed."""
    before, after = _strip_lines(before), _strip_lines(after)
    lines: list[Line] = []
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(AROUND):
        if lines:
            lines.append(Line("gap"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [Line("same", line) for line in before[i1:i2]]
            else:
                lines += [Line("removed", line) for line in before[i1:i2]]
                lines += [Line("added", line) for line in after[j1:j2]]
    return [] if all(line.kind == "same" for line in lines) else lines


def _strip_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that are not blank, without the spaces around them: readers do not see these changes."""
    return [line.strip() for line in lines if line.strip()]


@dataclass(frozen=True)
class Counts:
    """How many people have agreed to the newest text, how many only to an earlier one, and how many have withdrawn."""

    n_agreed: int = 0
    n_earlier: int = 0
    n_withdrawn: int = 0


def count_uses(project: Project) -> Counts:
    """Return how many people hold which consent; each person is counted once."""
    people = list(
        ConsentAcceptance.objects.filter(consent__project=project)
        .order_by()  # the model's ordering would become part of GROUP BY and split people up
        .values("membership")
        .annotate(
            n_newest=Count("pk", filter=Q(withdrawn_at=None, consent=current_consent(project))),
            n_holding=Count("pk", filter=Q(withdrawn_at=None)),
        )
        .values_list("n_newest", "n_holding")
    )
    return Counts(
        n_agreed=sum(bool(newest) for newest, _ in people),
        n_earlier=sum(not newest and bool(holding) for newest, holding in people),
        n_withdrawn=sum(not holding for _, holding in people),
    )
