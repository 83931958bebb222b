"""The penalty that cross-validation picks on a filled-in table: the best one, or by the one-standard-error rule."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV

from ipub import BoundedClassifier
from ipub.estimators.linear_model import parameters_of
from ipub.numeric.rounding import Array
from ipub.rows.completions import whole_table
from ipub.training.reading import read_training_data

ALPHAS = np.geomspace(1e-4, 3.0, 10)
"""Weakest first."""
FOLDS = 4
BEST, ONE_ERROR = "min", "1se"
RULES = (BEST, ONE_ERROR)


def add_rule(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option ``--penalty``."""
    words = f"{BEST}: of least mean loss; {ONE_ERROR}: the strongest within one standard error of it"
    parser.add_argument("--penalty", choices=RULES, default=default, help=words)


def cross_validated(estimator: Any, X: pd.DataFrame, y: np.ndarray, rule: str = BEST) -> float:
    """Return the penalty, in our scale, that scikit-learn's cross-validation picks on the filled-in table."""
    return float(ALPHAS[chosen(_losses(estimator, filled_table(estimator, X, y), y), rule)])


def chosen(losses: Array, rule: str) -> int:
    """Return the index of the penalty that a rule picks.

    Parameters
    ----------
    losses : array of shape (n_penalties, n_folds)
        Weakest penalty first.
    rule : {"min", "1se"}
        The least mean loss; or the strongest penalty whose mean loss exceeds it by no more than its standard error over
        the folds.
    """
    means = losses.mean(axis=1)
    best = int(np.argmin(means))
    if rule == BEST:
        return best
    error = losses[best].std(ddof=1) / np.sqrt(losses.shape[1])
    return int(np.flatnonzero(means <= means[best] + error).max())


def filled_table(estimator: Any, X: pd.DataFrame, y: np.ndarray) -> Array:
    """Return the table that the estimator trains on, scaled and one-hot, with its holes in the middle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = read_training_data(parameters_of(estimator), X, y)
    return whole_table(data.rows[0]).center


def _losses(estimator: Any, table: Array, y: np.ndarray) -> Array:
    """Return the loss of each penalty (rows) on each fold (columns)."""
    if isinstance(estimator, BoundedClassifier):
        grid: dict[str, Array] = {"C": 1.0 / (len(y) * ALPHAS)}
        search = GridSearchCV(LogisticRegression(max_iter=5000), grid, scoring="neg_log_loss", cv=FOLDS, refit=False)
    else:
        grid = {"alpha": len(y) * ALPHAS / 2.0}
        search = GridSearchCV(Ridge(), grid, scoring="neg_mean_squared_error", cv=FOLDS, refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(table, y)
    return -np.column_stack([search.cv_results_[f"split{fold}_test_score"] for fold in range(FOLDS)])
