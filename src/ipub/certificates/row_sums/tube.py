"""A tube of models (Theorem 17): ranges that depend on one weight, and that no path of models leaves.

Where most uncertain cells are in one column, models lie along a curve: as the weight of that column moves, all scores
move with it. Ranges over the whole curve are wide, and do not prove themselves. Ranges that follow it, in pieces, may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.upper import REFINEMENTS, largest_scores
from ipub.rounding import EPS, UNDERFLOW, Array, dot_bounds, up


class Reached(NamedTuple):
    """Bounds of ``y.w''`` at each knot, for models in the pieces beside it; both of shape (n_knots, k)."""

    lower: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class Tube:
    """Ranges of all directions of a table that change with one weight, linearly from knot to knot.

    Attributes
    ----------
    ranges : Ranges
        Of the same table; their ends are not used.
    column : int
        The column of that weight.
    knots : array of shape (n_knots,)
        Values of the weight, rising; that of w is one of them, and neither the first nor the last.
    lower, upper : arrays of shape (n_knots, n_directions)
        The ranges at each knot.
    factors : array of shape (n_directions,)
        Multiples of the weight that are added to each direction when it is bounded: any serve.
    """

    ranges: Ranges
    column: int
    knots: Array
    lower: Array
    upper: Array
    factors: Array

    def pieces(self) -> Iterator[tuple[int, Ranges]]:
        """Yield the number of each piece, from one knot to the next, and the ranges of all models in it."""
        for k, (low, high) in enumerate(zip(self.knots[:-1], self.knots[1:], strict=True)):
            lower = np.minimum(self.lower[k], self.lower[k + 1])
            upper = np.maximum(self.upper[k], self.upper[k + 1])
            yield k, self._with_weight(lower, upper, low, high)

    def at_knot(self, k: int) -> Ranges:
        """Return the ranges of models whose weight is that of a knot."""
        return self._with_weight(self.lower[k].copy(), self.upper[k].copy(), self.knots[k], self.knots[k])

    def _with_weight(self, lower: Array, upper: Array, least: float, most: float) -> Ranges:
        own = self.ranges.table.weights_at[self.column]
        lower[own], upper[own] = least, most
        return self.ranges.with_ends(lower, upper)

    def reached(self, Y: Array, factors: Array) -> Reached:
        """Bound ``y.w''`` from both sides for models in the tube, by row sums over each piece."""
        shape = len(self.knots), len(Y)
        found, both = Reached(np.full(shape, np.inf), np.full(shape, -np.inf)), np.concatenate([Y, -Y])
        for k, piece in self.pieces():
            bounds = _largest_at(piece, both, self.column, np.concatenate([factors, -factors]), self.knots[k : k + 2])
            for knot, bound in zip((k, k + 1), bounds, strict=True):
                np.maximum(found.upper[knot], bound[: len(Y)], out=found.upper[knot])
                np.minimum(found.lower[knot], -bound[len(Y) :], out=found.lower[knot])
        return found

    def no_model_at_end(self, k: int, side: int, reserve: float = 0.0) -> bool:
        """Whether row sums over the ranges at a knot, where the tube ends on one side, leave no model there.

        With a reserve they must not even come so near to it.
        """
        t = np.zeros((1, len(self.ranges.table.w)))
        t[0, self.column] = side
        return bool(largest_scores(self.at_knot(k), t, len(REFINEMENTS))[0] < side * self.knots[k] - reserve)

    def is_closed(self, found: Reached) -> bool:
        """Whether the tube holds the models of all completions, given what row sums reach of all its directions."""
        table = self.ranges.table
        is_inside = (found.upper < self.upper) & (found.lower > self.lower)
        is_inside[:, table.weights_at[self.column]] = True  # that of the weight itself: the two ends of the tube
        at_w = np.flatnonzero(self.knots[1:-1] == table.w[self.column]) + 1
        is_rising = bool((np.diff(self.knots) > 0.0).all())
        if not (is_rising and table.is_coercive and self.ranges.on_path and is_inside.all() and len(at_w)):
            return False
        low, high = dot_bounds(table.directions, table.w)
        holds_w = (self.lower[at_w[0]] < low) & (high < self.upper[at_w[0]])
        holds_w[table.weights_at[self.column]] = True
        return bool(holds_w.all()) and self.no_model_at_end(0, -1) and self.no_model_at_end(-1, 1)

    def hull(self) -> Ranges:
        """Return the ranges of all models in the tube, wherever along it they are."""
        return self._with_weight(self.lower.min(axis=0), self.upper.max(axis=0), self.knots[0], self.knots[-1])

    def within(self, found: Reached) -> Tube:
        """Return the tube that ends where the row sums of this one, which is closed, reach.

        The ends must be theirs at all knots: between two knots, the smaller of two ends at each would bound nothing.
        """
        return replace(self, lower=found.lower, upper=found.upper)


def _largest_at(piece: Ranges, Y: Array, column: int, factors: Array, values: Array) -> Array:
    """Bound ``y.w''`` from above for models of a piece where the weight is at each of two values; shape (2, k).

    It is ``U(y + f t) - f c`` for any f, t the unit vector of the weight and c its value: between two values a bound is
    between the bounds there (Theorem 17).
    """
    moved = Y.copy()
    moved[:, column] += factors
    taken = factors * values[:, None]
    # What rounding does to a direction meets the weight, whose size is known.
    error = (np.abs(Y[:, column]) + np.abs(factors)) * piece.weight_size[column] + np.abs(taken)
    return up(up(largest_scores(piece, moved) - taken) + 4.0 * EPS * error + UNDERFLOW)
