"""A sparse table of the shape of 20 newsgroups: time and memory of a fit with bounds, against a plain fit.

11,314 rows and 100,000 columns of counts, about 150 entries stored in a row, as logarithms; 0.05 % of the entries are
missing. Each fit runs in a process of its own; resident memory is the highest of the whole process, less what the
table took. "plain" is LogisticRegression of scikit-learn with the same penalty, missing entries filled in. The ratio is
that of the width of bounds to that of what models retrained on two fillings attain, chosen to first order for each of a
few rows: the exact width lies between both. ``--rows N`` makes a shorter table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.linear_model import LogisticRegression

from benchmarks.fresh import resident
from benchmarks.holed import ROWS_VARIABLE
from benchmarks.lines import Lines
from ipub import BoundedClassifier
from ipub.numeric.rounding import Array

N_ROWS, N_COLUMNS, PER_ROW, SHARE, ALPHA = 11_314, 100_000, 150, 0.0005, 0.1
N_TEST, N_ATTACKED = 1000, 3


def run(console: Console, options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sparse")
    parser.add_argument("--rows", type=int, default=int(os.environ.get(ROWS_VARIABLE, N_ROWS)))
    given = parser.parse_args(options)
    n_rows = min(given.rows, N_ROWS)
    title = f"{n_rows:,} x {N_COLUMNS:,}, about {PER_ROW} entries in a row, {SHARE:.2%} of them missing"
    lines = Lines(
        console,
        title,
        "fit   ",
        "s",
        "plain fits",
        "GiB resident",
        f"s of {N_TEST:,} bounds",
        "width",
        "attained ratio",
    )
    plain = 0.0
    for what in ("plain", "sphere", "ball"):
        found = _measure(what, n_rows)
        plain = plain or found["seconds"]
        cells = [f"{found['seconds']:.2f}", f"{found['seconds'] / plain:.1f}", f"{found['peak'] / 2**30:.2f}"]
        if what != "plain":
            cells += [f"{found['bounds']:.2f}", f"{found['width']:.3g}", f"{found['ratio']:.2f}"]
        lines.add(what, *cells, *([""] * (6 - len(cells))))


def _measure(what: str, n_rows: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.sparse", what, str(n_rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(n_rows: int) -> tuple[csr_array, Array]:
    """Return counts as logarithms, rows of length 1, with missing entries, and labels of two classes."""
    rng = np.random.default_rng(0)
    popularity = 1.0 / (10.0 + np.arange(N_COLUMNS))
    lengths = np.maximum(1, rng.poisson(PER_ROW * rng.gamma(2.0, 0.65, n_rows)))
    columns = rng.choice(N_COLUMNS, lengths.sum(), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(n_rows), lengths)
    counts = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_rows, N_COLUMNS))
    counts.data = 1.0 + np.log(counts.data)
    counts.data /= np.repeat(np.sqrt((counts * counts).sum(axis=1)), np.diff(counts.indptr))
    weights = rng.normal(size=N_COLUMNS)
    y = np.where(counts @ weights + 0.3 * rng.normal(size=n_rows) > 0.0, 1.0, -1.0)
    counts.data[rng.random(counts.nnz) < SHARE] = np.nan
    return counts, y


def main() -> None:
    what, n_rows = sys.argv[1], int(sys.argv[2])
    warnings.simplefilter("ignore")
    X, y = table(n_rows)
    before = resident("VmRSS")
    if what == "plain":
        X.data = np.nan_to_num(X.data)
        start = time.perf_counter()
        LogisticRegression(C=1.0 / (ALPHA * n_rows), solver="newton-cg", tol=1e-8).fit(X, y)
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "peak": resident("VmHWM") - before}))
        return
    start = time.perf_counter()
    model = BoundedClassifier(alpha=ALPHA, certificate=what).fit(X, y)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    bounds = model.decision_bounds(X[:N_TEST])
    found = {"seconds": seconds, "peak": resident("VmHWM") - before, "bounds": time.perf_counter() - start}
    complete = np.flatnonzero(~np.isnan(X.sum(axis=1)))[:N_ATTACKED]
    widths = bounds[:, 1] - bounds[:, 0]
    attained = [_attained(model, X, y, np.ravel(X[[k]].toarray())) for k in complete]
    ratio = float(np.median(widths[complete] / attained))
    print(json.dumps({**found, "width": float(np.median(widths)), "ratio": ratio}))


def _attained(model: BoundedClassifier, X: csr_array, y: Array, x: Array) -> float:
    """Return the difference of a row's scores between models retrained on two fillings."""
    problem, solution = model.training_.models[0]
    loss, w = problem.loss, solution.w
    hessian, lam = problem.evaluate(w, loss).hessian, problem.penalty.lam_vector(len(w))
    aim = np.append(x, 1.0)
    u, _ = cg(LinearOperator((len(w), len(w)), matvec=lambda v: hessian @ v + lam * v), aim, rtol=1e-6)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    holes = np.flatnonzero(np.isnan(X.data))
    i, j = rows[holes], X.indices[holes]
    center = csr_array(X)
    center.data = np.where(np.isnan(X.data), model.fill_values_[X.indices], X.data)
    score = center @ w[:-1] + w[-1]
    effect = -(loss.derivative(y, score)[i] * u[j] + loss.curvature(y, score)[i] * (center @ u[:-1] + u[-1])[i] * w[j])
    scores = []
    for side in (-1.0, 1.0):
        filled = center.copy()
        filled.data[holes] = model.hole_ranges_[j, (side * effect > 0.0).astype(int)]
        again = BoundedClassifier(alpha=ALPHA, certificate=None, intervals=model.hole_ranges_).fit(filled, y)
        scores.append(float(x @ again.coef_[0] + again.intercept_[0]))
    return scores[1] - scores[0]


if __name__ == "__main__":
    main()
