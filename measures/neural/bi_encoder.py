"""Bi-encoder: the cosine of an answer and its closest reference, each encoded for itself."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from measures.metrics.metric import Answers, Broken, setting
from measures.metrics.registry import register
from measures.neural.encoding import Kept, Runner, Vectors
from measures.neural.environment import load_torch
from measures.neural.folders import Kind, ModelFolder
from measures.neural.learned import LearnedMetric, ModelSession
from measures.neural.loading import load_encoder
from measures.patterns import Floats

POOLINGS = {
    "folder": "as the model's files say, or else the mean",
    "mean": "mean of all tokens",
    "cls": "first token",
    "max": "maximum of all tokens",
}


@dataclass(frozen=True, kw_only=True)
class BiEncoder(LearnedMetric):
    """The cosine of the vector of an answer and that of its closest reference.

    A text's vector is the mean, the first or the maximum of the vectors of its tokens, special ones included, as the
    model's files say; Dense and Normalize modules of sentence-transformers follow. A model with another module is
    refused. Texts are cut at the length for which the model was made.

    References
    ----------
    N. Reimers and I. Gurevych (2019), Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks, EMNLP.
    """

    pooling: str = setting("folder", "how a text's tokens become one vector", choices=POOLINGS)

    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 1.0
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder", "masked", "cross")

    def open(self, folder: ModelFolder) -> ModelSession:
        return _BiEncoderSession(self, folder)

    @property
    def variant(self) -> str:
        return "cosine, best reference"


class _BiEncoderSession(ModelSession):
    def __init__(self, metric: BiEncoder, folder: ModelFolder) -> None:
        super().__init__(folder)
        self.metric = metric
        self.steps = _read_modules(folder)
        loaded = load_encoder(folder)
        self.runner = Runner(loaded, limit=folder.length)
        self.pooling = (folder.pooling or "mean") if metric.pooling == "folder" else metric.pooling
        self.has_lower_case = bool(_read_json(folder, "sentence_bert_config.json").get("do_lower_case"))
        self.kept = Kept(self._compute)

    def identify(self) -> dict[str, str]:
        return {"pooling": self.pooling}

    def score_each(self, answers: Answers) -> Floats:
        vectors = self.kept.fetch(chain(answers.candidates, *answers.references))
        found = [
            max(float(vectors[candidate] @ vectors[reference]) for reference in references)
            for candidate, references in zip(answers.candidates, answers.references, strict=True)
        ]
        # Rounding can take the cosine of two equal vectors beyond 1.
        return np.clip(found, -1, 1)

    def _compute(self, texts: list[str]) -> list[Vectors]:
        torch = load_torch()
        rows = self.runner.tokenise([text.lower() for text in texts] if self.has_lower_case else texts)
        found: dict[int, Vectors] = {}
        for batch in self.runner.run(rows):
            pooled = _pool(batch.output.last_hidden_state, batch.mask, self.pooling).cpu().numpy()
            for step in self.steps:
                pooled = step(pooled)
            pooled = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), torch.finfo(torch.float32).tiny)
            # A copy: a view would keep the whole batch in memory.
            found.update((row, pooled[place].copy()) for place, row in enumerate(batch.rows.tolist()))
        return [found[row] for row in range(len(rows))]


def _pool(states: Any, mask: Any, pooling: str) -> Any:
    if pooling == "cls":
        return states[:, 0]
    weights = mask.unsqueeze(-1).to(states.dtype)
    if pooling == "max":
        return states.masked_fill(weights == 0, float("-inf")).amax(dim=1)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _read_modules(folder: ModelFolder) -> list[Callable[[Vectors], Vectors]]:
    """Return what follows the pooling. Raises Broken for modules that are unknown or in another order."""
    modules = _read_json(folder, "modules.json") or []
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if modules and kinds[:2] != ["Transformer", "Pooling"]:
        raise Broken(f"{folder.name} begins with {' and '.join(kinds[:2])}, not with Transformer and Pooling.")
    steps: list[Callable[[Vectors], Vectors]] = []
    for module, kind in zip(modules[2:], kinds[2:], strict=True):
        if kind == "Dense":
            steps.append(_load_dense(folder, module["path"]))
        # Vectors are brought to length 1 at the end, as the cosine needs it.
        elif kind != "Normalize":
            raise Broken(f"{folder.name} has the module {kind}. Known: Transformer, Pooling, Dense and Normalize.")
    config = _read_json(folder, "config_sentence_transformers.json")
    if config.get("default_prompt_name"):
        raise Broken(f"{folder.name} puts a prompt before each text, which is not supported.")
    return steps


def _load_dense(folder: ModelFolder, path: str) -> Callable[[Vectors], Vectors]:
    from safetensors.numpy import load_file

    torch = load_torch()
    config = _read_json(folder, f"{path}/config.json")
    name = str(config.get("activation_function", "")).rpartition(".")[2]
    activations: dict[str, Callable[[Any], Any]] = {
        "Tanh": np.tanh,
        "Identity": lambda values: values,
        "ReLU": lambda values: np.maximum(values, 0),
    }
    if name == "GELU":
        activations["GELU"] = lambda values: torch.nn.functional.gelu(torch.from_numpy(values)).numpy()
    if name not in activations:
        raise Broken(f"{folder.name}/{path} has the activation {name}. Known: Tanh, Identity, ReLU, GELU.")
    weights = load_file(folder.path / path / "model.safetensors")
    matrix, bias = weights["linear.weight"].T, weights.get("linear.bias", np.float32(0))
    return lambda vectors: activations[name](vectors @ matrix + bias)


def _read_json(folder: ModelFolder, name: str) -> Any:
    path = folder.path / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


register("bi_encoder", "Bi-encoder", BiEncoder, family="Learned")
