"""What may vary in a training table: the protocol between uncertainty sets and certificates.

A certificate does not depend on *what* varies. It uses the support functions of each set: the greatest change that the
set can make to a score, to a sum over the rows, to a derivative. The support function of a sum of sets is the sum of
their support functions (`Together`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.rows.block import Block
from ipub.tables.interval_matrix import Indices

T = TypeVar("T")


class CellMoves(Protocol):
    """A set of moves D of the uncertain cells, with every ``|D_k| <= 1``: cell k is at ``center + D_k radius``.

    It has two support functions of non-negative values ``c_k``, one for each cell. The set is symmetric (-D with every
    D), so they bound signed sums too.
    """

    def sums_by_row(self, rows: Indices, values: Array, n_rows: int) -> Array:
        """Return the greatest ``sum_k c_k |D_k|`` over the cells of each row of a block, as computed."""
        ...

    def sums_by_column(self, columns: Indices, values: Array, n_columns: int) -> Array:
        """Return what a block adds to the greatest ``sum_k c_k |D_k|`` over the cells of each column, as computed."""
        ...


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
