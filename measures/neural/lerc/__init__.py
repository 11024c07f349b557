"""LERC: a metric that learns from people's judgments, and is tested on answers that it has not seen.

`network`, `training` and `scoring` import torch; everything else here is plain Python.
"""
