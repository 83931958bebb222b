"""Mutants of intervals that follow from the other values of a row."""

from __future__ import annotations

from mutants.entry import Mutant

INTERVALS = ("tables/test_conditional_intervals.py",)
ESTIMATORS = ("estimators/test_conditional_intervals.py",)
LEARNT, USED = "tables/quantile_regression.py", "tables/conditional_intervals.py"

MUTANTS = (
    Mutant("no room for values beyond the others", "_conformal", "(level + 3.0 / (n + 1))", "level", INTERVALS),
    Mutant(
        "a conformal rank that is too small by one", "_conformal", "excess[rank - 1]", "excess[rank - 2]", INTERVALS
    ),
    Mutant(
        "the correction from the cells of the lines",
        "_conformal",
        "low, high = column.quantiles(rows[n_fitted:])",
        "rows, values = rows[:n_fitted].repeat(2, axis=0), values[:n_fitted].repeat(2)\n"
        "    low, high = column.quantiles(rows[n_fitted:])",
        INTERVALS,
    ),
    Mutant(
        "lines from all cells", "_conformal", "_quantile_lines(rows[:n_fitted], j", "_quantile_lines(rows, j", INTERVALS
    ),
    Mutant(
        "held-out cells learnt from", "held_out_coverage", "left, out = rows[~is_out],", "left, out = rows,", INTERVALS
    ),
    Mutant("rows of weight 0 learnt from", "_learn_column", "else ~is_hole & counted", "else ~is_hole", INTERVALS),
    Mutant("a column regressed on itself", "_quantile_lines", "    is_usable[j] = False\n", "", INTERVALS),
    Mutant(
        "only one side of the correction",
        "ConditionalColumn.intervals",
        "up(high + self.correction)",
        "up(high)",
        INTERVALS,
    ),
    Mutant(
        "whole numbers cut off",
        "ConditionalColumn.intervals",
        "np.ceil(low), np.floor(high)",
        "np.ceil(low) + 1.0, np.floor(high)",
        INTERVALS,
    ),
    Mutant(
        "intervals beyond what was observed",
        "ConditionalColumn.intervals",
        "low, high = np.maximum(low, least), np.minimum(high, greatest)",
        "low, high = np.maximum(low, least), high",
        INTERVALS,
    ),
    Mutant(
        "a promise of columns that have none",
        "IntervalReport.sentence",
        "zip(self.rules, self.holes, strict=True) if holes):",
        "zip(self.rules, self.holes, strict=True)):",
        INTERVALS,
    ),
    Mutant(
        "quantiles that cross",
        "ConditionalColumn.quantiles",
        "return np.minimum(first, second), np.maximum(first, second)",
        "return first, second",
        INTERVALS,
    ),
    Mutant(
        "intervals of rows given to the wrong cells",
        "ConditionalIntervals.applied",
        "each.intervals(table[in_row[cells]])",
        "each.intervals(table[in_row[cells[::-1]]])",
        ESTIMATORS,
    ),
    Mutant(
        "predictions at the middle of the column's interval",
        "LearntTable.filled_rows",
        "            table = self.conditional.filled(table)\n",
        "            pass\n",
        ESTIMATORS,
    ),
)
