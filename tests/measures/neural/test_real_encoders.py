"""BERTScore and bi-encoder with a real encoder, against the packages, on the SQuALITY sample: `make test-neural`."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measures.metrics import score
from measures.neural.encoding import TOKENS_AT_ONCE
from tests.measures.neural.tiny_models import TinyModels

N_ANSWERS, N_FEW = 300, 20
ENCODERS = sorted(path for path in Path(os.environ.get("WEIGHTS_DIR", "/nowhere")).glob("*") if path.is_dir())

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def items(squality_dir: Path) -> tuple[list[str], list[list[str]]]:
    lines = (squality_dir / "items.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines][:N_ANSWERS]
    return [row["candidate"] for row in rows], [row["references"] for row in rows]


@pytest.fixture(params=ENCODERS, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest, registered_models: TinyModels) -> Path:
    """A copy of the folder in the registry of this test."""
    copy = registered_models.folder / f"real-{request.param.name}"
    if not copy.exists():
        shutil.copytree(request.param, copy, ignore=shutil.ignore_patterns(".*"))
    registered_models.describe(copy)
    return copy


def test_bert_score(folder: Path, items: tuple[list[str], list[list[str]]]) -> None:
    import bert_score

    candidates, references = items
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    for layer, idf in ((layers, False), (layers // 2, True)):
        scorer = bert_score.BERTScorer(model_type=str(folder), num_layers=layer, device="cpu")
        if idf:
            scorer._idf = True
            scorer.compute_idf([text for texts in references for text in texts])
        expected = scorer.score(candidates, references, batch_size=16)
        given: dict[str, Any] = {"model": folder.name, "layer": layer, "idf": idf}
        found = score("bert_score", candidates, references, **given)
        np.testing.assert_allclose(found, expected[2].numpy(), atol=1e-5, rtol=0)
        if not idf:  # whose weights depend on all references
            for measure, column in (("precision", expected[0]), ("recall", expected[1])):
                found = score("bert_score", candidates[:N_FEW], references[:N_FEW], measure=measure, **given)
                np.testing.assert_allclose(found, column[:N_FEW].numpy(), atol=1e-5, rtol=0)


def test_bi_encoder(folder: Path, items: tuple[list[str], list[list[str]]], monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers import SentenceTransformer

    candidates, references = items
    package = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    vectors = {
        text: vector
        for column in (candidates, [text for texts in references for text in texts])
        for text, vector in zip(column, package.encode(column, batch_size=16, show_progress_bar=False), strict=True)
    }
    expected = [
        max(float(package.similarity(vectors[candidate], vectors[reference])) for reference in texts)
        for candidate, texts in zip(candidates, references, strict=True)
    ]
    found = score("bi_encoder", candidates, references, model=folder.name)
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    # One text at a time, without padding.
    monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 1)
    few = candidates[:N_FEW], references[:N_FEW]
    np.testing.assert_allclose(score("bi_encoder", *few, model=folder.name), found[:N_FEW], atol=1e-6, rtol=0)
