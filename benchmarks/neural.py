"""Every learned metric over short and long answers: seconds per 1,000 answers on the processor, and memory.

Run: .venv/bin/python -m benchmarks.neural [--models FOLDER] [--encoder all-MiniLM-L6-v2] [--answers 200] [--threads 2]

FOLDER has encoders as subfolders; by default it is where `make test-neural` leaves one. Metrics that need another head
than it has are measured with random weights of its size, with its tokeniser: seconds do not depend on the weights.

Short answers have 3 to 25 random words and two references, five to a question, with a passage of 300 words. Long ones
are those of the SQuALITY sample, where SQUALITY_DIR names it: about 225 words, three or four references of as many, and
a passage that fills the model's input. Models are loaded before the clock starts. In brackets are the seconds of the
processor over all threads: with one thread they hold on a busy machine too. No database is used.
"""

import argparse
import json
import os
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.metrics import make_answers
from measures.metrics import Answers, make, score_slice
from measures.neural.environment import Environment, configure, load_torch
from measures.neural.folders import describe_folder
from measures.neural.model_files import MANIFEST

METRICS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("bert_score", "encoder", {}),
    ("bert_score", "encoder", {"idf": True}),
    ("bert_score", "encoder", {"baseline": "random_pairs"}),
    ("bi_encoder", "encoder", {}),
    ("sas", "cross", {}),
    ("sas", "cross", {"order": "mean"}),
    ("passage_cross_encoder", "cross", {}),
    ("qa_score", "masked", {}),
    ("qa_score", "masked", {"form": "released_code"}),
)
SLOW, SLOWER = "qa_score", 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="var/weights", metavar="FOLDER")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2", help="its name in FOLDER")
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    encoder = Path(options.models) / options.encoder
    if not encoder.is_dir():
        print(f"There is no encoder in {encoder}. make test-neural downloads one.")
        return
    with _registry(encoder, options.threads) as names:
        print(f"{options.encoder}, {options.threads} threads: seconds per 1,000 answers\n")
        print(f"{'metric':<42}{'answers':>8}{'short':>16}{'long':>16}{'MB':>7}")
        columns = [make_short(options.answers), *read_long(options.answers)]
        for name, kind, settings in METRICS:
            measured = [_measure(name, {"model": names[kind], **settings}, answers) for answers in columns]
            told = " ".join([name, *(f"{key}={value}" for key, value in settings.items())])
            # The largest so far: metrics are ordered by what they need.
            megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            seconds = "".join(f"{f'{wall:.1f} ({busy:.1f})':>16}" for _n, wall, busy in measured)
            print(f"{told:<42}{measured[0][0]:>8,}{seconds:<32}{megabytes:>7,}", flush=True)


def make_short(n: int) -> Answers:
    """Return short answers with a passage and a question each."""
    answers, rng = make_answers(n), random.Random(8)
    words = " ".join(answers.candidates).split()
    return replace(
        answers,
        passages=[" ".join(rng.choices(words, k=300)) for _ in range(n)],
        questions=[" ".join(rng.choices(words, k=8)) + "?" for _ in range(n)],
    )


def read_long(n: int) -> list[Answers]:
    """Return the first answers of the SQuALITY sample; nothing where the machine has none."""
    if not (folder := os.environ.get("SQUALITY_DIR", "")):
        return []
    texts = {
        row["passage_id"]: row["passage"]
        for row in map(json.loads, (Path(folder) / "passages.jsonl").read_text(encoding="utf-8").splitlines())
    }
    rows = [json.loads(line) for line in (Path(folder) / "items.jsonl").read_text(encoding="utf-8").splitlines()[:n]]
    return [
        Answers(
            candidates=[row["candidate"] for row in rows],
            references=[row["references"] for row in rows],
            questions=[row["question"] for row in rows],
            passages=[texts[row["passage_id"]] for row in rows],
        )
    ]


def _measure(name: str, settings: dict[str, Any], answers: Answers) -> tuple[int, float, float]:
    """Return the number of answers that were scored, and per 1,000 of them the seconds and those of the processor."""
    if name == SLOW:
        answers = answers.only(slice(0, max(1, len(answers) // SLOWER)))
    metric = make(name, **settings)
    with metric.ready():
        start, busy = time.perf_counter(), time.process_time()
        if metric.reads_all:
            metric.read_all([answers], lambda: None)
        score_slice(metric, answers)
        per_1000 = 1_000 / len(answers)
        return len(answers), (time.perf_counter() - start) * per_1000, (time.process_time() - busy) * per_1000


@contextmanager
def _registry(encoder: Path, threads: int) -> Iterator[dict[str, str]]:
    """Make models of the other kinds beside the encoder, and yield the name of the model of each kind."""
    load_torch()
    import transformers

    transformers.utils.logging.disable_progress_bar()
    heads = {"cross": "AutoModelForSequenceClassification", "masked": "AutoModelForMaskedLM"}
    with tempfile.TemporaryDirectory() as folder:
        models_dir = Path(folder)
        configure(Environment(models_dir=models_dir, threads=threads, device="cpu"))
        shutil.copytree(encoder, models_dir / "encoder", ignore=shutil.ignore_patterns(".*", MANIFEST))
        describe_folder(models_dir / "encoder", kind="encoder")
        for kind, head in heads.items():
            config = transformers.AutoConfig.from_pretrained(encoder, **({"num_labels": 1} if kind == "cross" else {}))
            getattr(transformers, head).from_config(config).save_pretrained(models_dir / kind)
            transformers.AutoTokenizer.from_pretrained(encoder).save_pretrained(models_dir / kind)
            describe_folder(models_dir / kind, kind=kind)  # type: ignore[arg-type]
        yield {kind: kind for kind in ("encoder", *heads)}


if __name__ == "__main__":
    main()
