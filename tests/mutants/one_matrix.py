"""Mutants of row sums with one matrix (Lemma 30)."""

from __future__ import annotations

from mutants.entry import Mutant

HOLD = ("soundness/test_one_matrix.py",)
CANCEL = (f"{HOLD[0]}::test_where_numbers_cancel_they_are_not_inside_the_lemma", *HOLD)

MUTANTS = (
    Mutant(
        "rows without the distance from their lines", "OneMatrixTable._ends", "reached.spread @ np.abs(C)", "0.0", HOLD
    ),
    Mutant(
        "weights at one end of their ranges",
        "OneMatrixTable._ends",
        "self._of_first_order(U, C, reached.ends)",
        "self._of_first_order(U, C, reached.ends[:1])",
        HOLD,
    ),
    Mutant(
        "cells that only change the score",
        "OneMatrixTable._of_first_order",
        "found += of_column",
        "found += 0.0 * of_column",
        HOLD,
    ),
    Mutant(
        "derivatives that do not move with the scores of incomplete rows",
        "OneMatrixTable._ends",
        "size @ up(up(of_columns + self.gradient)",
        "size @ up(up(self.gradient)",
        HOLD,
    ),
    Mutant("no tilt of the center", "OneMatrixTable._ends", "up(of_columns + self.gradient)", "up(of_columns)", HOLD),
    Mutant("what the matrix leaves is dropped", "OneMatrixTable._ends", "+ left @ reached.largest_weight", "", HOLD),
    Mutant(
        "scores of incomplete rows that cells do not move",
        "OneMatrixTable.reached",
        "moves = sum_upper(moves, d + 4)",
        "moves = 0.0 * moves",
        HOLD,
    ),
    Mutant(
        "a shift with the other sign",
        "OneMatrixTable.reached",
        "shift = 0.5 * (below_line - above_line)",
        "shift = 0.5 * (above_line - below_line)",
        HOLD,
        equivalent="Any shift is valid: the rest is measured from it.",
    ),
    Mutant(
        "a shift that is added with the other sign",
        "OneMatrixTable.reached",
        "            self.X.T @ weighted,",
        "            -(self.X.T @ weighted),",
        HOLD,
    ),
    Mutant(
        "ranges that are proved at their ends alone",
        "prove_with_one_matrix",
        "((low > lower) & (high < upper)).all()",
        "((low > lower) & (high < upper)).any()",
        HOLD,
    ),
    Mutant(
        "scores of rows without their rounding", "OneMatrixTable._ends", "            + length * relative\n", "", CANCEL
    ),
    Mutant(
        "the product with the direction without its rounding",
        "OneMatrixTable._ends",
        "            + height * EPS * change_size\n",
        "",
        CANCEL,
    ),
    Mutant(
        "the middle without its rounding",
        "OneMatrixTable._ends",
        "up(middle_error + reached.shift_error)",
        "up(reached.shift_error)",
        CANCEL,
    ),
    Mutant(
        "the shift without its rounding",
        "OneMatrixTable._ends",
        "up(middle_error + reached.shift_error)",
        "up(middle_error)",
        CANCEL,
    ),
    Mutant(
        "products of a cell without their rounding",
        "OneMatrixTable._ends",
        "up(reached.of_cells + 16 * EPS * self.by_column(np.abs(pull)))",
        "up(reached.of_cells)",
        CANCEL,
        equivalent="Let a and b be the sizes of the two terms of a cell. If a > 2 b their sum is at least a/2, so what "
        "a is off by is rounded up with the sum; else it is part of what is added for b, which has room for twice d "
        "roundings.",
    ),
)
