"""The base of word-based metrics: a tokeniser, and how texts are treated in which it finds no words."""

from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

from measures.metrics.metric import Answers, Metric, setting
from measures.metrics.tokenising import MEANINGS, TOKENISERS, Tokeniser, cannot_read, has_jieba, has_words


@dataclass(frozen=True, kw_only=True)
class LexicalMetric(Metric):
    """A metric that compares the words of an answer and its references.

    It refuses an answer in a script that its tokeniser can't read, such as Chinese with "alnum", and one of whose
    references none has a word: a score of 0 would suggest that the answer is wrong. An empty answer is scored, and a
    reference in such a script is left out where another one has words.
    """

    tokeniser: str = setting("words", "how texts are split into words", choices=MEANINGS)

    compares_texts_without_words: ClassVar[bool] = False
    """Whether references without words are compared too, as in SQuAD's scripts."""

    @property
    def split(self) -> Tokeniser:
        return TOKENISERS[self.tokeniser]

    def list_packages(self) -> tuple[str, ...]:
        return (*super().list_packages(), *(("jieba",) if self.tokeniser == "jieba" else ()))

    def lacks(self) -> str:
        return "jieba (make chinese)" if self.tokeniser == "jieba" and not has_jieba() else ""

    def choose_references(self, answers: Answers) -> Answers:
        is_unread = cache(partial(cannot_read, self.tokeniser))
        is_of_words = cache(partial(has_words, self.tokeniser))
        kept = [
            [at for at, text in enumerate(texts) if not (is_unread(text) and any(map(is_of_words, texts)))]
            for texts in answers.references
        ]
        return answers.with_references(kept)

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
                reasons[row] = f"the tokeniser “{self.tokeniser}” finds no word in the answer"
            elif not unread.isdisjoint(references):
                reasons[row] = f"the tokeniser “{self.tokeniser}” finds no word in a reference"
            elif without_words.issuperset(references):
                reasons[row] = "no reference has a word"
        return reasons
