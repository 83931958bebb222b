"""Ways to bound a metric of a group of rows, and differences and ratios of two groups; the narrowest is taken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ipub.answers.metrics.metric import Ends, Metric
from ipub.numeric.rounding import Array, down, up
from ipub.tables.interval_matrix import Indices


class Way(ABC):
    """One way to bound metrics over all completions."""

    @abstractmethod
    def of_group(self, metric: Metric, rows: Indices) -> Ends:
        """Bound a metric of some rows."""

    def of_difference(self, metric: Metric, first: Indices, second: Indices) -> Ends:
        """Bound the metric of the first rows less that of the second."""
        one, other = self.of_group(metric, first), self.of_group(metric, second)
        return Ends(down(one.lower - other.upper), up(one.upper - other.lower))

    def of_ratio(self, metric: Metric, first: Indices, second: Indices) -> Ends:
        """Bound a rate of the first rows over that of the second."""
        one, other = self.of_group(metric, first), self.of_group(metric, second)
        lower = max(down(one.lower / other.upper), 0.0) if other.upper > 0.0 else 0.0
        return Ends(lower, up(one.upper / other.lower) if other.lower > 0.0 else np.inf)


@dataclass(frozen=True)
class InBoxes(Way):
    """Rows that move independently of each other, each score in its interval (lem-row-by-row)."""

    low: Array
    """Shape (m,), or (m, n_classes)."""
    high: Array
    y: Array

    def of_group(self, metric: Metric, rows: Indices) -> Ends:
        lower, upper = metric.ends(self.low[None, rows], self.high[None, rows], self.y[rows])
        return Ends(float(lower[0]), float(upper[0]))
