"""What metrics of words have in common: a tokeniser, and what they refuse because it finds no words."""

from dataclasses import dataclass
from typing import ClassVar

from measures.metrics.metric import Answers, Metric, setting
from measures.metrics.tokenising import MEANINGS, TOKENISERS, Tokeniser, cannot_read, has_words


@dataclass(frozen=True, kw_only=True)
class LexicalMetric(Metric):
    """A metric that sees an answer and its references as words.

    It refuses an answer with a text in a script of which its tokeniser reads nothing, such as a Chinese one under
    "alnum", and one without a single reference that has a word: a 0 would say that the answer is wrong. An empty
    answer is scored.
    """

    tokeniser: str = setting("words", "how texts become words", choices=MEANINGS)

    compares_texts_without_words: ClassVar[bool] = False
    """Whether references without words are compared all the same, as SQuAD's rules have it."""

    @property
    def split(self) -> Tokeniser:
        return TOKENISERS[self.tokeniser]

    def refuse(self, answers: Answers) -> list[str]:
        reasons = super().refuse(answers)
        texts = {*answers.candidates, *(each for references in answers.references for each in references)}
        unread = {text for text in texts if cannot_read(self.tokeniser, text)}
        without_words: set[str] = set()
        if not self.compares_texts_without_words:
            without_words = {text for text in texts if not has_words(self.tokeniser, text)}
        for row, (candidate, references) in enumerate(zip(answers.candidates, answers.references, strict=False)):
            if reasons[row]:
                continue
            if candidate in unread:
                reasons[row] = f"the answer has no word that “{self.tokeniser}” reads"
            elif not unread.isdisjoint(references):
                reasons[row] = f"a reference has no word that “{self.tokeniser}” reads"
            elif without_words.issuperset(references):
                reasons[row] = "no reference has a word"
        return reasons
