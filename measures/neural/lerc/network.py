"""The network of LERC: an encoder, and a linear layer on the first token. Needs torch, so nothing imports it at start.

Weights are read and written as safetensors alone, which hold numbers and no code.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from measures.neural.lerc.inputs import Ids, Inputs, Layout
from measures.neural.loading import Loaded
from measures.neural.model_files import BadFolder
from measures.patterns import Floats

MakeNetwork = Callable[[int], "Lerc"]
"""Returns a network for a seed."""
ENCODER, HEAD = "encoder.", "head."
"""How the names of weights begin."""
_DEVIATION = 0.02
"""The standard deviation of the first weights of the linear layer, as in BERT."""


class Lerc(nn.Module):
    """An encoder with a linear layer on the state of its first token.

    Parameters
    ----------
    encoder : torch.nn.Module
        Of transformers, without a head of its own.
    n_outputs : int
        1 for a score, 3 for the three-way task.
    seed : int
        Of the first weights of the linear layer.
    """

    def __init__(self, encoder: Any, *, n_outputs: int = 1, seed: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.config.hidden_size, n_outputs)
        # A generator of its own: whatever else draws in this process changes nothing.
        source = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(self.head.weight.shape, generator=source) * _DEVIATION)
            self.head.bias.zero_()

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None) -> Tensor:
        given = {} if types is None else {"token_type_ids": types}
        states = self.encoder(input_ids=ids, attention_mask=mask, **given).last_hidden_state
        found: Tensor = self.head(states[:, 0])
        return found


def read_layout(loaded: Loaded, max_length: int) -> Layout:
    """Return how an encoder marks its input, with the smaller of its own limit and `max_length`.

    Raises
    ------
    BadFolder
        Its tokeniser has no token to start or to separate with, as those of generative models.
    """
    tokeniser = loaded.tokeniser
    start = tokeniser.cls_token_id if tokeniser.cls_token_id is not None else tokeniser.bos_token_id
    separator = tokeniser.sep_token_id if tokeniser.sep_token_id is not None else tokeniser.eos_token_id
    if start is None or separator is None:
        raise BadFolder(f"{loaded.folder.name} has no tokens to start and to separate texts with. Choose an encoder.")
    return Layout(
        start=int(start),
        separator=int(separator),
        pad=int(tokeniser.pad_token_id or 0),
        max_length=min(max_length, loaded.limit),
        has_types=(getattr(loaded.model.config, "type_vocab_size", 0) or 0) > 1,
    )


def make_networks(loaded: Loaded, *, n_outputs: int = 1, start: dict[str, Tensor] | None = None) -> "MakeNetwork":
    """Return a function from a seed to a network: the encoder as it was loaded, with a new linear layer.

    Parameters
    ----------
    loaded : Loaded
        The encoder. One network at a time trains its weights, which are set back for the next.
    n_outputs : int
        1 for a score, 3 for the three-way task.
    start : dict of str to Tensor, optional
        Weights of the encoder to start from instead, such as those of a pre-training.
    """
    first = {name: each.detach().clone() for name, each in (start or loaded.model.state_dict()).items()}

    def make(seed: int) -> Lerc:
        loaded.model.load_state_dict(first)
        return Lerc(loaded.model, n_outputs=n_outputs, seed=seed).to(loaded.device)

    return make


def pad(
    inputs: Sequence[tuple[Ids, Ids]], layout: Layout, device: torch.device
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return ids, mask and types of a batch, padded to its longest input."""
    longest = max(len(ids) for ids, _types in inputs)
    shape = (len(inputs), longest)
    ids, mask, types = np.full(shape, layout.pad, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, (own, own_types) in enumerate(inputs):
        ids[row, : len(own)], mask[row, : len(own)], types[row, : len(own)] = own, 1, own_types
    given = [torch.from_numpy(each).to(device) for each in (ids, mask, types)]
    return given[0], given[1], given[2] if layout.has_types else None


def predict(model: Lerc, inputs: Inputs, layout: Layout, *, batch_size: int) -> Iterator[tuple[list[int], Floats]]:
    """Yield rows with the outputs of the network, shape (rows, outputs); inputs of like length are in one batch."""
    device = next(model.parameters()).device
    model.eval()
    order = np.argsort(inputs.lengths, kind="stable").tolist()
    for at in range(0, len(order), batch_size):
        rows = order[at : at + batch_size]
        with torch.inference_mode():
            found = model(*pad([inputs[row] for row in rows], layout, device))
        yield rows, found.double().cpu().numpy()


def decays(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the parameters with weight decay, and those without: biases and layer norms."""
    without: set[int] = set()
    for module in model.modules():
        is_norm = "norm" in type(module).__name__.lower()
        for name, parameter in module.named_parameters(recurse=False):
            if is_norm or name == "bias":
                without.add(id(parameter))
    every = list(model.parameters())
    return [each for each in every if id(each) not in without], [each for each in every if id(each) in without]


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors to a file that is complete or absent, also where the process is killed."""
    beside = path.with_name(f".{path.name}")
    save_file({name: each.detach().contiguous().cpu() for name, each in tensors.items()}, str(beside))
    beside.replace(path)


def read_tensors(path: Path) -> dict[str, Tensor]:
    found: dict[str, Tensor] = load_file(str(path))
    return found
