"""Estimators fitted to draws of an imputer, and models of many fillings trained at once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ipub.estimators.fitted_state import keep_training
from ipub.estimators.linear_model import check_parameters, parameters_of
from ipub.promises import Draws
from ipub.tables.holes import IntervalWarning
from ipub.training.draws import train_and_certify_draws
from ipub.training.reading import read_training_data


def fit_draws(estimator: Any, X: Any, y: Any, draws: Draws, **arguments: Any) -> Any:
    """Fit an estimator to draws."""
    check_parameters(estimator)
    parameters = parameters_of(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntervalWarning)
        data = read_training_data(parameters, X, y, **arguments)
    bounds = {name: arguments[name] for name in ("X_lower", "X_upper") if name in arguments}
    keep_training(estimator, train_and_certify_draws(parameters, data, draws, X, **bounds))
    return estimator


def logistic_models(tables: np.ndarray, y: np.ndarray, alpha: float, steps: int = 60) -> np.ndarray:
    """Train logistic models with a free intercept on tables of shape (k, n, d), by Newton steps on all at once.

    Labels are -1 and 1. Returns weights of shape (k, d + 1), the intercept last, exact up to rounding.
    """
    k, n, d = tables.shape
    X = np.concatenate([tables, np.ones((k, n, 1))], axis=2)
    lam = np.append(np.full(d, alpha), 0.0)
    w = np.zeros((k, d + 1))
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(y * np.einsum("knd,kd->kn", X, w)))
        gradient = np.einsum("kn,knd->kd", -y * p, X) / n + lam * w
        hessian = np.einsum("kn,knd,kne->kde", p * (1.0 - p), X, X) / n + np.diag(lam)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        w -= step * np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
        if np.abs(step).max() < 1e-13:
            break
    return w
