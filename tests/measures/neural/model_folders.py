"""Folders that look like models, written in a moment and without torch: what is checked before anything is loaded."""

import json
from pathlib import Path


def write_safetensors(path: Path, size: int = 64) -> None:
    header = json.dumps({"weight": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))


def write_model(folder: Path, **config: object) -> Path:
    """Write the files of a model, without a description."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **config}))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128}))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n")
    write_safetensors(folder / "model.safetensors")
    return folder
