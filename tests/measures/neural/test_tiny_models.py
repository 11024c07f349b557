"""The tiny models of other tests: the same in every run, and read by transformers like any other folder."""

import pytest

from tests.measures.neural.tiny_models import Architecture, Kind, TinyModels

LONG = "the captain sailed " * 300


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize("kind", ["encoder", "masked", "cross"])
def test_a_tiny_model_loads_and_reads_pairs(tiny_models: TinyModels, architecture: Architecture, kind: Kind) -> None:
    import torch
    import transformers

    folder = tiny_models.build(architecture, kind)
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    auto = {"encoder": "Model", "masked": "ModelForMaskedLM", "cross": "ModelForSequenceClassification"}[kind]
    model = getattr(transformers, f"Auto{auto}").from_pretrained(folder, local_files_only=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    pairs = tokenizer(["a cat", LONG], ["the hound 😀", ""], padding=True, truncation=True, return_tensors="pt")
    assert pairs["input_ids"].shape == (2, 512)
    assert ("token_type_ids" in pairs) == (architecture == "bert")
    with torch.inference_mode():
        found = model(**pairs)[0]
    assert torch.isfinite(found).all()
    if kind == "cross":
        assert found.shape == (2, 1)
        assert found[0].item() != pytest.approx(found[1].item(), abs=0.01)
