"""How far the model of a completion can be from the trained one, as seen by a row: ``|x.v|``, v = w'' - w'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ipub.certificates.region import Certificate
from ipub.engine import Block
from ipub.linalg import Inverse
from ipub.rounding import Array, dot_bounds, up


class MoveSet(Protocol):
    """A set that holds v for every completion."""

    def reach(self, X: Array) -> Array:
        """Bound ``|x.v|`` for each row x."""
        ...

    def reach_of(self, block: Block) -> Array:
        """Bound ``|x.v|`` for the rows x of a block's center that have a weight."""
        return self.reach(block.center)


@dataclass(frozen=True)
class NoMove(MoveSet):
    """The set that holds 0 alone."""

    def reach(self, X: Array) -> Array:
        return np.zeros(len(X))


@dataclass(frozen=True)
class Ellipsoid(MoveSet):
    """The set ``v.M v <= radius^2``, with the inverse of M enclosed."""

    matrix: Array
    inverse: Inverse
    radius: float

    def reach(self, X: Array) -> Array:
        return up(self.inverse.norm_upper(X) * self.radius)

    def reach_of(self, block: Block) -> Array:
        # As `reach`, with one bound of the rounding for all.
        return up(self.inverse.norm_upper(block.center, block.column_norms) * self.radius)


@dataclass(frozen=True)
class FromCertificate(MoveSet):
    """What the regions of a certificate leave of v."""

    certificate: Certificate
    w: Array

    def reach(self, X: Array) -> Array:
        bounds = self.certificate.score_bounds(X)
        low, high = dot_bounds(X, self.w)
        return np.maximum(up(bounds[:, 1] - low), up(high - bounds[:, 0]))


@dataclass(frozen=True)
class Intersection(MoveSet):
    """What several sets have in common."""

    parts: tuple[MoveSet, ...]

    def reach(self, X: Array) -> Array:
        # fmin passes over a NaN: each part bounds by itself.
        return np.asarray(np.fmin.reduce([part.reach(X) for part in self.parts]))
