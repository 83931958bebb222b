"""Sets that hold the move v = w'' - w' of every completion's model: how far a score can move, ``|x.v|``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from ipub.model_sets.certificate import Certificate
from ipub.numeric.linalg import Inverse, roots_upper
from ipub.numeric.parallel import CACHED_NUMBERS, row_slices
from ipub.numeric.rounding import Array, dot_bounds, down, floats, overflow_means_unbounded, sum_upper, up
from ipub.rows import Block


class MoveSet(Protocol):
    """A set that holds v for every completion; its size does not grow with the training rows."""

    def max_score_move(self, X: Array) -> Array:
        """Bound ``|x.v|`` for each row x (s_i of Theorem 6)."""
        ...

    def max_score_move_in(self, block: Block) -> Array:
        """Bound ``|x.v|`` for the rows x of a block's center that have a weight."""
        return self.max_score_move(block.center)


@dataclass(frozen=True)
class NoMove(MoveSet):
    """The set that holds 0 alone."""

    def max_score_move(self, X: Array) -> Array:
        return np.zeros(len(X), like=X)


@dataclass(frozen=True)
class Ellipsoid(MoveSet):
    """The set ``v.M v <= radius^2``, with the inverse of M enclosed."""

    matrix: Array
    inverse: Inverse
    radius: float

    def max_score_move(self, X: Array) -> Array:
        return up(self.inverse.norm_upper(X) * self.radius)

    def max_score_move_in(self, block: Block) -> Array:
        # As `max_score_move`, with one bound of the rounding for all.
        return up(self.inverse.norm_upper(block.center, block.largest_cells) * self.radius)


@dataclass(frozen=True)
class FromCertificate(MoveSet):
    """What a certificate leaves of v; it must keep no training rows."""

    certificate: Certificate
    w: Array

    def max_score_move(self, X: Array) -> Array:
        bounds = self.certificate.score_bounds(X)
        low, high = dot_bounds(X, self.w)
        return np.maximum(up(bounds[:, 1] - low), up(high - bounds[:, 0]))


@dataclass(frozen=True)
class KnownRows(MoveSet):
    """What is known of ``x.v`` for single rows x, and for the unit vectors; nothing of any other row.

    Attributes
    ----------
    moves : mapping
        The bound of ``|x.v|`` for the bytes of a row x.
    """

    moves: Mapping[bytes, float]

    @classmethod
    def of(cls, rows: Array, w: Array, lower: Array, upper: Array) -> KnownRows:
        """Know the moves of rows whose scores under all models are in [lower, upper]."""
        low, high = dot_bounds(rows, w)
        moves = np.maximum(up(upper - low), up(high - lower))
        return cls({(row + 0.0).tobytes(): float(move) for row, move in zip(rows, moves, strict=True)})

    def max_score_move(self, X: Array) -> Array:
        return np.array([self.moves.get((row + 0.0).tobytes(), np.inf) for row in np.asarray(X)])

    def max_score_move_in(self, block: Block) -> Array:
        # Of a row without weight nothing is known, and nothing needed: 0 times infinity would be NaN.
        return np.where(block.weight > 0.0, self.max_score_move(block.center), 0.0)


@dataclass(frozen=True)
class Intersection(MoveSet):
    """What several sets have in common."""

    parts: tuple[MoveSet, ...]

    def max_score_move(self, X: Array) -> Array:
        # fmin passes over a NaN: each part bounds by itself.
        return reduce(np.fmin, (part.max_score_move(X) for part in self.parts))

    def max_score_move_in(self, block: Block) -> Array:
        return reduce(np.fmin, (part.max_score_move_in(block) for part in self.parts))


@dataclass(frozen=True)
class FlippedRows:
    """Rows z of which at most `count`, whichever, add a term between 0 and ``z.u`` to u.g: those of wrong labels.

    Attributes
    ----------
    rows : array of shape (n, n_features)
        ``z_i = m_i delta_i y_i x_i`` of section 13.
    count : int
        k of section 13.
    """

    rows: Array
    count: int

    def ends(self, U: Array) -> tuple[Array, Array]:
        """Bound what wrong labels take from and add to u.g: the most that so many rows can (Lemma 14 (a))."""
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
class ProvedMoves:
    """What was proved of v before Theorem 6: ``|v_j| <= limits_j``, and ``v.L v <= radius^2`` if L is known.

    Attributes
    ----------
    limits : array of shape (n_features,)
        f_j of Theorem 6.
    ellipsoid : Inverse or None
        The inverse of L.
    radius : float
    """

    limits: Array
    ellipsoid: Inverse | None
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
    """Bounds of ``|(x - A u).v|``, u the floats of ``x B``: what an inverse that is not exact leaves (F9).

    Attributes
    ----------
    factors : array of shape (n_features,)
        q of F9: the bound is ``|x|.q`` plus
    least : float
        what underflows in u.
    """

    factors: Array
    least: float

    def upper(self, sizes: Array) -> Array:
        """Bound it for rows of sizes ``|x|``."""
        return up(sum_upper(sizes @ self.factors, sizes.shape[1] + 1) + self.least)


@dataclass(frozen=True)
class LinearizedMoves(MoveSet):
    """The set of moves that Theorem 6 leaves, with all that is not of first order as one form (`joint_form`).

    Attributes
    ----------
    inverse : array of shape (n_features, n_features)
        About the inverse of the curvature A.
    gradient : array of shape (n_features,)
        The middle of g.
    slack : array of shape (n_features,)
        What is bounded coordinate by coordinate.
    form : array of shape (n_features, n_features)
        What is bounded by ``sqrt(u.Q u)``.
    proved : ProvedMoves
    inverse_error : InverseError
    flipped : FlippedRows or None
        Rows of wrong labels; as many as `SlopeBounds.MOST_FLIP_ROWS` at most.
    """

    inverse: Array
    gradient: Array
    slack: Array
    form: Array
    proved: ProvedMoves
    inverse_error: InverseError
    flipped: FlippedRows | None

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
