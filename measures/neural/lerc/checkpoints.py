"""Checkpoints of a training: the files that an interrupted one goes on from, and the weights that it ends with."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from measures.neural.lerc.network import ENCODER, Lerc, read_tensors, write_tensors
from measures.neural.lerc.settings import Run, choose_rate, choose_seed
from measures.patterns import Floats

_STATE, _WEIGHTS = "state.json", ".safetensors"
_OPTIMISER = "optimiser/"


def find_weights(folder: Path) -> Path:
    """Return the file of the best weights of a finished training in this folder."""
    state = json.loads((folder / _STATE).read_text())
    return folder / str(state["files"]["best"])


def read_encoder(folder: Path) -> dict[str, Tensor]:
    """Return the best weights of the encoder of a finished training, to start another from."""
    stored = read_tensors(find_weights(folder))
    return {name.removeprefix(ENCODER): each for name, each in stored.items() if name.startswith(ENCODER)}


def forget_weights(folder: Path) -> None:
    """Delete the weights of a finished training; its predictions and its curve stay."""
    for path in folder.glob(f"*{_WEIGHTS}"):
        path.unlink()


class Checkpoints:
    """The files of a training: one state that names all others, so that replacing it is the whole of a step.

    Beside the weights and the optimiser of the last epoch there are the best weights of the run, of the rate, and of
    the rates before; everything else is deleted.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder, self._fingerprint = folder, fingerprint
        self.runs: list[Run] = []
        self._finished: list[list[float]] = []
        self._closed: list[float] = []
        self._files: dict[str, str] = {}
        self._n = 0
        self._read()

    def _read(self) -> None:
        path = self._folder / _STATE
        state = json.loads(path.read_text()) if path.is_file() else {}
        if state.get("fingerprint") != self._fingerprint:
            return
        self.runs = [Run(**each) for each in state["runs"]]
        self._finished, self._closed = state["finished"], state["closed"]
        self._files, self._n = state["files"], state["n"]

    def find_run(self, rate: float, seed: int) -> Run | None:
        return next((run for run in self.runs if (run.rate, run.seed) == (rate, seed)), None)

    def is_finished(self, run: Run) -> bool:
        return [run.rate, run.seed] in self._finished

    def start_run(self, rate: float, seed: int) -> Run:
        run = Run(rate, seed)
        self.runs.append(run)
        return run

    def save(self, run: Run, model: Lerc, optimiser: torch.optim.Optimizer) -> None:
        """Store the end of an epoch."""
        weights = dict(model.state_dict())
        moments = {
            f"{_OPTIMISER}{number}/{name}": value
            for number, each in optimiser.state_dict()["state"].items()
            for name, value in each.items()
        }
        self._write("last", {**weights, **moments})
        if run.best == len(run.losses) - 1:
            self._write("best_of_run", weights)
        self._write_state()

    def load(self, model: Lerc, optimiser: torch.optim.Optimizer) -> None:
        """Set network and optimiser to the last epoch."""
        stored = read_tensors(self._folder / self._files["last"])
        model.load_state_dict({name: each for name, each in stored.items() if not name.startswith(_OPTIMISER)})
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in stored.items():
            if name.startswith(_OPTIMISER):
                number, key = name.removeprefix(_OPTIMISER).split("/")
                state.setdefault(int(number), {})[key] = value
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})

    def read_best_of_run(self) -> dict[str, Tensor]:
        return read_tensors(self._folder / self._files["best_of_run"])

    def finish_run(self, run: Run, predictions: dict[str, Floats]) -> None:
        """Store the predictions of a run, and its weights if they are the best of its rate."""
        name = self._name_predictions(run.rate, run.seed)
        with (self._folder / f".{name}").open("wb") as file:
            np.savez(file, **predictions)  # type: ignore[arg-type]
        (self._folder / f".{name}").replace(self._folder / name)
        finished = [each for each in self.runs if each.rate == run.rate and (self.is_finished(each) or each is run)]
        if choose_seed(finished, run.rate) == run.seed:
            self._files["best_of_rate"] = self._files["best_of_run"]
        self._files.pop("best_of_run"), self._files.pop("last")
        self._finished.append([run.rate, run.seed])
        self._write_state()

    def close_rate(self, rates: Sequence[float]) -> None:
        """Keep the weights of the best rate among these, the last of which is finished."""
        if rates[-1] in self._closed:
            return
        own = [run for run in self.runs if run.rate in rates]
        if choose_rate(own) == rates[-1]:
            self._files["best"] = self._files["best_of_rate"]
        self._files.pop("best_of_rate")
        self._closed.append(rates[-1])
        self._write_state()

    def read_predictions(self, rate: float, seed: int) -> dict[str, Floats]:
        with np.load(self._folder / self._name_predictions(rate, seed), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    @staticmethod
    def _name_predictions(rate: float, seed: int) -> str:
        return f"predictions-{rate:g}-{seed}.npz"

    def _write(self, role: str, tensors: dict[str, Tensor]) -> None:
        self._n += 1
        self._files[role] = f"{role}-{self._n}{_WEIGHTS}"
        write_tensors(self._folder / self._files[role], tensors)

    def _write_state(self) -> None:
        state = {
            "fingerprint": self._fingerprint,
            "runs": [asdict(run) for run in self.runs],
            "finished": self._finished,
            "closed": self._closed,
            "files": self._files,
            "n": self._n,
        }
        beside = self._folder / f".{_STATE}"
        beside.write_text(json.dumps(state))
        beside.replace(self._folder / _STATE)
        named = set(self._files.values())
        for path in self._folder.glob(f"*{_WEIGHTS}"):
            if path.name not in named:
                path.unlink(missing_ok=True)
