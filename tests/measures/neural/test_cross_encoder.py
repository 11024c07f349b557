"""Cross-encoders against the logits of tiny models, and against sentence-transformers."""

import json
from typing import Any

import numpy as np
import pytest

from measures.metrics import make, score
from measures.metrics.metric import Broken
from measures.neural.cross_encoder import CrossEncoder
from measures.neural.encoding import TOKENS_AT_ONCE
from tests.measures.neural.tiny_models import Architecture, TinyModels

CANDIDATES = ["the cat sat", " a boat 😀", "", "the captain left daily " * 150]
REFERENCES = [["the dog "], ["the boats", "a ship sailed"], ["Tony"], ["he sailed " * 300]]


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_sas_is_what_sentence_transformers_predicts(registered_models: TinyModels, architecture: Architecture) -> None:
    from sentence_transformers import CrossEncoder as Package

    model = registered_models.register(architecture, "cross")
    package = Package(str(registered_models.folder / model), local_files_only=True, device="cpu")
    found = {order: score("sas", CANDIDATES, REFERENCES, model=model, order=order) for order in ("ab", "ba", "mean")}
    for row, (candidate, references) in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
        pairs = [(candidate.strip(), reference.strip()) for reference in references]
        ab = package.predict(pairs)
        ba = package.predict([(second, first) for first, second in pairs])
        for order, expected in (("ab", ab), ("ba", ba), ("mean", (ab + ba) / 2)):
            assert found[order][row] == pytest.approx(expected.max(), abs=1e-5)
    assert not np.allclose(found["ab"], found["ba"], atol=0.01)


def test_it_is_the_models_output_for_other_texts_too(
    registered_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    import transformers

    model = registered_models.register("bert", "cross")
    folder = registered_models.folder / model
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def compute(first: str, second: str) -> float:
        with torch.inference_mode():
            return float(network(**tokenizer([first], [second], return_tensors="pt", truncation=True)).logits[0, 0])

    passages, questions = ["the boat " * n for n in (1, 10, 400, 3)], ["who?", "what?", "why?", "where?"]
    expected: Any = [compute(*pair) for pair in zip(passages, CANDIDATES, strict=True)]
    given: dict[str, Any] = {"model": model, "activation": "identity", "passages": passages, "questions": questions}
    monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 1)
    monkeypatch.setattr(CrossEncoder, "batch_size", 3)
    np.testing.assert_allclose(score("passage_cross_encoder", CANDIDATES, **given), expected, atol=1e-5)
    expected = [compute(*pair) for pair in zip(CANDIDATES, questions, strict=True)]
    np.testing.assert_allclose(score("question_cross_encoder", CANDIDATES, order="ab", **given), expected, atol=1e-5)
    assert score("passage_cross_encoder", [""], model=model, passages=[""], with_reasons=True)[1] == ("no passage",)


def test_the_activation_is_that_of_the_folder(registered_models: TinyModels) -> None:
    folder = registered_models.build("bert", "cross", name="identity")
    config = json.loads((folder / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
    (folder / "config.json").write_text(json.dumps(config))
    model = registered_models.describe(folder, "cross")
    plain = score("sas", ["a cat"], [["a dog"]], model=model)
    sigmoid = score("sas", ["a cat"], [["a dog"]], model=model, activation="sigmoid")
    np.testing.assert_allclose(sigmoid, 1 / (1 + np.exp(-plain)))
    same = registered_models.register("bert", "cross")
    np.testing.assert_allclose(score("sas", ["a cat"], [["a dog"]], model=same), sigmoid)


def test_a_model_with_several_outputs_is_refused(registered_models: TinyModels) -> None:
    model = registered_models.describe(registered_models.build("bert", "cross", num_labels=2), "cross")
    with pytest.raises(Broken, match="has 2 outputs"):
        score("sas", ["a"], [["a"]], model=model)
    assert "is an encoder of texts" in make("sas", model=registered_models.register("bert")).lacks()


def test_the_order_is_said_with_the_names_of_both_texts() -> None:
    variants = {name: make(name).variant for name in ("sas", "passage_cross_encoder", "question_cross_encoder")}
    assert variants == {
        "sas": "the answer, then the reference, best reference",
        "passage_cross_encoder": "the passage, then the answer",
        "question_cross_encoder": "the question, then the answer",
    }
    assert make("sas", order="mean").variant == "the mean of both orders of answer and reference, best reference"
