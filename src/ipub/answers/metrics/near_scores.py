"""Scores near which lines are close to what rows count for; any are sound, good ones give narrow bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.answers.metrics.metric import Metric, Near
from ipub.answers.metrics.retrained import RetrainedScores
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

SHARES = (0.0, 0.25, 0.5)
"""How far scores go from those of the model that predicts to the ends of their intervals that suit the metric."""
BEYOND = (1.0, 2.5)
"""How far they go from there towards, or beyond, those of the filling that moves the metric most."""


@dataclass(frozen=True, eq=False)
class NearScores:
    """Scores of all rows that may be near the extremes of a metric."""

    scores: Array
    """Of the model that predicts, shape (m,)."""
    low: Array
    high: Array
    """Bounds of them."""
    y: Array
    retrained: RetrainedScores | None
    """Scores of models that were trained on fillings."""

    @property
    def witnesses(self) -> Array:
        """Scores of all rows that occur together, or nearly so, shape (n, m)."""
        known = self.scores[None]
        return known if self.retrained is None else np.vstack([known, self.retrained.low, self.retrained.high])

    def __call__(self, metric: Metric, rows: Indices, side: float) -> list[Array]:
        """Return scores of some rows near the greatest (side 1) or least (-1) value of a metric of them."""
        low, high, y = self.low[rows], self.high[rows], self.y[rows]
        start = np.clip(self.scores[rows], low, high)
        widths = np.where(np.isfinite(low), high - low, 0.0)
        near = Near(start, low, high, float(np.median(widths)) or 1.0)
        towards = 0.5 * side * widths * np.sign(metric.slopes(near, y))
        found = [start + share * towards for share in SHARES]
        if self.retrained is not None:
            values = np.mean(self.retrained.ends(metric, rows), axis=0)
            best = int(np.argmax(side * values))
            end = 0.5 * (self.retrained.low + self.retrained.high)[best, rows]
            found += [start + by * (end - start) for by in BEYOND]
        return [np.clip(each, low, high) for each in found]
