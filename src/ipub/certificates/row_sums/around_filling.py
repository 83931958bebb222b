"""Bounds for all tables that differ from a filled-in one as a budget allows: row sums of units (Lemma 28)."""

from __future__ import annotations

import numpy as np

from ipub.certificates.row_sums.bounds import RowSumBounds, proved_bounds
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import MOST_ROWS, MOST_WORK_OF_BUDGETS, RowTable, is_small
from ipub.certificates.row_sums.upper import kernel_type
from ipub.model_sets.certificate import ScoreBounds
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array, dot_bounds, midpoint_and_radius, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.tables.movable_units import BudgetMoves, MovableRows


@overflow_means_unbounded()
def bounds_around_filling(
    problem: Problem, solution: Solution, movable: MovableRows, moves: BudgetMoves, widths: Array | None = None
) -> RowSumBounds | None:
    """Bound the scores of the models of all tables that differ from a filled-in one as a budget allows.

    None if the table is too long, the derivative of the loss jumps, or no ranges prove themselves (`why_not_proved`).

    Parameters
    ----------
    problem : Problem
        The filled-in table, without uncertain cells, categories or labels.
    solution : Solution
        Any vector of weights: the model of the filled-in table makes the bounds narrow.
    movable : MovableRows
        What may differ from the table.
    moves : BudgetMoves
        How much of it, together.
    widths : array, optional
        `RowSumBounds.widths` of another budget of the same table: where to start.
    """
    if kernel_type() is None or not problem.loss.is_smooth or not np.isfinite(solution.w).all():
        return None
    table = RowTable.around(problem, solution, movable, moves)
    if table is None:
        return None
    return proved_bounds(Ranges.of(table, *dot_bounds(table.directions, table.w), on_path=True), widths)


def why_not_proved(problem: Problem) -> str:
    """Return why `bounds_around_filling` has none for a filled-in table, and what to do, as part of a sentence."""
    rows = problem.rows
    if kernel_type() is None:
        return "the package was installed without its compiled loops; install it where there is a C compiler"
    if not problem.loss.is_smooth:
        return f"the derivative of the loss {problem.loss.name!r} jumps; take one without a jump"
    if not is_small(rows.n_rows, rows.n_features, MOST_WORK_OF_BUDGETS):
        return (
            f"{rows.n_rows:,} rows and {rows.n_features:,} columns are too many, as every row is bounded by a sum over "
            f"all; take at most {MOST_ROWS:,} rows, and fewer with many columns"
        )
    return "too much may differ at this penalty; a smaller budget or a larger alpha may help"


def with_box(bounds: RowSumBounds) -> tuple[ScoreBounds, ...]:
    """Return bounds with the box of the weights that they prove, which can be kept without training rows."""
    ranges = bounds.ranges
    center, box = midpoint_and_radius(ranges.weight_lower, ranges.weight_upper)
    return Region("box", center, box, 0.0), bounds
