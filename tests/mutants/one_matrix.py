"""Mutants of row sums with one matrix (Lemma 30)."""

from __future__ import annotations

from mutants.entry import Mutant

HOLD = ("soundness/test_one_matrix.py",)

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
)
