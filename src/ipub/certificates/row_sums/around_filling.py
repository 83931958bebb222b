"""Bounds for all tables that differ from a filled-in one as a budget allows: row sums of units (Lemma 28)."""

from __future__ import annotations

import numpy as np

from ipub.certificates.row_sums.bounds import RowSumBounds, prove_row_sums
from ipub.certificates.row_sums.ranges import Ranges, kernel_type
from ipub.certificates.row_sums.table import MOST_ROWS, MOST_WORK_OF_BUDGETS, RowTable, is_small
from ipub.model_sets.base import ModelSet, Outcome, Reason
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array, dot_bounds, midpoint_and_radius, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.tables.movable_units import BudgetMoves, MovableRows

NOT_CLOSED = "too much may differ at this penalty; a smaller budget or a larger alpha may help"
"""What is said where no ranges prove themselves."""


@overflow_means_unbounded()
def bounds_around_filling(
    problem: Problem, solution: Solution, movable: MovableRows, moves: BudgetMoves, widths: Array | None = None
) -> Outcome[RowSumBounds]:
    """Bound the scores of the models of all tables that differ from a filled-in one as a budget allows.

    The note says why there are none, and what to do, as part of a sentence.

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
    rows = problem.rows
    if kernel_type() is None:
        note = "the package was installed without its compiled loops; install it where there is a C compiler"
        return Outcome(None, Reason.NOT_APPLICABLE, note)
    if not problem.loss.is_smooth:
        note = f"the derivative of the loss {problem.loss.name!r} jumps; take one without a jump"
        return Outcome(None, Reason.NOT_APPLICABLE, note)
    if not is_small(rows.n_rows, rows.n_features, MOST_WORK_OF_BUDGETS):
        note = (
            f"{rows.n_rows:,} rows and {rows.n_features:,} columns are too many, as every row is bounded by a sum over "
            f"all; take at most {MOST_ROWS:,} rows, and fewer with many columns"
        )
        return Outcome(None, Reason.TOO_LARGE, note)
    if not np.isfinite(solution.w).all():
        return Outcome(None, Reason.NOT_APPLICABLE, "training ended in weights that are not finite; scale the columns")
    table = RowTable.around(problem, solution, movable, moves)
    at_w = None if table is None else Ranges.of(table, *dot_bounds(table.directions, table.w), on_path=True)
    proved = prove_row_sums(at_w, widths)
    return proved if proved.found is not None else proved._replace(note=NOT_CLOSED)


def with_box(bounds: RowSumBounds) -> tuple[ModelSet, ...]:
    """Return bounds with the box of the weights that they prove, which can be kept without training rows."""
    ranges = bounds.ranges
    center, box = midpoint_and_radius(ranges.weight_lower, ranges.weight_upper)
    return Region("box", center, box, 0.0), bounds
