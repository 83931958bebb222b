"""Choose references of tilted half-balls for a row: every choice is valid, so nothing here needs a proof (thm-tilted).

The reference is near the model of the center whose objective is tilted towards the row, ``P(w) - s x.w``. How far to
tilt is searched for; the directions in which the dual point follows the completion are those of most curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.per_row.tilted_half_ball import Reference, TiltedHalfBall
from ipub.certificates.per_row.tilted_model import Curvature, TiltedModel, TiltedTraining
from ipub.certificates.per_row.work import Work
from ipub.model_sets.certificate import Certificate
from ipub.numeric.linalg import rough_inverse
from ipub.numeric.rounding import Array, overflow_means_unbounded, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows import Block

SMOOTHING = 0.005
"""What smoothing may add to the residuals of a tilted model, about, relative to those of a half-ball at the trained
model: width against steps of training. On hinge tables of 150 x 4 to 2,000 x 8, 0.01 gave bounds up to 2.5 % wider in
0.97 of the time."""

MOST_TILTED_COLUMNS = 200
"""Columns, at most: it protects from eigenvalues of large matrices, a dozen for each half-ball."""

MOST_FOLLOWED = 4
"""Directions that the dual point may follow, at most: width against half-balls. On the same tables, no limit gave
bounds from 2 % narrower to 2 % wider in up to 1.5 times the time."""

COMPENSATED_FRACTIONS = (0.6, 1.0)
"""How much of a change of the gradient along a followed direction the dual point compensates: width against half-balls.
The second alone gave bounds 1 % narrower to 9 % wider in 0.7 to 1 of the time."""

FIRST_RATIO, LEAST_RATIO = 1.8, 1.04
"""Ratio of the tilts that are tried first, and the least one, where the search ends: width against half-balls. A first
ratio of 2 gave bounds from 1 % narrower to 1 % wider."""

STEPS_BACK = (0.6, 0.85, 1.1)
"""How far the reference is taken back from the tilted model, in units of the way there: width against half-balls. The
model is trained for the middle one; that one alone gave bounds 1 % narrower to 2 % wider in 0.9 to 1 of the time."""

PRICE = 0.25
"""An incomplete row may choose its dual coordinate if keeping it costs more than this times the row's norm times the
spread of gradients over lambda: width only. On the same tables, 0.5 gave bounds 5 % narrower to 5 % wider."""

ROUNDS_OF_INTERCEPTS = 2
"""How often bounds of the intercepts are narrowed by half-balls that use them: width against time. Once gave bounds 2 %
to 9 % wider in 0.8 to 1 of the time."""

TILTS = np.array([0.7, 0.85, 1.0, 1.2, 1.4])
"""Multiples of the tilt at which a half-ball is evaluated, without another sum over the rows: width against time. The
tilt alone gave bounds up to 3 % wider in 0.9 of the time."""


def reason_against_tilts(problem: Problem) -> str | None:
    """Return why there are no tilted half-balls for a problem; None if there are."""
    if problem.rows.uncertain_labels:
        return "labels are uncertain"
    if problem.rows.categories:
        return "categories are missing"
    if problem.rows.n_features > MOST_TILTED_COLUMNS or not all(problem.rows.map(_is_in_memory).parts):
        return "the table is sparse, wide or on a device"
    return None


def _is_in_memory(block: Block) -> bool:
    return isinstance(block.center, np.ndarray)


class _Following(NamedTuple):
    """Which directions the dual point follows, and how far rows follow."""

    directions: Array
    lengths: Array


class _Found(NamedTuple):
    """The least bound so far, and the half-ball that gave it."""

    bound: float
    ball: TiltedHalfBall
    following: _Following


@dataclass
class TiltedSearch:
    """Upper bounds of scores by tilted half-balls, with what one row's search teaches the next one's."""

    problem: Problem
    w: Array
    """Shape (d,): the trained model."""
    intercepts: tuple[float, float]
    """Bounds of the intercepts of all completions; (0, 0) if there is none."""
    inverse: Array
    """Shape (d, d): about that of the curvature near the jumps, with the penalty."""
    curvatures: Array
    axes: Array
    """Shape (k,) and (k, d): the greatest curvatures, and their directions."""
    training: TiltedTraining
    following: _Following
    """What the dual point followed in the last good half-ball."""
    spread: float = 0.0
    """Of that half-ball: the next tilt is guessed from it."""

    @classmethod
    @overflow_means_unbounded()
    def of(cls, problem: Problem, solution: Solution, certificate: Certificate) -> TiltedSearch | None:
        """Measure the curvature near the jumps, and what is best followed at the trained model; None if that fails."""
        d, w, penalty = len(solution.w), solution.w, problem.penalty
        if not np.isfinite(w).all():
            return None
        curvature = Curvature.at(problem, w)
        try:
            values, vectors = np.linalg.eigh(curvature.hessian)
            damping = penalty.is_free(d) * (1e-6 * (float(values.sum()) + penalty.lam))
            inverse = rough_inverse(curvature.hessian + np.diag(penalty.lam_vector(d) + damping))
        except np.linalg.LinAlgError:
            return None
        intercepts = (0.0, 0.0)
        if penalty.n_free:
            low, high = certificate.score_bounds(np.eye(d)[-1:])[0]
            intercepts = float(low), float(high)
        axes = vectors.T[::-1][:MOST_FOLLOWED]
        training = TiltedTraining.down_to(problem, curvature, 0.0)
        nothing = _Following(axes[:0], np.zeros(0))
        search = cls(problem, w, intercepts, inverse, values[::-1][:MOST_FOLLOWED], axes, training, nothing)
        residual = search._best_at_the_trained_model()
        search.training = TiltedTraining.down_to(problem, curvature, SMOOTHING * residual)
        return search

    @overflow_means_unbounded()
    def score_upper(self, x: Array, known: float, effort: float) -> float:
        """Bound ``x.w''`` from above, with the work that is allowed (see `Work`); `known` is a bound already."""
        work = Work(effort)
        direction = self.inverse @ x
        gain = float(x @ direction)
        tilt = self.spread / np.sqrt(2.0 * self.problem.penalty.lam * gain) if gain > 0.0 else np.inf
        found: dict[float, float] = {}
        ratio = FIRST_RATIO
        while 0.0 < tilt < np.inf and (work.allows(self.price) or not found):
            found[tilt] = self._at_tilt(x, direction, tilt, work)
            best = min(found, key=found.__getitem__)
            untried: list[float] = []
            while not untried and ratio > LEAST_RATIO:
                untried = [s for s in (best * ratio, best / ratio) if not _is_near(s, found, ratio)]
                ratio = ratio if untried else float(np.sqrt(ratio))
            if not untried:
                break
            tilt = untried[0]
        return min(known, *found.values()) if found else known

    def narrow_intercepts(self, effort: float) -> None:
        """Narrow the bounds of the intercepts: scores of the row that has an intercept alone."""
        if not self.problem.penalty.n_free:
            return
        alone = np.eye(len(self.w))[-1]
        for _ in range(ROUNDS_OF_INTERCEPTS):
            low, high = self.intercepts
            low = -self.score_upper(-alone, -low, 0.5 * effort / ROUNDS_OF_INTERCEPTS)
            self.intercepts = low, self.score_upper(alone, high, 0.5 * effort / ROUNDS_OF_INTERCEPTS)

    def _at_tilt(self, x: Array, direction: Array, tilt: float, work: Work) -> float:
        """Train a tilted model, and return the least bound of half-balls near it."""
        way = tilt * direction
        trained = self.training.model(tilt * x, self.w + way, self.w + (1.0 - STEPS_BACK[1]) * way, work)
        best: _Found | None = None
        for step in STEPS_BACK:
            work.spend(self.price)
            found = self._evaluated(trained.w - step * way, trained, self.following, x, tilt)
            if found is None or (best is not None and not found.bound < best.bound):
                break
            best = found
        if best is None:
            return np.inf
        for following in self._followings(best.ball):
            if not work.allows(self.price):
                break
            work.spend(self.price)
            found = self._evaluated(best.ball.c, trained, following, x, tilt)
            if found is not None and found.bound < best.bound:
                best = found
        self.following, self.spread = best.following, best.ball.spread
        return best.bound

    @property
    def price(self) -> float:
        """About how many multiplications a half-ball takes: as a step of training, it sums over all rows."""
        return self.training.price

    def _evaluated(self, c: Array, trained: TiltedModel, following: _Following, x: Array, tilt: float) -> _Found | None:
        """Return the least bound of a half-ball; None if there is none."""
        ball = self._half_ball(c, trained, following)
        if ball is None:
            return None
        distance = 0.0
        if self.problem.penalty.n_free:
            low, high = self.intercepts
            distance = float(np.maximum(up(abs(high - c[-1])), up(abs(c[-1] - low))))
        return _Found(min(ball.score_upper(x, float(t), distance) for t in tilt * TILTS), ball, following)

    def _half_ball(self, c: Array, trained: TiltedModel, following: _Following) -> TiltedHalfBall | None:
        price = PRICE * self.spread / self.problem.penalty.lam
        return TiltedHalfBall.of(self.problem, Reference(c, *trained, *following, price))

    def _followings(self, ball: TiltedHalfBall) -> list[_Following]:
        """Return directions that the dual point may follow, given what gradients a half-ball has."""
        changes = np.abs(self.axes) @ ball.box + np.abs(ball.vectors @ self.axes.T).sum(axis=0)
        lengths = changes / (self.problem.penalty.lam + np.maximum(self.curvatures, 0.0))
        return [
            _Following(self.axes[:k], fraction * lengths[:k])
            for k in range(1, len(lengths) + 1)
            for fraction in COMPENSATED_FRACTIONS
        ]

    def _best_at_the_trained_model(self) -> float:
        """Follow what makes the half-ball at the trained model smallest; return its residuals, gradients included."""
        lam, narrow = self.problem.penalty.lam, self.problem.loss.smoothed(self.training.widths[-1])
        trained = TiltedModel(self.w, np.sign(self.w), narrow)
        ball, least = self._half_ball(self.w, trained, self.following), np.inf
        for following in [self.following, *(self._followings(ball) if ball is not None else ())]:
            ball = self._half_ball(self.w, trained, following)
            size = np.inf if ball is None else ball.eps + ball.spread**2 / (4.0 * lam)
            if ball is not None and size < least:
                self.following, self.spread, least = following, ball.spread, size
        return least


def _is_near(tilt: float, found: dict[float, float], ratio: float) -> bool:
    """Whether a tilt is nearer to one that was tried than half the way to the next."""
    return any(abs(np.log(tilt / other)) < 0.5 * np.log(ratio) for other in found)
