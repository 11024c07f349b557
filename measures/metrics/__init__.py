"""Automatic metrics of answers, one family per module: pure functions over columns, for the app and for notebooks."""

from measures.metrics import answerability as answerability
from measures.metrics import bleu as bleu
from measures.metrics import chrf as chrf
from measures.metrics import exact as exact
from measures.metrics import gleu as gleu
from measures.metrics import meteor as meteor
from measures.metrics import rouge_l as rouge_l
from measures.metrics import rouge_n as rouge_n
from measures.metrics.metric import Answers, Broken, MeanMetric, Metric, setting
from measures.metrics.registry import METRICS, make, register
from measures.metrics.scoring import Scores, score, score_column, score_corpus, score_slice
from measures.metrics.signature import Signature, decode_letters, format_signature, make_from_signature, parse_signature
from measures.metrics.top_n import TopN, top_n_accuracy

__all__ = [
    "METRICS",
    "Answers",
    "Broken",
    "MeanMetric",
    "Metric",
    "Scores",
    "Signature",
    "TopN",
    "decode_letters",
    "format_signature",
    "make",
    "make_from_signature",
    "parse_signature",
    "register",
    "score",
    "score_column",
    "score_corpus",
    "score_slice",
    "setting",
    "top_n_accuracy",
]
