"""Predictions with their bounds, column by column: what a table of predictions shows of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ipub.answers.certainty import is_certain, possible_labels
from ipub.estimators.classifier import probability_bounds


def predicted_columns(
    estimator: Any, X: Any, in_parts: Callable[[Callable[[Any], Any], Any], Any] = lambda bound, rows: bound(rows)
) -> tuple[dict[str, NDArray[Any]], str]:
    """Return columns by name, and a description of what is bounded; "" if nothing is.

    The columns are ``prediction``; of classes ``probability`` or ``score`` (of the second class; of more than two, of
    the predicted one); ``lower`` and ``upper``, the bounds of that number; of classes ``certain``, and of more than two
    ``possible``, the labels that some filling may give. `in_parts` calls a method for bounds with the rows.

    Examples
    --------
    >>> from ipub import BoundedRegressor
    >>> reg = BoundedRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> columns, what = predicted_columns(reg, [[1.0]])
    >>> list(columns), what
    (['prediction', 'lower', 'upper'], 'the prediction')
    """
    prediction = np.asarray(estimator.predict(X))
    columns = {"prediction": prediction}
    is_bounded = estimator.certificate_ is not None
    if not is_classifier(estimator):
        if not is_bounded:
            return columns, ""
        bounds = np.asarray(in_parts(estimator.predict_bounds, X))
        return {**columns, "lower": bounds[:, 0], "upper": bounds[:, 1]}, "the prediction"
    several = len(estimator.classes_) > 2
    if hasattr(estimator, "predict_proba"):
        name, values = "probability", estimator.predict_proba(X) if several else estimator.predict_proba(X)[:, 1]
    else:
        name, values = "score", estimator.decision_function(X)
    of_predicted = np.arange(len(values)), np.searchsorted(estimator.classes_, prediction)
    columns[name] = values[of_predicted] if several else values
    if not is_bounded:
        return columns, ""
    scores = np.asarray(in_parts(estimator.decision_bounds, X))
    bounds = probability_bounds(estimator.training_.loss, scores) if name == "probability" else scores
    bounds = bounds[of_predicted] if several else bounds
    columns |= {"lower": bounds[:, 0], "upper": bounds[:, 1], "certain": is_certain(scores)}
    if several:
        labels = [", ".join(map(str, estimator.classes_[row])) for row in possible_labels(scores)]
        columns["possible"] = np.array(labels, dtype=object)
    return columns, f"the {name} of {'the class that is predicted' if several else estimator.classes_[1]}"
