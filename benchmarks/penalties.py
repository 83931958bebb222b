"""The penalty that the library picks on a table: of least held-out loss, or by the rule of one standard error."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ipub.estimators.linear_model import parameters_of
from ipub.numeric.rounding import Array
from ipub.rows.completions import whole_table
from ipub.training.reading import read_training_data

BEST, ONE_ERROR = "min", "1se"
RULES = (BEST, ONE_ERROR)


def add_rule(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option ``--penalty``."""
    words = f"as alpha={BEST!r} or alpha={ONE_ERROR!r} of the estimators picks it"
    parser.add_argument("--penalty", choices=RULES, default=default, help=words)


def cross_validated(estimator: Any, X: pd.DataFrame, y: np.ndarray, rule: str = BEST) -> float:
    """Return the penalty that a rule picks, as users get it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(clone(estimator).set_params(alpha=rule, certificate=None).fit(X, y).alpha_)


def filled_table(estimator: Any, X: pd.DataFrame, y: np.ndarray) -> Array:
    """Return the table that the estimator trains on, scaled and one-hot, with its holes in the middle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = read_training_data(parameters_of(estimator), X, y)
    return whole_table(data.rows[0]).center
