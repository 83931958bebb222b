"""Models of the center whose objective is tilted towards a row: near them the references of half-balls lie.

Any model is a valid one (thm-tilted), so nothing here needs a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.per_row.work import Work
from ipub.certificates.scores import score_ranges
from ipub.losses import Loss
from ipub.numeric.rounding import EPS, Array
from ipub.problem.objective import Problem
from ipub.problem.solvers.quadratic import minimise_quadratic
from ipub.promises import Uncertainty
from ipub.rows import Block, Reads, reads
from ipub.rows.ops import weighted_gram

WIDTH_RATIO = 4.0
"""Ratio of the widths of successive smoothed losses: width against time. On hinge tables of 150 x 4 to 2,000 x 8, 16
gave bounds up to 5 % wider in 0.97 of the time."""

LEAST_ROWS = 5
"""Rows for each column that must be near their jumps where curvature is measured: it protects from a curvature of too
few rows. On the same tables, 1 gave bounds up to twice as wide."""

MOST_STEPS = 6
"""Newton steps to the model of a smoothed loss, and halvings of one, at most: they protect from steps without end. On
the same tables, 20 gave bounds from 0.6 % narrower to 1.5 % wider."""

OF_PASS = 5e5
"""Multiplications that take about as long as a pass over no rows: it protects from small tables that take longer than
their `effort`. At 0, rows of 150 x 4 took 1.6 times as long for bounds up to 4 % narrower."""


class Curvature(NamedTuple):
    """The curvature of the center near the jumps."""

    width: float
    """Of the smoothed loss that it was measured with."""
    density: float
    """Fraction of the rows near their jump, for each unit of the score."""
    hessian: Array
    """Shape (d, d): of the mean smoothed loss."""

    @classmethod
    def at(cls, problem: Problem, w: Array) -> Curvature:
        """Measure it at a model, with the least width that has enough rows."""
        rows, width = problem.rows, 1.0
        here = there = rows.reduce(_curvature_sums, problem.loss.smoothed(width), w)
        while there.n_near >= LEAST_ROWS * len(w) and width > EPS:
            here, width = there, width / WIDTH_RATIO
            there = rows.reduce(_curvature_sums, problem.loss.smoothed(width), w)
        width = min(1.0, width * WIDTH_RATIO)
        density = float(here.n_near) / (rows.n_rows * width)
        return cls(width, max(density, 1e-12), here.hessian / rows.total_weight)


class TiltedModel(NamedTuple):
    """A model, a subgradient of the sum of its absolute weights, and the loss that its dual point is from."""

    w: Array
    signs: Array
    dual_loss: Loss


@dataclass(frozen=True)
class TiltedTraining:
    """Trains tilted models with narrower and narrower smoothed losses."""

    problem: Problem
    density: float
    """See `Curvature`."""
    widths: tuple[float, ...]
    """Of the smoothed losses, the widest first."""

    @classmethod
    def down_to(cls, problem: Problem, curvature: Curvature, residual: float) -> TiltedTraining:
        """Return a training whose last smoothed loss adds about `residual` to the residuals."""
        last = np.sqrt(6.0 * residual / curvature.density)
        last = float(np.clip(np.nan_to_num(last, nan=curvature.width), EPS * curvature.width, curvature.width))
        count = 1 + int(np.ceil(np.log(curvature.width / last) / np.log(WIDTH_RATIO)))
        return cls(problem, curvature.density, tuple(np.geomspace(curvature.width, last, count).tolist()))

    def model(self, linear: Array, start: Array, middles_at: Array, work: Work) -> TiltedModel:
        """Approximately minimise the objective of the center minus ``linear.w``; return the best model of all widths.

        Incomplete rows have the middle of the derivatives that they may have at `middles_at`. No step begins that is
        more work than is allowed.
        """
        penalty, d = self.problem.penalty, len(start)
        lam, kappa = penalty.lam_vector(d), penalty.kappa_vector(d)
        best, least = TiltedModel(start, np.sign(start), self.problem.loss.smoothed(self.widths[-1])), np.inf
        w = start
        for width in self.widths:
            loss = self.problem.loss.smoothed(width)
            w, here = self._newton(loss, linear, w, middles_at, work)
            low, high = penalty.subdifferential(w)
            left = np.maximum(here.gradient + low, 0.0) + np.minimum(here.gradient + high, 0.0)
            cost = self.density * width**2 / 6.0 + float(left @ left) / (4.0 * penalty.lam)
            if cost < least:
                subgradient = np.divide(-(here.gradient + lam * w), kappa, out=np.zeros(d), where=kappa > 0.0)
                signs = np.where(w == 0.0, np.clip(subgradient, -1.0, 1.0), np.sign(w))
                best, least = TiltedModel(w, signs, loss), cost
        return best

    def _newton(
        self, loss: Loss, linear: Array, w: Array, middles_at: Array, work: Work
    ) -> tuple[Array, _TiltedGradient]:
        """Take a few Newton steps towards the model of a smoothed loss."""
        penalty, d = self.problem.penalty, len(w)
        lam, kappa = penalty.lam_vector(d), penalty.kappa_vector(d)
        here = self._gradient(loss, w, linear, middles_at, work)
        for _ in range(MOST_STEPS):
            if not work.allows(self.price):
                break
            damping = np.where(lam > 0.0, 0.0, 1e-9 + 1e-6 * np.diag(here.hessian))
            hessian = here.hessian + np.diag(damping)
            step = minimise_quadratic(hessian, hessian @ w - here.gradient, lam, kappa, w) - w
            steepness = abs(here.slope(w, step, lam, kappa))
            for _ in range(MOST_STEPS):
                there = self._gradient(loss, w + step, linear, middles_at, work)
                if there.slope(w + step, step, lam, kappa) <= steepness:
                    break
                step = 0.5 * step
            else:
                break
            w, here = w + step, there
        return w, here

    @property
    def price(self) -> float:
        """About how many multiplications a step takes, which sums over all rows."""
        n, d = self.problem.rows.n_rows, self.problem.rows.n_features
        return OF_PASS + n * d * d

    def _gradient(self, loss: Loss, w: Array, linear: Array, middles_at: Array, work: Work) -> _TiltedGradient:
        work.spend(self.price)
        problem, total = self.problem, self.problem.rows.total_weight
        sums = problem.rows.reduce(_training_sums, problem.loss, loss, w, middles_at, problem.cells)
        return _TiltedGradient(sums.gradient / total - linear, sums.hessian / total)


class _TiltedGradient(NamedTuple):
    """Gradient and Hessian of the smoothed losses at a model, the former tilted."""

    gradient: Array
    hessian: Array

    def slope(self, w: Array, step: Array, lam: Array, kappa: Array) -> float:
        """Return the slope of the objective along a step that has led to w."""
        return float((self.gradient + lam * w + kappa * np.where(w == 0.0, np.sign(step), np.sign(w))) @ step)


class _CurvatureSums(NamedTuple):
    """Of a smoothed loss: how many rows have curvature, and the Hessian of all, not divided by the total weight."""

    n_near: int
    hessian: Array


def _curvature_sums(block: Block, loss: Loss, w: Array) -> _CurvatureSums:
    curvature = loss.curvature(block.y, block.center @ w)
    return _CurvatureSums(int(np.count_nonzero(curvature)), weighted_gram(block.center, block.weight * curvature))


@reads(Reads.NORMS)
def _training_sums(
    block: Block, loss: Loss, smoothed: Loss, w: Array, middles_at: Array, cells: Uncertainty
) -> _TiltedGradient:
    """Sum gradients and Hessians of the smoothed losses; incomplete rows count with the middle of their range."""
    y, weight, score = block.y, block.weight, block.center @ w
    scores = score_ranges(block, middles_at, cells)
    low, high = loss.derivative_range(y, scores.lower, scores.upper)
    slope = np.where(scores.incomplete, 0.5 * low + 0.5 * high, smoothed.derivative(y, score))
    curvature = np.where(scores.incomplete, 0.0, smoothed.curvature(y, score))
    return _TiltedGradient((weight * slope) @ block.center, weighted_gram(block.center, weight * curvature))
