"""What may vary in a training table: the protocol between uncertainty sets and certificates, and the sets.

A certificate does not depend on *what* varies. It uses the support functions of each set: the greatest change that the
set can make to a score, to a sum over the rows, to a derivative. The support function of a sum of sets is the sum of
their support functions (`Together`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from ipub.losses import Loss
from ipub.numeric.rounding import Array, down, sum_upper, up
from ipub.rows.block import Block
from ipub.rows.ops import largest, sum_by_index

T = TypeVar("T")


class Uncertainty:
    """A set of possible changes of the training data. The defaults are those of a set that changes nothing.

    Values are as computed, without outward rounding, unless a method says otherwise: the caller knows how many
    roundings the whole sum has.
    """

    def score_change(self, block: Block, w: Array) -> Array:  # noqa: ARG002 (nothing varies)
        """Return the greatest ``|(x''_i - x_i).w|`` of each row."""
        return np.zeros_like(block.y)

    def score_change_within(self, block: Block, limits: Array) -> Array:  # noqa: ARG002 (nothing varies)
        """Return the greatest ``|(x''_i - x_i).v|`` of each row over all v with ``|v_j| <= limits_j``."""
        return np.zeros_like(block.y)

    def column_change(self, block: Block, coefficients: Array) -> Any:  # noqa: ARG002 (nothing varies)
        """Return the greatest ``|sum_i c_i (x''_ij - x_ij)|`` of each column: what is added up over blocks."""
        return np.zeros(block.center.shape[1])

    def derivative_change(self, block: Block, loss: Loss, lower: Array, upper: Array) -> Array:  # noqa: ARG002
        """Bound how far weight times derivative can be off at scores in [lower, upper], over the weight; rounded up."""
        return np.zeros_like(lower)


@dataclass(frozen=True)
class Together(Uncertainty):
    """Several sets at once: their support functions add."""

    members: tuple[Uncertainty, ...]

    def score_change(self, block: Block, w: Array) -> Array:
        return _added(member.score_change(block, w) for member in self.members)

    def score_change_within(self, block: Block, limits: Array) -> Array:
        return _added(member.score_change_within(block, limits) for member in self.members)

    def column_change(self, block: Block, coefficients: Array) -> Any:
        return _added(member.column_change(block, coefficients) for member in self.members)

    def derivative_change(self, block: Block, loss: Loss, lower: Array, upper: Array) -> Array:
        return _added(member.derivative_change(block, loss, lower, upper) for member in self.members)


def _added(changes: Iterable[T]) -> T:
    return reduce(operator.add, changes)


@dataclass(frozen=True)
class AnyFilling(Uncertainty):
    """The set of all moves with ``|xi_k| <= 1``: its support functions are plain sums."""

    def score_change(self, block: Block, w: Array) -> Array:
        return self.score_change_within(block, np.abs(w))

    def score_change_within(self, block: Block, limits: Array) -> Array:
        return sum_by_index(block.cell_rows, block.cell_radii * limits[block.cell_columns], block.n_rows)

    def column_change(self, block: Block, coefficients: Array) -> Array:
        values = block.cell_radii * np.abs(coefficients)[block.cell_rows]
        return sum_by_index(block.cell_columns, values, block.center.shape[1])


@dataclass(frozen=True)
class AnyLevel(Uncertainty):
    """Every missing category of a block is any level of its column, independently of the others."""

    def score_change(self, block: Block, w: Array) -> Array:
        missing = block.missing_categories
        return sum_by_index(missing.rows, missing.score_change(w), block.n_rows)

    def score_change_within(self, block: Block, limits: Array) -> Array:
        missing = block.missing_categories
        return sum_by_index(missing.rows, missing.score_change_within(limits), block.n_rows)

    def column_change(self, block: Block, coefficients: Array) -> Array:
        missing = block.missing_categories
        return missing.column_change(np.abs(coefficients)[missing.rows], block.center.shape[1])


@dataclass(frozen=True)
class UncertainLabels(Uncertainty):
    """Every target lies within its radius of y, and every weight within its relative radius (fp-labels)."""

    def derivative_change(self, block: Block, loss: Loss, lower: Array, upper: Array) -> Array:
        """Bound the change of weight times derivative, over the weight; that of a target depends on ``t - y``."""
        labels = block.label_uncertainty
        if labels is None:
            return np.zeros_like(lower)
        shape = (-1,) + (1,) * (lower.ndim - 1)
        radius, weight_radius, y = (part.reshape(shape) for part in (labels.radius, labels.weight_radius, block.y))
        low, high = down(lower - radius), up(upper + radius)
        slopes, steepest = loss.derivative_range(y, low, high), loss.curvature_range(y, low, high)[1]
        moved = up(np.where(radius > 0.0, steepest * radius, 0.0))
        off = up(
            up(weight_radius * np.maximum(np.abs(slopes[0]), np.abs(slopes[1]))) + up(moved * (1.0 + weight_radius))
        )
        return np.where((radius > 0.0) | (weight_radius > 0.0), off, 0.0)


@dataclass(frozen=True)
class LargestValues:
    """The `count` largest of non-negative values, along the first axis, of the blocks seen so far; these add."""

    values: Array
    count: int

    @classmethod
    def of(cls, values: Array, count: int) -> LargestValues:
        """Keep the largest values; a NaN counts as large."""
        return cls(largest(values, count), count)

    def __add__(self, other: LargestValues) -> LargestValues:
        return LargestValues.of(np.concatenate([self.values, other.values]), self.count)

    def sum_upper(self, total: float = 1.0) -> Array:
        """Bound from above the sum of the largest of products computed with one rounding, over `total`."""
        return np.asarray(sum_upper(self.values.sum(axis=0) / total, min(self.count, len(self.values)) + 8))

    def added_to(self, upper: Array, total: float = 1.0) -> Array:
        """Return an upper bound with that sum added; as it is where there is nothing to add."""
        return up(upper + self.sum_upper(total)) if self.count else upper

    def taken_from(self, lower: Array) -> Array:
        """Return a lower bound with that sum taken from it; as it is where there is nothing to take."""
        return down(lower - self.sum_upper()) if self.count else lower


def largest_sum(values: Array, count: int, total: float = 1.0) -> Array:
    """Bound from above the sum of the `count` largest of non-negative products along the first axis, over `total`."""
    return LargestValues.of(values, count).sum_upper(total)


@dataclass(frozen=True)
class WrongLabels:
    """At most `count` of all rows have the other label: a sum over them is that of the `count` largest values.

    A budget over the rows, and no `Uncertainty`, whose support functions are of one block: each certificate adds it.
    """

    count: int

    @property
    def candidates(self) -> slice:
        """The rows of a block whose label may be wrong: all of them, or none."""
        return slice(None) if self.count else slice(0)

    def partial_sum(self, values: Array) -> LargestValues:
        """Return what a block adds to the greatest sum, over the wrong labels, of non-negative values of the rows."""
        return LargestValues.of(values, self.count)
