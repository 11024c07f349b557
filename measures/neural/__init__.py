"""Learned metrics, and the models that they need. Only modules here import torch, and only when a model is loaded."""
