"""The bi-encoder against sentence-transformers, on tiny models with random weights."""

import json

import numpy as np
import pytest

from measures.metrics import make, score, score_column
from measures.metrics.metric import Answers, Broken
from measures.neural.bi_encoder import BiEncoder
from measures.neural.encoding import TOKENS_AT_ONCE
from tests.measures.neural.tiny_models import TinyModels

CANDIDATES = ["The cat sat on the mat", " a boat 😀 ", "", "the captain left daily " * 40, "Tony Stark"]
REFERENCES = [["the cat sat on the mat"], ["the boats", "a ship sailed"], ["x"], ["he sailed"], ["Tony", "Tony Stark"]]


@pytest.mark.parametrize(
    ("architecture", "pooling", "normalises", "dense"),
    [("bert", "mean", True, 0), ("bert", "cls", False, 8), ("roberta", "max", True, 5), ("roberta", "mean", False, 0)],
)
def test_it_is_what_sentence_transformers_computes(
    registered_models: TinyModels, architecture: str, pooling: str, normalises: bool, dense: int
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = registered_models.build_sentence_encoder(
        architecture,  # type: ignore[arg-type]
        pooling=pooling,
        normalises=normalises,
        dense=dense,
    )
    package = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    model = registered_models.describe(folder)
    expected = [
        float(package.similarity(package.encode([candidate]), package.encode(references)).max())
        for candidate, references in zip(CANDIDATES, REFERENCES, strict=True)
    ]
    found = score_column(make("bi_encoder", model=model), Answers(candidates=CANDIDATES, references=REFERENCES))
    np.testing.assert_allclose(found.values, expected, atol=1e-5)
    assert found.values[4] == pytest.approx(1, abs=1e-6)
    assert found.identity["pooling"] == pooling


def test_neither_batches_nor_order_change_a_score(
    registered_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = registered_models.register("bert")
    expected = score("bi_encoder", CANDIDATES, REFERENCES, model=model)
    assert not np.allclose(expected, score("bi_encoder", CANDIDATES, REFERENCES, model=model, pooling="cls"), atol=0.01)
    monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 1)
    monkeypatch.setattr(BiEncoder, "batch_size", 2)
    found = score("bi_encoder", CANDIDATES[::-1], REFERENCES[::-1], model=model)
    np.testing.assert_allclose(found[::-1], expected, atol=1e-6)


def test_a_model_with_unknown_modules_is_refused(registered_models: TinyModels) -> None:
    modules = [
        {"path": path, "type": f"sentence_transformers.models.{kind}"}
        for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_WordWeights", "WordWeights"))
    ]
    for listed, problem in (
        (modules, "has the module WordWeights"),
        (modules[::-1], "begins with WordWeights and Pooling"),
    ):
        folder = registered_models.build("bert", name=f"strange-{len(problem)}")
        (folder / "modules.json").write_text(json.dumps(listed))
        with pytest.raises(Broken, match=problem):
            score("bi_encoder", ["a"], [["a"]], model=registered_models.describe(folder))
    folder = registered_models.build("bert", name="prompts")
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"default_prompt_name": "query"}))
    with pytest.raises(Broken, match="prompt"):
        score("bi_encoder", ["a"], [["a"]], model=registered_models.describe(folder))
