"""The correlations printed beside the SQuALITY ratings: 300 answers, first references, correctness on 1–5."""

import gzip
import json
import os
from pathlib import Path

import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from scipy import stats

from measures.metrics import Answers, make, score

FOLDER = os.environ.get("SQUALITY_DIR", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")


@pytest.fixture(scope="module")
def items() -> tuple[list[str], list[list[str]], list[float]]:
    datasets = json.loads(gzip.decompress((Path(FOLDER) / "mocha_format.json.gz").read_bytes()))
    rows = [row for dataset in datasets.values() for row in dataset.values()]
    assert len(rows) == 300
    return [row["candidate"] for row in rows], [[row["reference"]] for row in rows], [row["score"] for row in rows]


def test_token_f1(items: tuple[list[str], list[list[str]], list[float]]) -> None:
    candidates, references, people = items
    f1 = score("token_f1", candidates, references, tokeniser="alnum")
    assert round(stats.pearsonr(f1, people).statistic, 3) == 0.500
    assert round(stats.spearmanr(f1, people).statistic, 3) == 0.482
    assert round(stats.kendalltau(f1, people).statistic, 3) == 0.349


def test_bleu_1_with_its_penalty(items: tuple[list[str], list[list[str]], list[float]]) -> None:
    candidates, references, people = items
    bleu = score("bleu_1", candidates, references, tokeniser="alnum")
    assert round(stats.pearsonr(bleu, people).statistic, 3) == 0.414


def test_the_precision_of_words_alone(items: tuple[list[str], list[list[str]], list[float]]) -> None:
    # The figure is sacrebleu's, of its own words in lower case; our counts of the same words give it too.
    split = Tokenizer13a()  # type: ignore[no-untyped-call]
    candidates, references, people = items
    counts = make("bleu_1", tokeniser="spaces").count(
        Answers(
            candidates=[split(text.lower()) for text in candidates],
            references=[[split(text.lower()) for text in texts] for texts in references],
        )
    )
    assert round(stats.pearsonr(counts[:, 0] / counts[:, 1], people).statistic, 3) == 0.197
