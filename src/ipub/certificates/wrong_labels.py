"""At most k wrong labels, in any rows: what they can add to a sum over all rows (sec-wrong-labels-certificates)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.scores import ScoreRanges
from ipub.losses import Loss
from ipub.numeric.linalg import Inverse, positive_weights, rounded_up
from ipub.numeric.rounding import EPS, Array, down, norm_upper, sum_error, up
from ipub.promises import LargestValues, WrongLabels, largest_sum
from ipub.rows import Block
from ipub.rows.ops import largest

SHAPING_STEPS = 8
"""Steps that make the ellipsoid around all rows smaller: width against time, where labels may be wrong in more than
4,000 rows, or no training row is kept."""

RIDGE = 1e-9
"""Relative amount added to its diagonal: it protects from a matrix without an inverse."""


class GradientMoves(NamedTuple):
    """What rows with a wrong label can move the gradient at w' by (thm-half-ball): the largest of a block."""

    norms: LargestValues
    coordinates: LargestValues
    """In norm, and by column."""
    cells: LargestValues
    """By column, through the rows' uncertain cells."""


class WrongLabelSums(NamedTuple):
    """What is added up over blocks for `WrongLabelTerms`."""

    cells: LargestValues
    """What the uncertain cells of a row with a wrong label add, column by column."""
    n_steeper: int
    """Rows in which the other label has slopes outside the bounds of the given one."""


class WrongLabelRows(NamedTuple):
    """What is gathered of blocks for `WrongLabelTerms`; weights are not yet divided by their sum."""

    rows: Array
    lost: Array


def cell_changes(block: Block, factors: Array) -> Array:
    """Return ``factor_i |d_ij|`` of the incomplete rows: how far uncertain cells of a row can move it, by column."""
    holed = np.flatnonzero(block.incomplete)
    place = np.zeros(len(factors), dtype=np.intp)
    place[holed] = np.arange(len(holed))
    sizes = np.zeros((len(holed), block.center.shape[1]))
    sizes[place[block.cell_rows], block.cell_columns] = block.cell_radii
    for which, levels in block.missing_categories.by_category():
        sizes[np.ix_(place[block.missing_categories.rows[which]], levels.columns)] = 1.0
    return sizes * factors[holed, None]


def gradient_moves(
    block: Block, loss: Loss, at: ScoreRanges, nominal: tuple[Array, Array], n_free: int, wrong: WrongLabels
) -> GradientMoves:
    """Return what wrong labels can move the gradient at w' by, for thm-half-ball (sec-wrong-labels-certificates).

    The derivative of a row is otherwise one of a `nominal` range.
    """
    if wrong.count == 0:
        nothing = wrong.partial_sum(np.zeros((0, 1)))
        return GradientMoves(nothing, nothing, nothing)
    low, high = loss.derivative_range(-block.y, at.lower, at.upper)
    factors = block.weight * np.maximum(up(high - nominal[0]), up(nominal[1] - low))
    norms = norm_upper(block.center[:, : block.center.shape[1] - n_free])
    return GradientMoves(
        wrong.partial_sum(factors * norms),
        wrong.partial_sum(factors[:, None] * np.abs(block.center)),
        wrong.partial_sum(cell_changes(block, factors)),
    )


def wrong_label_parts(
    block: Block, loss: Loss, scores: tuple[Array, Array], move: Array, slopes: tuple[Array, Array], wrong: WrongLabels
) -> tuple[WrongLabelSums, WrongLabelRows]:
    """Return what a block adds to `WrongLabelTerms`: what is added up, and what is gathered.

    Scores of w' are between `scores`, those of w'' within `move` of them; `slopes` bound those of the derivatives
    between both.
    """
    d = block.center.shape[1]
    if wrong.count == 0:
        nothing = np.zeros((0, d))
        return WrongLabelSums(wrong.partial_sum(nothing), 0), WrongLabelRows(nothing, nothing)
    (lower, upper), (least, most) = scores, slopes
    factors = block.weight * loss.wrong_label_upper(down(lower - move), up(upper + move))
    moved = np.flatnonzero(factors)
    # Rounded once more, as the scores behind `slopes` are: the same for a loss whose slopes do not depend on the class.
    other_least, other_most = loss.secant_range(-block.y, down(lower), up(upper), move)
    # lem-hessian needs both bounds in an incomplete row; where they do not hold, the row adds nothing to the Hessian.
    lost = np.where(block.incomplete, least, np.maximum(up(least - other_least), 0.0))
    alike = (other_least >= least) & (other_most <= most)
    lost = np.where(alike, 0.0, lost)
    flatter = np.flatnonzero(block.weight * lost)
    sums = WrongLabelSums(wrong.partial_sum(cell_changes(block, factors)), int(np.count_nonzero(~alike)))
    return sums, WrongLabelRows(
        block.center[moved] * (factors * block.y)[moved, None],
        block.center[flatter] * up(np.sqrt(up(block.weight * lost)))[flatter, None],
    )


@dataclass(frozen=True)
class WrongLabelTerms:
    """What at most `count` rows with a wrong label add to thm-move-set and thm-slopes."""

    count: int
    rows: Array
    """Shape (n, n_features): ``z_i = m_i delta_i y_i x_i``: a wrong label of row i adds ``theta z_i`` to the gradient,
    theta in [0, 1], and the effect of its uncertain cells."""
    cells: Array
    """Shape (n_features,): what the uncertain cells of all rows with a wrong label add, coordinate by coordinate."""
    lost: Array
    """Shape (n_lost, n_features): ``sqrt(m_i c_i) x_i`` with c the slope that a row with a wrong label takes from the
    Hessian."""
    alike: bool
    """Whether the bounds of the Hessian hold whichever labels are wrong."""

    @classmethod
    def of(cls, sums: WrongLabelSums, gathered: WrongLabelRows, count: int, total: float) -> WrongLabelTerms:
        """Make them from what `wrong_label_parts` returns of all blocks."""
        cells = sums.cells.sum_upper(total)
        return cls(count, gathered.rows / total, cells, gathered.lost / np.sqrt(total), sums.n_steeper == 0)

    @cached_property
    def slack(self) -> Array:
        """What is bounded coordinate by coordinate: cells, and the rounding of products with the rows."""
        sizes = largest(np.abs(self.rows), self.count).sum(axis=0)
        return up(self.cells + sum_error(sizes, 3 * self.rows.shape[1] + min(self.count, len(self.rows)) + 16))

    def with_slack(self, slack: Array) -> Array:
        """Return a bound of each coordinate with `slack` added; as it is where no label may be wrong."""
        return up(slack + self.slack) if self.count else slack

    def with_norm(self, norm: float, inverse: Inverse) -> float:
        """Return a bound of ``sqrt(z.M^-1 z)`` with what the rows add; as it is where no label may be wrong."""
        return float(up(norm + self.norm_upper(inverse))) if self.count else norm

    @property
    def forms(self) -> list[tuple[Array, int]]:
        """`form`, and of how many rows it is; nothing where no label may be wrong."""
        return [(self.form(), len(self.rows))] if self.count else []

    def norm_upper(self, inverse: Inverse) -> float:
        """Bound ``sqrt(z.M^-1 z)`` of what the rows add, their rounding apart."""
        return float(largest_sum(inverse.norm_upper(self.rows), self.count))

    def form(self) -> Array:
        """Return S with ``sqrt(u.S u)`` at least the sum of the `count` largest ``|z_i.u|``.

        It is at most the sum of the largest ``sqrt(z_i.W^-1 z_i)`` times ``sqrt(u.W u)``, for any W; here one whose
        ellipsoid is about the smallest around all rows. Without an inverse, it is ``k sum_i z_i z_i^T`` (Cauchy and
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
        for _ in range(SHAPING_STEPS):
            W = rounded_up((rows * weights[:, None]).T @ rows, 8)
            W = W + np.diag(RIDGE * np.diag(W))
            try:
                each = np.einsum("ij,ij->i", rows @ np.linalg.inv(W), rows)
            except np.linalg.LinAlgError:
                return None
            weights = positive_weights(weights * each)
            weights = weights / weights.sum()
        return W

    def hessian_loss(self, metric: Array) -> float:
        """Return mu such that wrong labels take no more than ``mu M`` from the Hessian: ``x x^T <= (x.M^-1 x) M``."""
        if len(self.lost) == 0:
            return 0.0
        inverse = Inverse.of(metric)
        if inverse is None:
            return np.inf
        return float(largest_sum(inverse.norm_upper(self.lost) ** 2, self.count)) * (1.0 + 16.0 * EPS)
