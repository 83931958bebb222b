"""A set of models known by the ends of their scores in some directions (thm-supports)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.model_sets.base import ModelSet
from ipub.model_sets.dual_simplex import Combinations, DualSimplex
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import Array, sum_error, sum_upper, up

CHUNK_NUMBERS = 1 << 17
"""Numbers of the inverses, or of the scores in all directions, of the ends that are searched together (1 MiB): time."""

LARGEST_FACTOR = 1e100
"""A direction that a search takes so many times is left out: no sum overflows for it."""


@dataclass(frozen=True)
class SupportBounds(ModelSet):
    """The models w with ``lower <= directions @ w <= upper``; the first directions are the unit vectors.

    The bound of a row is that of the best combination of directions that a search finds, and of what is left of the row
    weight by weight: it holds for every combination.
    """

    directions: Array
    lower: Array
    upper: Array
    name: str = "supports"

    @classmethod
    def of(cls, score_bounds: Callable[[Array], Array], directions: Array) -> SupportBounds | None:
        """Return the set with the ends that a function gives in all directions; None if a weight has none."""
        d = directions.shape[1]
        Y = np.vstack([np.eye(d), directions[directions.any(axis=1)]])
        bounds = score_bounds(Y)
        has_ends = np.asarray(np.isfinite(bounds).all(axis=1))
        if not has_ends[:d].all():
            return None
        return cls(Y[has_ends], bounds[has_ends, 0], bounds[has_ends, 1])

    @cached_property
    def _search(self) -> DualSimplex:
        return DualSimplex.of(self.directions, self.lower, self.upper)

    @cached_property
    def _sizes(self) -> Array:
        """The largest absolute value of each weight."""
        d = self.directions.shape[1]
        sizes: Array = np.maximum(np.abs(self.lower[:d]), np.abs(self.upper[:d]))
        return sizes

    def ends(self, X: Array) -> tuple[Array, Array]:
        both = np.vstack([X, -X])
        width = max(X.shape[1] ** 2, len(self.directions))
        parts = [self._highest(both[rows]) for rows in row_slices(len(both), width, CHUNK_NUMBERS)]
        highest = np.concatenate(parts) if parts else np.empty(0)
        return -highest[len(X) :], highest[: len(X)]

    def _highest(self, X: Array) -> Array:
        """Bound the scores of rows from above: by single weights, and by what the search finds."""
        m, d = X.shape
        single = Combinations(np.tile(np.arange(d), (m, 1)), np.where(X < 0.0, -1.0, 1.0), np.abs(X))
        return np.fmin(self.upper_bounds(X, single), self.upper_bounds(X, self._search.combinations(X)))

    def upper_bounds(self, X: Array, found: Combinations) -> Array:
        """Bound the scores of rows from above by a combination for each, rounded outward (thm-supports)."""
        which, sign, c = found
        c = np.where((c > 0.0) & (c < LARGEST_FACTOR), c, 0.0)
        Y, roundings = self.directions[which], which.shape[1] + 1
        ends = np.where(sign > 0.0, self.upper[which], -self.lower[which])
        error = sum_error((c * np.abs(ends)).sum(axis=1), roundings)
        combined = up((c * ends).sum(axis=1) + error)
        rest = np.abs(X - np.matmul((c * sign)[:, None, :], Y)[:, 0])
        rest = up(up(rest) + sum_error(np.matmul(c[:, None, :], np.abs(Y))[:, 0], roundings))
        return up(combined + sum_upper((rest * self._sizes).sum(axis=1), X.shape[1] + 1))

    def without_training_rows(self) -> SupportBounds:
        return self


def coarse(directions: Array) -> Array:
    """Return directions with ten binary digits each: no value of them is one of a table, and they need little space."""
    mantissa, exponent = np.frexp(directions)
    rounded: NDArray[np.float64] = np.ldexp(np.round(mantissa * 1024.0) / 1024.0, exponent)
    return rounded
