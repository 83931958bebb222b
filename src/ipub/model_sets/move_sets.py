"""Sets that hold the move v = w'' - w' of every completion's model: how far a score can move, ``|x.v|``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from ipub.model_sets.certificate import Certificate
from ipub.numeric.linalg import Inverse
from ipub.numeric.rounding import Array, dot_bounds, up
from ipub.rows import Block


class MoveSet(Protocol):
    """A set that holds v = w'' - w' for every completion, known by how far it lets a score move: ``|x.v|``.

    Its size does not grow with the training rows.
    """

    def max_score_move(self, X: Array) -> Array:
        """Bound ``|x.v|`` for each row x (thm-slopes)."""

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
    """What is known of ``x.v`` for single rows x, and for the unit vectors; nothing of any other row."""

    moves: Mapping[bytes, float]
    """The bound of ``|x.v|`` for the bytes of a row x."""

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
