"""Bounds of many test rows, and of a wide table: what a call takes.

The test rows of adult keep their own holes. The wide table has 300 rows and 3,000 columns, and one cell in a thousand
is missing.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_tables import SOURCES
from ipub import BoundedClassifier

ALPHAS = (1.0, 0.1, 0.001)
TARGET, WIDE_TARGET = 20.0, 60.0
FEW = 32


def run(console: Console) -> None:
    _adult(console)
    _wide(console)


def _fitted(alpha: float, X: object, y: np.ndarray) -> tuple[BoundedClassifier, float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BoundedClassifier(alpha=alpha, scale="standard").fit(X, y)
        _ = model.certificate_
    return model, time.perf_counter() - start


def _adult(console: Console) -> None:
    frame, y = next(source for source in SOURCES if source.name == "adult").load()
    order, n_test = np.random.default_rng(0).permutation(len(frame)), len(frame) // 5
    X_test = frame.iloc[order[:n_test]]
    title = f"adult, {n_test:,} test rows with their own holes; wider: than the same rows in a call with {FEW}"
    columns = ("alpha", "fit s", "all rows s", "target", f"{FEW} rows s", "wider, median", "wider, most")
    lines = Lines(console, title, *columns)
    for alpha in ALPHAS:
        model, spent = _fitted(alpha, frame.iloc[order[n_test:]], y[order[n_test:]])
        start = time.perf_counter()
        bounds = model.decision_bounds(X_test)
        middle = time.perf_counter()
        few = model.decision_bounds(X_test.iloc[:FEW])
        end = time.perf_counter()
        wider = np.ptp(bounds[:FEW], axis=1) / np.ptp(few, axis=1)
        mark = " " if middle - start <= TARGET else "!"
        cells = [f"{spent:.1f}", f"{middle - start:.1f}{mark}", f"{TARGET:g}", f"{end - middle:.2f}"]
        lines.add(f"{alpha:g}", *cells, f"{np.median(wider):.3f}", f"{wider.max():.3f}")


def _wide(console: Console) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3000))
    y = X[:, :10].sum(axis=1) + rng.normal(size=300) > 0.0
    X[rng.random(X.shape) < 0.001] = np.nan
    lines = Lines(
        console, "300 x 3,000, one cell in a thousand missing", "alpha", "fit s", "target", "100 rows s", "used"
    )
    for alpha in ALPHAS:
        model, spent = _fitted(alpha, X, y)
        start = time.perf_counter()
        model.decision_bounds(rng.normal(size=(100, 3000)))
        mark = " " if spent <= WIDE_TARGET else "!"
        used = ", ".join(dict.fromkeys(part.name for part in model.certificate_.parts))
        cells = [f"{spent:.1f}{mark}", f"{WIDE_TARGET:g}", f"{time.perf_counter() - start:.2f}"]
        lines.add(f"{alpha:g}", *cells, used)
