"""Draws of an imputer: how many predictions are certain with their probability, and what a draw costs.

Test rows are complete, so that the training table alone is uncertain.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from benchmarks.holed import default
from benchmarks.lines import Lines
from benchmarks.real_tables import MOST_TEST_ROWS, SOURCES, Source
from ipub import BoundedClassifier
from ipub.answers.certainty import is_certain
from ipub.certificates import DrawBounds
from ipub.estimators.fitted_state import keep_training
from ipub.estimators.linear_model import parameters_of
from ipub.numeric.rounding import Array
from ipub.promises import Draws
from ipub.rows.completions import whole_table
from ipub.training.draws import train_and_certify_draws
from ipub.training.reading import read_training_data

RADIUS, LEVEL = 0.1, 0.9
UNIFORM_TABLES = {"pima_diabetes": 0.88, "hepatitis": 0.87}
"""Tables of the uniform law, and the share of certain predictions to reach."""
N_UNIFORM = 199
USEFUL = {
    "breast_cancer_wisconsin": 0.0032,
    "credit_approval": 0.01,
    "credit_scoring": 0.001,
    "mammographic_masses": 0.0032,
    "pima_diabetes": 0.0032,
    "hepatitis": 0.1,
    "heart_disease_4sites": 0.001,
    "chronic_kidney_disease": 0.0003,
    "cervical_cancer": 0.32,
    "pbc_cirrhosis": 0.1,
    "horse_colic": 0.1,
    "hcc_survival": 0.32,
    "polish_bankruptcy_5year": 0.032,
    "adult": 0.001,
}
"""Tables and the penalty that cross-validation of scikit-learn's model picks by log loss, of half decades."""
N_USEFUL = 25
USEFUL_TARGET = 0.65
COST_TARGET, SMALL_TARGET, SMALL = 4.0, 10.0, 1000
COST_ALPHAS = (0.1, 0.001)


def run(console: Console) -> None:
    _uniform(console)
    _useful(console)
    _default_cost(console)


def fitted(estimator: BoundedClassifier, X: Any, y: Any, draws: Draws) -> BoundedClassifier:
    """Fit an estimator to draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        parameters = parameters_of(estimator)
        data = read_training_data(parameters, X, y)
        keep_training(estimator, train_and_certify_draws(parameters, data, draws, X))
    return estimator


def _source(name: str) -> Source:
    return next(source for source in SOURCES if source.name == name)


def _certain(bounds: Array) -> float:
    return float(np.mean(is_certain(bounds)))


def part_of(estimator: BoundedClassifier) -> DrawBounds:
    part = estimator.training_.certificates[0].part(DrawBounds)
    assert part is not None
    return part


# --- the uniform law, columns from 0 to 1, alpha 1/n -----------------------------------------------------------------


def _uniform(console: Console) -> None:
    title = f"{N_UNIFORM} draws of the uniform law, radius {RADIUS:g}, columns scaled to [0, 1], alpha 1/n"
    lines = Lines(console, title, "table", "rows", "holes", "certain", "target", "draws alone", "width", "ms a draw")
    for name, target in UNIFORM_TABLES.items():
        X, y, X_test, ranges = _zero_to_one(_source(name))
        start = time.process_time()
        model = BoundedClassifier(alpha=1.0 / len(y), intervals=ranges)
        fitted(model, X, y, Draws(_UniformLaw(ranges), N_UNIFORM, RADIUS, random_state=0))
        spent = (time.process_time() - start) / N_UNIFORM
        bounds = model.decision_bounds(X_test)
        certain, plain = _certain(bounds), part_of(model).plain(np.column_stack([X_test, np.ones(len(X_test))]))
        mark = " " if certain >= target - 0.005 else "!"
        cells = [f"{len(y)}", f"{int(np.isnan(X).sum())}", f"{certain:.2f}{mark}", f"{target:.2f}"]
        width = f"{np.median(np.ptp(bounds, axis=1)):.3f}"
        lines.add(name.ljust(24), *cells, f"{_certain(plain):.2f}", width, f"{1e3 * spent:.1f}")


class _UniformLaw:
    """Each missing number is anywhere in its interval, all independent."""

    def __init__(self, ranges: Array) -> None:
        self.ranges = ranges

    def __call__(self, X: Array, rng: np.random.Generator) -> Array:
        rows, columns = np.nonzero(np.isnan(X))
        X[rows, columns] = rng.uniform(*self.ranges[columns].T)
        return X


def _zero_to_one(source: Source) -> tuple[Array, Array, Array, Array]:
    """Return training rows, labels, test rows with holes at the middle, and the range of each column's holes.

    A column of two words is one of 0 and 1, one of more words has one for each; a missing word lies between 0 and 1.
    """
    frame, y = source.load()
    columns, is_word = [], []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            columns.append(column.to_numpy(dtype=float))
            is_word.append(False)
            continue
        levels = sorted(column.dropna().unique())
        for level in levels[1:] if len(levels) == 2 else levels:
            columns.append(np.where(column.isna(), np.nan, (column == level).to_numpy(dtype=float)))
            is_word.append(True)
    table = np.column_stack(columns)
    order, n_test = np.random.default_rng(0).permutation(len(table)), min(MOST_TEST_ROWS, len(table) // 5)
    train, test = table[order[n_test:]], table[order[:n_test]]
    lowest, highest = np.nanmin(train, axis=0), np.nanmax(train, axis=0)
    span = np.where(highest > lowest, highest - lowest, 1.0)
    train, test = (train - lowest) / span, (test - lowest) / span
    ranges = np.nanquantile(train, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0).T
    ranges[is_word] = 0.0, 1.0
    return train, y[order[n_test:]], np.where(np.isnan(test), ranges.mean(axis=1), test), ranges


# --- tables as people have them, at the penalty that cross-validation picks ------------------------------------------


def _useful(console: Console) -> None:
    title = f"{N_USEFUL} hot-deck draws, radius {RADIUS:g}, standard scaled, alpha by cross-validation"
    columns = ("table", "rows", "holes", "alpha", "certain", "draws alone", "width", "draws alone")
    lines = Lines(console, title, *columns, "ms a draw", "fit ms", "ratio")
    totals = np.zeros(2)
    for name, alpha in USEFUL.items():
        totals += _useful_line(lines, name, alpha, *_complete_test_rows(_source(name)))
    share = totals[0] / totals[1]
    cells = [f"{totals[0]:.2f}", f"{totals[1]:.2f}", f"{share:.2f}{' ' if share >= USEFUL_TARGET else '!'}"]
    lines.add("sum, and their ratio".ljust(24), "", "", "", *cells, f"({USEFUL_TARGET:g})", "", "", "")


def _complete_test_rows(source: Source) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Return training rows, labels and test rows: complete ones, if a fifth of the table has enough of them."""
    frame, y = source.load()
    order, n_test = np.random.default_rng(0).permutation(len(frame)), len(frame) // 5
    X_test = frame.iloc[order[:n_test]]
    complete = X_test.dropna()
    X_test = complete if len(complete) >= 5 else X_test
    return frame.iloc[order[n_test:]], y[order[n_test:]], X_test.iloc[:MOST_TEST_ROWS]


def _useful_line(
    lines: Lines, name: str, alpha: float, X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame
) -> tuple[float, float]:
    """Measure one table; return the share of certain predictions, and that of the draws alone."""
    model = BoundedClassifier(alpha=alpha, scale="standard")
    spent = _cost(model, X, y, N_USEFUL)
    part = part_of(model)
    rows = np.column_stack([model.training_.table.filled_rows(X_test), np.ones(len(X_test))])
    bounds, plain = np.column_stack(part.ends(rows)), part.plain(rows)
    filled = whole_table(model.training_.models[0].problem.rows).center[:, :-1]
    fit = plain_fit(filled, y, alpha)
    ratio = spent / fit
    mark = "!" if len(y) < SMALL and ratio > SMALL_TARGET else " "
    widths = [f"{np.median(np.ptp(each, axis=1)):.3f}" for each in (bounds, plain)]
    cells = [f"{len(y):,}", f"{int(X.isna().to_numpy().sum()):,}", f"{alpha:.2g}"]
    cells += [f"{_certain(bounds):.2f}", f"{_certain(plain):.2f}", *widths]
    lines.add(name[:24].ljust(24), *cells, f"{1e3 * spent:.1f}", f"{1e3 * fit:.1f}", f"{ratio:.1f}{mark}")
    return _certain(bounds), _certain(plain)


# --- cost ------------------------------------------------------------------------------------------------------------


def _cost(model: BoundedClassifier, X: Any, y: Any, n_draws: int) -> float:
    """Return the time of one more draw, with its certificate: of many less two, as one process computes."""
    times = []
    for count in (2, n_draws):
        start = time.process_time()
        fitted(model, X, y, Draws(n_draws=count, radius=RADIUS, random_state=0))
        times.append(time.process_time() - start)
    return (times[1] - times[0]) / (n_draws - 2)


def plain_fit(table: Array, y: np.ndarray, alpha: float, repeats: int = 5) -> float:
    """Return the time of scikit-learn's fit, with the solver that is faster."""
    times = []
    for solver in ("lbfgs", "newton-cholesky"):
        model = LogisticRegression(C=1.0 / (alpha * len(y)), solver=solver, max_iter=1000)
        for _ in range(repeats):
            start = time.process_time()
            model.fit(table, y)
            times.append(time.process_time() - start)
    return min(times)


def _default_cost(console: Console) -> None:
    holed = default()
    title = f"{holed.size}: a draw with its certificate against scikit-learn's fit, processor time"
    lines = Lines(console, title, "alpha", "ms a draw", "fit ms", "ratio", "target", "1000 rows, ms a draw")
    for alpha in COST_ALPHAS:
        model = BoundedClassifier(alpha=alpha, intervals=holed.ranges)
        spent, fit = _cost(model, holed.X, holed.y, 199), plain_fit(holed.filled, holed.y, alpha)
        start = time.process_time()
        model.decision_bounds(holed.X_test[:1000])
        bounds = (time.process_time() - start) / 199
        ratio = spent / fit
        mark = "!" if ratio > COST_TARGET else " "
        cells = [f"{1e3 * spent:.1f}", f"{1e3 * fit:.1f}", f"{ratio:.1f}{mark}", f"{COST_TARGET:g}"]
        lines.add(f"{alpha:g}", *cells, f"{1e3 * bounds:.1f}")
