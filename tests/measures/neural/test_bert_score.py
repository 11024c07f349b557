"""BERTScore against the package bert-score and a plain loop, on tiny models with random weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measures.metrics import Answers, make, score, score_column
from measures.metrics.metric import Broken
from measures.neural.bert_score import BertScore
from measures.neural.encoding import TOKENS_AT_ONCE
from tests.measures.neural.tiny_models import Architecture, TinyModels

CANDIDATES = ["the cat sat on the mat", "a boat 😀", "Tony Stark", "the man wrote it", "the captain left daily " * 150]
REFERENCES = [
    ["the cat sat on the mat"],
    ["the boats", "a ship sailed"],
    ["Anthony Edward Stark", "Tony", "stark the man"],
    ["she wrote the story", "a letter"],
    ["he sailed", "the cat sat on the mat"],  # one that is a reference of two answers counts twice
]
ANSWERS = Answers(candidates=CANDIDATES, references=REFERENCES)
MEASURES = ("precision", "recall", "f1")


def score_all(candidates: list[str], references: list[list[str]], **settings: Any) -> np.ndarray:
    return np.column_stack([score("bert_score", candidates, references, measure=each, **settings) for each in MEASURES])


def score_by_package(folder: Path, layer: int, *, idf: bool) -> np.ndarray:
    import bert_score

    # One pair at a time: where all cosines are below 0, the package takes those with its padding, which are 0.
    scorer = bert_score.BERTScorer(model_type=str(folder), num_layers=layer, idf=False, device="cpu")
    if idf:
        scorer._idf = True
        scorer.compute_idf([text for texts in REFERENCES for text in texts])
    return np.column_stack([part.numpy() for part in scorer.score(CANDIDATES, REFERENCES, batch_size=1)])


@pytest.mark.parametrize(
    ("architecture", "layer", "idf"),
    [("bert", 2, False), ("bert", 1, True), ("roberta", 1, False), ("roberta", 2, True)],
)
def test_it_is_what_bert_score_computes(
    registered_models: TinyModels, architecture: Architecture, layer: int, idf: bool
) -> None:
    model = registered_models.register(architecture)
    # The package adds no space before a text with this version of transformers.
    found = score_all(CANDIDATES, REFERENCES, model=model, layer=layer, idf=idf, leading_space=False)
    expected = score_by_package(registered_models.folder / model, layer, idf=idf)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[0] == pytest.approx([1, 1, 1], abs=1e-6)


def test_it_is_a_plain_loop_over_tokens(registered_models: TinyModels) -> None:
    import torch
    import transformers

    model = registered_models.register("roberta")
    folder = registered_models.folder / model
    encoder = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def encode(text: str) -> np.ndarray:
        inputs = tokenizer(f" {text}", return_tensors="pt", truncation=True)
        with torch.inference_mode():
            vectors = encoder(**inputs, output_hidden_states=True).hidden_states[1][0].numpy()
        found: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return found

    expected = []
    for candidate, references in zip(CANDIDATES, REFERENCES, strict=True):
        best = []
        for reference in references:
            # The first and the last token are special: partners only, or with “left_out” not even that.
            ours, theirs = encode(candidate)[1:-1], encode(reference)[1:-1]
            precision = np.mean([max(float(a @ b) for b in theirs) for a in ours])
            recall = np.mean([max(float(a @ b) for a in ours) for b in theirs])
            best.append([precision, recall, 2 * precision * recall / (precision + recall)])
        expected.append(np.max(best, axis=0))
    found = score_all(CANDIDATES, REFERENCES, model=model, layer=1, special_tokens="left_out")
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert not np.allclose(found, score_all(CANDIDATES, REFERENCES, model=model, layer=1), atol=1e-3)


def test_neither_batches_nor_order_change_a_score(
    registered_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = registered_models.register("bert")
    expected = score("bert_score", CANDIDATES, REFERENCES, model=model, idf=True, baseline="random_pairs")
    monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 1)
    monkeypatch.setattr(BertScore, "batch_size", 2)
    found = score("bert_score", CANDIDATES[::-1], REFERENCES[::-1], model=model, idf=True, baseline="random_pairs")
    np.testing.assert_allclose(found[::-1], expected, atol=1e-6)


def test_what_its_scores_depend_on_is_stored(registered_models: TinyModels) -> None:
    model = registered_models.register("bert", layer=1)
    plain = score_column(make("bert_score", model=model), ANSWERS).identity
    assert plain.keys() == {"sha256", "device", "layer"}
    assert plain["layer"] == "1"
    assert make("bert_score", model=model).list_packages() == ("torch", "transformers", "tokenizers")
    weighted = make("bert_score", model=model, idf=True, baseline="random_pairs")
    # The references are those of the run, each as often as it is compared: not their order, but their number.
    turned = ANSWERS.only(range(len(ANSWERS))[::-1])
    twice = Answers(candidates=[*CANDIDATES, "x"], references=[*REFERENCES, ["he sailed"]])
    identities = [score_column(weighted, answers).identity for answers in (ANSWERS, turned, twice)]
    assert identities[0] == identities[1]
    assert identities[0]["references"] != identities[2]["references"]
    assert identities[0].keys() == {*plain, "references", "baseline"}


def test_a_baseline_moves_scores_but_not_their_order(registered_models: TinyModels) -> None:
    model = registered_models.register("bert")
    plain, rescaled = (
        score("bert_score", CANDIDATES, REFERENCES, model=model, baseline=each) for each in ("none", "random_pairs")
    )
    b = float(score_column(make("bert_score", model=model, baseline="random_pairs"), ANSWERS).identity["baseline"])
    assert 0 < b < 1
    np.testing.assert_allclose(rescaled, (plain - b) / (1 - b), atol=1e-5)
    with pytest.raises(Broken, match="at least two questions"):
        score("bert_score", ["a cat", "a dog"], [["a cat"]] * 2, model=model, baseline="random_pairs")


def test_texts_without_words_and_long_ones(registered_models: TinyModels) -> None:
    for architecture in ("bert", "roberta"):
        model = registered_models.register(architecture)
        texts = ["", " \n", "😀", "\u200b", "[SEP] <mask> </s>", "cat " * 511, "cat " * 5000]
        for settings in ({}, {"idf": True}, {"special_tokens": "left_out"}):
            own, reasons = score(
                "bert_score", texts, [[text] for text in texts], model=model, with_reasons=True, **settings
            )
            assert reasons == ("no reference has a word", "no reference has a word", *[""] * 5)
            assert np.isfinite(own[2:]).all()
        others = score("bert_score", texts, [["the dog"]] * 7, model=model)
        np.testing.assert_array_equal(others[:2], [0, 0])
        assert np.isfinite(others).all()
        # Only as much is read as the model can read.
        assert others[5] == pytest.approx(others[6], abs=1e-6)
    assert score("bert_score", [], [], model=model).shape == (0,)


def test_what_it_cannot_use_is_refused(registered_models: TinyModels) -> None:
    model = registered_models.register("bert")
    with pytest.raises(Broken, match="has 2 layers"):
        score("bert_score", ["a"], [["a"]], model=model, layer=3)
    for name, reason in (("", "no model is chosen"), ("nothing", "no model “nothing”")):
        assert reason in make("bert_score", model=name).lacks()
        with pytest.raises(ValueError, match=reason):
            score("bert_score", ["a"], [["a"]], model=name)
