"""A few directions that stand for all of a table: ranges of these and of the weights bound the others (Lemma 29).

For a direction y near a representative r, ``y.w = r.w + (y - r).w``, and the ranges of the weights bound the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.table import RowTable
from ipub.data.interval_matrix import Indices
from ipub.rounding import EPS, UNDERFLOW, Array, down, up

MOST_INFLATED = 1.1
"""How much wider than its own range that of a direction may be, to first order: width against time."""

WORTHWHILE = 0.6
"""Representatives are used if they are at most this share of all directions."""


class Representatives(NamedTuple):
    """Directions that stand for others.

    Attributes
    ----------
    index : array of shape (n_representatives,)
        Which directions of the table they are; all weights are among them.
    of : array of shape (n_directions,)
        The representative of each direction, as a position in `index`.
    weights_at : array of shape (d,)
        Which of them each weight is.
    positive, negative : arrays of shape (n_directions, d)
        The parts of ``y - r`` above 0, and below 0.
    size : array of shape (n_directions, d)
        ``|y| + |r|``; 0 for representatives.
    """

    index: Indices
    of: Indices
    weights_at: Indices
    positive: Array
    negative: Array
    size: Array

    @classmethod
    def choose(cls, table: RowTable, change: Array) -> Representatives:
        """Choose them, given how far all directions, then their opposites, move to first order."""
        Y, n = table.directions, len(table.directions)
        width = change[:n] + change[n:]
        of_weights, chosen = width[table.weights_at], list(dict.fromkeys(table.weights_at.tolist()))
        least, of = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
        while True:
            for number in range(len(chosen)) if np.isinf(least[0]) else (len(chosen) - 1,):
                r = chosen[number]
                inflated = (width[r] + np.abs(Y - Y[r]) @ of_weights) / width
                inflated[r] = 1.0
                is_less = inflated < least
                least[is_less], of[is_less] = inflated[is_less], number
            if not least.max() > MOST_INFLATED:
                break
            if len(chosen) > WORTHWHILE * n:
                chosen, of = list(range(n)), np.arange(n)
                break
            chosen.append(int(least.argmax()))
        index, place = np.array(chosen), np.full(n, -1)
        place[index] = np.arange(len(index))
        of = np.where(place >= 0, place, of)
        difference, size = Y - Y[index[of]], np.abs(Y) + np.abs(Y[index[of]])
        difference[index], size[index] = 0.0, 0.0
        return cls(
            index, of, place[table.weights_at], np.maximum(difference, 0.0), np.maximum(-difference, 0.0), size
        )

    def spread(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return ranges of all directions, given those of the representatives, rounded outward."""
        if len(self.index) == len(self.of):
            order = np.argsort(self.index)
            return lower[order], upper[order]
        low, high = lower[self.weights_at], upper[self.weights_at]
        error = (2 * len(low) + 16) * EPS * (self.size @ np.maximum(np.abs(low), np.abs(high))) + UNDERFLOW
        below, above = self.positive @ low - self.negative @ high, self.positive @ high - self.negative @ low
        all_lower = down(down(lower[self.of] + below) - error)
        all_upper = up(up(upper[self.of] + above) + error)
        all_lower[self.index], all_upper[self.index] = lower, upper
        return all_lower, all_upper
