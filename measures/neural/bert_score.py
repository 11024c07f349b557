"""BERTScore: the tokens of an answer matched with those of a reference by the cosine of their vectors."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from measures.metrics.metric import Answers, Broken, setting
from measures.metrics.registry import register
from measures.neural.encoding import Kept, Runner, Tokens
from measures.neural.environment import load_torch
from measures.neural.folders import Kind, ModelFolder
from measures.neural.learned import INFINITE, LearnedMetric, ModelSession
from measures.neural.loading import load_encoder
from measures.neural.matching import EncodedText, match_greedily, weigh_by_rarity
from measures.patterns import Floats

MEASURES = {
    "f1": "harmonic mean of precision and recall",
    "precision": "how well the tokens of the answer are matched",
    "recall": "how well the tokens of the reference are matched",
}
_PLACE = {"precision": 0, "recall": 1, "f1": 2}
N_PAIRS = 1_000
"""The pairs of unrelated texts that a baseline is the mean of; fewer in a run of fewer answers."""


@dataclass(frozen=True, kw_only=True)
class BertScore(LearnedMetric):
    """BERTScore: precision, recall or F1 of tokens matched by the cosine of their contextual vectors.

    Each token of a text is matched with the most similar token of the other text. Precision is the mean over the
    answer's tokens, recall that over the reference's. Special tokens (the start and the end of a text) weigh nothing,
    but others may be matched with them, unless `special_tokens` leaves them out. Of several references the highest
    precision, the highest recall and the highest F1 count, each for itself. A text without tokens scores 0.

    With `idf`, a token weighs log((M + 1) / (m + 1)), where m of all M references of the run have it; references are
    counted once for each answer that they belong to. With a baseline, each score x becomes (x - b) / (1 - b), where b
    is the mean score of up to 1,000 pairs of an answer and a reference of another question. Both depend on the run:
    its scores must not be compared with those of other runs unless their signatures are the same.

    References
    ----------
    T. Zhang et al. (2020), BERTScore: Evaluating Text Generation with BERT, ICLR; computed as by bert-score 0.3.13.
    """

    layer: int = setting(0, "layer of the vectors; 0 for that of the model's card, or else the last", low=0, high=200)
    measure: str = setting("f1", "which measure is the score", choices=MEASURES)
    idf: bool = setting(False, "weigh tokens by their rarity in the references of the run")
    special_tokens: str = setting(
        "matched",
        "start and end of a text",
        choices={"matched": "other tokens may be matched with them", "left_out": "nothing is matched with them"},
    )
    baseline: str = setting(
        "none",
        "what is subtracted",
        choices={"none": "nothing", "random_pairs": "the mean score of unrelated texts of this run"},
    )
    leading_space: bool = setting(
        True, "put a space before each text for byte-level tokenisers such as RoBERTa's, as published scores have it"
    )

    kinds: ClassVar[tuple[Kind, ...]] = ("encoder", "masked", "cross")
    high: ClassVar[float] = 1.0

    def open(self, folder: ModelFolder) -> ModelSession:
        return _BertScoreSession(self, folder)

    @property
    def variant(self) -> str:
        rescaled = ", rescaled" if self.baseline != "none" else ""
        return f"{self.measure}{', idf' if self.idf else ''}{rescaled}, best reference"

    @property
    def reads_all(self) -> bool:
        return self.idf or self.baseline != "none"

    def read_all(self, parts: Iterable[Answers], on_wait: Callable[[], None]) -> None:
        self.session.read_all(parts, on_wait)


class _BertScoreSession(ModelSession):
    def __init__(self, metric: BertScore, folder: ModelFolder) -> None:
        super().__init__(folder)
        self.metric = metric
        loaded = load_encoder(folder)
        self.runner = Runner(loaded)
        self.layer = self._cut_layers(loaded.model)
        self.kept = Kept(self._compute)
        tokeniser = loaded.tokeniser
        self.specials = np.array(sorted(set(tokeniser.all_special_ids) - {tokeniser.unk_token_id}))
        pre_tokeniser = type(tokeniser.backend_tokenizer.pre_tokenizer).__name__
        self.start = " " if metric.leading_space and pre_tokeniser == "ByteLevel" else ""
        # Of the references of the run, if they weigh tokens.
        self.n_texts, self.n_with, self.hashes = 0, Counter[int](), 0
        self.baseline: Floats = np.zeros(3)

    def identify(self) -> Mapping[str, str]:
        named = {"layer": str(self.layer)}
        if self.metric.idf:
            named["references"] = f"{self.hashes:064x}"[:12]
        if self.metric.baseline != "none":
            named["baseline"] = f"{self.baseline[_PLACE[self.metric.measure]]:.6f}"
        return named

    def read_all(self, parts: Iterable[Answers], on_wait: Callable[[], None]) -> None:
        drawn: list[tuple[bytes, str, tuple[str, ...]]] = []
        for part in parts:
            on_wait()
            if self.metric.idf:
                self._count(part)
            if self.metric.baseline != "none":
                # The smallest hashes are a random sample that does not depend on the order of answers.
                drawn = heapq.nsmallest(N_PAIRS, chain(drawn, _hash_rows(part)))
        if self.metric.baseline != "none":
            self.baseline = self._measure_baseline(drawn, on_wait)

    def score_each(self, answers: Answers) -> Floats:
        texts = self._encode(chain(answers.candidates, *answers.references))
        best = np.full((len(answers), 3), -INFINITE)
        for row, (candidate, references) in enumerate(zip(answers.candidates, answers.references, strict=True)):
            for reference in set(references):
                np.maximum(best[row], match_greedily(texts[candidate], texts[reference]), out=best[row])
        rescaled = (best - self.baseline) / (1 - self.baseline)
        return rescaled[:, _PLACE[self.metric.measure]]

    def _cut_layers(self, model: Any) -> int:
        """Remove the layers above the one whose vectors are compared; return its number."""
        n_layers = int(model.config.num_hidden_layers)
        layer = self.metric.layer or self.folder.layer or n_layers
        if layer > n_layers:
            raise Broken(f"{self.folder.name} has {n_layers} layers. Choose one of 1 to {n_layers}, or 0 for its own.")
        if layer < n_layers:
            holder: Any = getattr(model, "encoder", None) or getattr(model, "transformer", None)
            if not hasattr(holder, "layer"):
                kind = model.config.model_type
                raise Broken(f"{self.folder.name} is of the kind {kind}, of which only the last layer can be used.")
            holder.layer = holder.layer[:layer]
        return layer

    def _encode(self, texts: Iterable[str]) -> dict[str, EncodedText]:
        return self.kept.fetch(texts)

    def _tokenise(self, texts: Iterable[str]) -> list[Tokens]:
        return self.runner.tokenise([self.start + stripped if (stripped := text.strip()) else "" for text in texts])

    def _compute(self, texts: list[str]) -> list[EncodedText]:
        torch = load_torch()
        rows = self._tokenise(texts)
        found: dict[int, EncodedText] = {}
        for batch in self.runner.run(rows):
            states = torch.nn.functional.normalize(batch.output.last_hidden_state, dim=-1).cpu().numpy()
            for place, row in enumerate(batch.rows.tolist()):
                ids = rows[row].ids
                found[row] = self._make_text(ids, states[place, : len(ids)].copy())
        return [found[row] for row in range(len(rows))]

    def _make_text(self, ids: list[int], vectors: Any) -> EncodedText:
        is_special = np.isin(ids, self.specials)
        is_partner = ~is_special if self.metric.special_tokens == "left_out" else np.ones(len(ids), dtype=bool)
        weights = weigh_by_rarity(self.n_texts, self.n_with, ids) if self.metric.idf else np.ones(len(ids))
        return EncodedText(vectors, np.where(is_special, 0.0, weights), is_partner)

    def _count(self, part: Answers) -> None:
        """Count the references that have each token, and add up the hashes of the references."""
        counts = Counter(chain.from_iterable(part.references))
        for (text, n), tokens in zip(counts.items(), self._tokenise(counts), strict=True):
            self.n_texts += n
            self.n_with.update(dict.fromkeys(tokens.ids, n))
            # A sum depends on which texts there are and how often, not on their order.
            self.hashes = (self.hashes + n * int.from_bytes(_hash(text))) % 2**256

    def _measure_baseline(self, drawn: list[tuple[bytes, str, tuple[str, ...]]], on_wait: Callable[[], None]) -> Floats:
        """Return the mean precision, recall and F1 of answers and references of other questions."""
        pairs = list(_pair_unrelated(drawn))
        if not pairs:
            raise Broken("A baseline needs answers to at least two questions, with references.")
        found = []
        for start in range(0, len(pairs), self.metric.batch_size):
            on_wait()
            part = pairs[start : start + self.metric.batch_size]
            texts = self._encode(chain.from_iterable(part))
            found += [match_greedily(texts[candidate], texts[reference]) for candidate, reference in part]
        baseline = np.mean(found, axis=0)
        if not (baseline < 1).all():
            raise Broken("Unrelated texts have the highest score too, so scores cannot be rescaled.")
        return baseline


def _hash(*texts: str) -> bytes:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogatepass")).digest()


def _hash_rows(part: Answers) -> Iterator[tuple[bytes, str, tuple[str, ...]]]:
    for candidate, texts in zip(part.candidates, part.references, strict=True):
        if candidate.strip() and (references := tuple(filter(str.strip, texts))):
            yield _hash(candidate, *references), candidate, references


def _pair_unrelated(rows: list[tuple[bytes, str, tuple[str, ...]]]) -> Iterator[tuple[str, str]]:
    """Pair each answer with the first reference of the next row that has other references."""
    for place, (_hashed, candidate, references) in enumerate(rows):
        for _other, _text, others in chain(rows[place + 1 :], rows[:place]):
            if set(others).isdisjoint(references):
                yield candidate, others[0]
                break


register("bert_score", "BERTScore", BertScore, family="Learned")
