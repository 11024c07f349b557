"""Where models are and what they run on; set once by each process, before the first model is loaded."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")
SETUP = "learned metrics need torch and transformers, which make neural installs"


def _find_none(_digest: str) -> Path | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where models are and what they run on.

    Attributes
    ----------
    models_dir : Path or None
        The folder of the registered models; none where there is no registry.
    threads : int
        Threads of torch on the processor; 0 leaves its own choice.
    device : str
        "auto" for CUDA where torch sees it, "cpu", or a device of torch such as "cuda:1".
    find_trained : function
        Given a SHA-256, it returns the folder of the model that was trained in a project, or None.
    """

    models_dir: Path | None = None
    threads: int = 0
    device: str = "auto"
    find_trained: Callable[[str], Path | None] = _find_none


_current = Environment()


def configure(environment: Environment) -> None:
    """Use this environment in the process from now on.

    Examples
    --------
    >>> before = get_environment()
    >>> configure(Environment(threads=2))
    >>> get_environment().threads
    2
    >>> configure(before)
    """
    global _current  # noqa: PLW0603 - one environment for each process, as torch has one number of threads
    _current = environment


def get_environment() -> Environment:
    """Return the environment of the process.

    Examples
    --------
    >>> get_environment().device
    'auto'
    """
    return _current


def is_installed() -> bool:
    """Return whether the packages of learned metrics are installed; imports none of them.

    Examples
    --------
    >>> isinstance(is_installed(), bool)
    True
    """
    try:
        return all(find_spec(package) for package in PACKAGES)
    except (ImportError, ValueError):
        return False


def load_torch() -> Any:
    """Return torch, with the threads of the environment and with transformers kept from the network and from printing.

    Raises
    ------
    ImportError
        Torch is not installed.
    """
    # Read by huggingface_hub when it is imported. A model is a local folder, so nothing is asked for; these make sure.
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    # Tokenizers start threads of their own beside those of torch, and warn after a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch

    if _current.threads and torch.get_num_threads() != _current.threads:
        torch.set_num_threads(_current.threads)
    return torch


def choose_device() -> str:
    """Return the device that models run on, such as "cpu" or "cuda:0". Imports torch."""
    torch = load_torch()
    if _current.device != "auto":
        return _current.device
    return "cuda:0" if torch.cuda.is_available() else "cpu"


def describe_device() -> str:
    """Return the device for the signature of scores, such as "cpu"; empty where torch has not been loaded.

    Examples
    --------
    >>> import sys
    >>> "torch" in sys.modules or describe_device() == ""
    True
    """
    if "torch" not in sys.modules:
        return ""
    device = choose_device()
    if not device.startswith("cuda"):
        return device
    return f"cuda {load_torch().cuda.get_device_name(device)}"
