"""Mutants of row sums with one matrix (lem-one-matrix)."""

from __future__ import annotations

from mutants.entry import Mutant

HOLD = ("soundness/test_one_matrix.py",)
CANCEL = (f"{HOLD[0]}::test_where_numbers_cancel_they_are_not_inside_the_lemma", *HOLD)

MUTANTS = (
    Mutant(
        "rows without the distance from their lines",
        "OneMatrixSums._totals",
        "sums.of_rows + sums.of_cells",
        "sums.of_cells",
        HOLD,
    ),
    Mutant(
        "cells that do what they do at the center",
        "OneMatrixSums._sums_of_some",
        "np.maximum(np.abs(pull, out=pull), limit, out=limit).sum(axis=0)",
        "np.abs(pull, out=pull).sum(axis=0)",
        HOLD,
    ),
    Mutant(
        "cells that only change the score",
        "OneMatrixSums._sums_of_some",
        "        pull += limit\n",
        "",
        HOLD,
    ),
    Mutant(
        "shares that are not cut off",
        "OneMatrixSums._sums_of_some",
        "        np.clip(share, -1.0, 1.0, out=share)\n",
        "",
        HOLD,
    ),
    Mutant(
        "cells that add to the matrix in their columns alone",
        "OneMatrixSums._sums_of_some",
        "by_column @ of_row + table.X.T @ (by_row @ of_column)",
        "by_column @ of_row",
        HOLD,
    ),
    Mutant(
        "cells that the weights' ranges do not reach",
        "OneMatrixSums._cells_of",
        "np.abs(bend) * self._of_weights[columns]",
        "0.0 * np.abs(bend)",
        HOLD,
    ),
    Mutant(
        "cells that the scores' ranges do not reach",
        "OneMatrixSums._cells_of",
        "np.abs(bend) * of_scores[rows]",
        "0.0 * np.abs(bend)",
        HOLD,
    ),
    Mutant(
        "what cells add to the matrix with the other sign",
        "OneMatrixSums.upper",
        "Y - U @ self.matrix + sums.pulled",
        "Y - U @ self.matrix - sums.pulled",
        HOLD,
    ),
    Mutant(
        "both ends without what cells add to the matrix",
        "OneMatrixSums.about",
        " + np.abs(sums.pulled)",
        "",
        HOLD,
    ),
    Mutant(
        "derivatives that do not move with the scores of incomplete rows",
        "OneMatrixSums.__init__",
        "up(of_cells + table.gradient)",
        "up(0.0 * of_cells + table.gradient)",
        HOLD,
    ),
    Mutant("no tilt of the center", "OneMatrixSums.__init__", "up(of_cells + table.gradient)", "up(of_cells)", HOLD),
    Mutant("what is left of directions is dropped", "OneMatrixSums.upper", " + doubt + left,", " + doubt,", HOLD),
    Mutant(
        "scores of incomplete rows that cells do not move",
        "OneMatrixSums.__init__",
        "moves = table.by_row(",
        "moves = 0.0 * table.by_row(",
        HOLD,
    ),
    Mutant(
        "scores that reach up alone",
        "OneMatrixSums.__init__",
        "up(np.maximum(upper[:n] - at_center[0], at_center[1] - lower[:n]))",
        "up(upper[:n] - at_center[0])",
        HOLD,
    ),
    Mutant(
        "lines that are moved the wrong way",
        "_Lines.of",
        "base = 0.5 * (below - above)",
        "base = 0.5 * (above - below)",
        HOLD,
    ),
    Mutant(
        "ranges that are proved at their ends alone",
        "_Closing.relax",
        "((low > lower) & (high < upper)).all()",
        "((low > lower) & (high < upper)).any()",
        HOLD,
    ),
    Mutant(
        "scores of rows without their rounding",
        "OneMatrixSums._totals",
        " + norm_upper(U) * self._of_length",
        "",
        CANCEL,
    ),
    Mutant(
        "the middle without its rounding",
        "OneMatrixSums._middles",
        "self._height * EPS * size",
        "0.0 * size",
        CANCEL,
    ),
    Mutant(
        "what is left without its rounding",
        "OneMatrixSums._of_left",
        "doubt = self._height * EPS * (np.abs(Y) + np.abs(U) @ self._matrix_size) + UNDERFLOW",
        "doubt = 0.0",
        CANCEL,
    ),
)
