"""Loading a model of the registry with transformers: hashes first, then weights and tokeniser, all from its folder."""

from dataclasses import dataclass
from typing import Any

from measures.neural.environment import SETUP, choose_device, is_installed, load_torch
from measures.neural.folders import Kind, ModelFolder, check_hashes, name_kinds
from measures.neural.model_files import BadFolder

_UNLIMITED = 1_000_000
"""Tokenisers without a limit say a number above this."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A model that is ready to compute, with its tokeniser.

    Attributes
    ----------
    folder : ModelFolder
        Where it comes from.
    model : transformers.PreTrainedModel
        In evaluation mode, float32, on the device.
    tokeniser : transformers.PreTrainedTokenizerFast
        Of the same folder.
    device : str
        Such as "cpu" or "cuda:0".
    limit : int
        The most tokens that it can read, special tokens included: by its positions and by its tokeniser.
    """

    folder: ModelFolder
    model: Any
    tokeniser: Any
    device: str
    limit: int


def load_encoder(folder: ModelFolder) -> Loaded:
    """Load a model without a head. Raises BadFolder, as the others do, if a hash differs or the weights do not fit."""
    return _load(folder, "AutoModel", ("encoder", "masked", "cross", "lerc"))


def load_masked(folder: ModelFolder) -> Loaded:
    """Load a masked language model with its head. Raises BadFolder if the weights have none."""
    return _load(folder, "AutoModelForMaskedLM", ("masked",))


def load_cross(folder: ModelFolder) -> Loaded:
    """Load a cross-encoder with its head. Raises BadFolder if the weights have none, or more than one output."""
    return _load(folder, "AutoModelForSequenceClassification", ("cross",))


def load_tokeniser(folder: ModelFolder) -> Any:
    """Load the tokeniser of a folder alone. Raises BadFolder if there is none that tokenizers can read."""
    if not is_installed():
        raise BadFolder(f"{SETUP}.")
    load_torch()
    import transformers

    try:
        tokeniser = transformers.AutoTokenizer.from_pretrained(
            str(folder.path), local_files_only=True, trust_remote_code=False, use_fast=True
        )
    # Whatever transformers raises for files that are no tokeniser, the folder is what is wrong.
    except Exception as error:
        raise BadFolder(f"{folder.name} has no tokeniser that can be loaded: {_shorten(error)}") from error
    if not getattr(tokeniser, "is_fast", False):
        raise BadFolder(f"{folder.name} has no tokenizer.json, so its texts cannot be tokenised here.")
    return tokeniser


def _load(folder: ModelFolder, auto: str, kinds: tuple[Kind, ...]) -> Loaded:
    if not is_installed():
        raise BadFolder(f"{SETUP}.")
    if folder.kind not in kinds:
        raise BadFolder(f"{folder.name} is {name_kinds([folder.kind])}, not {name_kinds(kinds)}.")
    check_hashes(folder)
    torch = load_torch()
    import transformers

    transformers.utils.logging.disable_progress_bar()
    tokeniser = load_tokeniser(folder)
    try:
        model, report = getattr(transformers, auto).from_pretrained(
            str(folder.path),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except Exception as error:
        raise BadFolder(f"{folder.name} cannot be loaded: {_shorten(error)}") from error
    # Weights that are missing would be random. The pooler of an encoder is not used, and often not saved.
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key or auto != "AutoModel")
    if missing or report["mismatched_keys"]:
        raise BadFolder(
            f"{folder.name} has no weights that fit {missing[0] if missing else 'its config.json'}: a model of kind "
            f"{folder.kind} needs them. Nothing was computed."
        )
    if auto == "AutoModelForSequenceClassification" and model.config.num_labels != 1:
        raise BadFolder(f"{folder.name} has {model.config.num_labels} outputs. A cross-encoder needs exactly one.")
    device = choose_device()
    try:
        model = model.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise BadFolder(f"{folder.name} cannot be moved to {device}: {_shorten(error)}") from error
    return Loaded(
        folder=folder, model=model, tokeniser=tokeniser, device=device, limit=_find_limit(model.config, tokeniser)
    )


def _find_limit(config: Any, tokeniser: Any) -> int:
    positions = int(getattr(config, "max_position_embeddings", 0) or _UNLIMITED)
    # These number positions from the one after padding, and so have as many more.
    if config.model_type in {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}:
        positions -= (config.pad_token_id or 0) + 1
    return min(positions, int(min(tokeniser.model_max_length, _UNLIMITED)))


def _shorten(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300].rstrip(".") + "."
