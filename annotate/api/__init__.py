"""The API of judging: data, imports, batches, judgments."""
