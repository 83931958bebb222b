"""`influence`: what it costs, how much of it is proved, and whether its order is that of certificates made again.

*Time*: processor time for 1,000 predictions over that of `fit` with ``"tight"``, certificate included. *lower* and
*upper*: the proved sums over the estimated one. The mammographic masses, and 27,000 rows of `default` of which 7,560
values are made missing.

*Order*: on tables with genuine holes, the ten values with the greatest estimates against those that narrow certified
bounds most. For these the certificate is made again with the value known to be at either end of its interval, or at
each of three levels, and the mean width of the bounds compared: for the twenty values with the greatest estimates and
ten others, at random. *Share found*: of the ten of the estimate, those that narrow as much as the tenth of all, a tie
within one per cent included; *narrowing taken*: what the ten of the estimate narrow, over what the best ten do. Penalty
of ``alpha="1se"``; *first order*: the sum of all estimates over the width of the bounds. Where it is small, widths are
those of certificates more than those of fillings.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.penalties import ONE_ERROR, cross_validated
from benchmarks.real_data import DATA
from benchmarks.real_tables import SOURCES, Source
from benchmarks.useful import filled_in, parts
from ipub import BoundedClassifier
from ipub.answers.missing_values import MissingValues
from ipub.certificates import CERTIFICATES

ALPHAS = (1.0, 0.1)
PREDICTIONS = 1_000
ORDERED = (
    "mammographic_masses",
    "credit_approval",
    "credit_scoring",
    "hepatitis",
    "pima_diabetes",
    "chronic_kidney_disease",
)
ORDER_COLUMNS = ("table", "alpha", "values", "first order", "share found", "narrowing taken")
FIRST, LIKELY, OTHERS, TEST_ROWS, MOST_LEVELS = 10, 20, 10, 60, 3
TIE = 0.01


def run(console: Console) -> None:
    lines = Lines(
        console, "influence of 1,000 predictions", "table", "alpha", "values", "fit s", "s", "fits", "lower", "upper"
    )
    for name, load in (("mammographic_masses", _masses), ("default", _default)):
        for alpha in ALPHAS:
            lines.piece(f"{name} {alpha:g}", partial(_time, lines, name, load(), alpha))
    lines = Lines(console, "the ten with most influence: estimated and certified again", *ORDER_COLUMNS)
    shares = [lines.piece(source.name, partial(_order, lines, source)) for source in SOURCES if source.name in ORDERED]
    lines.add("mean", "", "", "", f"{np.mean(shares):.2f}", "")


def _masses() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    frame, y = next(source for source in SOURCES if source.name == "mammographic_masses").load()
    rows = filled_in(pd.concat([frame, frame])[:PREDICTIONS], frame)
    return frame.to_numpy(dtype=float), y, rows.to_numpy(dtype=float)


def _default() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    frame = pd.read_parquet(DATA / "default.parquet").astype(float)
    y, X, n = frame.pop("default").to_numpy(), frame.to_numpy(), 27_000
    rows, X = X[n : n + PREDICTIONS], X[:n].copy()
    X.ravel()[np.random.default_rng(0).choice(X.size, 7_560, replace=False)] = np.nan
    return X, y[:n], rows


def _time(lines: Lines, name: str, data: tuple[np.ndarray, np.ndarray, np.ndarray], alpha: float) -> None:
    X, y, rows = data
    fits, asked = [], []
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(3):
            start = time.process_time()
            clf = BoundedClassifier(alpha=alpha, scale="standard").fit(X, y)
            _ = clf.certificate_
            fits.append(time.process_time() - start)
            start = time.process_time()
            found = clf.influence(rows)
            asked.append(time.process_time() - start)
    lower, upper, estimate = (found[column].sum() for column in ("lower", "upper", "estimate"))
    fit, influence = np.median(fits), np.median(asked)
    lines.add(
        name.ljust(24),
        f"{alpha:g}",
        f"{len(found):,}",
        f"{fit:.2f}",
        f"{influence:.2f}",
        f"{influence / fit:.1f}",
        f"{lower / estimate:.2f}",
        f"{upper / estimate:.2f}",
    )


def _order(lines: Lines, source: Source) -> float:
    X, y, X_test = parts(source, 0)
    rows = filled_in(X_test, X).iloc[:TEST_ROWS]
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)
        alpha = cross_validated(BoundedClassifier(scale="standard"), X, y, ONE_ERROR)
        clf = BoundedClassifier(alpha=alpha, scale="standard").fit(X, y)
        training, missing = clf.training_, MissingValues.of(clf.training_)
        found, centers = clf.influence(rows), training.extended(clf._uncertain_rows(training, rows)).center
        places = {place: k for k, place in enumerate(zip(missing.row_labels(), missing.column_labels(), strict=True))}
        order = np.array([places[place] for place in zip(found["row"], found["column"], strict=True)])
        others = np.random.default_rng(0).permutation(order[LIKELY:])[:OTHERS]
        before = np.diff(training.certificates[0].score_bounds(centers), axis=1).mean()
        narrowed = {}
        for value in [*order[:LIKELY], *others]:
            which = np.arange(len(missing)) == value
            levels = missing.levels_of(int(value))
            widths = []
            for place in range(len(levels))[:MOST_LEVELS] if levels else (-1.0, 1.0):
                (model,) = missing.known(training, which, np.where(which, place, 0.0))
                widths.append(np.diff(CERTIFICATES["tight"](*model).score_bounds(centers), axis=1).mean())
            narrowed[int(value)] = before - np.mean(widths)
    by_estimate = [narrowed[int(value)] for value in order[:FIRST]]
    best = sorted(narrowed, key=lambda value: -narrowed[value])[:FIRST]
    least = narrowed[best[-1]] * (1.0 - TIE)
    share = float(np.mean(np.array(by_estimate) >= least))
    taken = sum(by_estimate) / sum(narrowed[value] for value in best)
    first_order = found["estimate"].sum() / before
    cells = f"{alpha:.2g}", f"{len(missing):,}", f"{first_order:.2f}", f"{share:.2f}", f"{taken:.3f}"
    lines.add(source.name[:24].ljust(24), *cells)
    return share
