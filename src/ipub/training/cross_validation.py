"""Scores of rows under models trained without them, along a path of penalties: all folds step together."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.losses import Loss
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.problem.solvers.quadratic import minimise_quadratic

TOLERANCE = 1e-6
"""Expected decrease of the objective, relative to it, after which a step is the last: it squares what is left."""
MOST_STEPS, MOST_HALVINGS = 50, 30
OWN_WORK = 1e6
"""Rows times squared columns up to which each fold has a curvature of its own; of longer tables it is shared."""
CONTRACTION = 0.1
"""While steps with a shared curvature reduce the expected decrease to less than this part, it is kept."""
WIDTHS = (1.0, 0.3, 0.1)
"""Widths over which a kink is smoothed, one after the other; from one penalty to the next only the last. That is enough
to compare penalties, not to train."""
FLAT = 1e-10
"""Curvature of a coordinate without penalty, relative to the mean of all, that is added: none may be singular."""


class Sums(NamedTuple):
    """What a step needs of the rows, for each fold."""

    scores: Array
    """Shape (n, F): of all rows under the model of each fold."""
    value: Array
    """Shape (F,): mean loss of the rows that a fold trains on."""
    gradient: Array
    """Shape (F, p)."""


class FoldModels:
    """The models of all folds for one set of labels, at the current penalty; the last column may be an intercept.

    Rows are trained on by all folds but their own, which is -1 of rows that all train on.
    """

    def __init__(self, table: Array, y: Array, weight: Array, fold: NDArray[np.intp], loss: Loss) -> None:
        order = np.argsort(fold, kind="stable")
        self.order, self.table, self.fold, self.y = order, table[order], fold[order], y[order, None]
        n_folds = max(1, int(fold.max()) + 1)
        self.weights = np.where(self.fold[:, None] == np.arange(n_folds), 0.0, weight[order, None])
        self.totals = self.weights.sum(axis=0)
        self.weights /= self.totals
        self.weight = weight[order]
        ends = np.searchsorted(self.fold, np.arange(-1, n_folds + 1))
        self.slices = [slice(*pair) for pair in pairwise(ends)]
        self.losses = tuple(dict.fromkeys(loss.smoothed(width) for width in WIDTHS))
        self.has_own = not loss.is_smooth or len(table) * table.shape[1] ** 2 <= OWN_WORK
        self.w = np.zeros((n_folds, table.shape[1]))
        self.is_first = True

    @overflow_means_unbounded()
    def train(self, penalty: ElasticNet) -> Array:
        """Train from the models of the last penalty; return the score of each row under the model of its fold."""
        for loss in self.losses if self.is_first else self.losses[-1:]:
            self._minimise(loss, penalty)
        self.is_first = False
        scores = np.empty(len(self.order))
        scores[self.order] = np.einsum("ij,ij->i", self.table, self.w[self.fold])
        return scores

    def _minimise(self, loss: Loss, penalty: ElasticNet) -> None:
        here, hessians, last = self._sums(loss, self.w), None, np.inf
        has_own = self.has_own
        for _ in range(MOST_STEPS):
            if hessians is None or has_own:
                hessians = self._hessians(loss, here.scores if has_own else None)
            step = self._directions(hessians, here.gradient, penalty)
            paid = self._penalties(penalty, self.w)
            slope = np.einsum("ij,ij->i", here.gradient, step) + self._penalties(penalty, self.w + step) - paid
            objective = here.value + paid
            expected = float(np.max(-slope / np.maximum(np.abs(objective), 1e-12)))
            here, is_full = self._search(loss, penalty, step, objective, slope)
            if not expected > TOLERANCE:
                break
            if not has_own and (expected > CONTRACTION * last or not is_full):
                # The curvature is at the mean of all models again; where that is not enough, each has its own.
                has_own, hessians = last < expected, None
            last = expected

    def _search(
        self, loss: Loss, penalty: ElasticNet, step: Array, objective: Array, slope: Array
    ) -> tuple[Sums, bool]:
        """Move each model along its step, or the longest half, quarter, ... that makes its objective smaller."""
        size, w = np.ones(len(step)), self.w
        slack = 1e-12 * np.abs(objective)
        for _ in range(MOST_HALVINGS):
            self.w = w + size[:, None] * step
            there = self._sums(loss, self.w)
            found = there.value + self._penalties(penalty, self.w)
            is_longer = ~(found <= objective + 1e-4 * size * slope + slack)
            if not is_longer.any():
                break
            size = np.where(is_longer, 0.5 * size, size)
        return there, bool((size == 1.0).all())

    def _sums(self, loss: Loss, w: Array) -> Sums:
        scores = self.table @ w.T
        value = np.einsum("ij,ij->j", self.weights, loss.value(self.y, scores))
        return Sums(scores, value, (self.weights * loss.derivative(self.y, scores)).T @ self.table)

    def _hessians(self, loss: Loss, scores: Array | None) -> Array:
        """Return the Hessian of each fold's mean loss, shape (F, p, p).

        Without `scores` all have the curvatures at the mean of the models: a sum over all rows, less that of the fold.
        """
        if scores is not None:
            curvatures = self.weights * loss.curvature(self.y, scores)
            return np.stack([(self.table.T * each) @ self.table for each in curvatures.T])
        curvature = self.weight * loss.curvature(self.y[:, 0], self.table @ self.w.mean(axis=0))
        parts = np.stack([(self.table[rows].T * curvature[rows]) @ self.table[rows] for rows in self.slices])
        return np.asarray((parts.sum(axis=0) - parts[1:]) / self.totals[:, None, None])

    def _directions(self, hessians: Array, gradient: Array, penalty: ElasticNet) -> Array:
        p = self.table.shape[1]
        lam, kappa = penalty.lam_vector(p), penalty.kappa_vector(p)
        scale = np.einsum("ijj->i", hessians)[:, None] / p
        # A coordinate without penalty takes a finite step, even where there is no curvature.
        wanted = np.abs(gradient) / (1.0 + np.abs(self.w)) - np.einsum("ijj->ij", hessians)
        damping = np.where(penalty.is_free(p), np.maximum(wanted, 0.0), 0.0) + FLAT * np.where(scale > 0.0, scale, 1.0)
        matrices = hessians + damping[..., None] * np.eye(p)
        if penalty.kappa == 0.0:
            return np.asarray(-np.linalg.solve(matrices + np.diag(lam), (gradient + lam * self.w)[..., None])[..., 0])
        linear = np.einsum("ijk,ik->ij", matrices, self.w) - gradient
        found = [
            minimise_quadratic(matrix, each, lam, kappa, w)
            for matrix, each, w in zip(matrices, linear, self.w, strict=True)
        ]
        return np.stack(found) - self.w

    @staticmethod
    def _penalties(penalty: ElasticNet, w: Array) -> Array:
        p = w.shape[1]
        return 0.5 * w**2 @ penalty.lam_vector(p) + np.abs(w) @ penalty.kappa_vector(p)


def fold_numbers(classes: NDArray[np.intp] | None, n_rows: int, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each row, drawn at random: folds of equal size, with all classes in equal parts.

    A row that is the only one of its class is in no fold (-1): it is always trained on.
    """
    order, fold = np.random.default_rng(seed).permutation(n_rows), np.empty(n_rows, dtype=np.intp)
    if classes is None:
        fold[order] = np.arange(n_rows) % n_folds
        return fold
    order = order[np.argsort(classes[order], kind="stable")]
    is_alone = np.bincount(classes)[classes[order]] < 2
    fold[order] = np.where(is_alone, -1, (np.cumsum(~is_alone) - 1) % n_folds)
    return fold
