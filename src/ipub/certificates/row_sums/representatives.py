"""A few directions that stand for all of a table: ranges of these and of the weights bound the others (Lemma 29).

For a direction y near a representative r, ``y.w = r.w + (y - r).w``, and the ranges of the weights bound the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.row_sums.table import RowTable
from ipub.numeric.rounding import EPS, UNDERFLOW, Array, down, up
from ipub.tables.interval_matrix import Indices

MOST_INFLATED = 1.6
"""How much wider than its own range that of any row may be: width against time. On tables of 150 x 4, no limit changed
bounds by less than 0.5 %."""

OF_INCOMPLETE = 4.0
"""How much more the range of an incomplete row counts than that of a complete one, which enters by its square alone:
width against time. On the same tables, 1 gave bounds 1 % narrower to 1 % wider."""

MOST_REPRESENTATIVES = 0.7
"""Representatives are used if they are at most this fraction of all directions: it protects from choosing for longer
than they save."""


@dataclass(frozen=True, eq=False)
class Representatives:
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
    def choose(cls, table: RowTable, change: Array, inflation: float) -> Representatives:
        """Choose them, given how far all directions, then their opposites, move to first order.

        The direction whose range loses most is added until the mean loss is small: ranges of complete rows enter the
        bounds of others by their squares, each with the weight of its rows.

        Parameters
        ----------
        table : RowTable
        change : array of shape (2 n_directions,)
        inflation : float
            By how much the squares of ranges may be larger than those of own ones, as a mean over all rows.
        """
        Y, n = table.directions, len(table.directions)
        width = change[:n] + change[n:]
        of_complete = np.bincount(table.complete_at, table.complete_weight, minlength=n)
        of_incomplete = np.bincount(table.incomplete_at, table.incomplete_weight, minlength=n)
        importance = (of_complete + OF_INCOMPLETE * of_incomplete) * width**2
        of_weights, chosen = width[table.weights_at], list(dict.fromkeys(table.weights_at.tolist()))
        least, of = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
        enough, added = inflation * importance.sum(), 0
        while True:
            for number in range(added, len(chosen)):
                r = chosen[number]
                inflated = (width[r] + np.abs(Y - Y[r]) @ of_weights) / width
                inflated[r] = 1.0
                is_less = inflated < least
                least[is_less], of[is_less] = inflated[is_less], number
            added, loss = len(chosen), importance * (least**2 - 1.0)
            too_wide = least > MOST_INFLATED
            if loss.sum() <= enough and not too_wide.any():
                break
            if len(chosen) > MOST_REPRESENTATIVES * n:
                return cls.all_of(table)
            chosen.append(int((loss if loss.sum() > enough else least).argmax()))
        return cls._of(table, np.array(chosen), of)

    @classmethod
    def all_of(cls, table: RowTable) -> Representatives:
        """Let every direction stand for itself alone."""
        everything = np.arange(len(table.directions))
        return cls._of(table, everything, everything)

    @classmethod
    def _of(cls, table: RowTable, index: Indices, of: Indices) -> Representatives:
        Y, place = table.directions, np.full(len(table.directions), -1)
        place[index] = np.arange(len(index))
        of = np.where(place >= 0, place, of)
        difference, size = Y - Y[index[of]], np.abs(Y) + np.abs(Y[index[of]])
        difference[index], size[index] = 0.0, 0.0
        return cls(index, of, place[table.weights_at], np.maximum(difference, 0.0), np.maximum(-difference, 0.0), size)

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
