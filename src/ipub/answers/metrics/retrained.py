"""What metrics are of models that were trained on fillings: ranges that are attained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ipub.answers.attained import RETRAINING_ERROR
from ipub.answers.metrics.metric import Ends, Metric
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices
from ipub.training.training import ExtendedRows


@dataclass(frozen=True, eq=False)
class RetrainedScores:
    """Scores of rows under models that were trained on fillings; rows with missing values have a range of their own."""

    low: Array
    """Shape (n_models, m), or (n_models, m, n_classes)."""
    high: Array
    y: Array
    which: Indices
    """Shape (n_models,): their positions among the models that were given, some of which have no scores."""

    @classmethod
    def of(cls, rows: ExtendedRows, models: Array, y: Array) -> RetrainedScores:
        """Evaluate models, of shape (n_models, n_classes, d), or (n_models, 1, d).

        Missing values of rows take any place, each model its own. With more than two classes, whose scores a filling of
        a row moves together, they stay in the middle, and categories at their first level.
        """
        which = np.flatnonzero(np.isfinite(models).all(axis=(1, 2)))
        models = models[which]
        if models.shape[1] > 1:
            center = rows.center.copy()
            rows.missing_categories.put(center, np.zeros(len(rows.missing_categories), dtype=np.intp))
            scores = np.array([center @ each.T for each in models]).reshape(len(models), len(y), -1)
            top = np.sort(scores, axis=2)[..., -2:]
            is_clear = (top[..., 1] - top[..., 0] > 2.0 * _slack(top[..., 1])).all(axis=1)
            return cls(scores[is_clear], scores[is_clear], y, which[is_clear])
        ends = [_extremes(rows, model[0], side) for side in (-1.0, 1.0) for model in models]
        low, high = np.array(ends).reshape(2, len(models), len(y))
        return cls(low, high, y, which)

    def __len__(self) -> int:
        return len(self.low)

    def ends(self, metric: Metric, rows: Indices) -> tuple[Array, Array]:
        """Return between which values the metric of some rows is for each model, shape (n_models,): all are attained.

        A score so near 0, or another one, that an error of training may decide counts as what changes the range least.
        """
        low, high = self.low[:, rows], self.high[:, rows]
        if metric.is_rate and low.ndim == 2:
            low, high = low + _slack(low), high - _slack(high)
        elif metric.is_rate:
            low = high = np.asarray(low == low.max(axis=2, keepdims=True), dtype=float)
        return metric.ends(low, high, self.y[rows])

    def of_group(self, metric: Metric, rows: Indices) -> Ends:
        """Return the least and greatest value over the models."""
        lower, upper = self.ends(metric, rows)
        return Ends(float(lower.min()), float(upper.max()))

    def between_groups(
        self,
        metric: Metric,
        groups: Sequence[Indices],
        of_values: Callable[[Sequence[float]], float],
    ) -> Ends:
        """Return the range of a difference or ratio between groups, of the values that one model gives them."""
        both = np.array([self.ends(metric, rows) for rows in groups])  # (n_groups, 2, n_models)
        found = []
        for lower, upper in both.transpose(2, 1, 0):
            found += [of_values(lower), of_values(upper)]
            for first, second in permutations(range(len(groups)), 2):
                mixed = 0.5 * (lower + upper)
                mixed[first], mixed[second] = lower[first], upper[second]
                if (lower == upper).sum() >= len(groups) - 2:  # else the middle of another group may be no value of it
                    found.append(of_values(mixed))
        return Ends(min(found), max(found))


def _slack(scores: Array) -> Array:
    return RETRAINING_ERROR * (1.0 + np.abs(scores))


def _extremes(rows: ExtendedRows, model: Array, side: float) -> Array:
    """Return the lowest (-1) or highest (1) score of each row over its own missing values."""
    center, (in_row, columns, radii), missing = rows
    if len(missing):
        center = center.copy()
        chosen = np.zeros(len(missing), dtype=np.intp)
        for which, levels in missing.by_category():
            chosen[which] = np.argmax(side * model[levels.columns])
        missing.put(center, chosen)
    moved = np.bincount(in_row, radii * np.abs(model[columns]), minlength=len(center))
    return np.asarray(center @ model + side * moved)
