"""What the files of sentence-transformers in a folder say of its model."""

from pathlib import Path
from typing import Any

from measures.neural.model_files import BadFolder, read_json

POOLINGS = ("mean", "cls", "max")
ACTIVATIONS = ("sigmoid", "identity")


def read_pooling(path: Path) -> str:
    """Return how vectors of tokens become one; empty where the folder has no pooling. Raises BadFolder."""
    config = _read_optional(path, "1_Pooling/config.json")
    if not config:
        return ""
    modes = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max"}
    named = config.get("pooling_mode")
    chosen = [named] if isinstance(named, str) else [key for key, value in config.items() if value is True]
    found = [modes.get(str(key), str(key)) for key in chosen if isinstance(named, str) or key.startswith("pooling_")]
    if len(found) != 1 or found[0] not in POOLINGS:
        raise BadFolder(f"{path.name} pools its vectors by {', '.join(found) or 'nothing'}. Known: mean, cls, max.")
    return found[0]


def read_length(path: Path) -> int:
    """Return the most tokens that the model is meant to read; 0 where none are named."""
    length = _read_optional(path, "sentence_bert_config.json").get("max_seq_length")
    return length if type(length) is int and length > 0 else 0


def read_activation(path: Path) -> str:
    """Return what a cross-encoder does with its output. Raises BadFolder."""
    config = _read_optional(path, "config.json")
    trained = config.get("sentence_transformers")
    named = str((trained or {}).get("activation_fn", "") if isinstance(trained, dict) else "")
    named = named or str(config.get("sbert_ce_default_activation_function", ""))
    known = {"Sigmoid": "sigmoid", "Identity": "identity"}
    last = named.rpartition(".")[2]
    if named and last not in known:
        raise BadFolder(f"{path.name} has the activation {named}. Known: Sigmoid, Identity.")
    # With one output, sentence-transformers takes the sigmoid unless the folder says otherwise.
    return known.get(last, "sigmoid")


def _read_optional(path: Path, name: str) -> dict[str, Any]:
    content = read_json(path / name, path) if (path / name).is_file() else {}
    return content if isinstance(content, dict) else {}
