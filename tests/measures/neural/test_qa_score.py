"""QAScore against masking one token at a time, on tiny models with random weights."""

from typing import Any

import numpy as np
import pytest

from measures.metrics import make, score, score_column
from measures.metrics.metric import Answers
from measures.neural.encoding import TOKENS_AT_ONCE
from tests.measures.neural.tiny_models import Architecture, TinyModels

SHORT = 64
"""Positions of these models, so that a text that is too long for them is short."""
PASSAGES = ["the captain sailed a boat", "the boat left daily " * 30, "a 😀 house", "she wrote a book"]
QUESTIONS = ["who sailed?", "when was it?", "what", "who"]
ANSWERS = ["the captain 😀", "on Sundays", "a house", "she"]


def register_short(models: TinyModels, architecture: Architecture) -> str:
    positions = SHORT + 2 * (architecture == "roberta")
    return models.describe(models.build(architecture, "masked", max_position_embeddings=positions), "masked")


def mask_one_by_one(folder: Any, *, is_released: bool) -> np.ndarray:
    import torch
    import transformers

    network = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    means = []
    for texts in zip(PASSAGES, QUESTIONS, ANSWERS, strict=True):
        p, q, a = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts)
        found = []
        for place in range(len(a)):
            masked = [*a[:place], tokenizer.mask_token_id, *a[place + 1 :]]
            inputs, labels = (torch.tensor([[*p, end, *q, end, *answer][-SHORT:]]) for answer in (masked, a))
            with torch.inference_mode():
                output = network(inputs, labels=labels)
            logs = torch.log_softmax(output.logits[0, len(inputs[0]) - len(a) + place], dim=-1)
            found.append(-float(output.loss) if is_released else float(logs[a[place]]))
        means.append(np.mean(found))
    return np.array(means)


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_it_is_masking_one_token_at_a_time(
    registered_models: TinyModels, architecture: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = register_short(registered_models, architecture)
    given: dict[str, Any] = {"model": model, "passages": PASSAGES, "questions": QUESTIONS}
    folder = registered_models.folder / model
    expected = mask_one_by_one(folder, is_released=False)
    np.testing.assert_allclose(score("qa_score", ANSWERS, average="mean", **given), expected, atol=1e-5)
    released = score("qa_score", ANSWERS, form="released_code", **given)
    np.testing.assert_allclose(released, mask_one_by_one(folder, is_released=True), atol=1e-5)
    sums = score("qa_score", ANSWERS, **given)
    monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 1)
    np.testing.assert_allclose(score("qa_score", ANSWERS, **given), sums, atol=1e-6)
    assert (sums < 0).all()


def test_answers_that_it_cannot_score_are_refused(registered_models: TinyModels) -> None:
    model = register_short(registered_models, "bert")
    texts = ["", " \n", "\u200b", "cat " * (SHORT - 2), "cat " * (SHORT - 1), "cat", "cat"]
    answers = Answers(candidates=texts, passages=[*["the boat"] * 5, "", "the boat"], questions=[*["who?"] * 6, ""])
    found = score_column(make("qa_score", model=model), answers)
    long = "the answer is longer than the model can read"
    assert found.reasons == ("no answer", "no answer", "no answer", "", long, "no passage", "no question")
    np.testing.assert_array_equal(np.isfinite(found.values), [False] * 3 + [True] + [False] * 3)
