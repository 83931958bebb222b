"""Bounds for many strengths of the penalty, as a multiple of one fit with its bounds.

One fit is that of the path's middle alpha; beside it, the sum of a fresh fit at every alpha. All are timed in turn.
"""

from __future__ import annotations

import numpy as np

from benchmarks.lines import Lines, Screen
from benchmarks.real_data import load, with_holes
from benchmarks.timing import medians
from ipub import BoundedClassifier, penalty_path
from ipub.estimators.penalty_paths import PenaltyPath
from ipub.numeric.rounding import Array

SHARE, LEVEL = 0.01, 0.5
N_ALPHAS, N_TEST = 20, 3000
REPEATS = 3
TARGET = 6.0


def run(screen: Screen) -> None:
    X, y, _ = load("default")
    matrix, labels = with_holes(X[:-N_TEST], SHARE, LEVEL), y[:-N_TEST]
    X_test, y_test = X[-N_TEST:], y[-N_TEST:]

    def path() -> PenaltyPath:
        return penalty_path(BoundedClassifier(), matrix, labels, X_test, y_test, alphas=N_ALPHAS)

    def alone(alpha: float) -> Array:
        return BoundedClassifier(alpha=alpha).fit(matrix, labels).decision_bounds(X_test)

    found = path()
    middle = float(found.alphas[N_ALPHAS // 2])
    whole, one, each = medians(REPEATS, path, lambda: alone(middle), lambda: [alone(alpha) for alpha in found.alphas])
    steps = sum(fitted.n_iter_ for fitted in found.estimators)
    fresh_steps = sum(BoundedClassifier(alpha=alpha).fit(matrix, labels).n_iter_ for alpha in found.alphas)
    title = f"default, {len(labels):,} x {X.shape[1]}, {matrix.n_uncertain:,} missing cells: {N_ALPHAS} alphas from "
    title += f"{found.alphas[0]:.3g} to {found.alphas[-1]:.3g}, with bounds of {N_TEST:,} rows"
    ratio = whole / one
    columns = ("alphas", "one ms", "path ms", "ratio", "target", "each anew ms", "ratio", "steps", "steps anew")
    lines = Lines(screen, title, *columns)
    cells = [f"{1e3 * one:.0f}", f"{1e3 * whole:.0f}", f"{ratio:.1f}{'!' if ratio > TARGET else ' '}", f"{TARGET:g}"]
    cells += [f"{1e3 * each:.0f}", f"{each / one:.1f}", f"{steps}", f"{fresh_steps}"]
    lines.add(f"{N_ALPHAS}", *cells)
    lines = Lines(screen, "what the user sees", *found.columns())
    for values in np.column_stack(list(found.columns().values())):
        lines.add(*(f"{value:.4g}" for value in values))
