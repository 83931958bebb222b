"""The slope certificate (Theorems 4 and 6): where the model of every completion lies, to second order."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.ball import certify_ball
from ipub.certificates.slopes.assemble import slope_bounds
from ipub.certificates.slopes.bounds import FirstRound, SlopeBounds
from ipub.certificates.slopes.l1_signs import L1Signs, decide_signs
from ipub.certificates.slopes.linearization import Linearization, linearize
from ipub.certificates.slopes.prove_moves import ellipsoid_of_moves, prove_move_set
from ipub.certificates.slopes.suggestions import AnotherDraw, Neighbour, choose_tuning, suggest_from_sample
from ipub.certificates.slopes.sums_of_cells import TuningChoices
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.move_sets import Ellipsoid, FromCertificate, Intersection, MoveSet
from ipub.numeric.rounding import TINY, overflow_means_unbounded, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

MOST_CELLS = 100_000
"""With more uncertain cells than this none is kept: each bound would look at every cell."""

MOST_NUMBERS = 1 << 25
"""Nor may the rows with uncertain cells, which are kept, hold more numbers than this (256 MiB)."""

MOST_COLUMNS = 128
"""Up to so many columns, cells that are not kept are added up, column by column: a matrix for each."""

ROUNDS, SUMMED_ROUNDS = 4, 2
"""How often bounds are made from the bounds of the round before, at most, and where cells are summed."""

MEAN_VALUE_GAIN = 0.98
"""The mean value must make the bounds of the weights narrower than this, or it is left out."""

WORTHWHILE = 0.95
"""Another round must shrink the limits of the moves to less than this."""

ABOUT_AS_NARROW = 1.15
"""Bounds of a similar problem that are this many times as wide are not narrowed further."""

MOST_ALIKE = 3
"""Nor are there more rounds than this for it; the last is not measured."""

LEAST_GAIN, LEAST_SUMMED_GAIN = 0.01, 0.1
"""Nor is it made if it can hardly narrow the bounds by more than this share: less where a pass is not so dear."""


class SlopeAttempt(NamedTuple):
    """The bounds of Theorem 6, or None and the reason."""

    bounds: SlopeBounds | None
    note: str

    @property
    def parts(self) -> tuple[SlopeBounds, ...]:
        """What a certificate gets of it."""
        return () if self.bounds is None else (self.bounds,)


class _Start(NamedTuple):
    """Where the rounds begin: a set of moves that was proved, and the lines for moves in it."""

    linear: Linearization
    moves: MoveSet
    ellipsoid: Ellipsoid | None


def certify_slopes(problem: Problem, solution: Solution) -> Certificate:
    """Certify by slopes of the loss's derivative (``docs/theory.md``, Theorem 6), inside what the half-ball leaves.

    For every loss and penalty. Where nothing can be enclosed, the half-ball alone is returned, with a note. A few
    passes of O(n d^2); then O(M d + d^2) a test row.
    """
    half_ball = certify_ball(problem, solution)
    attempt = attempt_slope_bounds(problem, solution)
    if attempt.bounds is None:
        attempt = attempt_slope_bounds(problem, solution, start=half_ball)
    return Certificate("slope", (*half_ball.parts, *attempt.parts), half_ball.gap, attempt.note)


@overflow_means_unbounded()
def attempt_slope_bounds(
    problem: Problem,
    solution: Solution,
    *,
    start: Certificate | None = None,
    hint: Neighbour | AnotherDraw | None = None,
    in_columns: bool = False,
) -> SlopeAttempt:
    """Return the bounds of Theorem 6, or None and the reason.

    How far models can move is what a certificate to `start` from leaves; without one, what Theorem 4 proves, beginning
    with a set that a neighbouring problem (the `hint`) suggests, or a sample of the rows. With `in_columns` cells are
    summed and not kept, if that is possible.
    """
    rows, d = problem.rows, len(solution.w)
    n_cells = rows.count_uncertain()
    is_summed = n_cells > MOST_CELLS or n_cells * d > MOST_NUMBERS
    if rows.max_wrong_labels and rows.n_rows * d > MOST_NUMBERS:
        return SlopeAttempt(
            None,
            f"{rows.n_rows * d:,} cells are too many to bound wrong labels by slopes: the half-ball is used alone.",
        )
    is_summed |= in_columns and _can_be_summed(problem)
    suggested = None if hint is None else hint.suggestion(problem)
    suggested = suggest_from_sample(problem, solution, is_summed) if suggested is None else suggested
    if is_summed and not _can_be_summed(problem):
        reason = f"{n_cells:,} uncertain cells are too many for the slope certificate: the half-ball is used alone."
        return SlopeAttempt(None, reason)
    tuning = choose_tuning(problem, solution, suggested) if is_summed else None
    if start is not None:
        moves = FromCertificate(start, solution.w)
        begin = _Start(linearize(problem, solution, moves, tuning=tuning), moves, None)
    else:
        proved = prove_move_set(problem, solution, suggested, tuning)
        if proved is None:
            return SlopeAttempt(None, "No set of moves could be proved.")
        begin = _Start(proved.linear, proved.ellipsoid, proved.ellipsoid)
    best = _rounds(problem, solution, begin, tuning, hint if isinstance(hint, AnotherDraw) else None)
    if best is None:
        return SlopeAttempt(None, "The curvature could not be enclosed: the half-ball is used alone.")
    notes = []
    if is_summed and not in_columns:
        notes.append(
            f"{n_cells:,} uncertain cells are summed, not kept: bounds may be wider than if each were looked at."
        )
    if not begin.linear.jumps.are_kept:
        notes.append(
            f"{begin.linear.jumps.n_rows:,} rows are at a kink of the loss, or have an uncertain label: they are "
            "bounded together, so bounds may be wider than if each were looked at."
        )
    return SlopeAttempt(best, " ".join(notes))


@overflow_means_unbounded()
def slope_bounds_within(problem: Problem, solution: Solution, moves: MoveSet) -> SlopeBounds | None:
    """Return the bounds of Theorem 6 for moves that are known to be in a set; None if nothing can be enclosed."""
    return _rounds(problem, solution, _Start(linearize(problem, solution, moves), moves, None), None)


def _can_be_summed(problem: Problem) -> bool:
    """Whether uncertain cells may be added up without being kept: no jumps, no choices, certain labels, few columns."""
    rows = problem.rows
    return (
        problem.loss.is_smooth and not rows.categories and not rows.uncertain_labels and rows.n_features <= MOST_COLUMNS
    )


def _rounds(
    problem: Problem,
    solution: Solution,
    start: _Start,
    tuning: TuningChoices | None,
    alike: AnotherDraw | None = None,
) -> SlopeBounds | None:
    """Make bounds from what is known of the moves, and again from these bounds, while that narrows them.

    With the bounds of a problem that is much `alike`, until they are about as narrow as those.
    """
    linear, ellipsoid, w = start.linear, start.ellipsoid, solution.w
    signs, best = L1Signs.undecided(w), None
    with_mean_value = alike is None or alike.bounds.mean_value is not None
    for number in range(1, 1 + (ROUNDS if tuning is None else SUMMED_ROUNDS)):
        if best is not None:
            moves: MoveSet = best.as_move_set()
            moves = Intersection((start.moves, moves)) if ellipsoid is None else moves
            linear = linearize(problem, solution, moves, tuning=tuning)
            ellipsoid = ellipsoid and (ellipsoid_of_moves(linear) or ellipsoid)
        signs = signs.within(w, linear.move_limits)
        bounds = slope_bounds(linear, signs, ellipsoid, with_mean_value=with_mean_value)
        if bounds is None:
            break
        is_last = alike is not None and (number >= MOST_ALIKE or alike.needs_one_round)
        if alike is not None and is_last and problem.penalty.kappa == 0.0:
            return replace(bounds, excess=alike.bounds.excess, first=alike.bounds.first)
        signs, limits = decide_signs(signs, bounds, problem.penalty)
        # The mean value doubles the work for each test row, and must be worth it.
        alone, unit = replace(bounds, mean_value=None), np.eye(len(w))
        low, high = low_alone, high_alone = alone.ends(unit)
        if bounds.mean_value is not None:
            low, high = bounds.narrowed_by_mean_value(unit, low_alone, high_alone)
        if not ((high - low).sum() < MEAN_VALUE_GAIN * (high_alone - low_alone).sum()):
            bounds = alone
        limits = np.fmin(bounds.move_limits, np.fmin(np.maximum(up(high - w), up(w - low)), limits))
        first_order = 2.0 * linear.cells.first_order_half_width(bounds.inverse).sum()
        excess = float((high - low).sum() / np.maximum(first_order, TINY))
        # What is not of first order shrinks at least with the limits of the moves.
        gain = (excess - 1.0) * (1.0 - limits.sum() / np.maximum(linear.move_limits.sum(), TINY))
        is_settled = gain <= (LEAST_GAIN if tuning is None else LEAST_SUMMED_GAIN)
        is_settled |= best is not None and not (limits.sum() < WORTHWHILE * best.move_limits.sum())
        is_settled |= alike is not None and excess <= ABOUT_AS_NARROW * alike.bounds.excess
        first = FirstRound(limits, bounds.radius, excess) if best is None else best.first
        best = replace(bounds, move_limits=limits, excess=excess, first=first)
        if is_settled or not limits.any():
            break
    return best
