"""Classifiers that try to tell controls from ordinary items: logistic regression, and boosted trees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats], Callable[[Floats], Floats]]
Rows = list[tuple[list[float], bool]]
"""What is seen of each item of a session, and whether it is a control."""
N_FOLDS = 5
N_TREES = 40
RATE = 0.2
N_CUTS = 12


def logistic(features: Floats, labels: Floats) -> Callable[[Floats], Floats]:
    """Logistic regression by Newton's steps, with a little ridge."""
    mean, spread = features.mean(0), features.std(0) + 1e-9

    def table(rows: Floats) -> Floats:
        return np.column_stack([np.ones(len(rows)), (rows - mean) / spread])

    known = table(features)
    weights = np.zeros(known.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-known @ weights))
        hessian = (known * (p * (1 - p))[:, None]).T @ known + np.eye(len(weights))
        weights = weights + np.linalg.solve(hessian, known.T @ (labels - p) - weights)
    return lambda rows: np.asarray(table(rows) @ weights, np.float64)


@dataclass(frozen=True)
class Split:
    """A tree of two levels: a cut, and what comes below and above it."""

    feature: int
    cut: float
    below: "Split | float"
    above: "Split | float"

    def predict(self, rows: Floats) -> Floats:
        sides = [side.predict(rows) if isinstance(side, Split) else side for side in (self.below, self.above)]
        return np.where(rows[:, self.feature] <= self.cut, sides[0], sides[1])


def boosted(features: Floats, labels: Floats) -> Callable[[Floats], Floats]:
    """Gradient boosting of small trees on the logistic loss."""
    trees: list[Split] = []
    scores = np.zeros(len(labels))
    for _ in range(N_TREES):
        p = 1 / (1 + np.exp(-scores))
        tree = _grow(features, labels - p, p * (1 - p), depth=2)
        if not isinstance(tree, Split):
            break
        trees.append(tree)
        scores = scores + RATE * tree.predict(features)
    return lambda rows: sum((RATE * tree.predict(rows) for tree in trees), np.zeros(len(rows)))


def _grow(features: Floats, gradient: Floats, curve: Floats, depth: int) -> Split | float:
    leaf = float(gradient.sum() / (curve.sum() + 1))
    if not depth or len(gradient) < 20:
        return leaf
    best: tuple[float, int, float] = (_worth(gradient, curve) + 1e-9, -1, 0.0)
    for feature in range(features.shape[1]):
        column = features[:, feature]
        for cut in np.unique(np.quantile(column, np.linspace(0.05, 0.95, N_CUTS), method="nearest"))[:]:
            is_below = column <= cut
            if is_below.all():
                continue
            worth = _worth(gradient[is_below], curve[is_below]) + _worth(gradient[~is_below], curve[~is_below])
            best = max(best, (worth, feature, float(cut)))
    if best[1] < 0:
        return leaf
    is_below = features[:, best[1]] <= best[2]
    sides = (_grow(features[side], gradient[side], curve[side], depth - 1) for side in (is_below, ~is_below))
    return Split(best[1], best[2], *sides)


def _worth(gradient: Floats, curve: Floats) -> float:
    return float(gradient.sum() ** 2 / (curve.sum() + 1))


def auc(scores: Floats, labels: Floats) -> float:
    """The chance that a control scores above an ordinary item, ties half."""
    above = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def held_out_auc(sessions: Sequence[Rows], fit: Fit) -> float:
    """The AUC on sessions that the fit has not seen, in five parts."""
    scores, labels = [], []
    for fold in range(N_FOLDS):
        known = [row for n, session in enumerate(sessions) if n % N_FOLDS != fold for row in session]
        held = [row for n, session in enumerate(sessions) if n % N_FOLDS == fold for row in session]
        guess = fit(np.array([row[0] for row in known], float), np.array([row[1] for row in known], float))
        scores.append(guess(np.array([row[0] for row in held], float)))
        labels.append(np.array([row[1] for row in held], float))
    return auc(np.concatenate(scores), np.concatenate(labels))
