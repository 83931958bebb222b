"""What fitted scikit-learn models minimise, in the terms of the estimators of this package.

Each constant below is checked in tests: the gradient of the objective vanishes at what scikit-learn trains.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ipub.estimators.sklearn_models.classes import NO_L2, lookup, refuse
from ipub.numeric.rounding import Array

PENALISED_INTERCEPT = (
    "liblinear penalises its intercept. Append a column of ones times intercept_scaling to X and train with "
    "fit_intercept=False, which is the same model, or train {}, whose intercept is free."
)


@dataclass(frozen=True)
class FittedModel:
    """A trained linear model and its objective, in the terms of `ipub.BoundedClassifier` and `BoundedRegressor`."""

    coef: Array
    intercept: float
    loss: str
    alpha_of: Callable[[float], float]
    """The penalty `alpha` for a sum of the weights of all rows."""
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    class_weight: Any = None
    classes: Any = None
    """Labels of both classes; None in a regression."""


def read_model(model: Any, y: Any) -> FittedModel:
    """Read a fitted linear model: its weights and what it minimises."""
    read = lookup(MODELS, model, "models")
    check_is_fitted(model)
    objective = read(model, y)
    is_sparse = hasattr(model.coef_, "toarray")
    coef: Array = np.asarray(model.coef_.toarray() if is_sparse else model.coef_, dtype=np.float64)
    if coef.ndim == 2 and len(coef) != 1:
        refuse(model, f"it has {len(coef)} targets. Train one model for each.")
    intercept, has_one = float(np.ravel(model.intercept_)[0]), getattr(model, "fit_intercept", True)
    classes = getattr(model, "classes_", None)
    return FittedModel(coef.reshape(-1), intercept, fit_intercept=has_one, classes=classes, **objective)


def _logistic(model: Any, y: Any) -> dict[str, Any]:
    _check_two_classes(model)
    if getattr(model, "multi_class", None) == "multinomial":
        refuse(model, "multi_class='multinomial' is another model of two classes. Leave multi_class out.")
    penalty = getattr(model, "penalty", "deprecated")
    l1_ratio = {"l2": 0.0, "l1": 1.0}.get(penalty, model.l1_ratio or 0.0)
    if penalty is None or np.isinf(model.C):
        refuse(model, "it has no penalty, without which nothing bounds how far a filling moves the weights. Set C.")
    if l1_ratio == 1.0:
        refuse(model, f"{NO_L2} Train with l1_ratio below 1.")
    if model.solver == "liblinear" and model.fit_intercept:
        refuse(model, PENALISED_INTERCEPT.format("with another solver"))
    weights = _class_weight(model, y)
    return {"loss": "log_loss", "alpha_of": _alpha_of(model), "l1_ratio": l1_ratio, "class_weight": weights}


def _linear_svc(model: Any, y: Any) -> dict[str, Any]:
    _check_two_classes(model)
    if model.penalty != "l2":
        refuse(model, f"{NO_L2} Train with penalty='l2'.")
    if model.multi_class != "ovr":
        refuse(model, f"multi_class={model.multi_class!r} is another model of two classes. Leave it out.")
    if model.fit_intercept:
        refuse(model, PENALISED_INTERCEPT.format("SVC(kernel='linear')"))
    return {"loss": model.loss, "alpha_of": _alpha_of(model), "class_weight": _class_weight(model, y)}


def _svc(model: Any, y: Any) -> dict[str, Any]:  # noqa: ARG001 (has its class weights)
    _check_two_classes(model)
    if model.kernel != "linear":
        refuse(
            model, f"its kernel is {model.kernel!r}, and only linear models have bounds. Train with kernel='linear'."
        )
    class_weight = model.class_weight and _by_label(model, model.class_weight_)
    return {"loss": "hinge", "alpha_of": _alpha_of(model), "class_weight": class_weight}


def _ridge(model: Any, y: Any) -> dict[str, Any]:  # noqa: ARG001 (no class weights)
    _check_unconstrained(model)
    alpha = float(np.ravel(model.alpha)[0])
    return {"loss": "squared_error", "alpha_of": lambda total: 2.0 * alpha / total}


def _elastic_net(model: Any, y: Any) -> dict[str, Any]:  # noqa: ARG001 (no class weights)
    _check_unconstrained(model)
    if model.l1_ratio == 1.0:
        refuse(model, f"{NO_L2} Train with l1_ratio below 1.")
    return {
        "loss": "squared_error",
        "alpha_of": lambda total: 2.0 * model.alpha,  # noqa: ARG005 (weights are normalised)
        "l1_ratio": model.l1_ratio,
    }


MODELS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "LogisticRegression": _logistic,
    "LinearSVC": _linear_svc,
    "SVC": _svc,
    "Ridge": _ridge,
    "ElasticNet": _elastic_net,
}


def _alpha_of(model: Any) -> Callable[[float], float]:
    """Return the penalty of a model whose strength is C, for a sum of the weights of all rows."""
    return lambda total: 1.0 / (model.C * total)


def _check_two_classes(model: Any) -> None:
    if len(model.classes_) > 2:
        refuse(
            model,
            f"it has {len(model.classes_)} classes, and only two are supported. Train one class against the others, or "
            "fit a BoundedClassifier, which does that for each.",
        )


def _check_unconstrained(model: Any) -> None:
    if getattr(model, "positive", False):
        refuse(model, "positive=True constrains its weights. Train with positive=False.")
    if not np.all(np.asarray(model.alpha) > 0.0):
        refuse(model, "alpha=0 is no penalty, without which nothing bounds how far a filling moves the weights.")


def _class_weight(model: Any, y: Any) -> Any:
    """Return the weights of the classes as the linear models take them."""
    if model.class_weight == "balanced" and "sample_weight" not in inspect.signature(compute_class_weight).parameters:
        # Before version 1.7 the weights of the rows did not count in what is balanced.
        return _by_label(model, compute_class_weight("balanced", classes=model.classes_, y=np.asarray(y)))
    return model.class_weight


def _by_label(model: Any, factors: Array) -> dict[Any, float]:
    return dict(zip(model.classes_.tolist(), factors.tolist(), strict=True))
