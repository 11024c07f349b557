"""Metrics trained on the judgments of a frozen set: requested, estimated, trained, judged on answers not seen."""
