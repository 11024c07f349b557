"""Learned metrics, and the models that they need. Only modules here import torch, and only when a model is loaded."""

from measures.neural import bert_score as bert_score
from measures.neural import bi_encoder as bi_encoder
from measures.neural import cross_encoder as cross_encoder
from measures.neural import qa_score as qa_score
