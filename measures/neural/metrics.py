"""Every learned metric: to import this module makes them known to `measures.metrics`."""

from measures.neural import bert_score, bi_encoder, cross_encoder, qa_score
from measures.neural.lerc import metric as lerc

__all__ = ["bert_score", "bi_encoder", "cross_encoder", "lerc", "qa_score"]
