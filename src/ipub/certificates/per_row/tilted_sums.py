"""Sums over the training rows that a tilted half-ball needs (Theorem 18)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.scores import ScoreRanges, score_ranges
from ipub.losses import Loss
from ipub.numeric.rounding import Array, midpoint_and_radius, up
from ipub.promises import Uncertainty
from ipub.rows import Block, Reads, reads
from ipub.tables.interval_matrix import Indices

LESS_THAN_ONE = 1.0 - 1e-12
"""Shares of a row are scaled by this, so that they add up to no more than 1 in spite of rounding."""

MOST_FREE_NUMBERS = 1 << 22
"""Numbers in the incomplete rows near a jump, at most: a table with more has no tilted half-ball."""


class Reference(NamedTuple):
    """Where a half-ball is laid, and the dual point: any values are valid, good ones are narrow.

    Attributes
    ----------
    c : array of shape (d,)
        The reference.
    dual_w : array of shape (d,)
    signs : array of shape (d,)
        Numbers in [-1, 1]: the dual point of the l1 penalty.
    dual_loss : Loss
        The dual coordinate of a row is ``-dual_loss.derivative(y, x.dual_w)``.
    followed : array of shape (k, d)
        Directions in which the dual point follows the completion.
    lengths : array of shape (k,)
        How far from its jump a complete row follows, for each direction and each unit of ``abs(x.f)``.
    price : float
        An incomplete row is free if keeping its dual coordinate costs more than this times its norm.
    """

    c: Array
    dual_w: Array
    signs: Array
    dual_loss: Loss
    followed: Array
    lengths: Array
    price: float


class TiltedSums(NamedTuple):
    """Sums over the rows, times weights that are not divided by their total."""

    eps: Array
    """Residuals of the rows that keep their dual coordinate, or follow, in the middle of their range."""
    eps_slopes: Array
    """How the residuals of the rows that follow change with each direction, shape (k,)."""
    eps_slopes_size: Array
    """Absolute values of the terms of `eps_slopes`."""
    gradient: Array
    gradient_size: Array
    """Bounds of the absolute values of its terms, to which rounding is relative."""
    cell_box: Array
    """How far uncertain cells can move the gradient, by column."""
    shifts: Array
    """How the rows that follow move the gradient with each direction, shape (k, d)."""
    shifts_size: Array
    """Bounds of the absolute values of their terms, all directions together."""


@reads(Reads.NORMS)
def tilted_sums(
    block: Block, loss: Loss, at: Reference, n_free: int, cells: Uncertainty
) -> tuple[TiltedSums, tuple[Array]]:
    """Return what a block adds to the sums, and the vectors ``weight * radius * x`` of its free rows."""
    y, weight, X = block.y, block.weight, block.center
    scores = score_ranges(block, at.c, cells)
    dual_score = X @ at.dual_w
    a = -at.dual_loss.derivative(y, dual_score)
    paid = loss.residual_upper_between(y, scores.lower, scores.upper, a)
    low, high = loss.derivative_range(y, scores.lower, scores.upper)
    norms = np.linalg.norm(X[:, : X.shape[1] - n_free], axis=1)
    adapts = scores.incomplete & ((low == high) | (paid > at.price * norms))
    middle, radius = midpoint_and_radius(low, high)
    slope, radius = np.where(adapts, middle, -a), np.where(adapts, radius, 0.0)
    paid = np.where(adapts, 0.0, paid)
    following = _following_rows(block, loss, at, scores, dual_score)
    near = following.rows
    slope[near], paid[near] = following.slope, following.paid
    weighted_radius = weight[near] * following.radius
    weighted_change = weight[near] * following.paid_change
    all_near = np.zeros_like(weight)
    all_near[near] = weighted_radius
    free = np.flatnonzero(radius)
    sums = TiltedSums(
        weight @ paid,
        weighted_change @ following.shares,
        np.abs(weighted_change) @ np.abs(following.shares),
        (weight * slope) @ X,
        block.column_sizes(weight * slope),
        cells.column_change(block, weight * (np.abs(slope) + radius)),
        (weighted_radius[:, None] * following.shares).T @ X[near],
        block.column_sizes(all_near),
    )
    return sums, ((weight[free] * radius[free])[:, None] * X[free],)


class _FollowingRows(NamedTuple):
    """Complete rows whose dual coordinate follows: their derivative is ``slope + radius * sum_k shares_k eta_k``."""

    rows: Indices
    slope: Array
    radius: Array
    shares: Array
    """Shape (n, k); absolute values of a row add up to at most 1."""
    paid: Array
    """Bound of the residual where all eta are 0."""
    paid_change: Array
    """The residual is at most ``paid + paid_change * sum_k shares_k eta_k``."""


def _following_rows(block: Block, loss: Loss, at: Reference, scores: ScoreRanges, dual_score: Array) -> _FollowingRows:
    """Choose the complete rows near their jump: the residual is convex in the dual coordinate, so below its chord."""
    jump = loss.jump_at(block.y)
    k = len(at.followed)
    if jump is None or k == 0:
        nothing = np.zeros(0)
        return _FollowingRows(np.zeros(0, dtype=np.intp), nothing, nothing, np.zeros((0, k)), nothing, nothing)
    products = (block.center @ at.followed.T) * at.lengths
    distance = np.abs(products).sum(axis=1)
    rows = np.flatnonzero(~scores.incomplete & (np.abs(dual_score - jump) < distance))
    y, lower, upper = block.y[rows], scores.lower[rows], scores.upper[rows]
    shares = -LESS_THAN_ONE * products[rows] / distance[rows, None]
    low, high = loss.derivative_range(y, jump[rows], jump[rows])
    paid_low = loss.residual_upper_between(y, lower, upper, -low)
    paid_high = loss.residual_upper_between(y, lower, upper, -high)
    return _FollowingRows(
        rows,
        0.5 * low + 0.5 * high,
        0.5 * high - 0.5 * low,
        shares,
        up(0.5 * paid_low + 0.5 * paid_high),
        0.5 * paid_high - 0.5 * paid_low,
    )
