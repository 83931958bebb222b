"""Measuring what a plan says: values made missing in complete tables, and found again in four orders.

Rows without missing values of real tables; of the training rows some values, completely at random, are made missing.
Then they are found again, with their true values, an eighth at a time: in the order of `measurement_plan`, at random,
widest interval first (of scaled columns; a missing category as two), and rows with most missing values first. After
each eighth the model is fitted again, and the certain predictions of test rows are counted. *Area*: the mean share of
them over all nine points, in per cent, and over several draws of the missing values.

*Smallest set*: tables with genuine holes, test rows filled in. How many of the missing values `sufficient_cells` finds
to be enough for all predictions: whatever they are, and as filled in (and for 98 per cent of the predictions). *At
least*: values that every set of the first kind must have: with all others known at some values, this one alone was
found to change the class of a prediction; 100 walks of single changes between two fillings, all retrained.

Options: `--draws N`, `--tables NAME,...`, `--figure FILE`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.real_tables import SOURCES, Source
from benchmarks.useful import filled_in, parts
from ipub import BoundedClassifier
from ipub.answers.certainty import is_certain
from ipub.answers.missing_values import MissingValues
from ipub.answers.value_effects import ValueEffects

TABLES = {
    "mammographic_masses": 0.05,
    "breast_cancer_wisconsin": 0.05,
    "pima_diabetes": 0.05,
    "credit_approval": 0.02,
    "credit_scoring": 0.03,
    "default": 0.02,
    "adult": 0.03,
}
"""Share of the values that are made missing, by table."""
MORE = (Source("default", "default", (1,)),)
ORDERS = ("plan", "at random", "widest interval", "most holes")
POINTS, MOST_ROWS, TEST_ROWS, ALPHA, WALKS = 8, 700, 250, 0.1, 100
ENOUGH = (
    "mammographic_masses",
    "breast_cancer_wisconsin",
    "credit_approval",
    "hepatitis",
    "pima_diabetes",
    "pbc_cirrhosis",
)


def run(console: Console, options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks resolving")
    parser.add_argument("--draws", type=int, default=3, metavar="N", help="draws of missing values")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves")
    given = parser.parse_args(options)
    sources = {source.name: source for source in (*SOURCES, *MORE)}
    lines = Lines(console, f"areas under the resolving curves, {given.draws} draws", "table", "values", *ORDERS, "best")
    curves = {}
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)
        for name in given.tables or TABLES:
            curves[name] = lines.piece(name, partial(_resolve, lines, sources[name], given.draws))
        if given.figure is not None:
            _draw(curves, given.figure)
        lines = Lines(console, "values that are enough for all predictions", *_SET_COLUMNS)
        for name in given.tables or ENOUGH:
            lines.piece(name, partial(_enough, lines, sources[name]))


def _resolve(lines: Lines, source: Source, draws: int) -> list[list[float]]:
    """Return the mean curve of each order: shares of certain predictions."""
    frame, y = source.load()
    kept = frame.notna().all(axis=1).to_numpy()
    frame, y = frame[kept].reset_index(drop=True), y[kept]
    found, counts = np.zeros((draws, len(ORDERS), POINTS + 1)), []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(frame))
        n = min(MOST_ROWS, int(0.7 * len(frame)))
        X, test = frame.iloc[order[:n]].reset_index(drop=True), frame.iloc[order[n : n + TEST_ROWS]]
        X = X.astype({name: float for name in X if pd.api.types.is_numeric_dtype(X[name])})
        holes = X.mask(rng.random(X.shape) < TABLES[source.name])
        found[seed], count = _curves(X, holes, y[order[:n]], test, rng)
        counts.append(count)
    areas = 100.0 * found.mean(axis=(0, 2))
    best = ORDERS[int(areas.argmax())]
    lines.add(source.name[:24].ljust(24), f"{np.mean(counts):.0f}", *(f"{area:.1f}" for area in areas), best)
    return [each.tolist() for each in found.mean(axis=0)]


def _curves(
    X: pd.DataFrame, holes: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    clf = BoundedClassifier(alpha=ALPHA, scale="standard").fit(holes, y)
    missing, plan = MissingValues.of(clf.training_), clf.measurement_plan(test)
    places = {place: k for k, place in enumerate(zip(missing.row_labels(), missing.column_labels(), strict=True))}
    n = len(missing)
    width = np.append(missing.matrix.radii[missing.holes.cells], np.ones(n - missing.n_numbers))
    holes_of_row = np.bincount(missing.rows)[missing.rows]
    orders = (
        np.array([places[place] for place in zip(plan.cells["row"], plan.cells["column"], strict=True)]),
        rng.permutation(n),
        np.lexsort((rng.random(n), -width)),
        np.lexsort((rng.random(n), -holes_of_row)),
    )
    ends = np.linspace(0, n, POINTS + 1).astype(int)
    return np.array([[_certain(X, holes, y, test, missing, order[:end]) for end in ends] for order in orders]), n


def _certain(
    X: pd.DataFrame, holes: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, missing: MissingValues, known: Any
) -> float:
    """Return the share of certain predictions with some of the values found."""
    if len(known) == len(missing):
        return 1.0
    found = holes.copy()
    for row, column in zip(missing.rows[known], missing.columns[known], strict=True):
        found.iat[row, column] = X.iat[row, column]
    bounds = BoundedClassifier(alpha=ALPHA, scale="standard").fit(found, y).decision_bounds(test)
    return float(is_certain(bounds).mean())


_SET_COLUMNS = ("table", "values", "open", "any values", "at least", "as filled in", "98 %, any", "98 %, filled in")


def _enough(lines: Lines, source: Source) -> None:
    X, y, X_test = parts(source, 0)
    rows = filled_in(X_test, X).iloc[:TEST_ROWS]
    clf = BoundedClassifier(alpha=ALPHA, scale="standard").fit(X, y)
    possible = clf.predict_set(rows)
    open_rows = np.flatnonzero(possible.sum(axis=1) > 1)
    sizes = [
        len(clf.sufficient_cells(rows, share, values=values))
        for share in (1.0, 0.98)
        for values in ("any", "filled_in")
    ]
    needed = _needed(clf, rows, open_rows) if len(open_rows) else 0
    n = len(MissingValues.of(clf.training_))
    cells = (n, len(open_rows), sizes[0], needed, sizes[1], sizes[2], sizes[3])
    lines.add(source.name[:24].ljust(24), *(f"{each:,}" for each in cells))


def _needed(clf: BoundedClassifier, rows: pd.DataFrame, open_rows: np.ndarray) -> int:
    """Count values of which each, by itself, was found to change a class while all others are known."""
    training, rng, found = clf.training_, np.random.default_rng(0), set[int]()
    missing, centers = MissingValues.of(training), training.extended(clf._uncertain_rows(training, rows)).center
    effects, everything = ValueEffects.of(training, missing), np.ones(len(missing), dtype=bool)

    def score(filling: np.ndarray, x: np.ndarray) -> float:
        (model,) = missing.known(training, everything, filling)
        return float(x @ model.solution.w)

    for walk in range(WALKS):
        x = centers[open_rows[walk % len(open_rows)]]
        by_option = effects.of_rows(x[None])[0]
        ends = []
        for side in (-1.0, 1.0):
            order = np.lexsort((-side * by_option, effects.value))
            first = order[np.searchsorted(effects.value[order], np.arange(len(missing)))]
            ends.append(effects.position[first].astype(float))
        start, stop = ends
        if not score(start, x) < 0.0 < score(stop, x):
            continue
        order, low, high = rng.permutation(len(missing)), 0, len(missing)
        while high - low > 1:
            middle = (low + high) // 2
            there = np.where(np.isin(np.arange(len(missing)), order[:middle]), stop, start)
            low, high = (middle, high) if score(there, x) < 0.0 else (low, middle)
        found.add(int(order[low]))
    return len(found)


def _draw(curves: dict[str, list[list[float]]], path: Path) -> None:
    import matplotlib.pyplot as plt

    n_rows = -(-(len(curves) + 1) // 4)
    figure, axes = plt.subplots(n_rows, 4, figsize=(11, 2.5 * n_rows), layout="constrained", sharex=True, squeeze=False)
    styles = (("#0072B2", "-"), ("#999999", "-"), ("#D55E00", "--"), ("#009E73", ":"))
    for ax, (name, found) in zip(axes.flat, curves.items(), strict=False):
        for (color, line), curve in zip(styles, found, strict=True):
            ax.plot(np.linspace(0.0, 100.0, POINTS + 1), 100.0 * np.array(curve), line, color=color, linewidth=1.8)
        ax.set_title(name.replace("_", " "), fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.flat[len(curves) :]:
        ax.set_axis_off()
    handles = [plt.Line2D([], [], color=color, linestyle=line) for color, line in styles]
    axes.flat[-1].legend(handles, ["the plan", *ORDERS[1:]], loc="center", frameon=False)
    figure.supxlabel("missing values found, %", fontsize=9)
    figure.supylabel("certain predictions, %", fontsize=9)
    figure.savefig(path, dpi=110)
