import numpy as np
import pytest

from demo import annotators, corpus
from demo.annotators import BIASED, CAREFUL, HASTY, NOISY, Seen, Temperament

SEEN = [
    Seen(
        answer=candidate.text,
        references=tuple(reference.text for reference in question.references),
        worth=(candidate.true_score - 1) / 4,
        n_words=30,
    )
    for passage in corpus.passages()
    for question in passage.questions
    for candidate in question.candidates
]
TRUE = np.array([seen.worth for seen in SEEN])


def ratings(temperament: Temperament, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip([temperament.judgement.rate(seen, rng) for seen in SEEN], 0.0, 1.0)


def error(temperament: Temperament) -> float:
    return float(np.abs(ratings(temperament) - TRUE).mean())


def test_same_seed_gives_the_same_ratings_and_another_seed_does_not() -> None:
    assert np.array_equal(ratings(NOISY, 1), ratings(NOISY, 1))
    assert not np.array_equal(ratings(NOISY, 1), ratings(NOISY, 2))


def test_careful_annotators_err_least_and_hasty_ones_most() -> None:
    assert error(CAREFUL) < 0.08
    assert error(CAREFUL) < error(BIASED) < error(HASTY)
    assert error(CAREFUL) < error(NOISY) < error(HASTY)


def test_biased_annotators_lean_but_keep_the_order() -> None:
    assert (ratings(BIASED) - TRUE).mean() < -0.08
    assert abs((ratings(CAREFUL) - TRUE).mean()) < 0.03
    assert np.corrcoef(ratings(BIASED), TRUE)[0, 1] > 0.85


def test_hasty_annotators_trust_words_in_common() -> None:
    rng = np.random.default_rng(0)
    reversed_roles = Seen("Mrs Ravn gave the dog a fish", ("The dog gave Mrs Ravn a fish",), worth=0.25, n_words=10)
    skim = annotators.Skimmer(annotators.Reader(error=0.0), read_share=0.0)
    assert skim.rate(reversed_roles, rng) == pytest.approx(1.0)
    assert annotators.Reader(error=0.0).rate(reversed_roles, rng) == pytest.approx(0.25)
