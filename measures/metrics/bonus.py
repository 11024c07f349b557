"""The answers that can have a bonus in adapted metrics: for the correct opinion, or for gold entities."""

from measures.metrics.metric import Answers

YES_NO, ENTITY = "yes-no", "entity"


def agreeing_references(answers: Answers) -> list[list[bool]]:
    """Find the references that have the same opinion as the answer, on yes-no questions.

    Parameters
    ----------
    answers : Answers
        The column; question types and opinions may be absent.

    Returns
    -------
    list of list of bool
        One value for each reference of each answer. False for other types of questions, and if the answer or the
        reference has no opinion; letter case is ignored.

    Examples
    --------
    >>> answers = Answers(candidates=["It is.", "It is."], references=[["Yes.", "No."], ["Yes."]],
    ...     question_types=["yes-no", "entity"], opinions=["yes", "yes"], reference_opinions=[["Yes", "No"], ["Yes"]])
    >>> agreeing_references(answers)
    [[True, False], [False]]
    """
    columns = (answers.question_types, answers.opinions, answers.reference_opinions)
    if not all(map(len, columns)):
        return [[False] * len(texts) for texts in answers.references]
    return [
        [kind == YES_NO and _label(opinion) != "" and _label(other) == _label(opinion) for other in others]
        for kind, opinion, others in zip(*columns, strict=True)
    ]


def list_bonus_entities(answers: Answers) -> list[tuple[str, ...]]:
    """List the gold entities for which each answer can have a bonus.

    Parameters
    ----------
    answers : Answers
        The column; question types and entities may be absent.

    Returns
    -------
    list of tuple of str
        The entities of each entity question; none for other types of questions.

    Examples
    --------
    >>> answers = Answers(candidates=["a", "b"], question_types=["entity", "yes-no"], entities=[["x"], ["y"]])
    >>> list_bonus_entities(answers)
    [('x',), ()]
    """
    if not len(answers.question_types) or not len(answers.entities):
        return [()] * len(answers)
    return [
        tuple(entities) if kind == ENTITY else ()
        for kind, entities in zip(answers.question_types, answers.entities, strict=True)
    ]


def _label(opinion: str) -> str:
    return opinion.strip().casefold()
