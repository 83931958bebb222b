"""Rivals that cost nothing, for tests of everything around them."""

from __future__ import annotations

import numpy as np

from ipub.certificates import sphere
from ipub.experiments import rivals
from ipub.solvers import solve


def newton(problem, X_test, coordinates):
    """Bounds that are three times as wide as the sphere's."""
    bounds = sphere(problem, solve(problem)).score_bounds(X_test)
    middle, radius = bounds.mean(axis=1), np.ptp(bounds, axis=1)
    return np.column_stack([middle - 1.5 * radius, middle + 1.5 * radius]), "a stand-in"


def single(X, y, lam, X_test):
    return X_test.sum(axis=1)


def multiple(X, y, lam, X_test, count):
    return X_test.sum(axis=1) + np.linspace(-1e-4, 1e-4, count)[:, None]


def use(monkeypatch):
    monkeypatch.setattr(rivals, "interval_newton_bounds", newton)
    monkeypatch.setattr(rivals, "single_imputation_scores", single)
    monkeypatch.setattr(rivals, "complete_cases_scores", single)
    monkeypatch.setattr(rivals, "multiple_imputation_scores", multiple)
