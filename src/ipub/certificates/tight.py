"""All theorems that need no retraining, first those that may be enough alone: each narrows what the others left.

Row sums first, where a table is short enough; else slopes, alone where they are nearly exact; else balls, slopes inside
them, and row sums inside both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ipub.certificates.ball import certify_ball
from ipub.certificates.intercept import bracket_of, with_bracket
from ipub.certificates.origin import around_zero, certify_origin
from ipub.certificates.row_sums.bounds import (
    RowSumBounds,
    prove_row_sums,
    ranges_at_w,
    row_sum_bounds_of_asked_rows,
    row_sum_bounds_within,
)
from ipub.certificates.row_sums.one_matrix import OneMatrixBounds, prove_with_one_matrix
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.slopes.attempt import attempt_slope_bounds, slope_bounds_within
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.slopes.hint import NO_HINT, Hint
from ipub.certificates.sphere import certify_sphere, reason_against_sphere
from ipub.model_sets.base import ModelSet, Outcome, Reason
from ipub.model_sets.certificate import Certificate, intersection
from ipub.model_sets.move_sets import KnownRows
from ipub.model_sets.region import Region
from ipub.numeric.rounding import down, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

NEARLY_EXACT = 1.5
"""Slope bounds up to this many times as wide as the first-order change are used alone: width against the other
passes."""

CAN_BE_NARROWED = 1.1
"""Slope bounds this many times as wide are narrowed by row sums for the rows that are asked for, where a table is too
long for row sums of all its rows: width against time of each bound."""

BOUNDS_INTERCEPT = 5.0
"""Slope bounds up to this many times as wide bound the intercept, against passes of the half-ball for it: on 3,000 x 8
with 1 % to 20 % of the cells missing, to less than 0.6 of its bracket."""

MOST_SLOPE_WORK = 2.0e8
"""Numbers in the matrices of slopes, at most, one matrix for each column with uncertain cells and some more: width
against time. At 1,000 columns, 260 of them with uncertain cells, they are three times as many, and took two minutes."""

NOT_TRIED: Outcome[Any] = Outcome(None, Reason.NOT_TRIED)


@dataclass(frozen=True)
class _Proved:
    """What `certify_tight` was given, and what is proved of it so far."""

    problem: Problem
    solution: Solution
    hint: Hint
    in_columns: bool
    at_w: Ranges | None = None
    """Ranges of row sums that hold w alone; None if the table is too long for them."""
    row_sums: Outcome[RowSumBounds] = NOT_TRIED
    slopes: Outcome[SlopeBounds] = NOT_TRIED
    regions: tuple[Region, ...] = ()
    """Balls around zero and around w, all with the same bracket of the intercept."""
    half_ball: Certificate | None = None
    """The half-balls among them, each with the bracket it was found with."""
    more: tuple[ModelSet, ...] = ()
    """Row sums over ranges that the others give."""
    only_searched: tuple[ModelSet, ...] = ()
    """Row sums in which scores are ruled out, and which narrow nothing by themselves."""
    is_enough: bool = False
    """Whether another theorem would cost more than it could gain."""

    @property
    def is_fast(self) -> bool:
        """Whether parts are left out that take time and would narrow bounds of few rows alone."""
        return self.hint.is_given or self.in_columns

    @property
    def certificate(self) -> Certificate:
        """All that is proved."""
        found = (part for part in (self.slopes.found, self.row_sums.found) if part is not None)
        notes = [self.slopes.note] if self.row_sums.found is None else []
        notes += [self.row_sums.note] if not self.is_enough else []
        note = " ".join(dict.fromkeys(filter(None, notes)))
        parts = (*self.regions, *found, *self.more)
        return Certificate("tight", parts, self.solution.gap, note, only_searched=self.only_searched)


def certify_tight(
    problem: Problem, solution: Solution, *, hint: Hint = NO_HINT, in_columns: bool = False
) -> Certificate:
    """Use row sums or slopes where they are nearly exact, else all theorems that need no retraining.

    Bounds are finite unless numbers overflow or, with an intercept, some completion has one class alone.
    An intersection is at least as narrow as each of its parts (with an intercept, whose bracket is computed to 1 % of
    its width, or is that of slopes: up to that).

    Parameters
    ----------
    problem : Problem
    solution : Solution
    hint : Hint
        Results for the same table with another penalty, or with other values of its holes: they save time.
    in_columns : bool
        Whether uncertain cells are to be taken column by column. Then slopes are enough, however wide they are: it
        saves time as well.
    """
    known = _Proved(problem, solution, hint, in_columns)
    for relax in (_row_sums, _slopes, _balls, _slopes_in_balls, _row_sums_in_all):
        known = relax(known)
        if known.is_enough:
            break
    return known.certificate


def certify_where_little_differs(
    problem: Problem, solution: Solution, like: OneMatrixBounds | None = None
) -> Certificate | None:
    """Use row sums with one matrix, and the box of weights that they prove; None where they prove nothing.

    Made for tables whose cells may move little, as around a draw: there it is nearly as narrow as all theorems
    together, and takes about as long as training.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    like : OneMatrixBounds, optional
        Those of another draw of the same table, with which it begins.
    """
    bounds = prove_with_one_matrix(problem, solution, like).found
    if bounds is None and like is not None:
        bounds = prove_with_one_matrix(problem, solution).found
    if bounds is None:
        return None
    return Certificate("tight", (bounds.box, bounds), solution.gap)


def _row_sums(known: _Proved) -> _Proved:
    """Prove row sums, where a table is short enough, and complete them.

    With the ball around zero, for rows so far away that numbers overflow. Unless it is to be fast, also with the
    half-ball, for rows unlike those of the table, and with slopes over the moves that row sums leave: both can be kept
    without training rows.
    """
    problem, solution, hint = known.problem, known.solution, known.hint
    if known.in_columns or not hint.tries_row_sums or not problem.rows.allows_matrices:
        return known
    at_w = ranges_at_w(problem, solution)
    row_sums = prove_row_sums(at_w, hint.row_sum_widths)
    known = replace(known, at_w=at_w, row_sums=row_sums)
    if row_sums.found is None:
        return known
    ranges, region = row_sums.found.ranges, around_zero(problem, solution)
    bracket = None
    if problem.penalty.n_free:
        at = ranges.table.weights_at[-1]
        bracket = float(ranges.lower[at]), float(ranges.upper[at])
        (region,) = with_bracket(bracket, region)
    if known.is_fast:
        return replace(known, regions=(region,), is_enough=True)
    at_zero = Certificate("origin", (region,), solution.gap)
    regions = intersection("tight", [certify_ball(problem, solution, at_zero, narrows=False), at_zero]).parts_of(Region)
    if bracket is not None:
        regions = with_bracket(bracket, *regions)
    moves = KnownRows.of(ranges.table.directions, solution.w, ranges.lower, ranges.upper)
    slopes = slope_bounds_within(problem, solution, moves)
    return replace(known, regions=regions, slopes=slopes, is_enough=True)


def _slopes(known: _Proved) -> _Proved:
    """Prove slopes; with the ball around zero they are enough where they are nearly exact."""
    problem, solution, hint, in_columns = known.problem, known.solution, known.hint, known.in_columns
    note = _reason_against_slopes(problem)
    if note is not None:
        return replace(known, slopes=Outcome(None, Reason.TOO_LARGE, note))
    if not hint.tries_slopes:
        return known
    slopes = attempt_slope_bounds(problem, solution, hint=hint, in_columns=in_columns)
    if slopes.found is None and known.is_fast:
        slopes = attempt_slope_bounds(problem, solution)
    known = replace(known, slopes=slopes)
    is_alone = in_columns or hint.slopes_are_enough
    if slopes.found is None or not (slopes.found.excess <= NEARLY_EXACT or is_alone):
        return known
    region = _around_zero(problem, solution, slopes.found, is_fast=hint.takes_move_limits)
    if region is None:
        return known
    return replace(known, regions=(region,), more=_of_asked_rows(known), is_enough=True)


def _balls(known: _Proved) -> _Proved:
    """Lay balls around zero and around w, and bracket the intercept."""
    problem, solution, slopes = known.problem, known.solution, known.slopes.found
    at_zero, is_bracketed = None, False
    if problem.penalty.n_free and slopes is not None and slopes.excess <= BOUNDS_INTERCEPT:
        region = _around_zero(problem, solution, slopes, is_fast=False)
        # Slopes bound the intercept so well that nothing else need to.
        is_bracketed = region is not None
        at_zero = None if region is None else Certificate("origin", (region,), solution.gap)
    at_zero = certify_origin(problem, solution) if at_zero is None else at_zero
    around_center = [certify_sphere(problem, solution, at_zero)] if _has_sphere(problem) else []
    start = intersection("start", [*around_center, at_zero])
    half_ball = certify_ball(problem, solution, start, narrows=not is_bracketed)
    regions = intersection("tight", [*around_center, half_ball, at_zero]).parts_of(Region)
    if problem.penalty.n_free:
        # The last bracket is the narrowest, and valid for the weights of every region.
        regions = with_bracket(bracket_of(half_ball), *regions)
    return replace(known, regions=regions, half_ball=half_ball)


def _slopes_in_balls(known: _Proved) -> _Proved:
    """Make slopes for the moves that the half-ball leaves, where no set of moves proved itself."""
    if known.slopes.found is not None or known.slopes.reason is Reason.TOO_LARGE:
        return known
    return replace(known, slopes=attempt_slope_bounds(known.problem, known.solution, start=known.half_ball))


def _row_sums_in_all(known: _Proved) -> _Proved:
    """Narrow by row sums over the ranges that all others give; those of asked rows alone, where a table is long."""
    problem, slopes = known.problem, known.slopes.found
    if known.is_fast or not problem.rows.allows_matrices or (slopes is None and problem.loss.is_smooth):
        return known
    within = row_sum_bounds_within(problem, known.solution, known.certificate, known.at_w)
    if within is None:
        return replace(known, more=_of_asked_rows(known))
    bounds, is_narrower = within
    return replace(known, more=(bounds,)) if is_narrower else replace(known, only_searched=(bounds,))


def _of_asked_rows(known: _Proved) -> tuple[ModelSet, ...]:
    """Return row sums over the ranges that slopes give, for the rows that are asked for, if there is much to gain."""
    problem, slopes = known.problem, known.slopes.found
    is_worthwhile = slopes is not None and slopes.excess > CAN_BE_NARROWED
    if known.is_fast or slopes is None or not is_worthwhile or not problem.rows.allows_matrices:
        return ()
    over = Certificate("slope", (slopes.in_columns(),), known.solution.gap)
    found = row_sum_bounds_of_asked_rows(problem, known.solution, over)
    return () if found is None else (found,)


def _reason_against_slopes(problem: Problem) -> str | None:
    """Return why slopes are not tried, if a table has so many columns that they would take long; else None."""
    rows, d = problem.rows, problem.rows.n_features
    if not rows.allows_matrices:
        return (
            f"'slope' needs matrices of {d:,} x {d:,} ({8 * d * d / 2**30:,.1f} GiB each), which are not made "
            "of so wide or sparse a table: 'ball' is used, which is wider."
        )
    n_columns = min(rows.count_uncertain(), d)
    if (n_columns + d / 4.0) * d * d <= MOST_SLOPE_WORK:
        return None
    return (
        f"With {d:,} columns, 'slope' would take long: 'ball' is used, which is wider. "
        "certificate='slope' takes the time; fewer columns need less of it."
    )


def _has_sphere(problem: Problem) -> bool:
    """Whether the sphere may be narrower than the half-ball, which is inside it otherwise (rem-inside-sphere).

    An l1 penalty makes weights of a hinge nearly zero in training, and not always zero: their subgradient is then far
    from those at zero. The half-ball pays for that; the sphere pays the penalty's own gap.
    """
    return problem.penalty.kappa > 0.0 and not problem.loss.is_smooth and reason_against_sphere(problem) is None


def _around_zero(problem: Problem, solution: Solution, bounds: SlopeBounds, is_fast: bool) -> Region | None:
    """Return the ball around zero, for rows so far away that the slopes' numbers overflow.

    An intercept is in the bracket that the slopes give, or, if that is to be fast, within the limits of its moves; None
    if that is not finite.
    """
    region = around_zero(problem, solution)
    if not problem.penalty.n_free:
        return region
    b, limit = solution.w[-1:], bounds.move_limits[-1:]
    (low,), (high,) = (down(b - limit), up(b + limit)) if is_fast else bounds.ends(np.eye(len(solution.w))[-1:])
    return with_bracket((low, high), region)[0] if np.isfinite([low, high]).all() else None
