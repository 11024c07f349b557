"""LERC as a metric: scores of a trained model, without those of answers that it has learned from."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from measures.metrics.metric import AGAINST, Answers, MeanMetric, setting
from measures.metrics.registry import Registered, register
from measures.neural.environment import SETUP, is_installed
from measures.neural.folders import BadFolder, ModelFolder, explain_missing, find_model, read_folder
from measures.neural.lerc.seen import REASONS, TRAINING, Seen
from measures.patterns import Floats

LEAVE_OUT, KEEP_TUNING, SCORE = "leave_out", "keep_tuning", "score"
SEEN = {
    LEAVE_OUT: "those of training and tuning have no score",
    KEEP_TUNING: "those of training have no score",
    SCORE: "all are scored",
}
PREFIX = "lerc:"
"""How the name of a metric begins that was trained in a project."""
FindFolder = Callable[[str], Path | None]


@dataclass(frozen=True, kw_only=True)
class LercMetric(MeanMetric):
    """A metric that was trained on human judgments; its scores are about 1 to 5.

    An answer that the model has seen has no score, unless `seen` asks for it: the correlation with people on such
    answers says nothing about new ones. Of several references the best counts.

    References
    ----------
    A. Chen et al. (2020), MOCHA: A Dataset for Training and Evaluating Generative Reading Comprehension Metrics, EMNLP.
    """

    against: str = setting("first", "references that an answer is compared with", choices=AGAINST)
    model: str = setting("", "name of the trained model")
    digest: str = setting("", "SHA-256 of a model that was trained in a project; empty for a registered one")
    seen: str = setting(LEAVE_OUT, "answers that the model has seen", choices=SEEN)
    trained: ClassVar[Any] = None
    """The loaded model, within `ready()`."""
    folder_seen: ClassVar[Seen] = Seen(frozenset(), frozenset())

    needs: ClassVar[tuple[str, ...]] = ("references", "questions", "passages")
    low: ClassVar[float] = -np.inf
    high: ClassVar[float] = np.inf
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    batch_size: ClassVar[int] = 256

    @property
    def variant(self) -> str:
        return self.model

    def lacks(self) -> str:
        if not self.digest:
            return explain_missing(self.model, "lerc")
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
            return find_model(self.model, "lerc")
        path = _finder(self.digest)
        if path is None:
            raise BadFolder(f"the model “{self.model}” is gone: train it again")
        folder = read_folder(path)
        if folder.digest != self.digest:
            raise BadFolder(f"the model “{self.model}” has changed since it was trained: train it again")
        return folder

    @contextmanager
    def ready(self) -> Iterator[None]:
        from measures.neural.lerc.scoring import load_trained, read_seen

        folder = self.find_folder()
        object.__setattr__(self, "trained", load_trained(folder))
        object.__setattr__(self, "folder_seen", read_seen(folder))
        try:
            yield
        finally:
            object.__delattr__(self, "trained")
            object.__delattr__(self, "folder_seen")

    def refuse(self, answers: Answers) -> list[str]:
        needs_reference = "reference" in self.trained.settings.inputs
        questions = answers.questions or [""] * len(answers)
        return [
            "no reference"
            if needs_reference and not (answers.references and answers.references[row])
            else self._refuse_seen(question, candidate)
            for row, (question, candidate) in enumerate(zip(questions, answers.candidates, strict=True))
        ]

    def _refuse_seen(self, question: str, candidate: str) -> str:
        found = self.folder_seen.find(question, candidate)
        is_left_out = self.seen == LEAVE_OUT or (self.seen == KEEP_TUNING and found == TRAINING)
        return REASONS[found] if found and is_left_out else ""

    def score_each(self, answers: Answers) -> Floats:
        n, rows, owners = len(answers), list[dict[str, str]](), list[int]()
        for row in range(n):
            texts = {
                "passage": answers.passages[row] if answers.passages else "",
                "question": answers.questions[row] if answers.questions else "",
                "candidate": answers.candidates[row],
            }
            references = answers.references[row] if answers.references else ()
            # A model without the reference as an input scores each answer once.
            compared = references if "reference" in self.trained.settings.inputs else ("",)
            for reference in compared:
                rows.append({**texts, "reference": reference})
                owners.append(row)
        found = np.full(n, -np.inf)
        np.maximum.at(found, owners, self.trained.score(rows))
        return found


_finder: FindFolder = lambda _digest: None  # noqa: E731


def use_finder(find: FindFolder) -> None:
    """Find the folders of models that were trained in projects by this function, given a digest.

    Examples
    --------
    >>> before = _finder
    >>> use_finder(lambda digest: None)
    >>> LercMetric(model="mine", digest="0" * 64).lacks() != ""
    True
    >>> use_finder(before)
    """
    global _finder  # noqa: PLW0603 - one for each process, as there is one database
    _finder = find


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
