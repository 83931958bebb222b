"""The area under the ROC curve: the share of pairs of a row of each class that are in the right order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.answers.metrics.lines import KnownScores, Lines, above_step, below_step
from ipub.answers.metrics.metric import Metric, Near, quotient_range
from ipub.errors import IpubError
from ipub.numeric.rounding import Array, sum_error
from ipub.tables.interval_matrix import Indices

MOST_PAIRED = 1500
"""Rows of each class of which pairs are looked at to see how the area changes, at most."""

MOST_LINES = 4_000_000
"""Pairs of which each has a line, at most: with more the bounds of the scores alone are compared."""


@dataclass(frozen=True)
class AreaUnderCurve(Metric):
    """Share of the pairs of a row of each class in which that of the second class has the higher score.

    Ties count half. A pair counts ``h(s - t)``, with h(d) = 0 for d < 0, 1/2 for d = 0 and 1 for d > 0, which does not
    fall: so the least value is where all rows of the second class have their least scores, and all others their
    greatest.
    """

    @property
    def is_rate(self) -> bool:
        return True

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        positive, shape = y == 1.0, low.shape[:-1]
        low, high = low.reshape(-1, len(y)), high.reshape(-1, len(y))
        pairs = 2.0 * float(positive.sum()) * float((~positive).sum())
        least, most = (
            np.array([wins(a, b) for a, b in zip(first[:, positive], second[:, ~positive], strict=True)])
            for first, second in ((low, high), (high, low))
        )
        return quotient_range(least, pairs)[0].reshape(shape), quotient_range(most, pairs)[1].reshape(shape)

    def lines(self, known: KnownScores, side: float) -> Lines | None:
        above, below = (np.flatnonzero(known.y == label) for label in (1.0, 0.0))
        n_pairs = len(above) * len(below)
        if n_pairs > MOST_LINES:
            return None
        low, high = known.differences(above, below)
        at = known.at[above, None] - known.at[None, below]
        offsets, steps = above_step(low, high, at) if side > 0.0 else below_step(low, high, at)
        slopes, error = np.zeros_like(known.low), np.zeros_like(known.low)
        for rows, sums, n in ((above, steps.sum(axis=1), len(below)), (below, -steps.sum(axis=0), len(above))):
            slopes[rows], error[rows] = sums, np.where(sums == 0.0, 0.0, sum_error(np.abs(sums), n))
        return Lines(float(offsets.sum()), slopes, error, float(n_pairs), 0.5)

    def slopes(self, near: Near, y: Array) -> Array:
        found = np.zeros(len(y))
        above, below = (_some(np.flatnonzero(y == label)) for label in (1.0, 0.0))
        distance = near.scores[above, None] - near.scores[None, below]
        is_open = (near.low[above, None] <= near.high[None, below]) & (near.high[above, None] >= near.low[None, below])
        pull = np.where(is_open, near.step(distance), 0.0)
        found[above], found[below] = pull.sum(axis=1), -pull.sum(axis=0)
        return found

    def undefined(self, y: Array) -> str:
        return "" if (y == 1.0).any() and (y == 0.0).any() else "all rows are of one class"

    def check(self, y: Array) -> None:
        unknown = np.flatnonzero(np.isnan(y))
        if len(unknown):
            raise IpubError(
                "{name} needs all labels, and y has none in {row}: drop these rows, or leave {name} out.",
                name=self.name,
                row=int(unknown[0]),
            )


def _some(rows: Indices) -> Indices:
    """Return rows evenly among these, at most `MOST_PAIRED`."""
    return rows[:: -(-len(rows) // MOST_PAIRED) or 1]


def wins(above: Array, below: Array) -> float:
    """Return twice the number of pairs in which the first is greater, and once that of ties."""
    ordered = np.sort(below)
    return float(np.searchsorted(ordered, above, "left").sum() + np.searchsorted(ordered, above, "right").sum())
