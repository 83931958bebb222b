"""Moves that the slope theorem leaves, and what it is made of (thm-slopes)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.model_sets.move_sets import MoveSet
from ipub.numeric.linalg import Inverse, roots_upper
from ipub.numeric.parallel import CACHED_NUMBERS, row_slices
from ipub.numeric.rounding import Array, dot_bounds, down, floats, overflow_means_unbounded, sum_upper, up


@dataclass(frozen=True)
class WrongLabelMoves:
    """Rows z of which at most `count`, whichever, add a term between 0 and ``z.u`` to u.g: those of wrong labels."""

    rows: Array
    """Shape (n, n_features): ``m_i delta_i y_i x_i``, what a flip adds to the gradient (sec-wrong-labels)."""
    count: int
    """How many labels may be wrong."""

    def ends(self, U: Array) -> tuple[Array, Array]:
        """Bound what wrong labels take from and add to u.g: the most that so many rows can (lem-wrong-labels)."""
        n, count, ends = len(self.rows), min(self.count, len(self.rows)), np.zeros((2, len(U)))
        for chunk in row_slices(len(U), n, CACHED_NUMBERS):
            products = U[chunk] @ self.rows.T
            if 0 < count < n:
                products.partition((count - 1, n - count), axis=1)
            lowest, highest = products[:, :count], products[:, n - count :]
            # A NaN is put last: both ends then have one, or none.
            lost = np.isnan(highest).any(axis=1)
            below, above = np.maximum(-lowest, 0.0).sum(axis=1), np.maximum(highest, 0.0).sum(axis=1)
            ends[:, chunk] = np.where(lost, np.nan, sum_upper(np.array([below, above]), count + 2))
        return ends[0], ends[1]


@dataclass(frozen=True)
class ProvedMoves(MoveSet):
    """What was proved of v before thm-slopes: ``|v_j| <= limits_j``, and ``v.L v <= radius^2`` if L is known."""

    limits: Array
    """Shape (n_features,): bounds of ``|v_j|`` (thm-slopes)."""
    ellipsoid: Inverse | None
    """The inverse of L."""
    radius: float

    def max_score_move(self, X: Array) -> Array:
        """Bound ``|x.v|`` for each row x."""
        largest = sum_upper(np.abs(X) @ self.limits, X.shape[1] + 1)
        if self.ellipsoid is None:
            return largest
        # fmin passes over a NaN: each bounds by itself.
        return np.fmin(largest, up(self.ellipsoid.norm_upper(X) * self.radius))


@dataclass(frozen=True)
class InverseError:
    """Bounds of ``|(x - A u).v|``, u the floats of ``x B``: what an inverse that is not exact leaves (fp-slopes)."""

    factors: Array
    """Shape (n_features,): (fp-slopes) the bound is ``|x|.q`` plus `least`."""
    least: float
    """What underflows in u."""

    def upper(self, sizes: Array) -> Array:
        """Bound it for rows of sizes ``|x|``."""
        return up(sum_upper(sizes @ self.factors, sizes.shape[1] + 1) + self.least)


@dataclass(frozen=True)
class LinearizedMoves(MoveSet):
    """The set of moves that thm-slopes leaves, with all that is not of first order as one form (`joint_form`)."""

    inverse: Array
    """Shape (n_features, n_features): about the inverse of the curvature A."""
    gradient: Array
    """Shape (n_features,): the middle of g."""
    slack: Array
    """Shape (n_features,): what is bounded coordinate by coordinate."""
    form: Array
    """Shape (n_features, n_features): what is bounded by ``sqrt(u.Q u)``."""
    proved: ProvedMoves
    inverse_error: InverseError
    flipped: WrongLabelMoves | None
    """Rows of wrong labels; as many as `MOST_WRONG_LABEL_ROWS` of `slopes/bounds.py` at most."""

    def max_score_move(self, X: Array) -> Array:
        X = floats(X)
        with overflow_means_unbounded():
            U, size = X @ self.inverse, np.abs(X)
            low, high = dot_bounds(U, self.gradient)
            if self.flipped is not None:
                below, above = self.flipped.ends(U)
                low, high = down(low - below), up(high + above)
            half = up(sum_upper(np.abs(U) @ self.slack, X.shape[1] + 1) + roots_upper(self.form[None], U))
            half = up(half + self.inverse_error.upper(size))
            linear = up(np.maximum(np.abs(low), np.abs(high)) + half)
            return np.fmin(self.proved.max_score_move(X), linear)
