"""QAScore: how well a masked language model predicts the words of an answer from passage and question."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from measures.metrics.metric import Answers, Broken, setting
from measures.metrics.registry import register
from measures.neural.encoding import Runner, Tokens
from measures.neural.environment import load_torch
from measures.neural.folders import Kind, ModelFolder
from measures.neural.learned import LearnedMetric, ModelSession
from measures.neural.loading import load_masked
from measures.patterns import Floats

FORMS = {
    "definition": "log probability of each token of the answer where it is masked",
    "released_code": "mean log probability of all tokens of the input, as the authors' program computes it",
}
AVERAGES = {"sum": "the sum over the answer's tokens", "mean": "their mean"}
LONG = "the answer is longer than the model can read"
_HEADS = ("lm_head", "cls", "predictions")
"""The names of the head in models of transformers: RoBERTa's, BERT's, ALBERT's."""
_TOKENS_AT_ONCE = 1_024
"""Each token of a copy needs a probability for every word of the vocabulary, some 200 KB."""


@dataclass(frozen=True, kw_only=True)
class QaScore(LearnedMetric):
    """QAScore: how predictable an answer is from its passage and question, by a masked language model; no reference.

    The input is passage, end token, question, end token, answer, without a start token. `definition` masks one token of
    the answer at a time and adds up the log probabilities of the true tokens. `released_code` takes, for each of these
    copies, the mean log probability over all positions of the input, and averages the copies, as the authors' program
    does. An input that is too long loses the beginning of the passage, then of the question. An empty answer is
    refused, and with `definition` one that the model cannot read whole.

    It was made for generated questions, scored by how well they predict the answer that was given. Here the answer is
    the candidate, so a common phrase may score higher than the truth.

    References
    ----------
    T. Ji et al. (2022), QAScore: An Unsupervised Unreferenced Metric for the Question Generation Evaluation, Entropy.
    """

    form: str = setting("definition", "which definition", choices=FORMS)
    average: str = setting("sum", "how the tokens of an answer are combined by the definition", choices=AVERAGES)

    needs: ClassVar[tuple[str, ...]] = ("passages", "questions", "candidates")
    kinds: ClassVar[tuple[Kind, ...]] = ("masked",)
    high: ClassVar[float] = 0.0

    def open(self, folder: ModelFolder) -> ModelSession:
        return _QaScoreSession(self, folder)

    @property
    def variant(self) -> str:
        return "released code" if self.form == "released_code" else f"{self.average} over the answer's tokens"


class _Copy(NamedTuple):
    """An input with one masked token of the answer: its place, and the tokens as they were."""

    tokens: Tokens
    place: int
    truth: list[int]


class _QaScoreSession(ModelSession):
    def __init__(self, metric: QaScore, folder: ModelFolder) -> None:
        super().__init__(folder)
        self.metric = metric
        loaded = load_masked(folder)
        self.runner = Runner(loaded)
        tokeniser = loaded.tokeniser
        end = tokeniser.eos_token_id
        self.end: int = tokeniser.sep_token_id if end is None else end
        self.mask: int = tokeniser.mask_token_id
        if self.end is None or self.mask is None:
            raise Broken(f"{folder.name} has no token for the end of a text or for a mask.")
        # The head is applied to the masked positions alone: for all it would cost more than the model.
        self.body = loaded.model.base_model
        heads = [getattr(loaded.model, name) for name in _HEADS if hasattr(loaded.model, name)]
        if not heads:
            raise Broken(f"{folder.name} is a {loaded.model.config.model_type}, whose head is not known.")
        self.head = heads[0]

    def explain_refusals(self, answers: Answers) -> list[str]:
        # White space has no tokens, and neither have characters that the tokeniser drops.
        lengths = [len(tokens.ids) for tokens in self.runner.tokenise(answers.candidates, is_whole=True)]
        most = self.runner.limit - 2 if self.metric.form == "definition" else max(lengths, default=0)
        return ["no answer" if not length else LONG if length > most else "" for length in lengths]

    def score_each(self, answers: Answers) -> Floats:
        columns = answers.passages, answers.questions, answers.candidates
        texts = dict.fromkeys(text for column in columns for text in column)
        ids = dict(zip(texts, self.runner.tokenise(list(texts), is_whole=True), strict=True))
        sums, n_copies = np.zeros(len(answers)), np.zeros(len(answers))
        for row, (passage, question, answer) in enumerate(zip(*columns, strict=True)):
            copies = list(self._copy(ids[passage].ids, ids[question].ids, ids[answer].ids))
            n_copies[row] = len(copies)
            sums[row] = sum(self._predict(copies))
        return sums if self.metric.form == "definition" and self.metric.average == "sum" else sums / n_copies

    def _copy(self, passage: list[int], question: list[int], answer: list[int]) -> Iterator[_Copy]:
        """Yield the input once for each token of the answer, with that token masked."""
        truth = [*passage, self.end, *question, self.end, *answer]
        start = len(truth) - len(answer)
        cut = max(0, len(truth) - self.runner.limit)
        for place in range(start, len(truth)):
            masked = [*truth[:place], self.mask, *truth[place + 1 :]][cut:]
            yield _Copy(Tokens(masked, [0] * len(masked)), place - cut, truth[cut:])

    def _predict(self, copies: list[_Copy]) -> Iterator[float]:
        """Yield the log probability of each copy: of its masked token, or the mean over its tokens."""
        torch = load_torch()
        is_definition = self.metric.form == "definition"
        at_once = 0 if is_definition else _TOKENS_AT_ONCE
        for batch in self.runner.run([copy.tokens for copy in copies], self.body, tokens_at_once=at_once):
            chosen = [copies[row] for row in batch.rows]
            states = batch.output.last_hidden_state
            with torch.inference_mode():
                truth = torch.tensor([copy.truth for copy in chosen], device=states.device)
                places = torch.tensor([copy.place for copy in chosen], device=states.device)
                if is_definition:
                    every = torch.arange(len(chosen), device=states.device)
                    states, truth = states[every, places].unsqueeze(1), truth[every, places].unsqueeze(1)
                found = torch.log_softmax(self.head(states).float(), dim=-1).gather(-1, truth.unsqueeze(-1))
            yield from found.squeeze(-1).double().mean(dim=1).tolist()


register("qa_score", "QAScore", QaScore, family="Learned")
