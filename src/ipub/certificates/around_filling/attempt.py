"""The certificate around a filled-in table: bounds, or the reason why there are none (Theorem 9)."""

from __future__ import annotations

from typing import NamedTuple

from ipub.certificates.around_filling.bounds import FilledBounds
from ipub.certificates.around_filling.filled_table import MOST_NUMBERS, FilledTable
from ipub.certificates.around_filling.moves import BudgetMoves
from ipub.certificates.around_filling.prove_move import prove_move
from ipub.certificates.around_filling.units import MovableRows
from ipub.problem import Problem
from ipub.rounding import overflow_means_unbounded
from ipub.solvers import Solution

ROUNDS = 2
"""How often bounds of the training rows are put back in, at most: each costs 0.3 to 1 s on tables of 400 to 900 rows
with 600 to 1,700 holes, the first makes bounds narrower by 5 to 20 %, the second by 1 to 8 %, without it 0.05 s."""

WORTHWHILE = 0.97
"""Another round is made if the last one shrank the reach of the training rows to less than this."""

MOST_PAIRS = 1 << 24
"""Rounds are made where rows times options are at most this: each row looks at each option (about 10 s a round)."""


class AroundAttempt(NamedTuple):
    """The bounds of Theorem 9, or None and the reason."""

    bounds: FilledBounds | None
    note: str


@overflow_means_unbounded()
def certify_around(
    problem: Problem,
    solution: Solution,
    movable: MovableRows,
    moves: BudgetMoves,
    rounds: int = ROUNDS,
) -> AroundAttempt:
    """Bound the scores of the models of all tables that differ from a filled-in one as `moves` allows.

    For losses with `has_bounded_third_derivative`.

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
    rounds : int
        How often the bounds of the training rows are put back in: each costs about n_rows times n_units, and makes the
        bounds narrower.
    """
    if not problem.loss.has_bounded_third_derivative:
        return AroundAttempt(
            None,
            f"Bounds around a filled-in table are not there for the loss {problem.loss.name!r}: its curvature jumps.",
        )
    table = FilledTable.of(problem, solution.w, movable, moves)
    if table is None:
        return AroundAttempt(None, f"A table of more than {MOST_NUMBERS:,} numbers is not looked at row by row.")
    proved = prove_move(table)
    if proved is None:
        return AroundAttempt(None, "No set of models around the filled-in table could be proved.")
    bounds = FilledBounds.of(proved)
    for _ in range(rounds if len(table.X) * len(movable.option_unit) <= MOST_PAIRS else 0):
        before, bounds = bounds, bounds.narrowed()
        if not (bounds.reach.rows.sum() < WORTHWHILE * before.reach.rows.sum()):
            break
    return AroundAttempt(bounds, "")
