"""Fit and bounds of many test rows, as a multiple of scikit-learn's fastest fit to the same duality gap.

Both sides are timed in turn, in one run, so that noise of the machine meets both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.real_data import load, with_holes
from benchmarks.timing import medians
from ipub import BoundedClassifier
from ipub.certificates import certify_ball, certify_origin, certify_sphere, certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.certificate import Certificate, intersection
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, Rows, with_intercept_column
from ipub.tables.interval_matrix import IntervalMatrix

LAMBDA, SHARE, LEVEL = 0.1, 0.01, 0.5
N_TEST = 3000
GAP = 1e-8
"""Relative duality gap that both sides reach."""
REPEATS = 7
SOLVERS = ("lbfgs", "newton-cholesky")
TARGET = 5.0


def run(console: Console) -> None:
    X, y, X_test = load("default")
    matrix, X_test = with_holes(X, SHARE, LEVEL), X_test[:N_TEST]
    title = f"default, {len(X):,} x {X.shape[1]}, {matrix.n_uncertain:,} missing cells, lambda {LAMBDA:g}"
    title += f": fit and bounds of {len(X_test):,} rows against scikit-learn's fit to a relative gap of {GAP:g}"
    columns = ("intercept", "threads", *(f"{solver} ms" for solver in SOLVERS), "tight ms", "ratio", "target")
    lines = Lines(console, title, *columns, "grouped ms", "ratio")
    details = []
    for has_intercept in (False, True):
        peers = _peers(matrix, y, has_intercept)
        for threads in (None, 1):
            with threadpool_limits(threads):
                *spent, whole, without_rows = medians(
                    REPEATS,
                    *peers.values(),
                    partial(_bounds, matrix, y, X_test, has_intercept),
                    partial(_bounds, matrix, y, X_test, has_intercept, Certificate.without_training_rows),
                )
                details.append((has_intercept, threads, _stages(matrix, y, X_test, has_intercept)))
            fits = dict(zip(peers, spent, strict=True))
            cells = [f"{1e3 * fits[solver]:.1f}" if solver in fits else "stops short" for solver in SOLVERS]
            fastest = min(spent)
            ratio = whole / fastest
            mark = "!" if ratio > TARGET else " "
            kind, number = "with" if has_intercept else "without", "default" if threads is None else "1"
            cells += [f"{1e3 * whole:.1f}", f"{ratio:.1f}{mark}", f"{TARGET:g}", f"{1e3 * without_rows:.1f}"]
            lines.add(kind, number, *cells, f"{without_rows / fastest:.1f}")
    lines = Lines(console, "where the time goes, in ms", "intercept", "threads", *details[0][2])
    for has_intercept, threads, stages in details:
        kind, number = "with" if has_intercept else "without", "default" if threads is None else "1"
        lines.add(kind, number, *(f"{1e3 * spent:.1f}" for spent in stages.values()))


def _problem(matrix: IntervalMatrix, y: Array, has_intercept: bool) -> Problem:
    rows: Rows = MemoryRows(matrix, y)
    if has_intercept:
        rows = with_intercept_column(rows)
    return Problem(rows, LOSSES["log_loss"], ElasticNet(LAMBDA, n_free=int(has_intercept)))


def _bounds(
    matrix: IntervalMatrix,
    y: Array,
    X_test: Array,
    has_intercept: bool,
    form: Callable[[Certificate], Certificate] = lambda certificate: certificate,
) -> Array:
    """Fit and bound as a user does."""
    clf = BoundedClassifier(alpha=LAMBDA, fit_intercept=has_intercept, tol=GAP).fit(matrix, y)
    clf.certificate_ = form(clf.certificate_)
    return clf.decision_bounds(X_test)


def _stages(matrix: IntervalMatrix, y: Array, X_test: Array, has_intercept: bool) -> dict[str, float]:
    """Time the parts one by one; `tight` is all certificates, with common parts computed once."""
    problem = _problem(matrix, y, has_intercept)
    solution = solve(problem, tol=GAP)
    certificate = certify_tight(problem, solution)
    known = intersection("known", [certify_sphere(problem, solution), certify_origin(problem, solution)])
    rows = np.column_stack([X_test, np.ones(len(X_test))]) if has_intercept else X_test
    names = ("training", "origin", "sphere", "ball", "tight", "bounds", "grouped bounds")
    times = medians(
        REPEATS,
        lambda: solve(problem, tol=GAP),
        lambda: certify_origin(problem, solution),
        lambda: certify_sphere(problem, solution, known),
        lambda: certify_ball(problem, solution, known),
        lambda: certify_tight(problem, solution),
        lambda: certificate.score_bounds(rows),
        lambda: certificate.without_training_rows().score_bounds(rows),
    )
    return dict(zip(names, times, strict=True))


def _peers(matrix: IntervalMatrix, y: Array, has_intercept: bool) -> dict[str, Callable[[], Any]]:
    """Return a fit for each solver, with the loosest tolerance that reaches the gap."""
    X, problem = matrix.center_rows(slice(0, len(y))), _problem(matrix, y, has_intercept)
    peers: dict[str, Callable[[], Any]] = {}
    for solver in SOLVERS:
        for exponent in np.arange(2.0, 14.0, 0.5):
            model = LogisticRegression(
                C=1.0 / (LAMBDA * len(y)),
                fit_intercept=has_intercept,
                solver=solver,
                tol=10.0**-exponent,
                max_iter=10_000,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y)
            w = np.append(model.coef_[0], model.intercept_) if has_intercept else model.coef_[0]
            if problem.evaluate(w, problem.loss).relative_gap <= GAP:
                break
        else:
            continue  # some solvers stop short of the gap, whatever the tolerance
        peers[solver] = partial(model.fit, X, y)
    return peers
