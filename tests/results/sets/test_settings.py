"""The choices of a set in words: in its files, on its page, and of changes that were stored with older words."""

import pytest

from measures.gold_rules import GoldRule
from results.sets.settings import Settings, reword_choice


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (("Studies", "none"), ("Metric evaluations", "none")),
        (("Splits", "all"), ("Splits", "all")),
        (
            ("By people who saw the sources", "taken in"),
            ("Judgments by people who can see the sources", "included"),
        ),
        (
            (
                "Gold score",
                "the mean of z-scores, each annotator's own mean and deviation taken out; controls enter these two",
            ),
            ("Gold score", "mean of z scores, control ratings included"),
        ),
        (
            ("Gold score", "the median of the judgments; a score that was settled on wins"),
            ("Gold score", "median of the judgments; adjudicated scores replace it"),
        ),
    ],
)
def test_changes_of_older_sets_are_shown_in_todays_words(stored: tuple[str, str], shown: tuple[str, str]) -> None:
    assert reword_choice(*stored) == shown


@pytest.mark.parametrize("gold", GoldRule)
def test_todays_words_stay(gold: GoldRule) -> None:
    settings = Settings(gold=gold, adjudication_wins=True, splits=("dev", ""), is_blind_only=True)
    choices = settings.list_choices()
    assert [reword_choice(*each) for each in choices] == choices
    assert ("Splits", "dev, unspecified") in choices


@pytest.mark.parametrize("wins", [False, True])
def test_a_set_by_z_says_that_adjudicated_scores_are_not_used(wins: bool) -> None:
    words = "mean of z scores, control ratings included"
    unused = "; adjudicated scores have no z score and are not used" if wins else ""
    assert Settings(gold=GoldRule.Z, adjudication_wins=wins).gold_in_words == words + unused
