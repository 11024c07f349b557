"""Trained models as folders: written once, loaded to score answers. Imports torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import torch

from measures.neural.folders import ModelFolder, describe_folder
from measures.neural.lerc.inputs import Inputs, Layout, Vocabulary
from measures.neural.lerc.network import ENCODER, HEAD, Lerc, predict, read_layout, read_tensors, write_tensors
from measures.neural.lerc.seen import Seen
from measures.neural.lerc.settings import Settings
from measures.neural.loading import Loaded, load_encoder
from measures.neural.model_files import BadFolder
from measures.patterns import Floats

HEAD_FILE, SEEN, CARD = "lerc-head.safetensors", "lerc-seen.json", "README.md"
BATCH = 64
"""Rows read at once: it changes memory and time, not scores."""


@dataclass(frozen=True)
class Trained:
    """A trained model that is ready to score."""

    network: Lerc
    settings: Settings
    layout: Layout
    tokeniser: Any

    def score(self, rows: Sequence[Mapping[str, str]]) -> Floats:
        """Return the score of each row, given its segments by name; about 1 to 5, and not cut to it."""
        vocabulary = Vocabulary(self.tokeniser, self.layout)
        inputs = Inputs([[(name, row[name]) for name in self.settings.inputs] for row in rows], vocabulary)
        found = torch.zeros(len(rows), dtype=torch.float64).numpy()
        for places, outputs in predict(self.network, inputs, self.layout, batch_size=BATCH):
            found[places] = outputs[:, 0]
        return found


def save_model(
    path: Path,
    loaded: Loaded,
    weights: Path,
    *,
    settings: Settings,
    seen: Seen,
    card: str,
    details: Mapping[str, Any],
    trained_on: str,
) -> ModelFolder:
    """Write a trained model as a folder of the kind lerc.

    Parameters
    ----------
    path : Path
        The folder to make; it must not exist.
    loaded : Loaded
        The encoder that was trained.
    weights : Path
        The file of `checkpoints.find_weights`.
    settings : Settings
        How it was trained; its inputs and length are those of scoring.
    seen : Seen
        The answers of training and tuning.
    card : str
        What the model is, in Markdown for people.
    details : mapping
        The same for programs.
    trained_on : str
        The judgments, in a few words.
    """
    stored = read_tensors(weights)
    path.mkdir(mode=0o700)
    encoder_weights = {name.removeprefix(ENCODER): each for name, each in stored.items() if name.startswith(ENCODER)}
    loaded.model.load_state_dict(encoder_weights)
    loaded.model.save_pretrained(path, safe_serialization=True)
    loaded.tokeniser.save_pretrained(path)
    write_tensors(path / HEAD_FILE, {name: stored[f"{HEAD}{name}"] for name in ("weight", "bias")})
    (path / SEEN).write_bytes(orjson.dumps(seen.as_dict()))
    (path / CARD).write_text(card, encoding="utf-8")
    encoder = loaded.folder
    return describe_folder(
        path,
        kind="lerc",
        source=f"{encoder.name} ({encoder.source})" if encoder.source else encoder.name,
        revision=encoder.short_digest,
        licence=encoder.licence,
        trained_on=trained_on,
        length=settings.max_length,
        details={"settings": settings.as_dict(), **details},
    )


def load_trained(folder: ModelFolder) -> Trained:
    """Load a trained model. Raises BadFolder if it is of another kind, or its files do not fit each other."""
    settings = read_settings(folder)
    loaded = load_encoder(folder)
    network = Lerc(loaded.model)
    try:
        network.head.load_state_dict(read_tensors(folder.path / HEAD_FILE))
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise BadFolder(f"{folder.name} has no linear layer that fits its encoder. Train it again.") from error
    layout = read_layout(loaded, settings.max_length)
    return Trained(network.to(loaded.device).eval(), settings, layout, loaded.tokeniser)


def read_settings(folder: ModelFolder) -> Settings:
    """Return how a model was trained. Raises BadFolder if the folder does not say."""
    if folder.kind != "lerc":
        raise BadFolder(f"{folder.name} is of the kind {folder.kind}, not lerc.")
    try:
        return Settings.from_dict(folder.details["settings"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadFolder(f"{folder.name} does not say how it was trained.") from error


def read_seen(folder: ModelFolder) -> Seen:
    """Return the answers that a model has seen. Raises BadFolder if the folder does not say."""
    try:
        return Seen.from_dict(orjson.loads((folder.path / SEEN).read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BadFolder(f"{folder.name} does not say which answers it has seen.") from error
