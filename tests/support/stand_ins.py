"""Rivals that cost nothing, for tests of everything around them."""

from __future__ import annotations

import numpy as np

from experiments import methods
from experiments.rivals import Imputation
from ipub.certificates import certify_sphere
from ipub.problem.solvers import solve


def newton(problem, X_test, coordinates):
    """Bounds that are three times as wide as the sphere's."""
    bounds = certify_sphere(problem, solve(problem)).score_bounds(X_test)
    middle, radius = bounds.mean(axis=1), np.ptp(bounds, axis=1)
    return np.column_stack([middle - 1.5 * radius, middle + 1.5 * radius]), "a stand-in"


def once(problem, X_test):
    return Imputation(X_test.sum(axis=1)[None], np.ones((1, X_test.shape[1])))


def again(problem, X_test, n_draws, seed):
    noise = 1e-4 * np.random.default_rng(seed).normal(size=(n_draws, 1))
    return Imputation(X_test.sum(axis=1) + noise, np.ones((n_draws, X_test.shape[1])))


def use(monkeypatch):
    monkeypatch.setattr(methods, "newton_bounds", newton)
    monkeypatch.setattr(methods, "imputed_once", once)
    monkeypatch.setattr(methods, "without_holed_rows", once)
    monkeypatch.setattr(methods, "imputed_again", again)
