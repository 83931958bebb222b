"""Models of the center whose objective is tilted towards a row: near them the references of half-balls lie.

Any model is a valid one (Theorem 18), so nothing here needs a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.per_row.work import Work
from ipub.certificates.scores import score_ranges
from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers.quadratic import minimise_quadratic
from ipub.promises import Uncertainty
from ipub.rows import Block, Reads, reads
from ipub.rows.ops import weighted_gram

WIDTHS = tuple(4.0**-k for k in range(8))
"""Widths of the smoothed loss among which one is chosen to measure curvature near the jumps."""
LEAST_ROWS = 5
"""Rows for each column that the chosen width must have near their jumps."""
NEWTON_STEPS, HALVINGS, FLAT = 6, 5, 0.5
"""Steps to the model of a smoothed loss, how often one is halved, at most, and the share of the slope at its start that
is flat enough."""
SETTLED = 1e-6
"""A model is trained when a step would lower the objective by at most this fraction of what the tilt does."""
SHRINK, LEAST_WIDTH = 4.0, 1e-12
"""Ratio of the widths of successive smoothed losses, at most, and the least width."""

OF_PASS, OF_ROW, OF_SQUARE = 3e5, 30, 0.1
"""Scalar multiplications of a sum over all rows, about: in any case, for each row, and for each pair of its columns."""


class Curvature(NamedTuple):
    """The curvature of the center near the jumps.

    Attributes
    ----------
    width : float
        Of the smoothed loss that it was measured with.
    density : float
        Fraction of the rows near their jump, for each unit of the score.
    hessian : array of shape (d, d)
        Of the mean smoothed loss.
    """

    width: float
    density: float
    hessian: Array

    @classmethod
    def at(cls, problem: Problem, w: Array) -> Curvature:
        """Measure it at a model, with the least width that has enough rows."""
        losses = tuple(problem.loss.smoothed(width) for width in WIDTHS)
        (counts,) = problem.rows.reduce(_counts_near, losses, w)
        enough = [k for k, count in enumerate(counts) if count >= LEAST_ROWS * len(w)]
        k = max(enough, default=0)
        (hessian,) = problem.rows.reduce(_curvature_sums, losses[k], w)
        density = float(counts[k]) / (problem.rows.n_rows * WIDTHS[k])
        return cls(WIDTHS[k], max(density, 1e-12), hessian / problem.rows.total_weight)


class TiltedModel(NamedTuple):
    """A model, a subgradient of the sum of its absolute weights, and the loss that its dual point is from."""

    w: Array
    signs: Array
    dual_loss: Loss


@dataclass(frozen=True)
class TiltedTraining:
    """Trains tilted models with narrower and narrower smoothed losses.

    Attributes
    ----------
    problem : Problem
    density : float
        See `Curvature`.
    widths : tuple of float
        Of the smoothed losses, the widest first.
    """

    problem: Problem
    density: float
    widths: tuple[float, ...]

    @classmethod
    def down_to(cls, problem: Problem, curvature: Curvature, residual: float) -> TiltedTraining:
        """Return a training whose last smoothed loss adds so much to the residuals, about."""
        last = np.sqrt(6.0 * residual / curvature.density)
        last = float(np.clip(np.nan_to_num(last, nan=curvature.width), LEAST_WIDTH, curvature.width))
        count = 1 + int(np.ceil(np.log(curvature.width / last) / np.log(SHRINK)))
        return cls(problem, curvature.density, tuple(np.geomspace(curvature.width, last, count).tolist()))

    def model(self, linear: Array, start: Array, middles_at: Array, work: Work) -> TiltedModel:
        """Minimise the objective of the center minus ``linear.w``, about; the best of all widths counts.

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
        for _ in range(NEWTON_STEPS):
            if not work.allows(self.price):
                break
            damping = np.where(lam > 0.0, 0.0, 1e-9 + 1e-6 * np.diag(here.hessian))
            hessian = here.hessian + np.diag(damping)
            step = minimise_quadratic(hessian, hessian @ w - here.gradient, lam, kappa, w) - w
            steepness = abs(here.slope(w, step, lam, kappa))
            for _ in range(HALVINGS):
                there = self._gradient(loss, w + step, linear, middles_at, work)
                if there.slope(w + step, step, lam, kappa) <= FLAT * steepness:
                    break
                step = 0.5 * step
            else:
                break
            w, here = w + step, there
            if steepness <= SETTLED * abs(float(linear @ (w - middles_at))):
                break
        return w, here

    @property
    def price(self) -> float:
        """About how many multiplications a step takes, which sums over all rows."""
        n, d = self.problem.rows.n_rows, self.problem.rows.n_features
        return OF_PASS + n * (OF_ROW + OF_SQUARE * d * d)

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


def _counts_near(block: Block, losses: tuple[Loss, ...], w: Array) -> tuple[Array]:
    """Count the rows at which smoothed losses have curvature."""
    score = block.center @ w
    return (np.array([np.count_nonzero(loss.curvature(block.y, score)) for loss in losses]),)


def _curvature_sums(block: Block, loss: Loss, w: Array) -> tuple[Array]:
    return (weighted_gram(block.center, block.weight * loss.curvature(block.y, block.center @ w)),)


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
