"""The guide to the metrics names each of them with its settings, and its examples run."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import measures.neural.metrics  # noqa: F401 - registers learned metrics, whichever test is loaded first
from measures.metrics import METRICS
from measures.neural.environment import configure, get_environment
from tests.measures.neural.tiny_models import TinyModels

TEXT = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
ROWS = {
    name: line
    for line in TEXT.splitlines()
    if line.startswith("| `")
    for name in re.findall(r"`(\w+)`", line.split("|")[1])
}
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


LEARNED = {name for name, metric in METRICS.items() if any(each.name == "model" for each in metric.settings())}
EXPLAINED_ONCE = {"against", "model"}
"""Settings of every metric, or of every learned one."""


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_is_in_the_table_with_its_settings_and_words(name: str) -> None:
    metric = METRICS[name]
    assert all(f"`{each}`" in TEXT for each in EXPLAINED_ONCE)
    for each in metric.settings():
        assert each.name in EXPLAINED_ONCE or f"`{each.name}`" in ROWS[name], each.name
    if name in LEARNED:
        assert all(word in ROWS[name] for word in set(metric.metric.needs) - {"candidates"})
    else:
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
    found: dict[str, Any] = {"__name__": "metrics_of_ones_own"}
    monkeypatch.setitem(sys.modules, "metrics_of_ones_own", ModuleType("metrics_of_ones_own"))
    try:
        exec(BLOCKS[2], found)
        values = found["score"]("similarity", ["a cat", "a dog", "x"], [["the cat"], ["the dog", "a hound"], []])
        lower = found["score"]("similarity", ["A CAT"], [["a cat"]], has_case=False)
    finally:
        METRICS.pop("similarity", None)
    np.testing.assert_array_equal(values.round(3), [0.667, 0.667, np.nan])
    assert lower.tolist() == [1]


def test_the_example_of_learned_metrics_runs(tiny_models: TinyModels) -> None:
    folder = tiny_models.describe(tiny_models.build("bert", name="all-MiniLM-L6-v2"))
    assert f'"{folder}"' in BLOCKS[1]
    found: dict[str, Any] = {"candidates": ["a cat"], "references": [["a cat", "a dog"]]}
    before = get_environment()
    try:
        exec(BLOCKS[1].replace("/srv/models", str(tiny_models.folder)).replace("threads=2", "threads=0"), found)
    finally:
        configure(before)
    assert found["found"].values == pytest.approx([1])
    assert found["found"].identity.keys() == {"sha256", "device", "pooling"}
