"""LERC as a metric: scores of a trained model, without those of answers that it has learned from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from measures.metrics.metric import Answers, setting
from measures.metrics.registry import Registered, register
from measures.neural.environment import SETUP, get_environment, is_installed
from measures.neural.folders import Kind, ModelFolder, read_folder
from measures.neural.installed import explain_missing, find_model
from measures.neural.learned import LearnedMetric, ModelSession
from measures.neural.lerc.seen import REASONS, TRAINING
from measures.neural.model_files import BadFolder
from measures.patterns import Floats

LEAVE_OUT, KEEP_TUNING, SCORE = "leave_out", "keep_tuning", "score"
SEEN = {
    LEAVE_OUT: "those of training and tuning have no score",
    KEEP_TUNING: "those of training have no score",
    SCORE: "all are scored",
}
PREFIX = "lerc:"
"""How the name of a metric begins that was trained in a project."""


@dataclass(frozen=True, kw_only=True)
class LercMetric(LearnedMetric):
    """A metric that was trained on human judgments; its scores are about 1 to 5.

    An answer that the model has seen has no score, unless `seen` asks for it: the correlation with people on such
    answers says nothing about new ones. Of several references the best counts. An empty text is an empty segment.

    References
    ----------
    A. Chen et al. (2020), MOCHA: A Dataset for Training and Evaluating Generative Reading Comprehension Metrics, EMNLP.
    """

    digest: str = setting("", "SHA-256 of a model that was trained in a project; empty for a registered one")
    seen: str = setting(LEAVE_OUT, "answers that the model has seen", choices=SEEN)

    kinds: ClassVar[tuple[Kind, ...]] = ("lerc",)
    needs: ClassVar[tuple[str, ...]] = ("references", "questions", "passages")
    batch_size: ClassVar[int] = 256

    @property
    def variant(self) -> str:
        return self.model

    @property
    def held_out(self) -> str:
        try:
            return str(self.find_folder().details.get("held_out", ""))
        except BadFolder:
            return ""

    def lacks(self) -> str:
        if not self.digest:
            return explain_missing(self.model, *self.kinds)
        if not is_installed():
            return SETUP
        try:
            self.find_folder()
        except BadFolder as problem:
            return str(problem).removesuffix(".")
        return ""

    def find_folder(self) -> ModelFolder:
        """Return the folder of the model. Raises BadFolder if it is gone or has changed."""
        if not self.digest:
            return find_model(self.model, *self.kinds)
        path = get_environment().find_trained(self.digest)
        if path is None:
            raise BadFolder(f"the model “{self.model}” is gone: train it again")
        folder = read_folder(path)
        if folder.digest != self.digest:
            raise BadFolder(f"the model “{self.model}” has changed since it was trained: train it again")
        return folder

    def open(self, folder: ModelFolder) -> ModelSession:
        return _LercSession(folder)

    @contextmanager
    def ready(self) -> Iterator[None]:
        object.__setattr__(self, "session", self.open(self.find_folder()))
        try:
            yield
        finally:
            object.__delattr__(self, "session")

    def refuse(self, answers: Answers) -> list[str]:
        assert self.session is not None, "refuse() must be called within ready()"
        needs_reference = "reference" in self.session.inputs
        found = self.session.find_seen(answers)
        return [
            "no reference"
            if needs_reference and not (answers.references and answers.references[row])
            else self._refuse_seen(each)
            for row, each in enumerate(found)
        ]

    def _refuse_seen(self, found: str) -> str:
        is_left_out = self.seen == LEAVE_OUT or (self.seen == KEEP_TUNING and found == TRAINING)
        return REASONS[found] if found and is_left_out else ""


class _LercSession(ModelSession):
    """A trained model, and which answers it has seen."""

    def __init__(self, folder: ModelFolder) -> None:
        super().__init__(folder)
        from measures.neural.lerc.scoring import load_trained, read_seen

        self._trained, self._seen = load_trained(folder), read_seen(folder)
        self.inputs: tuple[str, ...] = self._trained.settings.inputs

    def find_seen(self, answers: Answers) -> list[str]:
        """Return for each answer whether the model has seen it, as `Seen.find` does."""
        blank = [""] * len(answers)
        texts = zip(answers.passages or blank, answers.questions or blank, answers.candidates, strict=True)
        return [self._seen.find(*each) for each in texts]

    def score_each(self, answers: Answers) -> Floats:
        rows, owners = list[dict[str, str]](), list[int]()
        for row, candidate in enumerate(answers.candidates):
            texts = {
                "passage": answers.passages[row] if answers.passages else "",
                "question": answers.questions[row] if answers.questions else "",
                "candidate": candidate,
            }
            references = answers.references[row] if answers.references else ()
            # A model without the reference as an input scores each answer once.
            for reference in references if "reference" in self.inputs else ("",):
                rows.append({**texts, "reference": reference})
                owners.append(row)
        found = np.full(len(answers), -np.inf)
        np.maximum.at(found, owners, self._trained.score(rows))
        return found


def make_registered(name: str, **fixed: str) -> Registered:
    """Return the entry of a metric that was trained in a project, under its name.

    Examples
    --------
    >>> made = make_registered("lerc:mine", digest="0" * 64)
    >>> made.title, [each.name for each in made.settings()]
    ('LERC mine', ['against', 'seen'])
    """
    model = name.removeprefix(PREFIX)
    return Registered(
        name=name, title=f"LERC {model}", family="LERC", metric=LercMetric, fixed={"model": model, **fixed}
    )


register("lerc", "LERC", LercMetric, digest="")
