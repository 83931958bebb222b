"""The slope certificate (thm-move-set and thm-slopes): where the model of every completion lies, to second order."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.ball import certify_ball
from ipub.certificates.slopes.assemble import slope_bounds
from ipub.certificates.slopes.bounds import FirstRound, SlopeBounds
from ipub.certificates.slopes.cell_coefficients import TuningChoices
from ipub.certificates.slopes.hint import NO_HINT, Hint
from ipub.certificates.slopes.l1_signs import L1Signs, decide_signs
from ipub.certificates.slopes.linearization import Linearization, linearize
from ipub.certificates.slopes.prove_moves import ellipsoid_of_moves, prove_move_set
from ipub.certificates.slopes.suggestions import choose_tuning, suggest_from_sample
from ipub.model_sets.base import NOT_CLOSED, Outcome, Reason
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.move_sets import Ellipsoid, FromCertificate, Intersection, MoveSet
from ipub.model_sets.proofs import Narrower, narrow
from ipub.numeric.rounding import TINY, overflow_means_unbounded, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

MOST_CELLS = 100_000
"""With more uncertain cells than this none is kept, as each bound would look at every cell: width against time."""

MOST_NUMBERS = 1 << 25
"""Numbers in the rows with uncertain cells, up to which these rows are kept: memory, 256 MiB."""

MOST_COLUMNS = 128
"""Up to so many columns, cells that are not kept are added up, column by column: memory, a matrix for each (16 MiB)."""

ROUNDS = 4
"""How often bounds are made from the bounds of the round before, at most: width against time."""

MEAN_VALUE_GAIN = 0.98
"""The mean value must make the bounds of the weights narrower than this, or it is left out: width against the time of
each bound, which it doubles."""

LEAST_GAIN = 0.01
"""Least relative gain for another round: width against time."""


class _Start(NamedTuple):
    """Where the rounds begin: a set of moves that was proved, and the lines for moves in it."""

    linear: Linearization
    moves: MoveSet
    ellipsoid: Ellipsoid | None


class _Round(NamedTuple):
    """What is known of the moves after a round."""

    bounds: SlopeBounds | None
    signs: L1Signs
    ellipsoid: Ellipsoid | None


def certify_slopes(problem: Problem, solution: Solution) -> Certificate:
    """Certify by slopes of the loss's derivative (thm-slopes), inside what the half-ball leaves.

    For every loss and penalty. Where nothing can be enclosed, the half-ball alone is returned, with a note. A few
    passes of O(n d^2); then O(M d + d^2) a test row.
    """
    half_ball = certify_ball(problem, solution)
    slopes = attempt_slope_bounds(problem, solution)
    if slopes.found is None:
        slopes = attempt_slope_bounds(problem, solution, start=half_ball)
    parts = () if slopes.found is None else (slopes.found,)
    return Certificate("slope", (*half_ball.parts, *parts), half_ball.gap, slopes.note)


@overflow_means_unbounded()
def attempt_slope_bounds(
    problem: Problem,
    solution: Solution,
    *,
    start: Certificate | None = None,
    hint: Hint = NO_HINT,
    in_columns: bool = False,
) -> Outcome[SlopeBounds]:
    """Return the bounds of thm-slopes.

    How far models can move is what a certificate to `start` from leaves; without one, what thm-move-set proves,
    beginning with a set that a similar problem (the `hint`) suggests, or a sample of the rows. With `in_columns` cells
    are summed and not kept, if that is possible.
    """
    rows, d = problem.rows, len(solution.w)
    n_cells = rows.count_uncertain()
    is_summed = n_cells > MOST_CELLS or n_cells * d > MOST_NUMBERS
    if rows.max_wrong_labels and rows.n_rows * d > MOST_NUMBERS:
        note = f"{rows.n_rows * d:,} cells are too many for wrong labels with 'slope': 'ball' is used, which is wider."
        return Outcome(None, Reason.TOO_LARGE, note)
    is_summed |= in_columns and _can_be_summed(problem)
    if is_summed and not _can_be_summed(problem):
        note = f"{n_cells:,} missing values are too many for 'slope': 'ball' is used, which is wider."
        return Outcome(None, Reason.TOO_LARGE, note)
    suggested = hint.suggestion(problem)
    suggested = suggest_from_sample(problem, solution, is_summed) if suggested is None else suggested
    tuning = choose_tuning(problem, solution, suggested) if is_summed else None
    if start is not None:
        moves = FromCertificate(start, solution.w)
        begin = _Start(linearize(problem, solution, moves, tuning=tuning), moves, None)
    else:
        proved = prove_move_set(problem, solution, suggested, tuning)
        if proved.found is None:
            return Outcome(None, proved.reason, NOT_CLOSED)
        begin = _Start(proved.found.linear, proved.found.ellipsoid, proved.found.ellipsoid)
    best = _rounds(problem, solution, begin, tuning, hint)
    if best is None:
        return Outcome(None, Reason.UNBOUNDED, NOT_CLOSED)
    notes = []
    if is_summed and not in_columns:
        notes.append(
            f"{n_cells:,} missing values are bounded together: bounds may be wider than if each were looked at."
        )
    if not begin.linear.jumps.are_kept:
        notes.append(
            f"{begin.linear.jumps.n_rows:,} rows are at a kink of the loss, or have an uncertain label: they are "
            "bounded together, so bounds may be wider than if each were looked at."
        )
    return Outcome(best, Reason.PROVED, " ".join(notes))


@overflow_means_unbounded()
def slope_bounds_within(problem: Problem, solution: Solution, moves: MoveSet) -> Outcome[SlopeBounds]:
    """Return the bounds of thm-slopes for moves that are known to be in a set."""
    found = _rounds(problem, solution, _Start(linearize(problem, solution, moves), moves, None), None)
    return Outcome(found, Reason.UNBOUNDED if found is None else Reason.PROVED)


def _can_be_summed(problem: Problem) -> bool:
    """Whether uncertain cells may be added up without being kept: no jumps, no choices, certain labels, few columns."""
    rows = problem.rows
    return (
        problem.loss.is_smooth and not rows.categories and not rows.uncertain_labels and rows.n_features <= MOST_COLUMNS
    )


def _rounds(
    problem: Problem, solution: Solution, start: _Start, tuning: TuningChoices | None, hint: Hint = NO_HINT
) -> SlopeBounds | None:
    """Make bounds from what is known of the moves, and again from these bounds, while that narrows them."""
    w, unit = solution.w, np.eye(len(solution.w))

    def relax(known: _Round) -> Narrower[_Round]:
        best, signs, ellipsoid = known
        linear = start.linear
        if best is not None:
            moves: MoveSet = best.as_move_set()
            moves = Intersection((start.moves, moves)) if ellipsoid is None else moves
            linear = linearize(problem, solution, moves, tuning=tuning)
            ellipsoid = ellipsoid and (ellipsoid_of_moves(linear) or ellipsoid)
        signs = signs.within(w, linear.move_limits)
        bounds = slope_bounds(linear, signs, ellipsoid, with_mean_value=hint.wants_mean_value)
        if bounds is None:
            return Narrower(known, goes_on=False)
        last = hint.last_round()
        if last is not None and problem.penalty.kappa == 0.0:
            return Narrower(_Round(replace(bounds, excess=last[0], first=last[1]), signs, ellipsoid), goes_on=False)
        signs, limits = decide_signs(signs, bounds, problem.penalty)
        # The mean value doubles the time of each bound: only where it narrows them.
        alone = replace(bounds, mean_value=None)
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
        is_enough = gain <= LEAST_GAIN
        is_enough |= best is not None and not (limits.sum() < best.move_limits.sum())
        is_enough |= hint.is_narrow_enough(excess)
        first = FirstRound(limits, bounds.radius, excess) if best is None else best.first
        best = replace(bounds, move_limits=limits, excess=excess, first=first)
        return Narrower(_Round(best, signs, ellipsoid), goes_on=not is_enough and bool(limits.any()))

    known = _Round(None, L1Signs.undecided(w), start.ellipsoid)
    return narrow(relax, known, ROUNDS).bounds
