"""Plain functions that make rows for tests; every argument has a default."""

from itertools import count
from typing import Any

from annotate.batches import creating, lifecycle
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.models import Batch, OverlapPlan
from measures.rubric_presets import DEFAULT_PRESET
from projects.identical_answers import mark_identical
from projects.models import (
    Candidate,
    Consent,
    Dataset,
    Instructions,
    InstructionsReading,
    Membership,
    MinimalPair,
    Passage,
    Project,
    Question,
    Reference,
    Rubric,
    User,
)
from projects.rubric import rubrics
from projects.rubric.presets import find_preset

REFERENCE = "On the mat."
INSTRUCTIONS = "# How to rate\n\nRead, then rate."

_numbers = count(1)


def make_user(username: str = "", **over: Any) -> User:
    """Without a password nobody can sign in by the form; `client_of` signs in without one."""
    password = over.pop("password", None)
    user = User(username=username or f"user-{next(_numbers)}", **over)
    if password is None:
        user.set_unusable_password()
    else:
        user.set_password(password)
    user.save()
    return user


def make_project(slug: str = "", **over: Any) -> Project:
    """A project with its first rubric and instructions, and nobody in it."""
    slug = slug or f"project-{next(_numbers)}"
    project = Project.objects.create(slug=slug, **{"name": slug.replace("-", " ").capitalize(), **over})
    first = find_preset(DEFAULT_PRESET, project.language)
    rubric = Rubric(project=project, version=1, name=first.name, preset=DEFAULT_PRESET)
    rubrics.save_version(rubric, first.criteria)
    Instructions.objects.create(project=project, version=1, text=INSTRUCTIONS)
    return project


def make_membership(project: Project, user: User | None = None, **over: Any) -> Membership:
    """An annotator, unless `role` says otherwise, who has read the instructions that there are."""
    role = over.setdefault("role", Membership.Role.ANNOTATOR)
    over.setdefault("is_annotator", role == Membership.Role.ANNOTATOR)
    if over.get("kind", Membership.Kind.PERSON) == Membership.Kind.PERSON:
        user = user or make_user()
    membership = Membership.objects.create(project=project, user=user, **over)
    InstructionsReading.objects.bulk_create(
        InstructionsReading(membership=membership, instructions=version) for version in project.instructions.all()
    )
    return membership


def make_rubric(project: Project, preset: str = DEFAULT_PRESET) -> Rubric:
    return rubrics.create_from_preset(project, preset)


def make_instructions(project: Project, text: str = INSTRUCTIONS) -> Instructions:
    """A version that every member has read."""
    version = Instructions.objects.create(project=project, version=project.instructions.count() + 1, text=text)
    InstructionsReading.objects.bulk_create(
        InstructionsReading(membership=member, instructions=version) for member in project.memberships.all()
    )
    return version


def make_consent(project: Project, text: str = "# Taking part\n\nYou may stop at any time.") -> Consent:
    """A version that nobody has agreed to yet."""
    return Consent.objects.create(project=project, version=project.consents.count() + 1, text=text)


def make_dataset(project: Project, name: str = "", **over: Any) -> Dataset:
    return Dataset.objects.create(project=project, name=name or f"dataset-{next(_numbers)}", **over)


def make_passage(dataset: Dataset, external_id: str = "", **over: Any) -> Passage:
    passage = _passage(dataset, external_id, **over)
    passage.save()
    return passage


def make_question(
    passage: Passage, external_id: str = "", *, references: tuple[str, ...] = (REFERENCE,), **over: Any
) -> Question:
    question = _question(passage, external_id, **over)
    question.save()
    Reference.objects.bulk_create(
        Reference(question=question, position=position, text=text) for position, text in enumerate(references)
    )
    return question


def make_questions(dataset: Dataset, n: int) -> list[Question]:
    """Passages with one question and one reference each."""
    passages = Passage.objects.bulk_create(_passage(dataset) for _ in range(n))
    questions = Question.objects.bulk_create(map(_question, passages))
    Reference.objects.bulk_create(Reference(question=each, position=0, text=REFERENCE) for each in questions)
    return questions


def make_candidates(question: Question, n: int = 1, **over: Any) -> list[Candidate]:
    return make_candidates_of_each([question], n, **over)


def make_candidates_of_each(questions: list[Question], n: int, **over: Any) -> list[Candidate]:
    """So many candidates of the first question, then those of the next one."""
    return Candidate.objects.bulk_create(_candidate(question, **over) for question in questions for _ in range(n))


def make_corpus(project: Project, *, n_passages: int = 1, n_candidates: int = 10, **over: Any) -> Dataset:
    """A dataset of passages with one question each and some candidates to each question."""
    dataset = make_dataset(project, **over)
    make_candidates_of_each(make_questions(dataset, n_passages), n_candidates)
    return dataset


def _passage(dataset: Dataset, external_id: str = "", **over: Any) -> Passage:
    external_id = external_id or f"p{next(_numbers)}"
    text = f"The text of passage {external_id}. The cat sat on the mat."
    return Passage(dataset=dataset, external_id=external_id, **{"text": text, **over})


def _question(passage: Passage, external_id: str = "", **over: Any) -> Question:
    external_id = external_id or f"q{next(_numbers)}"
    made = {"text": "Where did the cat sit?", **over}
    return Question(dataset=passage.dataset, passage=passage, external_id=external_id, **made)


def _candidate(question: Question, **over: Any) -> Candidate:
    number = next(_numbers)
    made = {"external_id": f"c{number}", "text": f"Candidate answer {number}", "source": "model-a", **over}
    return Candidate(dataset_id=question.dataset_id, question=question, **made)


def make_identical_answers(project: Project) -> None:
    """Two sources that agree on the first of two questions, in a project that rates identical answers once."""
    Project.objects.filter(pk=project.pk).update(rates_identical_once=True)
    project.rates_identical_once = True
    passage = make_passage(make_dataset(project))
    for name, texts in (("same", ("On the mat", "On the mat")), ("other", ("On the mat", "Under it"))):
        question = make_question(passage, name)
        for source, text in zip(("gpt", "span"), texts, strict=True):
            make_candidates(question, external_id=f"{name}-{source}", source=source, text=text)
    mark_identical(project)


def make_plan(project: Project, number: int = 1) -> OverlapPlan:
    """A plan of two judgments for everything; or the one that the project has."""
    rules = [{"kind": "*", "split": "*", "judgments": 2}]
    plan, _ = OverlapPlan.objects.get_or_create(
        project=project, number=number, defaults={"name": "Plan", "rules": rules}
    )
    return plan


def make_pair(question: Question, name: str = "", **over: Any) -> MinimalPair:
    """A minimal pair with two new candidates; `over` are its phenomenon and its scores."""
    name = name or f"pair{next(_numbers)}"
    one, two = (
        make_candidates(question, 1, external_id=f"{name}-{n}", text=f"{text} of {name}", source="minimal pair")[0]
        for n, text in enumerate(("On the mat", "Under the mat"), start=1)
    )
    return MinimalPair.objects.create(question=question, candidate_1=one, candidate_2=two, **over)


def make_batch(
    project: Project,
    *,
    is_open: bool = True,
    datasets: tuple[str, ...] = (),
    with_pairs: bool = False,
    **over: Any,
) -> Batch:
    """A batch over the project's candidates, cut by the real act; `over` are its terms."""
    selection = Selection(datasets=datasets, with_pairs=with_pairs)
    batch = creating.create_batch(
        project=project, actor=None, selection=selection, terms=Terms(**{"judgments": 1, **over})
    )
    if is_open:
        lifecycle.open_batch(batch=batch, actor=None)
        batch.refresh_from_db()
    return batch
