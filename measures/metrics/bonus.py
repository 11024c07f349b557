"""Which answers may have the bonus of the adapted metrics: for the right opinion, or for the right entities."""

from measures.metrics.metric import Answers

YES_NO, ENTITY = "yes-no", "entity"


def agreeing_references(answers: Answers) -> list[list[bool]]:
    """Say which references have the opinion of the answer, on yes-no questions.

    Parameters
    ----------
    answers : Answers
        The column; it may be without types and opinions.

    Returns
    -------
    list of list of bool
        For each answer and each of its references. False where the question is of another type and where the answer
        or the reference has no opinion; letter case does not matter.

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


def entities_wanted(answers: Answers) -> list[tuple[str, ...]]:
    """Give the gold entities that an answer may have a bonus for.

    Parameters
    ----------
    answers : Answers
        The column; it may be without types and entities.

    Returns
    -------
    list of tuple of str
        Those of each entity question, none for another type.

    Examples
    --------
    >>> entities_wanted(Answers(candidates=["a", "b"], question_types=["entity", "yes-no"], entities=[["x"], ["y"]]))
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
