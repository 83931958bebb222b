"""How accurate a model is on rows that it was not trained on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from ipub.errors import IpubError

N_FOLDS, FOLD_ROWS = 4, 20_000
"""Folds, and rows at most, over which a lever's accuracy is measured."""


def held_out(estimator: Any, X: pa.Table, y: NDArray[Any]) -> float:
    """Return the accuracy, or in a regression the root mean square error, in 4-fold cross-validation; NaN if none."""
    chosen = np.random.default_rng(0).permutation(X.num_rows)[:FOLD_ROWS]
    X, y = X.take(chosen), y[chosen]
    is_classes = is_classifier(estimator)
    if len(y) < 2 * N_FOLDS or (is_classes and np.unique(y, return_counts=True)[1].min() < N_FOLDS):
        return float("nan")
    folds = (StratifiedKFold if is_classes else KFold)(N_FOLDS, shuffle=True, random_state=0)
    model = clone(estimator).set_params(certificate=None, uncertainty="worst", verbose=0)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for inside, outside in folds.split(np.zeros((len(y), 1)), y):
            try:
                predicted = model.fit(X.take(inside), y[inside]).predict(X.take(outside))
            except IpubError:
                return float("nan")
            wrong = predicted == y[outside] if is_classes else (predicted - y[outside]) ** 2
            found.append(np.mean(wrong))
    return float(np.mean(found)) if is_classes else float(np.sqrt(np.mean(found)))
