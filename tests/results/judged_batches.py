"""Judged batches for tests of the results: written as rows, or imported from a file as people do."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import timezone

from annotate.imports import writing
from annotate.models import Assignment, Batch, Hit, Item, Judgment
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.identical_answers import mark_identical
from projects.importing import CriterionColumn, Kind, Options
from projects.models import Candidate, Criterion, Membership, Project, Rubric
from projects.rubric.rubrics import create_rubric, describe_criterion
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.measures.frames import CANONICAL

PUBLISHED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
"""Krippendorff's alphas of his example of four annotators and twelve units."""

Ratings = Mapping[Candidate, Mapping[Membership, float | None]]

VALUES = ((1, 2, 5), (4, 4, 5), (2, 3, 3), (5, 5, 5))
"""Four candidates by three annotators."""

SOURCES = ("span", "gpt", "t5")
HUNDRED = Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100)


def judge(
    project: Project,
    ratings: Ratings,
    *,
    rubric: Rubric | None = None,
    criterion: Criterion | None = None,
    counted: bool = True,
    control: str = "none",
    not_blind: bool = False,
    **over: Any,
) -> Batch:
    """A closed batch with one HIT per candidate, in which these annotators gave these ratings."""
    rubric = rubric or project.rubrics.order_by("-version")[0]
    criterion = criterion or rubric.criteria.order_by("position")[0]
    number = project.batches.count() + 1
    made = {"name": f"Batch {number}", "state": "closed", "rubric": rubric, **over}
    batch = Batch.objects.create(project=project, number=number, **made)
    now = timezone.now()
    hits = Hit.objects.bulk_create(
        Hit(
            batch=batch,
            passage_id=candidate.question.passage_id,
            number=place + 1,
            queue_key=place,
            places_wanted=len(by),
            places_open=0,
            places_done=len(by),
        )
        for place, (candidate, by) in enumerate(ratings.items())
    )
    items = Item.objects.bulk_create(
        Item(hit=hit, question=candidate.question, position=1, candidate=candidate, control=control)
        for hit, candidate in zip(hits, ratings, strict=True)
    )
    given = [(item, *each) for item, by in zip(items, ratings.values(), strict=True) for each in by.items()]
    assignments = Assignment.objects.bulk_create(
        Assignment(
            hit=item.hit,
            annotator=annotator,
            state="submitted",
            mark="counted" if counted else "surplus",
            layout=[item.pk],
            submitted_at=now,
            item_seconds=[4.5],
            active_seconds=4.5,
            wall_seconds=6,
            not_blind=not_blind,
        )
        for item, annotator, _value in given
    )
    Judgment.objects.bulk_create(
        Judgment(
            assignment=assignment,
            item=item,
            annotator=annotator,
            candidate=item.candidate if control == "none" else None,
            criterion=criterion,
            value=value,
            is_counted=counted,
            not_counted_reason="" if counted else "surplus",
        )
        for assignment, (item, annotator, value) in zip(assignments, given, strict=True)
    )
    return batch


def fill_with_identical_answers(project: Project, *, is_once: bool) -> None:
    """Six passages of two questions; two of three sources give one answer to half of them, and all three to one."""
    Project.objects.filter(pk=project.pk).update(rates_identical_once=is_once)
    rng = np.random.default_rng(8)
    people = [make_membership(project) for _ in range(2)]
    dataset = make_dataset(project, "answers")
    ratings: dict[Candidate, dict[Membership, float | None]] = {}
    for n in range(12):
        if n % 2 == 0:
            passage = make_passage(dataset, f"p{n}")
        question = make_question(passage, f"q{n}")
        texts = ("Same", "Same", "Same") if n == 1 else ("Same", "Other", "Same") if n % 2 else ("One", "Two", "Three")
        given = {text: dict(zip(people, rng.integers(1, 6, 2).astype(float), strict=True)) for text in texts}
        for source, text in zip(SOURCES, texts, strict=True):
            (candidate,) = make_candidates(question, source=source, text=text, external_id=f"q{n}-{source}")
            ratings[candidate] = dict(given[text])
    mark_identical(project)
    marked = set(Candidate.objects.exclude(identical_to=None).values_list("pk", flat=True))
    judge(project, {each: given for each, given in ratings.items() if each.pk not in marked})


def round_all(figures: Any) -> Any:
    """Sums over rows in another order differ in the last digits."""
    return json.loads(json.dumps(figures), parse_float=lambda digits: round(float(digits), 9))


def ask(project: Project, **scales: Scale) -> Rubric:
    """The next version of the rubric, which asks each criterion on this scale."""
    criteria = [
        CriterionSpec(key=key, name=key.capitalize(), statement="", scale=scale, level=Level.ORDINAL)
        for key, scale in scales.items()
    ]
    return create_rubric(project, name="Version", preset="custom", criteria=criteria)


def judge_on_slider(project: Project, ratings: Ratings, *, level: Level = Level.ORDINAL) -> Batch:
    """A batch under a newer version of the rubric, which asks the same criterion on a slider of 0 to 100."""
    spec = describe_criterion(project.rubrics.order_by("-version")[0].criteria.get())
    slider = replace(spec, scale=HUNDRED, anchors={}, level=level)
    rubric = create_rubric(project, name="Slider", preset="custom", criteria=[slider])
    return judge(project, ratings, rubric=rubric)


def canonical(project: Project, **over: Any) -> Batch:
    """Krippendorff's four annotators and twelve units, six units in each of two splits."""
    dataset = make_dataset(project, "canonical")
    candidates = []
    for half, split in enumerate(("dev", "test")):
        question = make_question(make_passage(dataset, f"canonical-{half}", split=split), f"canonical-q{half}")
        for n in range(6):
            candidates += make_candidates(
                question, external_id=f"unit-{half * 6 + n:02}", source="even" if n % 2 == 0 else "odd"
            )
    people = [make_membership(project) for _ in CANONICAL]
    ratings: dict[Candidate, dict[Membership, float | None]] = {candidate: {} for candidate in candidates}
    for person, line in zip(people, CANONICAL, strict=True):
        for candidate, value in zip(candidates, line.split(), strict=True):
            if value != ".":
                ratings[candidate][person] = float(value)
    return judge(project, ratings, **over)


def take_file(
    project: Project,
    content: str | bytes,
    name: str,
    folder: Path,
    *,
    kind: Kind = Kind.CANDIDATES,
    criteria: tuple[str, ...] = (),
    **options: Any,
) -> Any:
    """Import a file as the command does."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"file-{project.imports.count()}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    made = Options(criteria=tuple(map(CriterionColumn.parse, criteria)), **options)
    return writing.import_now(
        project=project, path=path, name=name, folder=folder / "spool", actor=None, options=made, kind=kind
    )


def answer(command: str, *arguments: str) -> dict[str, Any]:
    """What a command says with --json."""
    import io
    import json

    from django.core.management import call_command

    out = io.StringIO()
    call_command(command, *arguments, "--json", stdout=out)
    made: dict[str, Any] = json.loads(out.getvalue())
    return made
