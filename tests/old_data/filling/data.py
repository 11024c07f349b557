"""Passages, questions, candidates, pairs and judgments, imported in every way that an import can end."""

import json
from collections.abc import Sequence
from typing import Any

from annotate.data import pairs
from annotate.imports import uploading
from annotate.models import Import
from demo import corpus
from measures.rubric import ScaleKind
from projects.importing import CriterionColumn, Kind, Options
from projects.jobs import running
from projects.models import Candidate, Question
from tests.old_data.filling.bay import Bay, end, uploaded, write_csv

PASSAGES = (
    *("allotment-notes", "ferry-notice", "lentil-pot", "lichen"),
    *("lift-and-piano", "map-maker", "quiet-kettle"),
)
"""Passages of the demo's corpus, of all its splits; one has documents."""
PAIRS = (
    "dataset,passage_id,passage,question_id,question,reference,candidate_id,candidate_1,candidate_2,score_1,score_2,phenomenon",
    "pairs,pp1,The mill burned on a Monday.,pq1,When did it burn?,On a Monday.,mp1,On Monday,On Sunday,5,1,",
    "pairs,pp1,The mill burned on a Monday.,pq1,When did it burn?,On a Monday.,mp2,A Monday,Not a Monday,5,2,negation",
)


def bring(bay: Bay) -> None:
    rows = [row for row in corpus.rows() if row["passage_id"] in PASSAGES]
    for n, row in enumerate(rows):
        row |= {"rank": n % 3 + 1, "confidence": 0.25 * (n % 4)}
    rows += [_span_row(n) for n in range(4)] + [_generated_row(n) for n in range(4)]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    _import(bay, "answers.jsonl", lines, Options(format="jsonl", drop_equal="exact"))
    _import(bay, "pairs.csv", "\n".join(PAIRS).encode(), Options())
    _end_in_all_ways(bay)
    question = Question.objects.filter(dataset__project=bay.project, dataset__name="free-answers").earliest("pk")
    written = pairs.Written(text_1="They met.", text_2="They never met.", phenomenon="negation")
    pairs.write_pair(**bay.by_manager, question=question, written=written)


def _end_in_all_ways(bay: Bay) -> None:
    """Imports that wait, were stopped, or failed."""
    not_utf8 = b"question,candidate\nWho?\xff\xfe,Ann\n"
    _check(_receive(bay, "broken.csv", not_utf8), Options(format="csv", encoding="utf-8"))
    _receive(bay, "waiting.csv", _small(0))
    _check(_receive(bay, "checked.csv", _small(1)), Options())
    uploading.stop(job=_receive(bay, "given-up.csv", _small(2)))
    for n, state in enumerate(("queued", "running", "interrupted"), start=3):
        job = _receive(bay, f"{state}.csv", _small(n))
        uploading.start_check(job=job, options=Options())
        end(job, state)


def bring_judgments(bay: Bay) -> None:
    """Judgments by named and by unknown annotators, on criteria that the project has and on others."""
    found = Candidate.objects.in_project(bay.project).order_by("pk").values_list("dataset__name", "external_id")[:6]
    ids = [list(each) for each in found]
    rows = [["dataset", "candidate_id", "annotator", "criterion", "value"]]
    rows += [[*each, who, "correctness", str(1 + n % 5)] for n, each in enumerate(ids) for who in ("r1", "r2")]
    _import(bay, "ratings.csv", write_csv(rows), Options(), Kind.JUDGMENTS)
    criteria = (
        CriterionColumn(key="fluency", low=1, high=7, column="fluency"),
        CriterionColumn(key="adequacy", low=0, high=100, column="adequacy", kind=ScaleKind.CONTINUOUS),
    )
    rows = [["dataset", "candidate_id", "fluency", "adequacy"]]
    rows += [[*each, str(n + 1), str(10 * n)] for n, each in enumerate(ids)]
    _import(bay, "unknown.csv", write_csv(rows), Options(criteria=criteria), Kind.JUDGMENTS)


def _receive(bay: Bay, name: str, content: bytes, kind: Kind = Kind.CANDIDATES) -> Import:
    with uploaded(name, content) as upload:
        return uploading.receive(**bay.by_manager, upload=upload, kind=kind)


def _check(job: Import, options: Options) -> None:
    uploading.start_check(job=job, options=options)
    _work(job)


def _import(bay: Bay, name: str, content: bytes, options: Options, kind: Kind = Kind.CANDIDATES) -> None:
    job = _receive(bay, name, content, kind)
    _check(job, options)
    uploading.start_write(job=job, actor=bay["manager"])
    _work(job)
    assert job.state == Import.State.DONE, job.error


def _work(job: Import) -> None:
    """What the worker does."""
    running.run(Import, job.pk, uploading.run_step)
    uploading.FILES.delete(job.pk)
    job.refresh_from_db()


def _small(n: int) -> bytes:
    return write_csv(_small_rows(n))


def _small_rows(n: int) -> Sequence[Sequence[str]]:
    return [["question", "reference", "candidate"], [f"Who is number {n}?", "Ann", "Bob"]]


def _span_row(n: int) -> dict[str, Any]:
    return {
        "dataset": "spans",
        "dataset_kind": "span",
        "split": "test",
        "passage_id": "span-1",
        "passage": "The tide came in at nine and went out at four.",
        "question_id": "span-1-q",
        "question": "When did the tide come in?",
        "reference_1": "at nine",
        "candidate_id": f"span-1-{n}",
        "source": ("model-a", "model-b")[n % 2],
        "candidate": ("nine", "four", "in the evening", "at nine sharp")[n],
    }


def _generated_row(n: int) -> dict[str, Any]:
    return {
        "dataset": "questions",
        "dataset_kind": "question_generation",
        "split": "train",
        "passage_id": f"made-{n % 2}",
        "passage": f"The keeper climbed {n % 2 + 3} stairs and saw a sail.",
        "question_id": f"made-{n % 2}-q",
        "question": "Ask about the sail.",
        "question_type": ("", "other")[n % 2],
        "reference_1": "What did the keeper see?",
        "candidate_id": f"made-{n}",
        "source": "model-a",
        "candidate": ("Who saw a sail?", "How many stairs?", "What was seen?", "Why climb?")[n],
    }
