"""Proximal Newton for every loss and penalty; the hinge is the limit of smoothed hinges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ipub.errors import warn_user
from ipub.losses import Loss
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.problem.objective import Evaluation, Hessian, HessianProducts, Point, Problem, Sum, diagonal_of
from ipub.problem.solvers.quadratic import minimise_by_products, minimise_quadratic
from ipub.rows import Block

TRIAL_STEPS = np.concatenate([np.geomspace(2.0**-55, 2.0**-8, 6, endpoint=False), np.geomspace(2.0**-8, 1.0, 12)])
"""Steps, as fractions of the full one, whose slopes the line search computes in one pass. The shortest are for the
first steps, which may be far too long where the loss has no curvature yet."""
INNER_STEPS, SEARCH_PASSES, FLAT_SLOPE = 8, 3, 0.05
"""A later pass of the search computes so many slopes, there are at most so many, and this share of the slope at the
start is flat enough."""
SHRINK, SAMPLED_SHRINK = 0.2, 0.35
"""Factor between the widths of successive smoothed losses, and where the model of a sample is the start: optima of long
tables are smooth in the width, so that many small changes of it take fewer passes than few large ones."""
LEAST_WIDTH = 1e-13
"""Least width of a smoothed loss: below it, the rounding of the scores dominates."""
FIRST_WIDTHS = (1.0, 0.2, 0.04, 0.008)
"""Widths of the smoothed loss that are tried at the model of a sample."""
SETTLED, SAMPLED_SETTLED = 1e-3, 0.1
"""A smoothed problem is solved when at most this fraction of the gap is not due to the smoothing; likewise."""
BALANCED = 1e-2
"""... and the slope in an intercept, times the intercept, is at most this fraction of the gap."""
FREE_STEP = 10.0
"""Longest step of an intercept b where the loss has no curvature, as a multiple of 1 + abs(b)."""
MOST_STALLED = 30
"""Steps at one width without a smaller gap or objective after which rounding is taken to be the limit."""
PROGRESS = 1e-10
"""Relative decrease of the objective that counts as progress."""
SAME_CURVATURE = 500
"""Rows for each column from which the curvature of the sample is used for the table: fewer passes, more steps."""
CONTRACTION = 0.05
"""While a step reduces the gap to less than this fraction, its Hessian is used again."""

Beside = Callable[[Point], Sum]
"""Returns a sum that is wanted at a point."""


@dataclass(frozen=True)
class Solution:
    """A trained model with its dual point, as that of a `Point`, and how good the pair is."""

    w: Array
    dual_loss: Loss
    primal: float
    dual: float
    gap: float
    relative_gap: float
    n_iter: int
    converged: bool
    dual_w: Array | None = None

    @property
    def point(self) -> Point:
        """The model and its dual point, without what is known of them."""
        return Point(self.w, self.dual_loss, self.dual_w)

    def dual_point(self, block: Block, score: Array | None = None) -> Array:
        """Return the dual coordinates of a block's rows, floats in the conjugate's domain; `score` saves work."""
        return self.point.dual_point(block, score)


@overflow_means_unbounded()
def solve(
    problem: Problem,
    tol: float = 1e-8,
    max_iter: int = 1000,
    start: Array | None = None,
    verbose: int = 0,
    hessian: Hessian | None = None,
    beside: Beside | None = None,
) -> Solution:
    """Minimise the problem until ``gap / max(|primal|, |dual|) <= tol``, from `start` or from zeros.

    One more Newton step follows, at the cost of a pass: it squares the remaining error (for the hinge three, which
    shrink the smoothing further). If `tol` is not reached in `max_iter` steps a `ConvergenceWarning` says so; a
    certificate made from the result holds all the same.

    For smooth losses, a `hessian` is about that of the mean loss at `start`, near the optimum: it is used as long as
    steps with it make the gap smaller fast. The sum that a certificate needs at a point is computed `beside`, in the
    pass that evaluates what is to be the last point, and kept by the problem.
    """
    if not problem.loss.is_smooth:
        hessian = beside = None
    with single_threaded_blas(problem.rows.n_features):
        return _solve(problem, tol, max_iter, start, verbose, hessian, beside)


def _solve(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: Array | None,
    verbose: int,
    hessian: Hessian | None,
    beside: Beside | None,
) -> Solution:
    w, known_hessian = _start(problem, tol, max_iter) if start is None else (np.array(start, dtype=float), hessian)
    path: list[tuple[float, Array]] = []
    shrink, settled = SHRINK, SETTLED
    if problem.loss.is_smooth or start is not None or not w.any():
        width, dual_loss = 1.0, problem.loss.smoothed(1.0)
        here = problem.evaluate(w, dual_loss, hessian=known_hessian)
    else:
        width, dual_loss, here = _first_width(problem, w)
        shrink, settled = SAMPLED_SHRINK, SAMPLED_SETTLED
    best, best_at_width = _Pair(w, dual_loss, None, here), here.penalty_gap
    lowest = here.objective
    stalled = n_iter = 0
    is_full = problem.loss.is_smooth
    polish = 1 if problem.loss.is_smooth else 3
    while n_iter < max_iter and stalled < MOST_STALLED and polish > 0:
        if known_hessian is not None and best.at.relative_gap <= tol:
            break
        polish -= best.at.relative_gap <= tol
        n_iter += 1
        if not problem.loss.is_smooth and _is_settled(here, stalled, settled) and width > LEAST_WIDTH:
            path = [*path[-1:], (width, w)]
            width *= shrink
            wider, dual_loss = dual_loss, problem.loss.smoothed(width)
            points = [Point(w, dual_loss)]
            if len(path) == 2:
                # Last the hinge's own optimum, with the dual point of the smoothed one: off by O(width^2) only.
                points += [Point(_extrapolate(path, width), dual_loss), Point(_extrapolate(path, 0.0), wider, w)]
            evaluated = problem.evaluate_several(points)
            if len(path) == 2:
                best = best.better(_Pair(*points[2], evaluated[2]))
            starts = [(point.w, at) for point, at in zip(points[:2], evaluated, strict=False)]
            w, here = min(starts, key=lambda pair: pair[1].objective)
            # The first step at a narrower width is often too long: its pass computes shorter ones too.
            best_at_width, lowest, is_full = np.inf, np.inf, False
        else:
            last = here.penalty_gap
            # The curvature after the last step is not needed.
            w, here, is_full = _step(
                problem, dual_loss, w, here, here.hessian if polish == 0 else known_hessian, is_full, beside
            )
            if known_hessian is not None and not here.penalty_gap <= CONTRACTION * last:
                known_hessian = None
                here = problem.evaluate(w, dual_loss)
        stalled = 0 if here.penalty_gap < best_at_width or here.objective < (1.0 - PROGRESS) * lowest else stalled + 1
        best_at_width, lowest = min(best_at_width, here.penalty_gap), min(lowest, here.objective)
        best = best.better(_Pair(w, dual_loss, None, here))
        if verbose:
            print(f"step {n_iter}: objective {best.at.primal:.9g}, relative gap {best.at.relative_gap:.1e}")
    at = best.at
    converged = at.relative_gap <= tol
    if not converged:
        warn_user(
            f"The relative duality gap is {at.relative_gap:.1e} after {n_iter} steps, above tol={tol:.1e}. Bounds "
            "stay valid, but are wider than necessary. Rescale the columns, or increase alpha, tol or max_iter.",
            ConvergenceWarning,
        )
    return Solution(best.w, best.dual_loss, at.primal, at.dual, at.gap, at.relative_gap, n_iter, converged, best.dual_w)


@dataclass(frozen=True)
class _Pair:
    """A primal point, its dual point and their evaluation."""

    w: Array
    dual_loss: Loss
    dual_w: Array | None
    at: Evaluation

    def better(self, other: _Pair) -> _Pair:
        """Return the pair with the smaller gap; one that overflowed has none."""
        return other if other.at.gap < self.at.gap or np.isnan(self.at.gap) else self


def _is_settled(here: Evaluation, stalled: int, settled: float) -> bool:
    """Whether the gap is due to the smoothing; an imbalance may be rounding, which no step makes smaller."""
    balanced = here.imbalance <= BALANCED * here.loss_gap or stalled >= 2
    return here.penalty_gap <= settled * here.loss_gap and balanced


def _extrapolate(path: list[tuple[float, Array]], width: float) -> Array:
    """Guess the optimum at another width: about linear in the width once the rows near the kink are settled."""
    (earlier_width, earlier), (last_width, last) = path
    return last + (last - earlier) * ((width - last_width) / (last_width - earlier_width))


def _start(problem: Problem, tol: float, max_iter: int) -> tuple[Array, Hessian | None]:
    """Return a start: the model of a sample if there are many rows, with its Hessian if that is accurate enough."""
    zero = np.zeros(problem.rows.n_features)
    part = problem.sample()
    if part is None:
        return zero, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        w = solve(part, tol, max_iter, start=zero).w
    if not problem.loss.is_smooth or part.rows.n_rows < SAME_CURVATURE * len(zero):
        return w, None
    return w, part.evaluate(w, problem.loss).hessian


def _first_width(problem: Problem, w: Array) -> tuple[float, Loss, Evaluation]:
    """Return the smoothing to begin with at the model of a sample: that of the least gap, of several in one pass.

    A wide one is far from the hinge, and at a narrow one the sample's model is far from the optimum.
    """
    losses = [problem.loss.smoothed(width) for width in FIRST_WIDTHS]
    found = problem.evaluate_several([Point(w, loss) for loss in losses])
    best = int(np.nanargmin([1.0 if np.isnan(at.gap) else at.gap for at in found]))
    return FIRST_WIDTHS[best], losses[best], found[best]


def _step(
    problem: Problem,
    loss: Loss,
    w: Array,
    here: Evaluation,
    known_hessian: Hessian | None,
    expect_full: bool,
    beside: Beside | None,
) -> tuple[Array, Evaluation, bool]:
    """Take one Newton step, shortened where the full one goes too far; return whether it was a full one, too.

    Where a full step is not to be expected, the pass that evaluates it also computes the slopes of shorter ones. With a
    `known_hessian`, which is reused, it is to be the last: what a certificate needs there is summed `beside`.
    """
    penalty, n = problem.penalty, len(w)
    direction = _direction(here, w, penalty.lam_vector(n), penalty.kappa_vector(n), penalty.is_free(n))
    slopes, full = None, w + direction
    if expect_full or known_hessian is not None:
        wanted = None if beside is None or known_hessian is None else beside(Point(full, loss))
        there = problem.evaluate(full, loss, hessian=known_hessian, beside=wanted)
    else:
        there, slopes = problem.evaluate_and_try(full, loss, w, direction, TRIAL_STEPS)
    descends = there.objective < here.objective
    if there.penalty_gap <= (0.25 if descends else 0.01) * here.penalty_gap:
        return full, there, True
    slopes = problem.trial(w, direction, TRIAL_STEPS, loss) if slopes is None else slopes
    bracket = _bracket(TRIAL_STEPS, slopes)
    if bracket is None:
        return full, there, True
    if known_hessian is not None:
        w = w + bracket.crossing * direction
        return w, problem.evaluate(w, loss, hessian=known_hessian), False
    return *_search(problem, loss, w, here, direction, bracket, float(abs(slopes[0]))), False


def _direction(here: Evaluation, w: Array, lam: Array, kappa: Array, free: NDArray[np.bool_]) -> Array:
    """Return the way from w to the minimum of the quadratic that stands for the loss, with the penalty."""
    # Where there is no curvature, so much of it that a free coordinate takes a finite step.
    flat, wanted = free & (diagonal_of(here.hessian) == 0.0), np.abs(here.gradient) / (FREE_STEP * (1.0 + np.abs(w)))
    damping = np.where(flat, np.where(wanted > 0.0, wanted, 1.0), 0.0)
    if isinstance(here.hessian, HessianProducts):
        return minimise_by_products(here.hessian, here.gradient, lam, damping, kappa, w)
    hessian = here.hessian + np.diag(damping)
    return minimise_quadratic(hessian, hessian @ w - here.gradient, lam, kappa, w) - w


class _Bracket(NamedTuple):
    """Steps between which the slope along a direction changes its sign, and where it would as a line between them."""

    low: float
    high: float
    crossing: float


def _bracket(steps: Array, slopes: Array) -> _Bracket | None:
    """Return where the slopes, which increase with the steps, change their sign; None if the last is not positive."""
    if not (slopes[-1] > 0.0):
        return None
    first = int(np.argmax(slopes > 0.0))
    if first == 0:
        return _Bracket(0.0, float(steps[0]), float(steps[0]))
    (low, high), (below, above) = steps[first - 1 : first + 1], slopes[first - 1 : first + 1]
    return _Bracket(float(low), float(high), float(low + (high - low) * (-below / (above - below))))


def _search(
    problem: Problem, loss: Loss, w: Array, here: Evaluation, direction: Array, bracket: _Bracket, steepness: float
) -> tuple[Array, Evaluation]:
    """Search a bracket for a step at which the slope is small beside that at the start; each pass evaluates one.

    Where the objective does not fall at the last of them, it does up to the lower end of the bracket.
    """
    for _ in range(SEARCH_PASSES):
        point = w + bracket.crossing * direction
        inner = np.linspace(bracket.low, bracket.high, INNER_STEPS)
        at, slopes = problem.evaluate_and_try(point, loss, w, direction, inner)
        slope = np.interp(bracket.crossing, inner, slopes)
        narrower = _bracket(inner, slopes)
        if narrower is None or abs(slope) <= FLAT_SLOPE * steepness:
            break
        bracket = narrower
    if bracket.low > 0.0 and not at.objective < here.objective:
        point = w + bracket.low * direction
        at = problem.evaluate(point, loss)
    return point, at
