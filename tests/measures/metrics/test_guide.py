"""The guide to the metrics names each of them with its settings, and its examples run."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from measures.metrics import METRICS

TEXT = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
ROWS = {
    name: line
    for line in TEXT.splitlines()
    if line.startswith("| `")
    for name in re.findall(r"`(\w+)`", line.split("|")[1])
}
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_is_in_the_table_with_its_settings_and_words(name: str) -> None:
    metric = METRICS[name]
    assert "`against`" in TEXT
    for each in metric.settings():
        if each.name == "against":  # of every metric, and explained once
            continue
        assert f"`{each.name}`" in ROWS[name], each.name
    assert getattr(metric.make(), "tokeniser", "") in ROWS[name]
    assert (metric.metric.low, metric.metric.high, metric.metric.needs) == (0, 1, ("references",))


def test_the_example_of_a_notebook_runs_and_gives_what_it_says() -> None:
    found: dict[str, Any] = {}
    exec(BLOCKS[0], found)
    np.testing.assert_array_equal(np.isnan(found["values"]), [False, False, True])
    columns = found["candidates"], found["references"]
    printed = re.search(r"one score for each answer: (.*)", BLOCKS[0])
    assert printed
    assert found["score"]("token_f1", *columns).round(3).tolist() == [float(each) for each in printed[1].split(",")]
    recall = found["score"]("rouge_l", *columns, measure="recall")
    np.testing.assert_allclose(recall, [1, 0.4, np.nan])


def test_the_class_for_a_metric_of_ones_own_works(monkeypatch: pytest.MonkeyPatch) -> None:
    class SentenceTransformer:
        def __init__(self, folder: str, *, local_files_only: bool) -> None:
            assert (folder, local_files_only) == ("/models/all-mpnet-base-v2", True)

        def encode(self, texts: list[str], *, normalize_embeddings: bool) -> Any:
            assert normalize_embeddings
            vectors = np.array([["cat" in text, "dog" in text] for text in texts], dtype=float)
            return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)

    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    module.__spec__ = sys.__spec__
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    found: dict[str, Any] = {"__name__": "metrics_of_ones_own"}
    monkeypatch.setitem(sys.modules, "metrics_of_ones_own", ModuleType("metrics_of_ones_own"))
    try:
        exec(BLOCKS[1], found)
        values = found["score"]("bi_encoder", ["a cat", "a dog", "x"], [["the cat"], ["a cat", "a dog"], []])
    finally:
        METRICS.pop("bi_encoder", None)
    np.testing.assert_array_equal(values, [1, 1, np.nan])
