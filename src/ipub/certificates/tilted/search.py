"""Choose references of tilted half-balls for a row: every choice is valid, so nothing here needs a proof (Theorem 18).

The reference is near the model of the center whose objective is tilted towards the row, ``P(w) - s x.w``. How far to
tilt is searched for; the directions in which the dual point follows the completion are those of most curvature.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.certificate import Certificate
from ipub.certificates.score_ranges import score_ranges
from ipub.certificates.tilted.half_ball import TiltedHalfBall
from ipub.certificates.tilted.sums import Reference
from ipub.engine import Block, Reads, reads
from ipub.engine.ops import weighted_gram
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import Array, overflow_means_unbounded, up
from ipub.solvers import Solution
from ipub.solvers.quadratic import minimise_quadratic
from ipub.uncertainty import Uncertainty

WIDTHS = tuple(4.0**-k for k in range(8))
"""Widths of the smoothed loss among which one is chosen to measure curvature near the jumps."""
LEAST_ROWS = 5
"""Rows for each column that the chosen width must have near their jumps."""
NARROW = 0.02
"""Width of the smoothed loss at the trained model, over the width that curvature is measured with."""
SMOOTHING = 0.03
"""What smoothing may add to the residuals of a tilted model, about, over what a half-ball has anyway. A narrower loss
is harder to train."""
NEWTON_STEPS, HALVINGS, FLAT = 6, 5, 0.5
"""Steps to the model of a smoothed loss, how often one is halved, at most, and the share of the slope at its start that is flat
enough: any model is valid."""
MOST_FOLLOWED = 4
"""Directions that the dual point may follow, at most: each costs the rows near their jump."""
ANSWERS = (0.6, 1.0)
"""How much of a change of the gradient along a followed direction is answered by the dual point."""
FIRST_RATIO, LEAST_RATIO = 1.8, 1.04
"""Ratio of the tilts that are tried first, and the least one."""
STEPS_BACK = (0.6, 0.85, 1.1)
"""How far the reference is taken back from the tilted model, in units of the way there."""
USUAL_STEP_BACK = 0.85
"""The step back that a tilted model is trained for."""
LEAST_WIDTH = 1e-12
"""Least width of a smoothed loss."""
PRICE = 0.25
"""What freeing an incomplete row costs, over its norm times the spread of gradients over lambda."""
ROUNDS_OF_INTERCEPTS = 2
"""How often bounds of the intercepts are narrowed by half-balls that use them."""
SHRINK = 4.0
"""Ratio of the widths of successive smoothed losses."""
SETTLED = 1e-3
"""A tilted model is trained when a step is about this fraction of the way there."""
TILTS = np.array([0.7, 0.85, 1.0, 1.2, 1.4])
"""Multiples of the tilt at which a half-ball is evaluated: they cost nothing."""


def unsupported_reason(problem: Problem) -> str:
    """Return why there are no tilted half-balls for a problem; "" if there are."""
    if problem.rows.uncertain_labels:
        return "labels are uncertain"
    if problem.rows.categories:
        return "categories are missing"
    if not problem.rows.allows_matrices or not all(problem.rows.map(_is_in_memory).parts):
        return "the table is sparse, wide or on a device"
    return ""


@reads(Reads.ROWS)
def _is_in_memory(block: Block) -> bool:
    return isinstance(block.center, np.ndarray)


class _Following(NamedTuple):
    """Which directions the dual point follows, and how far rows follow."""

    directions: Array
    reach: Array


@dataclass
class TiltedSearch:
    """Upper bounds of scores by tilted half-balls, with what one row's search teaches the next one's.

    Attributes
    ----------
    problem : Problem
    w : array of shape (d,)
        The trained model.
    intercepts : tuple of float
        Bounds of the intercepts of all completions; (0, 0) if there is none.
    density : float
        Fraction of the rows near their jump, for each unit of the score.
    widths : tuple of float
        Of the smoothed losses of tilted models, the widest first.
    inverse : array of shape (d, d)
        About that of the curvature near the jumps, with the penalty.
    curvatures, axes : arrays of shape (k,) and (k, d)
        The greatest curvatures, and their directions.
    """

    problem: Problem
    w: Array
    intercepts: tuple[float, float]
    density: float
    widths: tuple[float, ...]
    inverse: Array
    curvatures: Array
    axes: Array
    spread: float = 0.0
    """Of the last good half-ball: the next tilt is guessed from it."""
    following: _Following | None = None

    @classmethod
    def of(cls, problem: Problem, solution: Solution, certificate: Certificate) -> TiltedSearch | None:
        """Measure the curvature near the jumps; None if that is not finite."""
        d, w = len(solution.w), solution.w
        if not np.isfinite(w).all():
            return None
        losses = tuple(problem.loss.smoothed(width) for width in WIDTHS)
        (counts,) = problem.rows.reduce(_counts_near, losses, w)
        enough = [width for width, count in zip(WIDTHS, counts, strict=True) if count >= LEAST_ROWS * d]
        width = min(enough, default=WIDTHS[0])
        (hessian,) = problem.rows.reduce(_curvature_sums, problem.loss.smoothed(width), w)
        hessian = hessian / problem.rows.total_weight
        lam = problem.penalty.lam_vector(d) + problem.penalty.is_free(d) * (1e-6 * max(np.trace(hessian), 1e-300))
        if not np.isfinite(hessian).all():
            return None
        values, vectors = np.linalg.eigh(hessian)
        intercepts = (0.0, 0.0)
        if problem.penalty.n_free:
            low, high = certificate.score_bounds(np.eye(d)[-1:])[0]
            intercepts = float(low), float(high)
        density = float(counts[WIDTHS.index(width)]) / (problem.rows.n_rows * width)
        return cls(
            problem, w, intercepts, density, (width, NARROW * width),
            np.linalg.inv(hessian + np.diag(lam)), values[::-1][:MOST_FOLLOWED], vectors.T[::-1][:MOST_FOLLOWED],
        )  # fmt: skip

    @overflow_means_unbounded()
    def score_upper(self, x: Array, known: float, seconds: float) -> float:
        """Bound ``x.w''`` from above, in about so many seconds of processor time; `known` is a bound already."""
        end = time.process_time() + seconds
        direction = self.inverse @ x
        gain = float(x @ direction)
        if self.following is None:
            self._choose_following()
        tilt = self.spread / np.sqrt(2.0 * self.problem.penalty.lam * gain) if gain > 0.0 else np.inf
        found: dict[float, float] = {}
        ratio = FIRST_RATIO
        while 0.0 < tilt < np.inf and (time.process_time() < end or not found):
            found[tilt] = self._at_tilt(x, direction, tilt)
            best = min(found, key=found.__getitem__)
            while ratio > LEAST_RATIO:
                untried = [s for s in (best * ratio, best / ratio) if not _is_near(s, found, ratio)]
                if untried:
                    break
                ratio = float(np.sqrt(ratio))
            else:
                break
            tilt = untried[0]
        return min(known, *found.values()) if found else known

    def narrow_intercepts(self, seconds: float) -> None:
        """Narrow the bounds of the intercepts: scores of the row that has an intercept alone."""
        if not self.problem.penalty.n_free:
            return
        alone = np.eye(len(self.w))[-1]
        for _ in range(ROUNDS_OF_INTERCEPTS):
            low, high = self.intercepts
            low = -self.score_upper(-alone, -low, 0.5 * seconds / ROUNDS_OF_INTERCEPTS)
            self.intercepts = low, self.score_upper(alone, high, 0.5 * seconds / ROUNDS_OF_INTERCEPTS)

    def _at_tilt(self, x: Array, direction: Array, tilt: float) -> float:
        """Train a tilted model, and return the least bound of half-balls near it."""
        way = tilt * direction
        trained = self._tilted_model(tilt * x, self.w + way, USUAL_STEP_BACK * way)
        best, chosen = np.inf, None
        for share in STEPS_BACK:
            ball = self._half_ball(trained.w - share * way, trained)
            found = np.inf if ball is None else self._least_upper(ball, x, tilt)
            if not found < best:
                break
            best, chosen = found, ball
        if chosen is None:
            return np.inf
        kept, start = self.following, chosen
        for following in self._followings(start):
            self.following = following
            ball = self._half_ball(start.c, trained)
            found = np.inf if ball is None else self._least_upper(ball, x, tilt)
            if ball is not None and found < best:
                best, chosen, kept = found, ball, following
        self.following, self.spread = kept, chosen.spread
        return best

    def _followings(self, ball: TiltedHalfBall) -> list[_Following]:
        """Return directions that the dual point may follow, given what gradients a half-ball has."""
        changes = np.abs(self.axes) @ ball.box + np.abs(ball.vectors @ self.axes.T).sum(axis=0)
        reach = changes / (self.problem.penalty.lam + np.maximum(self.curvatures, 0.0))
        return [_Following(self.axes[:k], answer * reach[:k]) for k in range(1, len(reach) + 1) for answer in ANSWERS]

    def _least_upper(self, ball: TiltedHalfBall, x: Array, tilt: float) -> float:
        distance = 0.0
        if self.problem.penalty.n_free:
            low, high = self.intercepts
            distance = float(np.maximum(up(abs(high - ball.c[-1])), up(abs(ball.c[-1] - low))))
        return min(ball.score_upper(x, float(t), distance) for t in tilt * TILTS)

    def _choose_following(self) -> None:
        """Choose what the dual point follows: what makes the half-ball at the trained model smallest."""
        lam, model = self.problem.penalty.lam, _TiltedModel(self.w, np.sign(self.w), self.problem.loss.smoothed(self.widths[-1]))
        self.following = _Following(self.axes[:0], np.zeros(0))
        ball = self._half_ball(self.w, model)
        if ball is None:
            return
        chosen, least, self.spread = self.following, ball.eps + ball.spread**2 / (4.0 * lam), ball.spread
        for following in self._followings(ball):
            self.following = following
            ball = self._half_ball(self.w, model)
            size = np.inf if ball is None else ball.eps + ball.spread**2 / (4.0 * lam)
            if ball is not None and size < least:
                chosen, least, self.spread = following, size, ball.spread
        self.following = chosen
        width = float(np.sqrt(SMOOTHING * least / max(self.density, 1e-12)))
        widest, narrowest = self.widths[0], max(width, LEAST_WIDTH)
        n_widths = 1 + max(0, int(np.ceil(np.log(widest / narrowest) / np.log(SHRINK))))
        self.widths = tuple(np.geomspace(max(widest, narrowest), narrowest, n_widths).tolist())

    def _half_ball(self, c: Array, trained: _TiltedModel) -> TiltedHalfBall | None:
        directions, reach = self.following or _Following(self.axes[:0], np.zeros(0))
        price = PRICE * self.spread / self.problem.penalty.lam
        at = Reference(c, trained.w, trained.dual_loss, trained.signs, directions, reach, price)
        return TiltedHalfBall.of(self.problem, at)

    def _tilted_model(self, linear: Array, start: Array, way: Array) -> _TiltedModel:
        """Minimise the objective of the center minus ``linear.w``, about, by Newton steps with narrower and narrower
        smoothed losses; the best of their models counts.

        Incomplete rows have the middle of the derivatives that they may have at ``start - way``.
        """
        penalty, d = self.problem.penalty, len(start)
        lam, kappa = penalty.lam_vector(d), penalty.kappa_vector(d)
        w, best, least = start, None, np.inf
        for width in self.widths:
            loss = self.problem.loss.smoothed(width)
            w, here = self._newton(loss, linear, w, start - way)
            low, high = penalty.subdifferential(w)
            left = np.maximum(here.gradient + low, 0.0) + np.minimum(here.gradient + high, 0.0)
            cost = self.density * width**2 / 6.0 + float(left @ left) / (4.0 * penalty.lam)
            if cost < least or best is None:
                pull = np.divide(-(here.gradient + lam * w), kappa, out=np.zeros(d), where=kappa > 0.0)
                signs = np.where(w == 0.0, np.clip(pull, -1.0, 1.0), np.sign(w))
                best, least = _TiltedModel(w, signs, loss), cost
        return best or _TiltedModel(start, np.sign(start), self.problem.loss)

    def _newton(self, loss: Loss, linear: Array, w: Array, middles_at: Array) -> tuple[Array, _TiltedGradient]:
        """Take a few Newton steps towards the model of a smoothed loss."""
        penalty, d = self.problem.penalty, len(w)
        lam, kappa = penalty.lam_vector(d), penalty.kappa_vector(d)
        here = self._tilted_gradient(loss, w, linear, middles_at)
        for _ in range(NEWTON_STEPS):
            damping = np.where(lam > 0.0, 0.0, 1e-9 + 1e-6 * np.diag(here.hessian))
            hessian = here.hessian + np.diag(damping)
            step = minimise_quadratic(hessian, hessian @ w - here.gradient, lam, kappa, w) - w
            steepness = abs(here.slope(w, step, lam, kappa))
            for _ in range(HALVINGS):
                there = self._tilted_gradient(loss, w + step, linear, middles_at)
                if there.slope(w + step, step, lam, kappa) <= FLAT * steepness:
                    break
                step = 0.5 * step
            else:
                break
            w, here = w + step, there
            if steepness <= SETTLED**2 * abs(float(linear @ (w - middles_at))):
                break
        return w, here

    def _tilted_gradient(self, loss: Loss, w: Array, linear: Array, middles_at: Array) -> _TiltedGradient:
        problem, total = self.problem, self.problem.rows.total_weight
        sums = problem.rows.reduce(_training_sums, problem.loss, loss, w, middles_at, problem.cells)
        return _TiltedGradient(sums[0] / total - linear, sums[1] / total)


class _TiltedModel(NamedTuple):
    """A model, a subgradient of the sum of its absolute weights, and the loss that its dual point is from."""

    w: Array
    signs: Array
    dual_loss: Loss


class _TiltedGradient(NamedTuple):
    """Gradient and Hessian of the smoothed losses at a model, the former tilted."""

    gradient: Array
    hessian: Array

    def slope(self, w: Array, step: Array, lam: Array, kappa: Array) -> float:
        """Return the slope of the objective along a step that has led to w."""
        return float((self.gradient + lam * w + kappa * np.where(w == 0.0, np.sign(step), np.sign(w))) @ step)


def _is_near(tilt: float, found: dict[float, float], ratio: float) -> bool:
    """Whether a tilt is nearer to one that was tried than half the way to the next."""
    return any(abs(np.log(tilt / other)) < 0.5 * np.log(ratio) for other in found)


def _counts_near(block: Block, losses: tuple[Loss, ...], w: Array) -> tuple[Array]:
    """Count the rows at which smoothed losses have curvature."""
    score = block.center @ w
    return (np.array([np.count_nonzero(loss.curvature(block.y, score)) for loss in losses]),)


def _curvature_sums(block: Block, loss: Loss, w: Array) -> tuple[Array]:
    return (weighted_gram(block.center, block.weight * loss.curvature(block.y, block.center @ w)),)


@reads(Reads.NORMS)
def _training_sums(
    block: Block, loss: Loss, smoothed: Loss, w: Array, middles_at: Array, cells: Uncertainty
) -> tuple[Array, Array]:
    """Return gradient and Hessian of the smoothed losses; incomplete rows count with the middle of their range."""
    y, weight, score = block.y, block.weight, block.center @ w
    scores = score_ranges(block, middles_at, cells)
    low, high = loss.derivative_range(y, scores.lower, scores.upper)
    slope = np.where(scores.incomplete, 0.5 * low + 0.5 * high, smoothed.derivative(y, score))
    curvature = np.where(scores.incomplete, 0.0, smoothed.curvature(y, score))
    return (weight * slope) @ block.center, weighted_gram(block.center, weight * curvature)
