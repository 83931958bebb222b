"""Undecided signs of an l1 penalty, case by case (Theorem 19): a weight is positive, zero or negative.

A line through the jump of a sign bounds all cases at once, and is wide. In each case by itself the sign is one number,
or the weight is zero and its own equation is not needed. Every completion's model is in one of the cases, so the widest
of their bounds holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.data.interval_matrix import Indices
from ipub.rounding import Array, down, sum_error, up

MOST_SPLIT = 3
"""Weights that are split into cases for each row, those whose lines widen its bounds most: 27 cases, bounded by 8
directions, so a row takes up to 9 times as long as without them."""


class _Split(NamedTuple):
    """The weights that are split for each row, and what is known of them: arrays of shape (n_rows, n_split)."""

    columns: Indices
    kappa: Array
    slope: Array
    middle: Array
    spread: Array
    moves: Array
    """Ends of ``v_j`` in the cases *positive*, *zero*, *negative*: shape (n_rows, n_split, 3, 2)."""
    signs: Array
    """Ends of ``s''_j``."""
    is_possible: NDArray[np.bool_]
    """Whether a model may be in the case: shape (n_rows, n_split, 3)."""


class _Ends(NamedTuple):
    """Bounds of ``-x.v`` for each row and each case of all split weights: arrays of shape (n_rows, n_cases)."""

    low: Array
    high: Array


@dataclass(frozen=True)
class SignCases:
    """The weights whose signs are not decided in the lines of some bounds.

    Attributes
    ----------
    columns : array of shape (n_undecided,)
    kappa : array of shape (n_undecided,)
    lower, upper : arrays of shape (n_undecided,)
        Bounds of the subgradient ``s''_j`` over all completions, which may be narrower than those of the lines.
    slope, middle, spread : arrays of shape (n_undecided,)
        The lines that the bounds have in their curvature, gradient and slack (`L1Line`).
    """

    columns: Indices
    kappa: Array
    lower: Array
    upper: Array
    slope: Array
    middle: Array
    spread: Array

    @property
    def n_directions(self) -> int:
        """How many directions are bounded for each row."""
        return 1 << min(MOST_SPLIT, len(self.columns))

    def ends(
        self,
        X: Array,
        inverse: Array,
        w: Array,
        move_limits: Array,
        forces: Callable[[Array, Array], tuple[Array, Array]],
    ) -> tuple[Array, Array]:
        """Bound ``-x.v`` for each row of X (Theorem 19).

        Parameters
        ----------
        X : array of shape (m, n_features)
        inverse : array of shape (n_features, n_features)
            About the inverse of the curvature; any will do.
        w, move_limits : arrays of shape (n_features,)
            w', and f_j of Theorem 6.
        forces : callable
            Bounds ``-y.v`` for rows Y by directions ``U``, by Theorem 6 with the lines of all signs.
        """
        U = X @ inverse
        split = self._split(U, w, move_limits)
        rows = np.arange(len(X))[:, None]
        best = None
        for is_zero in itertools.product((False, True), repeat=split.columns.shape[1]):
            Y = X.copy()
            Y[rows, split.columns] += _multipliers(split, U, inverse, np.array(is_zero))
            along = Y @ inverse
            low, high = forces(Y, along)
            shift = (Y - X)[rows, split.columns]
            found = _by_case(split, along[rows, split.columns], shift, low, high)
            # Each direction bounds by itself, so a NaN is passed over.
            best = found if best is None else _Ends(np.fmax(best.low, found.low), np.fmin(best.high, found.high))
        assert best is not None
        return best.low.min(axis=1), best.high.max(axis=1)

    def _split(self, U: Array, w: Array, move_limits: Array) -> _Split:
        """Choose for each row the weights whose lines widen its bounds most."""
        count = min(MOST_SPLIT, len(self.columns))
        order = np.argsort(-self.spread * np.abs(U[:, self.columns]), axis=1, kind="stable")[:, :count]
        columns = self.columns[order]
        lower, upper = self.lower[order], self.upper[order]
        one, kink, limit = np.ones(order.shape), -w[columns], move_limits[columns]
        moves = [(kink, np.maximum(limit, kink)), (kink, kink), (np.minimum(-limit, kink), kink)]
        signs = [(one, one), (lower, upper), (-one, -one)]
        return _Split(
            columns=columns,
            kappa=self.kappa[order],
            slope=self.slope[order],
            middle=self.middle[order],
            spread=self.spread[order],
            moves=_stacked(moves),
            signs=_stacked(signs),
            is_possible=np.stack([upper >= 1.0, np.full(order.shape, True), lower <= -1.0], axis=-1),
        )


def _stacked(ends: list[tuple[Array, Array]]) -> Array:
    """Return the two ends in each of three cases as an array of shape (n_rows, n_split, 3, 2)."""
    return np.stack([np.stack(pair, axis=-1) for pair in ends], axis=2)


def _multipliers(split: _Split, U: Array, inverse: Array, is_zero: NDArray[np.bool_]) -> Array:
    """Return what is added to the split coordinates of each row; any numbers are valid (Theorem 19).

    Such that u vanishes at weights that are taken to be zero, which leaves out their equations, and that the slope of
    the line is taken out at the others. Zeros if there are no such numbers.
    """
    pairs = inverse[split.columns[:, :, None], split.columns[:, None, :]]
    along = np.take_along_axis(U, split.columns, axis=1)
    slope = split.slope
    matrix = np.where(is_zero[None, :, None], pairs, np.eye(len(is_zero)) - slope[:, :, None] * pairs)
    target = np.where(is_zero, -along, slope * along)
    try:
        return np.asarray(np.linalg.solve(matrix, target[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.zeros_like(along)


def _by_case(split: _Split, u: Array, shift: Array, low: Array, high: Array) -> _Ends:
    """Bound ``-x.v`` in each case by a direction u, of which ``-y.v`` is bounded with lines for all signs (F9)."""
    size = np.abs(u)
    factor = (shift - split.slope * u)[:, :, None, None]
    terms = (split.kappa * u)[:, :, None, None] * split.signs + factor * split.moves
    fixed, spread = (split.middle * u)[:, :, None, None], (split.spread * size)[:, :, None, None]
    least, most = (terms - fixed + spread).min(axis=-1), (terms - fixed - spread).max(axis=-1)
    largest_move = np.abs(split.moves).max(axis=(2, 3))
    parts = (split.kappa + np.abs(split.middle) + split.spread) * size
    parts = parts + (np.abs(shift) + split.slope * size) * largest_move
    n_split = u.shape[1]
    error = sum_error(parts.sum(axis=1), n_split + 16)[:, None]
    cases, weights = np.array(list(itertools.product(range(3), repeat=n_split))), np.arange(n_split)
    below = down(down(low[:, None] + least[:, weights, cases].sum(axis=2)) - error)
    above = up(up(high[:, None] + most[:, weights, cases].sum(axis=2)) + error)
    is_possible = split.is_possible[:, weights, cases].all(axis=2)
    return _Ends(np.where(is_possible, below, np.inf), np.where(is_possible, above, -np.inf))
