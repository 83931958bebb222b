"""An upper bound of a score from a half-ball whose dual point is tilted towards the row (thm-tilted)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.scores import ScoreRanges, score_ranges
from ipub.losses import Loss
from ipub.numeric.linalg import zonotope_norm_upper
from ipub.numeric.rounding import (
    EPS,
    Array,
    dot_bounds,
    midpoint_and_radius,
    norm_upper,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.problem.objective import Problem
from ipub.promises import Uncertainty
from ipub.rows import Block, Reads, reads
from ipub.tables.interval_matrix import Indices

LESS_THAN_ONE = 1.0 - 1e-12
"""Factor of the fractions of a row: part of the proof, as they add up to no more than 1 in spite of rounding."""

MOST_FREE_NUMBERS = 1 << 22
"""Numbers in the incomplete rows near a jump, at most: memory, 32 MiB. A table with more has no tilted half-ball."""


class Reference(NamedTuple):
    """Where a half-ball is laid, and the dual point: any values are valid, good ones are narrow."""

    c: Array
    """Shape (d,): the reference."""
    dual_w: Array
    signs: Array
    """Shape (d,): numbers in [-1, 1]: the dual point of the l1 penalty."""
    dual_loss: Loss
    """The dual coordinate of a row is ``-dual_loss.derivative(y, x.dual_w)``."""
    followed: Array
    """Shape (k, d): directions in which the dual point follows the completion."""
    lengths: Array
    """Shape (k,): how far from its jump a complete row follows, for each direction and each unit of ``abs(x.f)``."""
    price: float
    """An incomplete row is free if keeping its dual coordinate costs more than this times its norm."""


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
        weighted_change @ following.fractions,
        np.abs(weighted_change) @ np.abs(following.fractions),
        (weight * slope) @ X,
        block.column_sizes(weight * slope),
        cells.column_change(block, weight * (np.abs(slope) + radius)),
        (weighted_radius[:, None] * following.fractions).T @ X[near],
        block.column_sizes(all_near),
    )
    return sums, ((weight[free] * radius[free])[:, None] * X[free],)


class _FollowingRows(NamedTuple):
    """Complete rows whose dual coordinate follows: their derivative is ``slope + radius * sum_k fractions_k eta_k``."""

    rows: Indices
    slope: Array
    radius: Array
    fractions: Array
    """Shape (n, k); absolute values of a row add up to at most 1."""
    paid: Array
    """Bound of the residual where all eta are 0."""
    paid_change: Array
    """The residual is at most ``paid + paid_change * sum_k fractions_k eta_k``."""


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
    fractions = -LESS_THAN_ONE * products[rows] / distance[rows, None]
    low, high = loss.derivative_range(y, jump[rows], jump[rows])
    paid_low = loss.residual_upper_between(y, lower, upper, -low)
    paid_high = loss.residual_upper_between(y, lower, upper, -high)
    return _FollowingRows(
        rows,
        0.5 * low + 0.5 * high,
        0.5 * high - 0.5 * low,
        fractions,
        up(0.5 * paid_low + 0.5 * paid_high),
        0.5 * paid_high - 0.5 * paid_low,
    )


@dataclass(frozen=True)
class TiltedHalfBall:
    """What is known, at a reference c, of the gradients of all completions.

    A gradient is ``gradient + T e + r``: e is in the box plus all ``sum_i xi_i vectors_i``, ``abs(xi_i) <= 1``, and
    ``T e = e + sum_k shifts_k (f_k.e) / capacity_k``; r is rounding.
    """

    c: Array
    lam: float
    n_free: int
    """Coordinates without penalty, the last ones."""
    eps: float
    """Bound of the residuals where all ``f_k.e`` are 0."""
    eps_slopes: Array
    """Shape (k,): how they change with ``f_k.e / capacity_k``."""
    gradient: Array
    box: Array
    rounding: Array
    """Shape (d,): `rounding` bounds r."""
    vectors: Array
    followed: Array
    shifts: Array
    capacity: Array
    """Shape (k,): bounds of ``abs(f_k.e)``."""
    spread: float
    """Bound of ``abs(T e)`` in the penalised coordinates."""
    free_spread: Array
    """Shape (n_free,): bound of the others."""

    @classmethod
    @overflow_means_unbounded()
    def of(cls, problem: Problem, at: Reference) -> TiltedHalfBall | None:
        """Sum over the rows, in one pass; None if too many incomplete rows are near a jump."""
        rows, penalty, d = problem.rows, problem.penalty, len(at.c)
        sums, gathered = rows.reduce_and_gather(
            tilted_sums, problem.loss, at, penalty.n_free, problem.cells, most=MOST_FREE_NUMBERS
        )
        if gathered is None:
            return None
        total, roundings = rows.total_weight, rows.depth + 8
        vectors = gathered[0] / total
        lam_c, kappa_s = penalty.lam_vector(d) * at.c, penalty.kappa_vector(d) * np.clip(at.signs, -1.0, 1.0)
        loss_gradient = sums.gradient / total
        gradient = loss_gradient + lam_c + kappa_s
        error = up(sum_error(sums.gradient_size / total, roundings) + 4.0 * EPS * np.abs(loss_gradient))
        error = up(error + up(8.0 * EPS * (np.abs(lam_c) + np.abs(kappa_s))))
        error = up(error + sum_upper(8.0 * EPS * np.abs(vectors).sum(axis=0), len(vectors) + 8))
        box = up(sum_upper(sums.cell_box / total, roundings) + error)
        shifts = sums.shifts / total
        rounding = sum_error(sum_upper(sums.shifts_size / total, roundings), roundings)
        slopes = sums.eps_slopes / total
        slopes_error = sum_error(sums.eps_slopes_size / total, roundings).sum()
        l1 = up(up(penalty.kappa_vector(d) * np.abs(at.c)) - kappa_s * at.c) + 8.0 * EPS * np.abs(kappa_s * at.c)
        eps = float(up(sum_upper(sums.eps / total, roundings) + 2.0 * slopes_error))
        eps = float(up(eps + sum_upper(np.maximum(l1, 0.0).sum(), d + 8)))
        capacity = _capacity(at.followed, box, vectors, shifts)
        moved = _moved(box, vectors, at.followed, shifts, capacity)
        free = slice(d - penalty.n_free, d)
        spread = _sum_norm_upper(moved.vectors[:, : free.start])
        spread = float(up(spread + norm_upper(moved.error[: free.start])))
        free_spread = up(sum_upper(np.abs(moved.vectors[:, free]).sum(axis=0), len(moved.vectors)) + moved.error[free])
        return cls(
            at.c, penalty.lam, penalty.n_free, eps, slopes, gradient, box, rounding, vectors, at.followed, shifts,
            capacity, spread, free_spread,
        )  # fmt: skip

    @overflow_means_unbounded()
    def score_upper(self, x: Array, t: float, intercept_distance: float = 0.0) -> float:
        """Bound ``x.w''`` from above for every completion (thm-tilted); infinite if numbers overflow.

        Parameters
        ----------
        x : array of shape (d,)
        t : float
            Positive: how far the gradient is tilted towards x.
        intercept_distance : float
            Bound of the distance between c and the intercepts of all completions.
        """
        d, lam = len(x), self.lam
        penalised, free = slice(0, d - self.n_free), slice(d - self.n_free, d)
        p = self.gradient - t * x
        rounding = up(self.rounding + 4.0 * EPS * (np.abs(self.gradient) + np.abs(t * x)))
        inner = np.where(np.arange(d) < free.start, p, 0.0)
        linear = up(self._linear_upper(inner) + up(sum_upper(np.abs(inner) @ rounding, d + 1) / (2.0 * lam)))
        size = norm_upper(p[penalised])
        spread = up(self.spread + norm_upper(rounding[penalised]))
        quadratic = up(up(up(size * size) + up(spread * spread)) / (4.0 * lam))
        total = up(up(self.eps + up(linear)) + up(quadratic))
        if self.n_free:
            off = up(up(np.abs(p[free]) + self.free_spread) + rounding[free])
            total = up(total + up(off * intercept_distance).sum())
        bound = float(up(dot_bounds(x[None], self.c)[1][0] + up(up(total) / t)))
        return bound if np.isfinite(bound) else np.inf

    def _linear_upper(self, p: Array) -> float:
        """Bound ``p.T e / (2 lam) + sum_k eps_slopes_k f_k.e / capacity_k`` over all e: it is linear in e."""
        d, k = len(p), len(self.followed)
        factors = self.shifts @ p / (2.0 * self.lam) + self.eps_slopes
        factors_size = np.abs(self.shifts) @ np.abs(p) / (2.0 * self.lam) + np.abs(self.eps_slopes)
        q = p / (2.0 * self.lam) + (factors / self.capacity) @ self.followed
        size = np.abs(p) / (2.0 * self.lam) + (factors_size / self.capacity) @ np.abs(self.followed)
        error = sum_error(size, 2 * d + k + 16)
        low, high = dot_bounds(self.vectors, q)
        of_vectors = up(np.maximum(np.abs(low), np.abs(high)) + sum_upper(np.abs(self.vectors) @ error, d + 1))
        of_box = sum_upper(up(np.abs(q) + error) @ self.box, d + 1)
        return float(up(of_box + sum_upper(of_vectors.sum(), len(of_vectors) + 1)))


@dataclass(frozen=True)
class _Moved:
    """Vectors such that every T e is a sum of them, times numbers in [-1, 1], plus a rounding error."""

    vectors: Array
    error: Array


def _moved(box: Array, vectors: Array, followed: Array, shifts: Array, capacity: Array) -> _Moved:
    d, k = len(box), len(followed)
    sources = np.vstack([np.diag(box), vectors])
    ratios = (sources @ followed.T) / capacity
    moved = sources + ratios @ shifts
    size = np.abs(sources) + ((np.abs(sources) @ np.abs(followed.T)) / capacity) @ np.abs(shifts)
    error = sum_error(size, d + k + 8)
    return _Moved(moved, sum_upper(error.sum(axis=0), len(error) + 1))


def _capacity(followed: Array, box: Array, vectors: Array, shifts: Array) -> Array:
    """Bound ``abs(f_k.e)``; more than that where the rows that follow would otherwise answer by too much."""
    low, high = dot_bounds(vectors, followed.T)
    of_vectors = sum_upper(np.maximum(np.abs(low), np.abs(high)).sum(axis=0), len(vectors) + 1)
    least = up(sum_upper(np.abs(followed) @ box, len(box) + 1) + of_vectors)
    answered = -np.einsum("kj,kj->k", followed, shifts) / np.maximum(np.einsum("kj,kj->k", followed, followed), 1e-300)
    capacity: Array = np.maximum(least, np.nan_to_num(answered, nan=0.0))
    return capacity


def _sum_norm_upper(vectors: Array) -> float:
    """Bound ``abs(sum_i xi_i z_i)`` over all ``abs(xi_i) <= 1``: as a zonotope, and by the vector of absolute sums."""
    n, d = vectors.shape
    best = float(norm_upper(sum_upper(np.abs(vectors).sum(axis=0), n + 1)))
    if not np.isfinite(best) or best == 0.0:
        return best
    sizes = np.linalg.norm(vectors, axis=1)
    found = [zonotope_norm_upper(vectors, weights, np.eye(d), n + 8) for weights in (sizes, sizes * sizes)]
    return float(np.fmin.reduce([best, *found]))
