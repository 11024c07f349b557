"""A crew for the demo corpus: simulated annotators who know what its texts are worth, two of them bad."""

from collections.abc import Callable, Sequence

import numpy as np

from annotate.attempts import attempts
from annotate.attempts.item_pages import list_pages
from annotate.models import Attempt, Item
from annotate.rating.sent import SentAnswers
from demo import corpus
from demo.annotators import BIASED, CAREFUL, NOISY, Reader, SimulatedAnnotator, Temperament, hire
from demo.simulating.texts import worth_when_degraded
from demo.simulating.worlds import Contrarian, Guesser
from projects.models import Project

GUESSER = Temperament("guesses", Guesser())
CONTRARY = Temperament("says the opposite", Contrarian(Reader(error=0.1)))
GOOD = (CAREFUL, CAREFUL, CAREFUL, CAREFUL, NOISY, NOISY, BIASED)
BAD = (CONTRARY, GUESSER)
SEED = 4
COPY = "--"
"""Between an id of the corpus and the number of its copy."""


def hire_crew(project: Project) -> list[SimulatedAnnotator]:
    """The good ones first; all have passed the qualification test, as bad ones do who know how."""
    crew = hire(project, [*GOOD, *BAD], worth=worth, seed=SEED)
    for annotator in crew:
        pass_test(annotator)
    return crew


def pass_test(annotator: SimulatedAnnotator) -> None:
    """The real acts of an attempt, with the right answer to every item."""
    member = annotator.membership
    attempt = attempts.begin(annotator=member)
    for sheet in list_pages(attempt):
        answers: dict[int, dict[str, float | str]] = {
            place: {key: ends[0] for key, ends in item.expected.items()} for place, item in enumerate(sheet.items)
        }
        sent = SentAnswers(values=answers)
        attempts.save_page(annotator=member, attempt_uuid=attempt.uuid, page=sheet.number, sent=sent)
    assert attempts.submit_attempt(annotator=member, attempt_uuid=attempt.uuid).state == Attempt.State.PASSED


def work_until_done(
    crew: Sequence[SimulatedAnnotator], *, after_each_round: Callable[[], object] = lambda: None
) -> int:
    """Give each a HIT by turns, in a new order every round, while there are any; return how many were submitted."""
    rng = np.random.default_rng(SEED)
    before = sum(annotator.n_submitted for annotator in crew)
    busy = list(crew)
    while busy:
        order = [busy[int(place)] for place in rng.permutation(len(busy))]
        busy = [annotator for annotator in order if annotator.work_once()]
        after_each_round()
    return sum(annotator.n_submitted for annotator in crew) - before


def worth(item: Item) -> float:
    """What an item is truly worth, from 0 to 1; controls as they were made."""
    if item.candidate is not None:
        return (corpus.true_scores()[item.candidate.external_id.partition(COPY)[0]] - 1) / 4
    if item.control == Item.Control.DEGRADED and item.made_from is not None:
        source = item.made_from
        text = source.candidate.text if source.candidate is not None else source.shown_text or ""
        return worth_when_degraded(worth(source), text, item.shown_text or "")
    return 0.0 if item.recipe == Item.Recipe.OTHER_REFERENCE else 1.0


def find_score(question: str, answer: str) -> int:
    """What a careful person gives an answer on the page, from 1 to 5, by its text alone."""
    for passage in corpus.passages():
        for each in passage.questions:
            if each.text != question:
                continue
            known = {candidate.text: candidate.true_score for candidate in each.candidates}
            known |= {reference.text: 5 for reference in each.references}
            return known.get(answer, 1)
    raise KeyError(question)


def right_in_test(question: str, answer: str) -> int:
    """What an item of the qualification test should be rated."""
    found = {(item.question, item.candidate): item.expected for item in corpus.qualification_answers()}
    return found[question, answer]


def wrong_in_test(question: str, answer: str) -> int:
    """Off by more than the item tolerates."""
    return 5 if right_in_test(question, answer) <= 3 else 1
