"""What is trained: the encoder, the data of the set, and the settings of LERC; stored with its row."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from measures.neural.lerc.rows import Row, split_passages
from measures.neural.lerc.settings import Settings
from measures.neural.lerc.variants import TablePlan, Variant, list_variants
from projects.errors import Refused
from results.scope.gold_settings import SEED

OF_SET, DRAWN = "set", "passages"
SPLITS = {
    OF_SET: "the splits of the set: train, dev and test",
    DRAWN: "drawn by passage: 70 % train, 10 % dev, 20 % test",
}


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """The choices of a training beside its set and criterion."""

    encoder: str
    digest: str
    """Of the encoder, so that a training never goes on with another of the same name."""
    held_out: str = ""
    splits: str = OF_SET
    seed: int = SEED
    """Of drawn splits, of the shares of a learning curve, and of resamples."""
    lerc: Settings = field(default_factory=Settings)
    pretraining: Mapping[str, Any] = field(default_factory=dict)
    """Name, SHA-256 and rows of the file of the three-way task; empty without one."""

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "lerc": self.lerc.as_dict(), "pretraining": dict(self.pretraining)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**{**stored, "lerc": Settings.from_dict(stored["lerc"])})

    def split(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows with the splits that are asked for."""
        return split_passages(rows, seed=self.seed) if self.splits == DRAWN else list(rows)

    def list_variants(self, table: str, rows: Sequence[Row]) -> list[Variant]:
        """Return the trainings of a table. Raises Refused where the rows do not allow them, saying what is missing."""
        datasets = sorted({row.dataset for row in rows})
        try:
            variants = list_variants(TablePlan(table), datasets, inputs=self.lerc.inputs, held_out=self.held_out)
        except ValueError as error:
            raise Refused(str(error), field="held_out") from error
        for variant in variants:
            self._check(variant, rows)
        return variants

    def _check(self, variant: Variant, rows: Sequence[Row]) -> None:
        parts = variant.part(rows, seed=self.seed)
        where = f" without “{variant.held_out}”" if variant.held_out else ""
        how = (
            "Freeze a set with answers of more passages."
            if self.splits == DRAWN
            else "Choose splits drawn by passage, or split the passages under Data before a new set is frozen."
        )
        if not parts.train:
            raise Refused(f"There is no judged answer of the split train{where}. {how}", field="splits")
        if len(parts.dev) < 3:
            raise Refused(
                f"There are {len(parts.dev)} judged answers of the split dev{where}; choosing a rate needs 3. {how}",
                field="splits",
            )

    def list_choices(self) -> list[tuple[str, str]]:
        """Return names and values as pages and cards show them."""
        lerc = self.lerc
        pretraining = self.pretraining
        return [
            ("Encoder", self.encoder),
            ("Input", ", ".join(lerc.inputs)),
            ("Held-out dataset", self.held_out or "none"),
            ("Splits", SPLITS[self.splits]),
            ("Learning rates", ", ".join(f"{rate:g}" for rate in lerc.rates)),
            ("Seeds", ", ".join(map(str, lerc.seeds))),
            ("Epochs", str(lerc.epochs)),
            ("Batch size", str(lerc.batch_size)),
            ("Length", f"{lerc.max_length} tokens"),
            ("Added rows", "as in MOCHA's code" if lerc.augments else "none"),
            ("Optimiser", f"AdamW, weight decay {lerc.weight_decay:g}, warm-up {100 * lerc.warm_up:g} % of the steps"),
            *([("Pre-training", f"{pretraining['name']}, {pretraining['n']:,} rows")] if pretraining else []),
            ("Seed of the splits", str(self.seed)),
        ]
