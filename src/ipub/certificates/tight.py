"""All theorems that need no retraining: slopes alone where they are nearly exact, else the intersection of all.

Row sums are among them, where a table is short enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipub.certificates.ball import certify_ball
from ipub.certificates.intercept import bracket_of, with_bracket
from ipub.certificates.origin import around_zero, certify_origin
from ipub.certificates.row_sums.bounds import (
    RowSumAttempt,
    RowSumBounds,
    attempt_row_sums,
    row_sum_bounds_of_asked_rows,
    row_sum_bounds_within,
)
from ipub.certificates.slopes.attempt import SlopeAttempt, attempt_slope_bounds, slope_bounds_within
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.slopes.suggestions import AnotherDraw, Neighbour
from ipub.certificates.sphere import certify_sphere
from ipub.certificates.sphere import unsupported_reason as no_sphere
from ipub.model_sets.certificate import Certificate, ScoreBounds, intersection
from ipub.model_sets.move_sets import KnownRows
from ipub.model_sets.region import Region
from ipub.numeric.rounding import down, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

NEARLY_EXACT = 1.5
"""Slope bounds up to this many times as wide as the first-order change are used alone, which saves the other passes."""

CAN_BE_NARROWED = 1.1
"""Slope bounds this many times as wide are narrowed by row sums for the rows that are asked for, where a table is too
long for row sums of all its rows."""

BOUNDS_INTERCEPT = 5.0
"""Slope bounds up to this many times as wide bound the intercept more narrowly than the half-ball does, which saves its
passes for it: of 3,000 rows x 8 columns with 1 % to 20 % of the cells missing, to less than 0.6 of its bracket."""

NOT_TRIED = SlopeAttempt(None, "")
"""Slopes of a draw whose set of moves is not to be proved without a start, as that of another draw was not."""

NO_ROW_SUMS = RowSumAttempt(None, "")

MOST_SLOPE_WORK = 2.0e8
"""Numbers in the matrices of slopes, one for each column with uncertain cells and some more, that are not too many.

At 1,000 columns, 260 of them with uncertain cells, they are three times as many, and took two minutes.
"""


def certify_tight(
    problem: Problem, solution: Solution, *, hint: Neighbour | AnotherDraw | None = None, in_columns: bool = False
) -> Certificate:
    """Use slopes where they are nearly exact, else intersect all theorems that need no retraining; always finite.

    An intersection is at least as narrow as each of its parts (with an intercept, whose bracket is computed to 1 % of
    its width, or is that of slopes: up to that).

    Parameters
    ----------
    problem : Problem
    solution : Solution
    hint : Neighbour or AnotherDraw, optional
        Results for the same table with another penalty, or with other values of its holes: they save time.
    in_columns : bool
        Whether uncertain cells are to be taken column by column. Then slopes are enough, however wide they are: it
        saves time as well.
    """
    by_rows, rows_note, at_w = _row_sums(problem, solution, hint) if not in_columns else NO_ROW_SUMS
    if by_rows is not None:
        return _with_row_sums(problem, solution, by_rows, is_fast=hint is not None)
    too_wide = _too_wide(problem)
    if too_wide is not None:
        attempt = too_wide
    elif isinstance(hint, AnotherDraw) and not hint.is_closed:
        attempt = NOT_TRIED
    else:
        attempt = attempt_slope_bounds(problem, solution, hint=hint, in_columns=in_columns)
    is_tried = too_wide is None and attempt is not NOT_TRIED
    if attempt.bounds is None and is_tried and (hint is not None or in_columns):
        attempt = attempt_slope_bounds(problem, solution)
    is_alone = in_columns or (isinstance(hint, AnotherDraw) and hint.is_alone)
    if attempt.bounds is not None and (attempt.bounds.excess <= NEARLY_EXACT or is_alone):
        region = _around_zero(problem, solution, attempt.bounds, is_fast=isinstance(hint, AnotherDraw))
        if region is not None:
            parts: tuple[ScoreBounds, ...] = (region, attempt.bounds)
            if hint is None and not in_columns:
                parts += _of_asked_rows(problem, solution, attempt.bounds)
            return Certificate("tight", parts, solution.gap, attempt.note)
    at_zero, is_bracketed = _origin(problem, solution, attempt.bounds)
    around_center = [certify_sphere(problem, solution, at_zero)] if _has_sphere(problem) else []
    half_ball = certify_ball(
        problem, solution, intersection("start", [*around_center, at_zero]), narrows=not is_bracketed
    )
    if attempt.bounds is None and too_wide is None:
        attempt = attempt_slope_bounds(problem, solution, start=half_ball)
    regions = intersection("tight", [*around_center, half_ball, at_zero]).parts_of(Region)
    if problem.penalty.n_free:
        # The last bracket is the narrowest, and valid for the weights of every region.
        regions = tuple(with_bracket(region, bracket_of(half_ball)) for region in regions)
    parts = (*regions, *attempt.parts)
    if rows_note and attempt.bounds is not None:
        rows_note = f"{rows_note} Slopes serve instead, which are wider."
    certificate = Certificate("tight", parts, solution.gap, " ".join(filter(None, [attempt.note, rows_note])))
    can_narrow = problem.rows.allows_matrices and (attempt.bounds is not None or not problem.loss.is_smooth)
    if hint is not None or in_columns or not can_narrow:
        return certificate
    by_rows = row_sum_bounds_within(problem, solution, certificate, at_w)
    more = _of_asked_rows(problem, solution, attempt.bounds) if by_rows is None else (by_rows,)
    return replace(certificate, parts=(*parts, *more))


def _of_asked_rows(problem: Problem, solution: Solution, slopes: SlopeBounds | None) -> tuple[ScoreBounds, ...]:
    """Return row sums over the ranges that slopes give, for the rows that are asked for, if there is much to gain."""
    if slopes is None or not slopes.excess > CAN_BE_NARROWED or not problem.rows.allows_matrices:
        return ()
    known = Certificate("slope", (slopes.in_columns(),), solution.gap)
    found = row_sum_bounds_of_asked_rows(problem, solution, known)
    return () if found is None else (found,)


def _row_sums(problem: Problem, solution: Solution, hint: Neighbour | AnotherDraw | None) -> RowSumAttempt:
    """Try row sums, where a table is short enough; of a draw only if those of another draw closed."""
    if not problem.rows.allows_matrices:
        return NO_ROW_SUMS
    if hint is None:
        return attempt_row_sums(problem, solution)
    if isinstance(hint, AnotherDraw) and hint.row_sums_widths is not None:
        return attempt_row_sums(problem, solution, hint.row_sums_widths)
    return NO_ROW_SUMS


def _with_row_sums(problem: Problem, solution: Solution, by_rows: RowSumBounds, is_fast: bool) -> Certificate:
    """Return the certificate of row sums that closed.

    With the ball around zero, for rows so far away that numbers overflow. Unless it is to be fast, also with the
    half-ball, for rows unlike those of the table, and with slopes over the moves that row sums leave: both can be kept
    without training rows.
    """
    ranges, region = by_rows.ranges, around_zero(problem, solution)
    bracket = None
    if problem.penalty.n_free:
        at = ranges.table.weights_at[-1]
        bracket = float(ranges.lower[at]), float(ranges.upper[at])
        region = with_bracket(region, bracket)
    if is_fast:
        return Certificate("tight", (region, by_rows), solution.gap)
    at_zero = Certificate("origin", (region,), solution.gap)
    regions = intersection("tight", [certify_ball(problem, solution, at_zero, narrows=False), at_zero]).parts_of(Region)
    if bracket is not None:
        regions = tuple(with_bracket(each, bracket) for each in regions)
    moves = KnownRows.of(ranges.table.directions, solution.w, ranges.lower, ranges.upper)
    slopes = slope_bounds_within(problem, solution, moves)
    parts: tuple[ScoreBounds, ...] = (*regions, by_rows) if slopes is None else (*regions, slopes, by_rows)
    return Certificate("tight", parts, solution.gap)


def _too_wide(problem: Problem) -> SlopeAttempt | None:
    """Return why slopes are not tried, if a table has so many columns that they would take long."""
    rows, d = problem.rows, problem.rows.n_features
    if not rows.allows_matrices:
        return SlopeAttempt(
            None,
            f"Bounds by slopes need matrices of {d:,} x {d:,} ({8 * d * d / 2**30:,.1f} GiB each), which are not made "
            "of so wide or sparse a table: the half-ball is used alone, which is wider.",
        )
    n_columns = min(rows.count_uncertain(), d)
    if (n_columns + d / 4.0) * d * d <= MOST_SLOPE_WORK:
        return None
    return SlopeAttempt(
        None,
        f"With {d:,} columns, bounds by slopes would take long: the half-ball is used alone, which is wider. "
        "certificate='slope' takes the time; fewer columns need less of it.",
    )


def _has_sphere(problem: Problem) -> bool:
    """Whether the sphere may be narrower than the half-ball, which is inside it otherwise (Remark 4).

    An l1 penalty makes weights of a hinge nearly zero in training, and not always zero: their subgradient is then far
    from those at zero. The half-ball pays for that; the sphere pays the penalty's own gap.
    """
    return problem.penalty.kappa > 0.0 and not problem.loss.is_smooth and not no_sphere(problem)


def _origin(problem: Problem, solution: Solution, bounds: SlopeBounds | None) -> tuple[Certificate, bool]:
    """Return the ball around zero, and whether slopes bound its intercept so well that nothing else need to."""
    if problem.penalty.n_free and bounds is not None and bounds.excess <= BOUNDS_INTERCEPT:
        region = _around_zero(problem, solution, bounds, is_fast=False)
        if region is not None:
            return Certificate("origin", (region,), solution.gap), True
    return certify_origin(problem, solution), False


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
    return with_bracket(region, (low, high)) if np.isfinite([low, high]).all() else None
