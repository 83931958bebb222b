"""Labels of which at most k are wrong, whichever: what flipped rows can add to a sum over all rows (section 13)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.score_ranges import ScoreRanges
from ipub.engine.rows import Block, Sums
from ipub.linalg import Inverse, positive_weights, rounded_up
from ipub.losses import Loss
from ipub.rounding import EPS, Array, down, norm_upper, sum_error, sum_upper, up

SHAPINGS = 8
"""How often the ellipsoid around all rows is made smaller."""

LEAST_SHARE = 1e-9
"""What is added to its diagonal, so that it has an inverse."""


def n_flips(block: Block) -> int:
    """Return how many labels of the whole table, at most, are wrong."""
    return 0 if block.doubt is None else block.doubt.flips


def largest(values: Array, count: int) -> Array:
    """Return the `count` largest along the first axis, or all; a NaN counts as large."""
    left = len(values) - count
    if left <= 0 or count <= 0:
        return values if left <= 0 else values[:0]
    return np.partition(values, left, axis=0)[left:]


def largest_sum(values: Array, count: int, total: float = 1.0) -> Array:
    """Bound from above the sum of the `count` largest of non-negative products along the first axis, over `total`."""
    return np.asarray(sum_upper(largest(values, count).sum(axis=0) / total, min(count, len(values)) + 8))


def cell_parts(block: Block, factors: Array, count: int) -> Array:
    """Return, column by column, the largest of ``factor_i |d_ij|``: how far uncertain cells of a row can move it."""
    some = np.flatnonzero(block.incomplete)
    place = np.zeros(len(factors), dtype=np.intp)
    place[some] = np.arange(len(some))
    sizes = np.zeros((len(some), block.center.shape[1]))
    sizes[place[block.cell_rows], block.cell_columns] = block.cell_radii
    for chosen, levels in block.choices.by_category():
        sizes[np.ix_(place[block.choices.rows[chosen]], levels.columns)] = 1.0
    return largest(sizes * factors[some, None], count)


def wrong_label_moves(block: Block, loss: Loss, at: ScoreRanges, nominal: tuple[Array, Array], n_free: int) -> Sums:
    """Return what flipped rows can move the gradient at w' by, for Theorem 2: norms, coordinates, and cells.

    The derivative of a row is otherwise one of a `nominal` range. Of each the largest that occur in the block.
    """
    count, d = n_flips(block), block.center.shape[1]
    if count == 0:
        return np.zeros(0), np.zeros((0, d)), np.zeros((0, d))
    low, high = loss.derivative_range(-block.y, at.lower, at.upper)
    factors = block.weight * np.maximum(up(high - nominal[0]), up(nominal[1] - low))
    norms = norm_upper(block.center[:, : d - n_free])
    return (
        largest(factors * norms, count),
        largest(factors[:, None] * np.abs(block.center), count),
        cell_parts(block, factors, count),
    )


class WrongLabelRows(NamedTuple):
    """What is gathered of all blocks for `WrongLabels`, weights not yet divided by their sum."""

    rows: Array
    cells: Array
    lost: Array
    alike: NDArray[np.bool_]


def wrong_label_rows(
    block: Block, loss: Loss, at: ScoreRanges, move: Array, slopes: tuple[Array, Array]
) -> WrongLabelRows:
    """Return for Theorems 4 and 6 the rows of `WrongLabels`, over which weights are not yet divided by their sum.

    Scores of w'' are within `move` of those of w'; `slopes` bound those of the derivatives between both.
    """
    count, d = n_flips(block), block.center.shape[1]
    if count == 0:
        return WrongLabelRows(np.zeros((0, d)), np.zeros((0, d)), np.zeros((0, d)), np.zeros(0, dtype=bool))
    factors = block.weight * loss.flip_upper(down(at.lower - move), up(at.upper + move))
    some = np.flatnonzero(factors)
    least, most = slopes
    # Rounded once more, as the scores behind `slopes` are: the same for a loss whose slopes do not see the class.
    other_least, other_most = loss.secant_range(-block.y, down(at.lower), up(at.upper), move)
    # Lemma 4 needs both bounds in an incomplete row; where they do not hold, the row adds nothing.
    less = np.where(at.incomplete, least, np.maximum(up(least - other_least), 0.0))
    alike = (other_least >= least) & (other_most <= most)
    less = np.where(alike, 0.0, less)
    flatter = np.flatnonzero(block.weight * less)
    return WrongLabelRows(
        block.center[some] * (factors * block.y)[some, None],
        cell_parts(block, factors, count),
        block.center[flatter] * up(np.sqrt(up(block.weight * less)))[flatter, None],
        np.array([alike.all()]),
    )


@dataclass(frozen=True)
class WrongLabels:
    """What at most `count` flipped rows add to Theorems 4 and 6.

    Attributes
    ----------
    count : int
    rows : array of shape (n, n_features)
        ``z_i = m_i delta_i y_i x_i``: flipping row i adds ``theta z_i`` to the gradient, theta in [0, 1], and what its
        uncertain cells do.
    cells : array of shape (n_features,)
        What the uncertain cells of all flipped rows add, coordinate by coordinate.
    lost : array of shape (n_lost, n_features)
        ``sqrt(m_i c_i) x_i`` with c the slope that a flipped row takes from the Hessian.
    alike : bool
        Whether the bounds of the Hessian hold with flipped rows as they are.
    """

    count: int
    rows: Array
    cells: Array
    lost: Array
    alike: bool

    @classmethod
    def of(cls, parts: WrongLabelRows, count: int, total: float) -> WrongLabels:
        """Make them from what `wrong_label_rows` returns of all blocks."""
        rows, cells, lost, alike = parts
        return cls(count, rows / total, largest_sum(cells, count, total), lost / np.sqrt(total), bool(alike.all()))

    @cached_property
    def slack(self) -> Array:
        """What is bounded coordinate by coordinate: cells, and the rounding of products with the rows."""
        sizes = largest(np.abs(self.rows), self.count).sum(axis=0)
        return up(self.cells + sum_error(sizes, 3 * self.rows.shape[1] + min(self.count, len(self.rows)) + 16))

    def norm_upper(self, inverse: Inverse) -> float:
        """Bound ``sqrt(z.M^-1 z)`` of what the rows add, their rounding apart."""
        return float(largest_sum(inverse.norm_upper(self.rows), self.count))

    def form(self) -> Array:
        """Return S with ``sqrt(u.S u)`` at least the sum of the `count` largest ``|z_i.u|``.

        It is at most the sum of the largest ``sqrt(z_i.W^-1 z_i)`` times ``sqrt(u.W u)``, for any W; here one whose
        ellipsoid is about the smallest around all rows. Without an inverse, ``k sum_i z_i z_i^T`` serves (Cauchy and
        Schwarz).
        """
        W = self._around()
        inverse = None if W is None else Inverse.of(W)
        if W is None or inverse is None:
            return rounded_up(self.count * rounded_up(self.rows.T @ self.rows, len(self.rows) + 8), 8)
        return rounded_up(up(self.norm_upper(inverse) ** 2) * W, 8)

    def _around(self) -> Array | None:
        """Return W with all ``z_i.W^-1 z_i`` alike and small: weights grow where they are large, step by step."""
        rows, weights = self.rows, np.full(len(self.rows), 1.0 / max(len(self.rows), 1))
        for _ in range(SHAPINGS):
            W = rounded_up((rows * weights[:, None]).T @ rows, 8)
            W = W + np.diag(LEAST_SHARE * np.diag(W))
            try:
                each = np.einsum("ij,ij->i", rows @ np.linalg.inv(W), rows)
            except np.linalg.LinAlgError:
                return None
            weights = positive_weights(weights * each)
            weights = weights / weights.sum()
        return W

    def hessian_loss(self, metric: Array) -> float:
        """Return mu such that flipped rows take no more than ``mu M`` from the Hessian: ``x x^T <= (x.M^-1 x) M``."""
        if len(self.lost) == 0:
            return 0.0
        inverse = Inverse.of(metric)
        if inverse is None:
            return np.inf
        return float(largest_sum(inverse.norm_upper(self.lost) ** 2, self.count)) * (1.0 + 16.0 * EPS)
