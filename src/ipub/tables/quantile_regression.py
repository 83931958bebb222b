"""Learning of conditional intervals: quantile regressions, and a correction from other cells (split conformal).

A value that is missing completely at random lies in its interval with probability `level` or more, in columns with
enough observed values: thm-conformal. What is learnt here may be anything: it makes intervals longer or shorter, and
the correction follows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor

from ipub.errors import IpubError, warn_user
from ipub.numeric.rounding import Array
from ipub.tables.columns import Column
from ipub.tables.conditional_intervals import ConditionalColumn, ConditionalIntervals, IntervalReport
from ipub.tables.holes import IntervalWarning, quantile_probabilities
from ipub.tables.interval_matrix import Indices

FEWEST = 10.0
"""Observed values that a column needs, times 1 - level: with fewer, intervals are mostly longer than those of
``"quantile"``, since half of the values must tell how far the lines are off."""
MOST_FITTED = 500
"""Cells that lines are learnt from, at most: with 20 columns a regression takes 25 ms, and four times the cells take
ten times as long."""
MOST_FEATURES = 20
"""Columns that lines use, at most: those that correlate most."""
PENALTY = 0.3
"""Strength of the l1 penalty, in units of the least that would usually remove all columns if none had an effect. On 48
columns of 8 tables intervals are 7 % wider with 1, and 2 % with 0.1."""
FOLDS = 5


class _Lines(NamedTuple):
    """Two quantiles that are linear in other columns, as in `ConditionalColumn`."""

    features: Indices
    fill: Array
    coef: Array
    intercept: Array


class _Checked(NamedTuple):
    """A column of the report."""

    holes: int
    observed: int
    rule: str
    coverage: float
    width: float
    quantile_width: float


def learn_conditional(
    table: NDArray[np.generic],
    columns: Sequence[int],
    ranges: Array,
    level: float,
    labels: Sequence[Any],
    counted: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> ConditionalIntervals:
    """Learn intervals of missing values from the other values of their rows.

    Every column is regressed on the others, and those with holes once more in 5 folds, to check their intervals.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
        The encoded table, NaN where missing.
    columns, labels : sequences
        The columns to learn intervals for, which hold numbers, and their labels.
    ranges : array of shape (n_columns, 2)
        Quantile intervals of all columns, for those where too few values were observed.
    level : float
        With which probability a value is to lie in its interval, below 1.
    counted : array of bool, optional
        Rows that count; all if left out.
    seed : int
        Which cells lines are learnt from, and which are held out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=200)
    >>> table = np.column_stack([first, first + 0.1 * rng.normal(size=200)])
    >>> table[:20, 1] = np.nan
    >>> found = learn_conditional(table, [1], np.array([[-1.6, 1.6], [-1.6, 1.6]]), 0.9, ["second"])
    >>> low, high = found.columns[0].intervals(np.array([[0.5, np.nan]]))
    >>> bool(0.2 < low[0] < 0.5 < high[0] < 0.8)
    True
    """
    if not level < 1.0:
        raise IpubError(
            "intervals='conditional' needs a level below 1, such as 0.9: for level 1, intervals='observed' "
            "is the range of all observed values."
        )
    rows = np.asarray(table, dtype=float)
    found: list[ConditionalColumn] = []
    report: list[_Checked] = []
    for j in columns:
        column, checked = _learn_column(rows, j, ranges[j], level, counted, np.random.default_rng([seed, j]))
        found += [] if column is None else [column]
        report.append(checked)
    few = [label for label, line in zip(labels, report, strict=True) if line.rule == "quantile" and line.holes]
    if few:
        warn_user(
            IntervalWarning(
                "Column(s) {columns} have fewer than {fewest} observed values, too few to learn intervals from other "
                "columns; quantile intervals are used instead.",
                fewest=fewest_observed(level),
                columns=few,
            )
        )
    holes, observed, rules, *numbers = zip(*report, strict=True)
    counts = np.array(holes, dtype=np.intp), np.array(observed, dtype=np.intp)
    described = IntervalReport(level, tuple(labels), *counts, rules, *map(np.array, numbers))
    return ConditionalIntervals(tuple(found), described)


def fewest_observed(level: float) -> int:
    """Return how many observed values a column needs."""
    return int(np.ceil(round(FEWEST / (1.0 - level), 6)))


def _learn_column(
    table: Array, j: int, otherwise: Array, level: float, counted: NDArray[np.bool_] | None, rng: np.random.Generator
) -> tuple[ConditionalColumn | None, _Checked]:
    """Learn the intervals of a column, if enough values were observed, and check them if it has holes."""
    is_hole = np.isnan(table[:, j])
    is_used = ~is_hole if counted is None else ~is_hole & counted
    rows, n_holes, width = table[is_used], int(is_hole.sum()), float(otherwise[1] - otherwise[0])
    n_values = len(np.unique(rows[:, j]))
    if n_values <= 2 or len(rows) < fewest_observed(level):
        rule = "quantile" if n_values > 2 else "both values" if n_values == 2 else "one value"
        return None, _Checked(n_holes, len(rows), rule, np.nan, width, width)
    rows = rows[rng.permutation(len(rows))]
    column = _conformal(rows, j, otherwise, level)
    if not n_holes:
        return column, _Checked(0, len(rows), "conditional", np.nan, np.nan, width)
    low, high = column.intervals(table[is_hole])
    coverage = held_out_coverage(rows, j, level)
    return column, _Checked(n_holes, len(rows), "conditional", coverage, float(np.median(high - low)), width)


def held_out_coverage(rows: Array, j: int, level: float) -> float:
    """Return the fraction of a column's values that lie in the interval that was learnt without them, in folds."""
    inside = 0
    for fold in range(FOLDS):
        is_out = np.arange(len(rows)) % FOLDS == fold
        left, out = rows[~is_out], rows[is_out]
        otherwise = np.array(Column.of(left[:, j], quantile_probabilities(level)).quantiles)
        low, high = _conformal(left, j, otherwise, level).intervals(out)
        inside += int(((low <= out[:, j]) & (out[:, j] <= high)).sum())
    return inside / len(rows)


def _conformal(rows: Array, j: int, otherwise: Array, level: float) -> ConditionalColumn:
    """Learn a column's intervals: lines from the first rows, and their correction from the others (thm-conformal)."""
    values, n, n_fitted = rows[:, j], len(rows), min(len(rows) // 2, MOST_FITTED)
    lines = _quantile_lines(rows[:n_fitted], j, level)
    observed = np.array([values.min(), values.max()])
    is_whole = bool((values == np.floor(values)).all())
    column = ConditionalColumn(j, *lines, 0.0, observed, otherwise, is_whole)
    low, high = column.quantiles(rows[n_fitted:])
    excess = np.maximum(low - values[n_fitted:], values[n_fitted:] - high)
    excess = np.sort(np.where(np.isnan(excess), np.inf, excess))
    rank = int(np.ceil((len(excess) + 1) * (level + 3.0 / (n + 1))))
    correction = float(excess[rank - 1]) if rank <= len(excess) else np.inf
    return ConditionalColumn(j, *lines, correction, observed, otherwise, is_whole)


def _quantile_lines(rows: Array, j: int, level: float) -> _Lines:
    """Regress a column on those others that correlate most with it; a constant if that fails."""
    values, probabilities = rows[:, j], quantile_probabilities(level)
    is_there = ~np.isnan(rows).all(axis=0)
    fill = np.zeros(rows.shape[1])
    fill[is_there] = np.nanmedian(rows[:, is_there], axis=0)
    filled = np.where(np.isnan(rows), fill, rows)
    with np.errstate(all="ignore"):
        means, sizes = filled.mean(axis=0), filled.std(axis=0)
        scaled = (filled - means) / sizes
        effects = np.abs(scaled.T @ scaled[:, j])
    is_usable = np.isfinite(effects) & (np.ptp(filled, axis=0) > 0.0)
    is_usable[j] = False
    order = np.argsort(np.where(is_usable, -effects, np.inf), kind="stable")
    features = np.sort(order[: min(MOST_FEATURES, int(is_usable.sum()))])
    n_used = len(features)
    constant = np.quantile(values, probabilities)
    if n_used == 0 or not (np.isfinite(sizes[j]) and sizes[j] > 0.0):
        return _Lines(features, fill[features], np.zeros((2, n_used)), constant)
    noise = np.sqrt(2.0 * np.log(2.0 * is_usable.sum()) / len(rows))
    coef, intercept = np.zeros((2, n_used)), np.zeros(2)
    for k, probability in enumerate(probabilities):
        strength = PENALTY * noise * np.sqrt(probability * (1.0 - probability))
        model = QuantileRegressor(quantile=probability, alpha=strength, solver="highs")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConvergenceWarning)
                model.fit(scaled[:, features], scaled[:, j])
        except ConvergenceWarning:
            intercept[k] = constant[k]
            continue
        coef[k] = model.coef_ * (sizes[j] / sizes[features])
        intercept[k] = means[j] + sizes[j] * model.intercept_ - coef[k] @ means[features]
    return _Lines(features, fill[features], coef, intercept)
