"""The slope certificate (Theorems 4 and 6): where the model of every completion lies, to second order."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.certificates.ball import ball
from ipub.certificates.region import Certificate
from ipub.certificates.slope.bounds import FirstRound, SlopeBounds
from ipub.certificates.slope.cell_terms import CellTerms
from ipub.certificates.slope.l1_signs import L1Signs
from ipub.certificates.slope.linearize import Linearization, linearize
from ipub.certificates.slope.move_sets import Ellipsoid, FromCertificate, Intersection, MoveSet, NoMove
from ipub.certificates.slope.summed_cells import TuningChoices
from ipub.linalg import (
    Inverse,
    definiteness,
)
from ipub.problem import Problem
from ipub.rounding import (
    EPS,
    TINY,
    Array,
    overflow_means_unbounded,
    up,
)
from ipub.solvers import Solution, solve

MOST_CELLS = 100_000
"""With more uncertain cells than this none is kept: each bound would look at every cell."""

MOST_NUMBERS = 1 << 25
"""Nor may the rows with uncertain cells, which are kept, hold more numbers than this (256 MiB)."""

MOST_COLUMNS = 128
"""Up to so many columns, cells that are not kept are added up, column by column: a matrix for each."""

SHARE = 0.1
"""How much of a column's form goes to what depends on the move, if nothing better is known."""

NEAR_MARGIN = 0.15
"""By which share that of a neighbouring problem is, beyond what it is thought to grow, times its excess."""

SAMPLE_TOL = 1e-6
"""Relative duality gap of the sample's model."""

INFLATIONS = 12
"""How often a set that was too small to close is made larger."""

GROWTH = 1.1
"""By which factor, beyond what was just found."""

SAMPLE_GROWTH = 1.35
"""By which factor the set that a sample of the rows suggests is made larger."""

ROUNDS, SUMMED_ROUNDS = 4, 2
"""How often bounds are made from the bounds of the round before, at most, and where cells are summed."""

GAIN = 0.98
"""The mean value must make the bounds of the weights narrower than this, or it is left out."""

WORTHWHILE = 0.95
"""Another round must shrink the reach of the weights to less than this."""

LEAST_GAIN, LEAST_SUMMED_GAIN = 0.01, 0.1
"""Nor is it made if it can hardly narrow the bounds by more than this share: less where a pass is not so dear."""


def slope(
    problem: Problem,
    solution: Solution,
    known: Certificate | None = None,
    found: tuple[SlopeBounds | None, str] | None = None,
) -> Certificate:
    """Certify by slopes of the loss's derivative (``docs/theory.md``, Theorem 6), inside what the half-ball leaves.

    For every loss and penalty. Where nothing can be enclosed, the half-ball alone is returned, with a note. A few
    passes of O(n d^2); then O(M d + d^2) a test row. What `slope_bounds` has `found` already is not computed again.
    """
    start = ball(problem, solution, known)
    bounds, note = slope_bounds(problem, solution) if found is None else found
    if bounds is None:
        bounds, note = slope_bounds(problem, solution, start)
    return Certificate("slope", start.regions, start.gap, bounds, note)


@overflow_means_unbounded()
def slope_bounds(
    problem: Problem,
    solution: Solution,
    start: Certificate | None = None,
    near: Neighbour | None = None,
    in_groups: bool = False,
) -> tuple[SlopeBounds | None, str]:
    """Return the bounds of Theorem 6, or None and the reason.

    How far models can move is what a certificate to `start` from leaves; without one, what Theorem 4 proves, beginning
    with a set that a problem `near` suggests, or a sample of the rows. With `in_groups` cells are summed and not kept,
    if that is possible.
    """
    rows, d = problem.rows, len(solution.w)
    n_cells = rows.count_uncertain()
    is_summed = n_cells > MOST_CELLS or n_cells * d > MOST_NUMBERS
    if rows.max_wrong_labels and rows.n_rows * d > MOST_NUMBERS:
        return (
            None,
            f"{rows.n_rows * d:,} cells are too many for wrong labels to be looked at: the half-ball serves alone.",
        )
    is_summed |= in_groups and _can_be_summed(problem)
    suggested = None if near is None else near.suggestion(problem)
    suggested = _suggestion(problem, solution, is_summed) if suggested is None else suggested
    if is_summed and not _can_be_summed(problem):
        return None, f"{n_cells:,} uncertain cells are too many for the slope certificate: the half-ball serves alone."
    guess = _guess(problem, solution, suggested) if is_summed else None
    found = prove_move_set(problem, solution, suggested, guess) if start is None else None
    if found is None and start is None:
        return None, "No set of moves could be proved."
    best = _rounds(problem, solution, found or start, guess)
    if best is None:
        return None, "The curvature could not be enclosed: the half-ball serves alone."
    summed = f"{n_cells:,} uncertain cells are summed, not kept: bounds may be wider than if each were looked at."
    return best, summed if is_summed and not in_groups else ""


def _rounds(
    problem: Problem,
    solution: Solution,
    start: tuple[Linearization, Ellipsoid] | Certificate | None,
    guess: TuningChoices | None,
) -> SlopeBounds | None:
    """Make bounds from what is known of the moves, and again from these bounds, while that narrows them."""
    movement: MoveSet
    ellipsoid: Ellipsoid | None = None
    if isinstance(start, tuple):
        model, ellipsoid = start
        movement = ellipsoid
    else:
        assert start is not None
        movement = FromCertificate(start, solution.w)
        model = linearize(problem, solution, movement, guess=guess)
    signs, best = L1Signs.undecided(solution.w), None
    for _ in range(ROUNDS if guess is None else SUMMED_ROUNDS):
        if best is not None:
            nearer = Intersection((movement, best)) if ellipsoid is None else best
            model = linearize(problem, solution, nearer, guess=guess)
            ellipsoid = ellipsoid and (model.ellipsoid() or ellipsoid)
        signs = signs.within(solution.w, model.farthest)
        bounds = model.bounds(signs, ellipsoid)
        if bounds is None:
            break
        signs, farthest = signs.decided_by(bounds, problem.penalty)
        # The mean value doubles the work for each test row, and must be worth it.
        alone, each = replace(bounds, mean_value=None), np.eye(len(solution.w))
        low_alone, high_alone = alone.ends(each)
        low, high = bounds.narrowed_by_mean_value(each, low_alone, high_alone)
        if not ((high - low).sum() < GAIN * (high_alone - low_alone).sum()):
            bounds = alone
        reach = np.maximum(up(high - solution.w), up(solution.w - low))
        farthest = np.fmin(bounds.farthest, np.fmin(reach, farthest))
        excess = float((high - low).sum() / np.maximum(2.0 * model.cells.least_half(bounds.inverse).sum(), TINY))
        # What is not of first order shrinks at least with the reach of the weights.
        gain = (excess - 1.0) * (1.0 - farthest.sum() / np.maximum(model.farthest.sum(), TINY))
        settled = gain <= (LEAST_GAIN if guess is None else LEAST_SUMMED_GAIN)
        settled |= best is not None and not (farthest.sum() < WORTHWHILE * best.farthest.sum())
        first = FirstRound(farthest, bounds.radius, excess) if best is None else best.first
        best = replace(bounds, farthest=farthest, excess=excess, first=first)
        if settled or not farthest.any():
            break
    return best


def _can_be_summed(problem: Problem) -> bool:
    """Whether uncertain cells may be added up without being kept: no jumps, no choices, certain labels, few columns."""
    rows = problem.rows
    return (
        problem.loss.is_smooth and not rows.categories and not rows.uncertain_labels and rows.n_features <= MOST_COLUMNS
    )


def _guess(problem: Problem, solution: Solution, suggested: Suggestion | None) -> TuningChoices:
    """Return what was suggested, or what the Hessian of the trained model says."""
    if suggested is not None and suggested.guess is not None:
        return suggested.guess
    d = len(solution.w)
    metric = problem.evaluate(solution.w, problem.loss).hessian + np.diag(problem.penalty.lam_vector(d))
    try:
        inverse = np.asarray(np.linalg.pinv(metric, hermitian=True), dtype=float)
    except np.linalg.LinAlgError:  # a model that is no number: nothing will close, and another certificate serves
        inverse = np.eye(d)
    return TuningChoices(inverse, np.full(d, SHARE))


@dataclass(frozen=True)
class Suggestion:
    """A set of moves, ``v.M v <= radius^2`` and ``|v_j| <= farthest_j``, that a pass over the table may prove."""

    ellipsoid: Ellipsoid
    farthest: Array | None
    guess: TuningChoices | None


@dataclass(frozen=True)
class Neighbour:
    """The bounds of a problem that differs in the strength of its penalty alone.

    Attributes
    ----------
    bounds : SlopeBounds
    lam : float
        Its L2 penalty.
    growth : array of shape (n_features,)
        How many times as far weights are thought to move here.
    whole_growth : float
        The same for the radius of the ellipsoid.
    """

    bounds: SlopeBounds
    lam: float
    growth: Array
    whole_growth: float

    @overflow_means_unbounded()
    def suggestion(self, problem: Problem) -> Suggestion | None:
        """Return its set of moves, with the other penalty, and larger."""
        known, first, penalty = self.bounds, self.bounds.first, problem.penalty
        if not problem.loss.is_smooth or known.ellipsoid is None or first is None:
            return None
        matrix = known.curvature + np.diag((penalty.lam - self.lam) * ~penalty.is_free(len(known.w)))
        inverse = Inverse.of(matrix)
        if inverse is None:
            return None
        # A remainder of (excess - 1) times the first order grows with the set: of a larger share, 1/excess is to spare.
        larger = 1.0 + NEAR_MARGIN * first.excess
        size = larger / GROWTH * self.whole_growth
        farthest = larger * self.growth * first.farthest if penalty.kappa == 0.0 else None
        guess = None if known.shares is None else TuningChoices(inverse.center, known.shares)
        return Suggestion(Ellipsoid(matrix, inverse, size * first.radius), farthest, guess)


@overflow_means_unbounded()
def _suggestion(problem: Problem, solution: Solution, is_summed: bool) -> Suggestion | None:
    """Return what a sample of the rows suggests: the set of its own moves, made larger."""
    part = problem.sample() if problem.loss.is_smooth else None
    if part is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trained = solve(part, SAMPLE_TOL, start=solution.w)
    found = prove_move_set(part, trained)
    if found is None:
        return None
    model, inside = found
    inverse = inside.inverse.center
    # A table whose cells are summed will have the grouped form.
    farthest = SAMPLE_GROWTH * model.box_of_moves(inside, is_summed) if problem.penalty.kappa == 0.0 else None
    guess = None
    if is_summed:
        assert isinstance(model.cells, CellTerms)
        guess = TuningChoices(inverse, model.cells.shares(inverse))
    return Suggestion(replace(inside, radius=SAMPLE_GROWTH / GROWTH * inside.radius), farthest, guess)


@overflow_means_unbounded()
def prove_move_set(
    problem: Problem,
    solution: Solution,
    suggested: Suggestion | None = None,
    guess: TuningChoices | None = None,
) -> tuple[Linearization, Ellipsoid] | None:
    """Prove a set that holds the move of every completion's model (Theorem 4); None if no set closes.

    A set of moves bounds the curvatures, those bound the Hessians from below, and these the moves. If the moves
    turn out strictly inside the set, all of them are. If not, what they are inside of, made a little larger, is the
    next set. A derivative that jumps has no such curvatures. The first set is what is `suggested`, if anything.
    """
    if not problem.loss.is_smooth:
        return None
    farthest = None
    if suggested is None:
        first = linearize(problem, solution, NoMove(), guess=guess)
        inverse = Inverse.of(first.curvature)
        if inverse is None:
            return None
        inside = Ellipsoid(first.curvature, inverse, first.force_upper(first.curvature))
    else:
        inside, farthest = suggested.ellipsoid, suggested.farthest
    for _ in range(INFLATIONS):
        around = replace(inside, radius=GROWTH * inside.radius)
        if not 0.0 < around.radius < np.inf:
            return None
        model = linearize(problem, solution, around, box=farthest, guess=guess)
        found = model.ellipsoid()
        if found is None:
            return None
        # Moves v obey v.L v <= force^2; so v.M v < radius^2 if L - (force/radius)^2 M is positive definite.
        least, metric = found.matrix, around.matrix
        share = up(up(found.radius / around.radius) ** 2) * (1.0 + 8.0 * EPS)
        rounding = 8.0 * EPS * len(metric) * (np.diag(least) + share * np.diag(metric))
        closes = definiteness(least - share * metric - np.diag(rounding)) is not None
        if closes and farthest is not None:
            reach = model.box_of_moves(found)
            closes = bool((reach < farthest).all())
            farthest = GROWTH * np.fmax(reach, farthest)
        if closes:
            return model, found
        inside = found
    return None
